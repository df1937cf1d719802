from headrace.core.commands import Peek
from headrace.sim.safeguards import SAFEGUARDS
from headrace.sim.scenarios import plan_of
from headrace.sim.shrinking import shrink, tell_failure
from headrace.sim.steps import Ask, Step


def steps(count: int) -> list[Step]:
    return [Step(at, 0, Ask(Peek("q", at + 1))) for at in range(count)]


def test_only_the_steps_that_matter_are_left() -> None:
    plan = steps(100)
    wanted = [plan[17], plan[63]]
    assert shrink(plan, lambda rest: all(step in rest for step in wanted), most_runs=1000) == wanted


def test_shrinking_gives_up_after_so_many_runs() -> None:
    runs = 0

    def fails(rest: list[Step]) -> bool:
        nonlocal runs
        runs += 1
        return False

    assert len(shrink(steps(100), fails, most_runs=10)) == 100
    assert runs == 10


def test_a_plan_that_breaks_nothing_has_no_failure_to_tell() -> None:
    assert tell_failure(plan_of("calm", 0)) is None


def test_a_failure_is_told_in_few_steps_up_to_where_it_shows() -> None:
    safeguard = next(safeguard for safeguard in SAFEGUARDS if safeguard.name == "stale leases are refused")
    plan = plan_of(safeguard.scenario, 0)
    with safeguard.off():
        failure = tell_failure(plan)
    assert failure is not None
    assert failure.invariant == safeguard.invariant
    assert len(failure.plan.steps) < 20
    assert f"*** {safeguard.invariant}: {failure.text}" in failure.story[-1]

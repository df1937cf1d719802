import random

from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.spark.plan.experiment import Experiment, Precision, Run, grid
from headrace.spark.plan.results import Results, rows_of
from headrace.spark.plan.schedule import outstanding, seconds_left, tasks


def plan(**changes: object) -> Experiment:
    given: dict[str, object] = {"kernel": "tests.spark.kernels.noise", "points": grid(noise=[0.0, 1.0, 5.0])}
    return Experiment(**(given | changes))  # type: ignore[arg-type]


def computed(experiment: Experiment, runs: list[Run], results: Results) -> Results:
    """The results with these runs added: 10 and noise, as their seeds have it."""
    rows = [
        row
        for run in runs
        for row in rows_of(
            experiment.name,
            run,
            metrics={"mean": (10 + run.parameters["noise"] * random.Random(run.seed).gauss(0, 1), None)},
            seconds=0.1,
            version="v",
        )
    ]
    return Results.of(experiment, (*results.rows, *rows))


def carried_out(experiment: Experiment, interrupt: random.Random | None = None) -> Results:
    """Run to the end; with `interrupt`, each round loses a random part of its runs."""
    results = Results.of(experiment, ())
    while runs := outstanding(experiment, results):
        if interrupt is not None:
            runs = interrupt.sample(runs, interrupt.randint(1, len(runs)))
        results = computed(experiment, runs, results)
    return results


def test_only_what_is_missing_is_outstanding() -> None:
    experiment = plan(replications=3)
    empty = Results.of(experiment, ())
    runs = outstanding(experiment, empty)
    assert len(runs) == 9
    assert outstanding(experiment, computed(experiment, runs[:7], empty)) == runs[7:]
    assert outstanding(experiment, computed(experiment, runs, empty)) == []


def test_failed_points_are_left_alone() -> None:
    experiment = plan(replications=2)
    failed = experiment.point_of(experiment.points[1])
    runs = outstanding(experiment, Results.of(experiment, ()), {failed})
    assert {run.point for run in runs} == {experiment.point_of(experiment.points[place]) for place in (0, 2)}


def test_points_are_replicated_until_they_are_precise() -> None:
    experiment = plan(replications=5, precision=Precision("mean", 0.05, 500))
    results = carried_out(experiment)
    counts = [len(results.values("mean", **point)) for point in experiment.points]
    assert counts[0] == 5
    assert counts[0] < counts[1] < counts[2] < 500
    assert all(results.estimate("mean", **point).relative <= 0.05 for point in experiment.points)


def test_replication_ends_at_its_limit() -> None:
    experiment = plan(points=grid(noise=50.0), precision=Precision("mean", 0.001, 7))
    assert len(carried_out(experiment).values("mean")) == 7


@settings(max_examples=25)
@given(st.randoms(use_true_random=False))
def test_an_interrupted_sweep_ends_with_the_same_table(interrupt: random.Random) -> None:
    experiment = plan(replications=2, precision=Precision("mean", 0.2, 40))
    assert set(carried_out(experiment, interrupt).rows) == set(carried_out(experiment).rows)


def run(place: int, cost: float) -> Run:
    return Run(point=f"{place:03}", parameters={}, seed=place, cost=cost)


@given(st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=300), st.integers(1, 16))
def test_tasks_hold_every_run_once_and_are_small_and_ordered(costs: list[float], slots: int) -> None:
    runs = [run(place, cost) for place, cost in enumerate(costs)]
    made = tasks(runs, slots)
    assert sorted(each.seed for task in made for each in task.runs) == list(range(len(runs)))
    limit = sum(costs) / slots / 16
    assert all(len(task.runs) == 1 or task.cost <= limit * 1.000001 for task in made)
    assert [task.runs[0].cost for task in made] == sorted((task.runs[0].cost for task in made), reverse=True)
    assert len(made) <= 2 * 16 * slots + 1


def test_executors_end_together_though_costs_differ_a_thousandfold() -> None:
    draw = random.Random(1)
    runs = [run(place, 10 ** draw.uniform(-2, 1)) for place in range(400)]
    busy = [0.0] * 4
    for task in tasks(runs, 4):  # an executor takes the next task as soon as it is free
        busy[busy.index(min(busy))] += task.cost
    assert max(busy) < 1.05 * sum(busy) / 4


def test_a_thousand_trivial_runs_are_few_tasks() -> None:
    assert len(tasks([run(place, 1.0) for place in range(1000)], 2)) <= 33


def test_equal_long_runs_are_one_a_task() -> None:
    assert len(tasks([run(place, 2.0) for place in range(32)], 2)) == 32


def test_the_time_left_follows_the_pace_and_is_unknown_at_first() -> None:
    assert seconds_left(elapsed=10.0, done_cost=0.0, left_cost=4.0) is None
    assert seconds_left(elapsed=10.0, done_cost=2.0, left_cost=4.0) == 20.0

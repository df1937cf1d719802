import random
from collections.abc import Callable, Sequence

from headrace.spark.plan.experiment import Cut, Experiment, Precision, Run, grid
from headrace.spark.plan.ledger import Ledger, Progress
from headrace.spark.plan.orders import Outcome
from headrace.spark.plan.schedule import outstanding


def ledger(**changes: object) -> Ledger:
    given: dict[str, object] = {
        "kernel": "tests.spark.kernels.noise",
        "points": grid(noise=[0.0, 2.0]),
        "replications": 3,
    }
    return Ledger(Experiment(**(given | changes)), "1+a")  # type: ignore[arg-type]


def measured(run: Run) -> Outcome:
    value = 10 + run.parameters["noise"] * random.Random(run.seed).gauss(0, 1)
    return Outcome(run.point, run.seed, {"mean": (value, None)}, 0.5)


def failed(run: Run) -> Outcome:
    return Outcome(run.point, run.seed, error="ArithmeticError: no")


def carried_out(books: Ledger, outcome: Callable[[Run], Outcome], order: random.Random) -> list[Progress]:
    """Bring the runs home one at a time, in any order, until nothing is out."""
    out = books.open(())
    seen = [books.progress(elapsed_seconds=0.0)]
    while out:
        run = out.pop(order.randrange(len(out)))
        _, further = books.take([run], [outcome(run)])
        out += further
        seen.append(books.progress(elapsed_seconds=float(len(seen))))
    return seen


def test_it_hands_out_what_is_outstanding_and_knows_when_points_are_done() -> None:
    books = ledger()
    seen = carried_out(books, measured, random.Random(1))
    assert len(seen) == 7
    assert (seen[0].done, seen[0].points, seen[0].seconds_left) == (0, 2, None)
    assert seen[3].seconds_left == 3.0
    assert (seen[-1].done, seen[-1].seconds_left) == (2, 0.0)
    assert books.computed == 6
    assert outstanding(books.experiment, books.results()) == []


def test_what_is_there_already_is_not_computed_again() -> None:
    first = ledger()
    runs = first.open(())
    rows, _ = first.take(runs[:4], [measured(run) for run in runs[:4]])
    again = ledger()
    assert again.open(rows) == runs[4:]
    assert again.progress(elapsed_seconds=0.0).done == 1


def test_an_imprecise_point_goes_on_while_others_are_out() -> None:
    books = ledger(precision=Precision("mean", 0.05, 200))
    out = books.open(())
    noisy = [run for run in out if run.parameters["noise"]]
    _, further = books.take(out, [measured(run) for run in noisy])
    assert further
    assert {run.point for run in further} == {noisy[0].point}
    assert not {run.seed for run in further} & {run.seed for run in noisy}


def test_the_order_in_which_runs_come_home_does_not_matter() -> None:
    tables = []
    for seed in (1, 2):
        books = ledger(precision=Precision("mean", 0.1, 60))
        carried_out(books, measured, random.Random(seed))
        tables.append(set(books.results().rows))
    assert tables[0] == tables[1]


def test_a_failed_point_is_given_up_and_the_others_are_not() -> None:
    def some_fail(run: Run) -> Outcome:
        return failed(run) if run.parameters["noise"] else measured(run)

    books = ledger(replications=2, precision=Precision("mean", 0.01, 50))
    seen = carried_out(books, some_fail, random.Random(3))
    assert (seen[-1].done, seen[-1].failed) == (1, 1)
    assert [failure.parameters["noise"] for failure in books.failures] == [2.0, 2.0]
    assert books.failures[0].error == "ArithmeticError: no"
    assert {row.value for row in books.results().rows} == {10.0}


def test_a_failed_piece_of_a_long_point_fails_that_point() -> None:
    books = ledger(points=grid(noise=[0.0], length=[100, 300]), replications=1, cut=Cut("length", 100))
    runs: Sequence[Run] = books.open(())
    books.take(runs, [measured(runs[0]), *(failed(run) for run in runs[1:2]), *(measured(run) for run in runs[2:])])
    progress = books.progress(elapsed_seconds=1.0)
    assert (progress.done, progress.failed) == (1, 1)
    assert books.failures[0].point == runs[1].point

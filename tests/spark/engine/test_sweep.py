from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from headrace.spark.engine.session import Session
from headrace.spark.engine.sweep import sweep
from headrace.spark.engine.table import Table
from headrace.spark.plan.experiment import Experiment, Precision, grid
from headrace.spark.plan.ledger import Progress
from headrace.spark.plan.results import Row
from headrace.spark.plan.version import version
from tests.spark.kernels import noise

pytestmark = pytest.mark.spark

DEFAULTS = {parameter.name: parameter.default for parameter in noise.PARAMETERS}


def plan(**changes: object) -> Experiment:
    given: dict[str, object] = {
        "name": "noise",
        "kernel": "tests.spark.kernels.noise",
        "points": grid(**(DEFAULTS | {"nodes": list(range(1, 9))})),
        "replications": 3,
    }
    return Experiment(**(given | changes))  # type: ignore[arg-type]


def numbers(rows: tuple[Row, ...]) -> list[Row]:
    """The rows without what differs from run to run: the time they took."""
    return sorted((replace_seconds(row) for row in rows), key=lambda row: (row.point, row.seed, row.metric))


def replace_seconds(row: Row) -> Row:
    return Row(*(getattr(row, name) if name != "seconds" else 0.0 for name in Row.__struct_fields__))


def test_a_sweep_measures_what_the_kernel_does_here_and_tells_how_far_it_is(running: Session, tmp_path: Path) -> None:
    experiment = plan(metrics=("mean",))
    seen: list[Progress] = []
    swept = sweep(running, experiment, Table(tmp_path, "noise"), watch=seen.append)
    assert swept.computed == 24
    for point in experiment.points:
        seeds = [experiment.seed_of(point, number) for number in range(3)]
        assert swept.results.values("mean", **point) == [noise.measure(point, seed)["mean"] for seed in seeds]
    assert {row.metric for row in swept.results.rows} == {"mean"}
    assert {row.half_width for row in swept.results.rows} == {0.25}
    assert all(row.seconds > 0 for row in swept.results.rows)
    assert (seen[0].done, seen[0].points, seen[0].seconds_left) == (0, 8, None)
    assert (seen[-1].done, seen[-1].seconds_left) == (8, pytest.approx(0, abs=1e-6))
    assert [each.done for each in seen] == sorted(each.done for each in seen)


def test_partitions_do_not_change_the_numbers(running: Session, tmp_path: Path) -> None:
    tables = [
        sweep(replace(running, slots=slots), plan(), Table(tmp_path, f"by-{slots}")).results.rows for slots in (1, 7)
    ]
    assert numbers(tables[0]) == numbers(tables[1])


def test_a_failed_point_is_reported_and_the_others_go_on(running: Session, tmp_path: Path) -> None:
    points = (*plan().points, DEFAULTS | {"fails": True})
    table = Table(tmp_path, "noise")
    swept = sweep(running, plan(points=points, replications=1), table)
    (failure,) = swept.failures
    assert failure.parameters["fails"] is True
    assert failure.error == "ArithmeticError: asked to fail"
    assert swept.computed == len(points) - 1
    assert len({row.point for row in table.read(version("tests.spark.kernels.noise"))}) == len(points) - 1


def test_a_run_that_kills_its_worker_fails_alone(running: Session, tmp_path: Path) -> None:
    points = grid(number=[1, 2, 3, 4], kills=False) + grid(number=5, kills=True)
    experiment = plan(kernel="tests.spark.kernels.deadly", points=points, replications=1)
    swept = sweep(replace(running, slots=1), experiment, Table(tmp_path, "deadly"))
    assert [failure.parameters["number"] for failure in swept.failures] == [5]
    assert "the executor failed" in swept.failures[0].error
    assert swept.computed == 4


class Enough(Exception):
    """Raised by a watcher, as Ctrl-C would be."""


def stop_after(points: int) -> Callable[[Progress], None]:
    def watch(progress: Progress) -> None:
        if progress.done >= points:
            raise Enough

    return watch


def test_an_interrupted_sweep_computes_only_what_is_missing(running: Session, tmp_path: Path) -> None:
    table = Table(tmp_path, "noise")
    with pytest.raises(Enough):
        sweep(running, plan(), table, watch=stop_after(3))
    kept = {(row.point, row.seed) for row in table.read(version("tests.spark.kernels.noise"))}
    assert 3 <= len(kept) < 24
    swept = sweep(running, plan(), table)
    assert swept.computed == 24 - len(kept)
    assert numbers(swept.results.rows) == numbers(sweep(running, plan(), Table(tmp_path, "whole")).results.rows)
    assert sweep(running, plan(), table).computed == 0


def test_points_are_replicated_until_they_are_precise(running: Session, tmp_path: Path) -> None:
    points = grid(**(DEFAULTS | {"noise": [0.0, 2.0]}))
    experiment = plan(points=points, replications=4, precision=Precision("mean", 0.05, 300))
    results = sweep(running, experiment, Table(tmp_path, "noise")).results
    still, noisy = (results.values("mean", **point) for point in points)
    assert len(still) == 4
    assert 4 < len(noisy) < 300
    assert results.estimate("mean", **points[1]).relative <= 0.05

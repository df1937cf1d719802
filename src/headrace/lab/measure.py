"""Runs figures' experiments, and reads back what was measured: the lab's way to Spark and to the tables.

Tables stand in `FOLDER/SCALE/`, one Parquet file an experiment. Spark is started only if something is missing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from headrace.lab.papers import Figure, Scale
from headrace.spark.engine.session import Session, session
from headrace.spark.engine.sweep import sweep
from headrace.spark.engine.table import Table
from headrace.spark.plan.experiment import Experiment
from headrace.spark.plan.ledger import Failure, Progress
from headrace.spark.plan.results import Results
from headrace.spark.plan.schedule import outstanding
from headrace.spark.plan.version import version

Watch = Callable[[str, Progress], None]


@dataclass(frozen=True, slots=True)
class Measured:
    """What came of one experiment. `computed` counts runs, `seconds` is wall time."""

    experiment: Experiment
    table: Table
    computed: int
    failures: tuple[Failure, ...]
    seconds: float


def measure(
    figures: Sequence[Figure],
    *,
    scale: Scale,
    folder: Path,
    master: str,
    fresh: bool = False,
    debug: bool = False,
    watch: Watch,
    finished: Callable[[Measured], None],
) -> list[Measured]:
    """Compute what the figures' tables lack; `fresh` forgets what they hold.

    `watch` is told of each step, and `finished` of each experiment.
    """
    work = {figure.name: (figure.at(scale), table_of(figure, scale, folder)) for figure in figures}
    if fresh:
        for _, table in work.values():
            table.discard()
    lacking = [name for name, (experiment, table) in work.items() if outstanding(experiment, read(experiment, table))]
    done = []
    with ExitStack() as stack:
        spark = stack.enter_context(session(master, debug=debug)) if lacking else None
        for name, (experiment, table) in work.items():
            if spark is not None and name in lacking:
                done.append(_swept(spark, experiment, table, watch))
            else:
                done.append(Measured(experiment, table, 0, (), 0.0))
            finished(done[-1])
    return done


def _swept(spark: Session, experiment: Experiment, table: Table, watch: Watch) -> Measured:
    start = time.monotonic()
    swept = sweep(spark, experiment, table, watch=partial(watch, experiment.name))
    return Measured(experiment, table, swept.computed, swept.failures, time.monotonic() - start)


def table_of(figure: Figure, scale: Scale, folder: Path) -> Table:
    """Where a figure's numbers are."""
    return Table(folder / scale, figure.name, f"{figure.command} --scale {scale} --out {folder}")


def read(experiment: Experiment, table: Table) -> Results:
    """What a table holds of an experiment; Invalid if another version computed it."""
    return Results.of(experiment, table.read(version(experiment.kernel)))

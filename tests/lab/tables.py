"""Tables made without Spark, for tests of what is made from tables."""

from pathlib import Path

from headrace.lab.measure import table_of
from headrace.lab.papers import Scale, figures
from headrace.spark.engine.worker import work_off
from headrace.spark.plan.orders import order, read_outcomes
from headrace.spark.plan.results import Results, rows_of
from headrace.spark.plan.schedule import outstanding
from headrace.spark.plan.version import version


def make_table(name: str, *, scale: Scale, folder: Path, stamp: str = "") -> None:
    """Compute a figure's table here and now; points that fail are left out."""
    (figure,) = figures(name)
    experiment = figure.at(scale)
    runs = {(run.point, run.seed): run for run in outstanding(experiment, Results.of(experiment, ()))}
    rows = [
        row
        for outcome in read_outcomes(work_off(order(experiment, runs.values())))
        if not outcome.error
        for row in rows_of(
            name,
            runs[outcome.point, outcome.seed],
            metrics=outcome.metrics,
            seconds=outcome.seconds,
            version=stamp or version(experiment.kernel),
        )
    ]
    table_of(figure, scale, folder).finish(rows)

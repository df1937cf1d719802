"""The books of a sweep that is under way: what is out, what came home, what failed, and what to run next.

It is told of outcomes and answers with rows to keep and runs to hand out. Each point is looked after by itself: as soon
as none of its runs is out, and it is not precise enough yet, it is replicated further, without waiting for the others.
Who runs what, where, and how long it takes is left to the engine.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from headrace.spark.plan.experiment import Experiment, Parameters, Run
from headrace.spark.plan.orders import Outcome
from headrace.spark.plan.results import Results, Row, rows_of
from headrace.spark.plan.schedule import outstanding, seconds_left


@dataclass(frozen=True, slots=True)
class Failure:
    """A run that could not be computed: what it was asked, and what it said."""

    point: str
    parameters: Parameters
    seed: int
    error: str


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a sweep is, in points; `seconds_left` is unknown before the first result."""

    done: int
    points: int
    failed: int
    seconds_left: float | None


@dataclass(slots=True)
class Ledger:
    """The books of one sweep. `version` is that of the rows that it makes."""

    experiment: Experiment
    version: str
    failures: list[Failure] = field(default_factory=list)
    computed: int = 0
    _rows: dict[str, list[Row]] = field(default_factory=dict)
    _out: dict[str, int] = field(default_factory=dict)
    _done_cost: float = 0.0
    _left_cost: float = 0.0

    def open(self, rows: Iterable[Row]) -> list[Run]:
        """Begin with the rows that are there already; what is to be run first."""
        self._enter(rows)
        return self._handed_out(outstanding(self.experiment, self.results()))

    def take(self, runs: Sequence[Run], outcomes: Iterable[Outcome]) -> tuple[list[Row], list[Run]]:
        """Enter what became of some of the `runs`: the rows to keep, and what is to be run on their account."""
        asked = {(run.point, run.seed): run for run in runs}
        home: list[Row] = []
        points: set[str] = set()
        for outcome in outcomes:
            run = asked[outcome.point, outcome.seed]
            points.add(run.point)
            self._came_home(run)
            if outcome.error:
                self.failures.append(Failure(run.point, run.parameters, run.seed, outcome.error))
            else:
                self.computed += 1
                home += rows_of(
                    self.experiment.name, run, metrics=outcome.metrics, seconds=outcome.seconds, version=self.version
                )
        self._enter(home)
        settled = points - self._out.keys() - self._failed()
        further = [
            run
            for parameters in self.experiment.points
            if self.experiment.point_of(parameters) in settled
            for run in self._wanted(parameters)
        ]
        return home, self._handed_out(further)

    def results(self) -> Results:
        """All that is known."""
        return Results.of(self.experiment, [row for rows in self._rows.values() for row in rows])

    def progress(self, *, elapsed_seconds: float) -> Progress:
        """How far it is, this long after it began."""
        points = {self.experiment.point_of(parameters) for parameters in self.experiment.points}
        failed = self._failed()
        left = seconds_left(elapsed=elapsed_seconds, done_cost=self._done_cost, left_cost=self._left_cost)
        return Progress(len(points - self._out.keys() - failed), len(points), len(failed), left)

    def _wanted(self, parameters: Parameters) -> list[Run]:
        alone = replace(self.experiment, points=(parameters,))
        return outstanding(alone, Results.of(alone, self._rows.get(alone.point_of(parameters), ())))

    def _enter(self, rows: Iterable[Row]) -> None:
        for row in rows:
            self._rows.setdefault(row.point, []).append(row)

    def _handed_out(self, runs: list[Run]) -> list[Run]:
        for run in runs:
            self._left_cost += run.cost
            self._out[run.point] = self._out.get(run.point, 0) + 1
        return runs

    def _came_home(self, run: Run) -> None:
        self._done_cost += run.cost
        self._left_cost -= run.cost
        self._out[run.point] -= 1
        if not self._out[run.point]:
            del self._out[run.point]

    def _failed(self) -> set[str]:
        return {failure.point for failure in self.failures}

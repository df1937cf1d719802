"""Runs an experiment on Spark: orders go out, outcomes come in and are kept at once, until nothing is outstanding.

The driver hands out small jobs, enough of them at a time to keep every slot busy, and looks after each point as its
runs come home: one that is not precise enough yet is replicated further without waiting for the others. A run that
fails is reported with its parameters, and its point is given up; all others go on. An order that brings its executor
down is tried again run by run, so that only the guilty run fails.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field, replace

from headrace.core.errors import Unavailable
from headrace.spark.engine.session import Session
from headrace.spark.engine.table import Table
from headrace.spark.plan.experiment import Experiment, Parameters, Run
from headrace.spark.plan.orders import Outcome, order, read_outcomes
from headrace.spark.plan.results import Results, Row, rows_of
from headrace.spark.plan.schedule import Task, outstanding, seconds_left, tasks
from headrace.spark.plan.version import version

JOBS = 64  # at most, for one batch of runs: each costs the driver some 20 ms
TASKS_IN_FLIGHT = 3  # for each slot: one that runs, and others to take up without waiting for the driver


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


@dataclass(frozen=True, slots=True)
class Swept:
    """What came of a sweep. `computed` counts the runs of this time; the rest was there already."""

    results: Results
    failures: tuple[Failure, ...]
    computed: int


def _unwatched(_: Progress) -> None:
    pass


def sweep(
    session: Session, experiment: Experiment, table: Table, *, watch: Callable[[Progress], None] = _unwatched
) -> Swept:
    """Compute what the table lacks of the experiment. `watch` is told of each step."""
    experiment.check()
    stamp = version(experiment.kernel)
    state = _State(experiment, table, stamp)
    runs = state.start()
    watch(state.progress())
    if runs:
        session.ship(["headrace", experiment.kernel.split(".")[0]])
        _drive(session, state, runs, watch)
    swept = Swept(Results.of(experiment, state.all_rows()), tuple(state.failures), state.computed)
    if swept.results.rows:
        table.finish(swept.results.rows)
    return swept


@dataclass(slots=True)
class _State:
    """What is known so far: rows by point, what is out, what failed."""

    experiment: Experiment
    table: Table
    stamp: str
    rows: dict[str, list[Row]] = field(default_factory=dict)
    out: dict[str, int] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    computed: int = 0
    done_cost: float = 0.0
    left_cost: float = 0.0
    started: float = field(default_factory=time.monotonic)

    def start(self) -> list[Run]:
        """Read what is there, and find what to run first."""
        for row in self.table.read(self.stamp):
            self.rows.setdefault(row.point, []).append(row)
        return self._wanted(self.experiment, self.all_rows())

    def all_rows(self) -> list[Row]:
        return [row for rows in self.rows.values() for row in rows]

    def take(self, runs: Sequence[Run], outcomes: Iterable[Outcome]) -> list[Run]:
        """Keep what came home; what to run next on its account."""
        asked = {(run.point, run.seed): run for run in runs}
        home: list[Row] = []
        points: set[str] = set()
        for outcome in outcomes:
            run = asked[outcome.point, outcome.seed]
            self._home(run)
            points.add(run.point)
            if outcome.error:
                self.failures.append(Failure(run.point, run.parameters, run.seed, outcome.error))
                continue
            home += rows_of(
                self.experiment.name, run, metrics=outcome.metrics, seconds=outcome.seconds, version=self.stamp
            )
            self.computed += 1
        if home:
            self.table.add(home)
        for row in home:
            self.rows.setdefault(row.point, []).append(row)
        return [run for point in self._settled(points) for run in self._further(point)]

    def progress(self) -> Progress:
        points = {self.experiment.point_of(parameters) for parameters in self.experiment.points}
        left = seconds_left(elapsed=time.monotonic() - self.started, done_cost=self.done_cost, left_cost=self.left_cost)
        failed = self._failed()
        return Progress(len(points - self.out.keys() - failed), len(points), len(failed), left)

    def _home(self, run: Run) -> None:
        self.done_cost += run.cost
        self.left_cost -= run.cost
        self.out[run.point] -= 1
        if not self.out[run.point]:
            del self.out[run.point]

    def _settled(self, points: set[str]) -> list[Parameters]:
        """Those points of which nothing is out any more, and nothing failed."""
        over = points - self.out.keys() - self._failed()
        return [each for each in self.experiment.points if self.experiment.point_of(each) in over]

    def _further(self, parameters: Parameters) -> list[Run]:
        alone = replace(self.experiment, points=(parameters,))
        return self._wanted(alone, self.rows.get(self.experiment.point_of(parameters), []))

    def _wanted(self, experiment: Experiment, rows: Iterable[Row]) -> list[Run]:
        runs = outstanding(experiment, Results.of(experiment, rows))
        for run in runs:
            self.left_cost += run.cost
            self.out[run.point] = self.out.get(run.point, 0) + 1
        return runs

    def _failed(self) -> set[str]:
        return {failure.point for failure in self.failures}


def _drive(session: Session, state: _State, runs: list[Run], watch: Callable[[Progress], None]) -> None:
    waiting = deque(_jobs(runs, session.slots))
    size = max(len(job) for job in waiting)
    at_a_time = max(2, -(-TASKS_IN_FLIGHT * session.slots // size))
    flying: dict[Future[list[bytes]], list[Task]] = {}
    pool = ThreadPoolExecutor(at_a_time, thread_name_prefix="sweep")
    try:
        while waiting or flying:
            while waiting and len(flying) < at_a_time:
                job = waiting.popleft()
                flying[pool.submit(session.submit, [order(state.experiment, task.runs) for task in job])] = job
            home, _ = wait(flying, return_when=FIRST_COMPLETED)
            for future in home:
                tasks_home = flying.pop(future)
                outcomes, again = _outcomes(session, future, tasks_home)
                waiting.extendleft(again)
                further = state.take([run for task in tasks_home for run in task.runs], outcomes)
                waiting.extend(_jobs(further, session.slots))
            watch(state.progress())
    except BaseException:
        with suppress(Exception):  # what led here counts
            session.cancel()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _jobs(runs: Sequence[Run], slots: int) -> list[list[Task]]:
    """Runs as tasks, and these as jobs, the dearest first."""
    made = tasks(runs, slots)
    size = -(-len(made) // JOBS)
    return [made[at : at + size] for at in range(0, len(made), size or 1)]


def _outcomes(session: Session, future: Future[list[bytes]], job: list[Task]) -> tuple[list[Outcome], list[list[Task]]]:
    """What a job brought home; if it brought its executor down, its runs again, one by one."""
    error = future.exception()
    if error is None:
        return [outcome for done in future.result() for outcome in read_outcomes(done)], []
    runs = [run for task in job for run in task.runs]
    if not session.alive:
        raise Unavailable("Spark stopped in the middle of the sweep; run it again to go on") from error
    if len(runs) > 1:
        return [], [[Task((run,))] for run in runs]
    said = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
    return [Outcome(runs[0].point, runs[0].seed, error=f"the executor failed: {said}")], []

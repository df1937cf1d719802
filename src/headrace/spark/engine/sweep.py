"""Runs an experiment on Spark: orders go out, outcomes come in and are kept at once, until nothing is outstanding.

The driver hands out small jobs, enough of them at a time to keep every slot busy. A run that fails is reported with its
parameters, and its point is given up; all others go on. An order that brings its executor down is tried again run by
run, so that only the guilty run fails. What to run, and when a point is done, the plan's ledger knows.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass

from headrace.core.errors import Unavailable
from headrace.spark.engine.session import Session
from headrace.spark.engine.table import Table
from headrace.spark.plan.experiment import Experiment, Run
from headrace.spark.plan.ledger import Failure, Ledger, Progress
from headrace.spark.plan.orders import Outcome, order, read_outcomes
from headrace.spark.plan.results import Results
from headrace.spark.plan.schedule import Task, tasks
from headrace.spark.plan.version import version

JOBS = 64  # at most, for one batch of runs: each costs the driver some 20 ms
TASKS_IN_FLIGHT = 3  # for each slot: one that runs, and others to take up without waiting for the driver


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
    ledger = Ledger(experiment, version(experiment.kernel))
    start = time.monotonic()

    def tell() -> None:
        watch(ledger.progress(elapsed_seconds=time.monotonic() - start))

    with table.held():
        runs = ledger.open(table.read(ledger.version))
        tell()
        if runs:
            session.ship(["headrace", experiment.kernel.split(".")[0]])
            _drive(session, ledger, table, runs, tell)
        swept = Swept(ledger.results(), tuple(ledger.failures), ledger.computed)
        if swept.results.rows:
            table.finish(swept.results.rows)
    return swept


def _drive(session: Session, ledger: Ledger, table: Table, runs: list[Run], tell: Callable[[], None]) -> None:
    """Keep jobs flying until no run is outstanding."""
    waiting = deque(_jobs(runs, session.slots))
    size = max(len(job) for job in waiting)
    at_a_time = max(2, -(-TASKS_IN_FLIGHT * session.slots // size))
    flying: dict[Future[list[bytes]], list[Task]] = {}
    pool = ThreadPoolExecutor(at_a_time, thread_name_prefix="sweep")
    try:
        while waiting or flying:
            while waiting and len(flying) < at_a_time:
                job = waiting.popleft()
                orders = [order(ledger.experiment, task.runs) for task in job]
                flying[pool.submit(session.submit, orders)] = job
            for future in wait(flying, return_when=FIRST_COMPLETED).done:
                asked = [run for task in flying.pop(future) for run in task.runs]
                outcomes, again = _outcomes(session, future, asked)
                rows, further = ledger.take(asked, outcomes)
                if rows:
                    table.add(rows)
                waiting.extendleft([Task((run,))] for run in again)
                waiting.extend(_jobs(further, session.slots))
            tell()
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


def _outcomes(session: Session, future: Future[list[bytes]], asked: list[Run]) -> tuple[list[Outcome], list[Run]]:
    """What a job brought home; if it brought its executor down, those of its runs to try again one by one."""
    error = future.exception()
    if error is None:
        return [outcome for done in future.result() for outcome in read_outcomes(done)], []
    if not session.alive:
        raise Unavailable("Spark stopped in the middle of the sweep; run it again to go on") from error
    if len(asked) > 1:
        return [], asked
    said = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
    return [Outcome(asked[0].point, asked[0].seed, error=f"the executor failed: {said}")], []

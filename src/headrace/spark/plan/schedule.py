"""What is still to be run, in which tasks, and how long it will take.

`outstanding` is the stopping rule and the resumption of a sweep in one: it looks only at what has been measured, so
an interrupted sweep goes on to the same table. Tasks are small and the dearest come first, so that executors end
together whatever the points cost.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from headrace.core import estimates
from headrace.spark.plan.experiment import Experiment, Parameters, Run
from headrace.spark.plan.results import Results

TASKS_A_SLOT = 16


@dataclass(frozen=True, slots=True)
class Task:
    """Runs that one executor does in one go."""

    runs: tuple[Run, ...]

    @property
    def cost(self) -> float:
        return math.fsum(run.cost for run in self.runs)


def outstanding(experiment: Experiment, results: Results, failed: Collection[str] = ()) -> list[Run]:
    """The runs to do next, all at once; none when the experiment is complete. `failed` points are left alone."""
    return [
        run
        for parameters in experiment.points
        if experiment.point_of(parameters) not in failed
        for run in _outstanding(experiment, results, parameters)
    ]


def _outstanding(experiment: Experiment, results: Results, parameters: Parameters) -> list[Run]:
    """A point's runs in stages: those planned, then as many more as its precision asks for."""
    done = results.seeds(parameters)
    count = experiment.planned(parameters)
    precision = experiment.precision
    if precision is not None:
        count = min(max(count, 2), precision.most)
    while True:
        missing = [run for run in experiment.runs(parameters, 0, count) if run.seed not in done]
        if missing or precision is None or count >= precision.most:
            return missing
        estimate = estimates.mean(results.values(precision.metric, **parameters)[:count])
        if estimate.relative <= precision.relative:
            return []
        count = min(precision.most, _more(count, estimate.relative / precision.relative))


def _more(count: int, excess: float) -> int:
    """How many replications should do, given how far too wide the interval is; at most twice as many at once."""
    return max(count + 1, math.ceil(count * min(excess * excess, 2.0)))


def tasks(runs: Sequence[Run], slots: int) -> list[Task]:
    """The runs as tasks, the dearest first.

    A task holds a sixteenth of a slot's share of all cost at most, or one run that costs more than that.
    """
    limit = math.fsum(run.cost for run in runs) / (slots * TASKS_A_SLOT)
    made: list[Task] = []
    held: list[Run] = []
    cost = 0.0
    for run in sorted(runs, key=lambda run: (-run.cost, run.point, run.seed)):
        if held and cost + run.cost > limit * (1 + 1e-9):
            made.append(Task(tuple(held)))
            held, cost = [], 0.0
        held.append(run)
        cost += run.cost
    if held:
        made.append(Task(tuple(held)))
    return made


def seconds_left(*, elapsed: float, done_cost: float, left_cost: float) -> float | None:
    """How long the rest will take at the pace so far; nothing is known before the first result."""
    return elapsed * left_cost / done_cost if done_cost > 0 else None

"""Many seeds of many scenarios, in as many processes as asked for, and what came of them in figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import product
from typing import Any, Final

from headrace.core.errors import Invalid
from headrace.core.names import nearest
from headrace.sim.checkers import verdict as v
from headrace.sim.run import Result
from headrace.sim.scenarios import ALL, carry_out, plan_of

BATCH: Final = 16
"""Runs that a process is given at once."""


@dataclass(slots=True)
class Outcome:
    """What a campaign found."""

    runs: int = 0
    requests: int = 0
    boots: int = 0
    broken: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    failed: list[tuple[str, int, str]] = field(default_factory=list)
    """Scenario, seed and the first thing that was wrong."""

    def take(self, result: Result) -> None:
        self.runs += 1
        self.requests += result.requests
        self.boots += result.boots
        self.broken += result.verdict.counts
        self.faults += result.faults
        if result.verdict.first:
            first = result.verdict.first[0]
            self.failed.append((result.scenario, result.seed, f"{first.invariant}: {first.text}"))

    def as_json(self) -> dict[str, Any]:
        return {
            "runs": self.runs,
            "lost": self.broken[v.LOST],
            "unexpected": self.broken[v.UNEXPECTED],
            "unexplained_duplicates": self.broken[v.DUPLICATE],
            "failed_seeds": sorted({seed for _, seed, _ in self.failed}),
            "faults": dict(sorted(self.faults.items())),
            "broken": dict(sorted(self.broken.items())),
            "failures": [{"scenario": name, "seed": seed, "first": what} for name, seed, what in sorted(self.failed)],
            "requests": self.requests,
            "boots": self.boots,
        }


def scenarios_of(name: str) -> list[str]:
    """The scenarios that a name stands for."""
    if name == "all":
        return list(ALL)
    if name not in ALL:
        raise Invalid(f"there is no scenario {name!r}.{nearest(name, ALL)} There are: all, {', '.join(ALL)}")
    return [name]


def run_all(
    names: Sequence[str], seeds: range, *, jobs: int = 1, on_done: Callable[[int], None] = lambda count: None
) -> Outcome:
    """Run every scenario with every seed; `on_done` hears how many runs are over."""
    outcome = Outcome()
    runs = [(name, seed) for seed, name in product(seeds, names)]
    if jobs == 1:
        for run in runs:
            outcome.take(run_one(run))
            on_done(1)
        return outcome
    with ProcessPoolExecutor(jobs) as pool:
        for results in pool.map(_run_some, _batches(runs)):
            for result in results:
                outcome.take(result)
            on_done(len(results))
    return outcome


def run_one(run: tuple[str, int]) -> Result:
    return carry_out(plan_of(*run))


def _run_some(runs: list[tuple[str, int]]) -> list[Result]:
    return [run_one(run) for run in runs]


def _batches(runs: list[tuple[str, int]]) -> Iterator[list[tuple[str, int]]]:
    for start in range(0, len(runs), BATCH):
        yield runs[start : start + BATCH]

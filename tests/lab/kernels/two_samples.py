"""The two-sample test that holds a machine against its kernel, with its power.

Each side gives independent runs; a run is its statistics by name. The means of each are compared by Welch's test at
a level that, over all statistics, lets a machine that is right fail once in a thousand times. The seeds are fixed, so a
test that passes goes on passing; the level says how little luck that took. `detectable` is the relative difference of
means that would be found with probability 0.9.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist, mean, variance

LEVEL = 0.001
POWER = 0.9

Run = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Comparison:
    """One statistic on both sides."""

    machine: float
    kernel: float
    error: float
    """The standard error of their difference."""
    critical: float
    """How many standard errors the difference may be."""

    @property
    def agrees(self) -> bool:
        return abs(self.machine - self.kernel) <= self.critical * self.error

    @property
    def detectable(self) -> float:
        return (self.critical + NormalDist().inv_cdf(POWER)) * self.error / abs(self.kernel)


def compare(machine: Sequence[Run], kernel: Sequence[Run]) -> dict[str, Comparison]:
    """Each statistic of runs of the machine against runs of the kernel; both many, so that means are normal."""
    critical = NormalDist().inv_cdf(1 - LEVEL / (2 * len(machine[0])))
    compared = {}
    for name in machine[0]:
        ours, theirs = [run[name] for run in machine], [run[name] for run in kernel]
        error = (variance(ours) / len(ours) + variance(theirs) / len(theirs)) ** 0.5
        compared[name] = Comparison(mean(ours), mean(theirs), error, critical)
    return compared


def compare_pairs(machine: Sequence[Run], kernel: Sequence[Run]) -> dict[str, Comparison]:
    """The same for runs that were fed alike, pair by pair: the differences of the pairs have a mean of zero."""
    critical = NormalDist().inv_cdf(1 - LEVEL / (2 * len(machine[0])))
    compared = {}
    for name in machine[0]:
        ours, theirs = [run[name] for run in machine], [run[name] for run in kernel]
        error = (variance([a - b for a, b in zip(ours, theirs, strict=True)]) / len(ours)) ** 0.5
        compared[name] = Comparison(mean(ours), mean(theirs), error, critical)
    return compared

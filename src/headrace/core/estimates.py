"""Estimates with intervals, from simulation output: what every room means by "± ".

Warm-up removal, batch means within one run, independent replications, and paired comparisons under common
random numbers, all with 95 % Student intervals. Plain arithmetic over plain numbers; it stands in `core` since
kernels, the sweep planner and the claims must agree on it and share no other room. Reference: Law, "Simulation
Modeling and Analysis", ch. 9 and 10; White, "An effective truncation heuristic" (1997) for the warm-up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value and the half-width of its 95 % interval; no half-width when nothing tells how sure it is."""

    value: float
    half_width: float | None = None

    @property
    def low(self) -> float:
        return self.value - (self.half_width or 0.0)

    @property
    def high(self) -> float:
        return self.value + (self.half_width or 0.0)

    @property
    def relative(self) -> float:
        """Half-width over value: what a stopping rule looks at. Infinite while it is unknown."""
        if self.half_width is None:
            return math.inf
        if self.half_width == 0:
            return 0.0
        return math.inf if self.value == 0 else self.half_width / abs(self.value)

    def __str__(self) -> str:
        """As people write it: the half-width with two digits, the value to the same place."""
        if not self.half_width or not math.isfinite(self.half_width):
            return f"{self.value:.4g}"
        places = max(0, 1 - math.floor(math.log10(self.half_width)))
        return f"{self.value:.{places}f} ± {self.half_width:.{places}f}"


@lru_cache(maxsize=4096)
def student(degrees: int, confidence: float = CONFIDENCE) -> float:
    """The t with P(|T| <= t) = `confidence` for a whole number of degrees of freedom.

    The probability is a finite sum in the angle atan(t / sqrt(degrees)) (Abramowitz and Stegun 26.7.3, 26.7.4);
    the angle is bisected.
    """
    if degrees < 1:
        raise ValueError(f"{degrees} degrees of freedom: at least 1 is needed")
    low, high = 0.0, math.pi / 2
    for _ in range(60):
        middle = (low + high) / 2
        if _within(middle, degrees) < confidence:
            low = middle
        else:
            high = middle
    return math.sqrt(degrees) * math.tan(low)


def _within(angle: float, degrees: int) -> float:
    """P(|T| <= sqrt(degrees) tan(angle))."""
    cosine = math.cos(angle)
    odd = degrees % 2 == 1
    term = cosine if odd else 1.0
    total = term if degrees > 1 else 0.0
    for power in range(3 if odd else 2, degrees - 1, 2):
        term *= cosine * cosine * (power - 1) / power
        total += term
    total *= math.sin(angle)
    return (angle + total) * 2 / math.pi if odd else total


def mean(values: Sequence[float]) -> Estimate:
    """The mean of independent values, such as replications, with its Student interval."""
    count = len(values)
    centre = math.fsum(values) / count
    if count < 2:
        return Estimate(centre)
    return Estimate(centre, student(count - 1) * _deviation(values, centre) / math.sqrt(count))


def difference(first: Sequence[float], second: Sequence[float]) -> Estimate:
    """The mean of `first` less `second`, pair by pair: runs that shared their random numbers."""
    return mean([a - b for a, b in zip(first, second, strict=True)])


def ratio(first: Sequence[float], second: Sequence[float]) -> Estimate:
    """The mean of `first` over the mean of `second`, pair by pair, by the delta method."""
    count = len(first)
    below = math.fsum(second) / count
    if below == 0:
        raise ZeroDivisionError("a ratio to a mean of zero")
    quotient = math.fsum(first) / count / below
    if count < 2:
        return Estimate(quotient)
    residuals = [a - quotient * b for a, b in zip(first, second, strict=True)]
    return Estimate(quotient, student(count - 1) * _deviation(residuals, 0.0) / math.sqrt(count) / abs(below))


def batches(series: Sequence[float], count: int = 30) -> list[float]:
    """The means of `count` equal, consecutive stretches; a remainder is left off at the start."""
    size = len(series) // count
    if size == 0:
        raise ValueError(f"a series of {len(series)} cannot be cut into {count} batches")
    start = len(series) - size * count
    return [math.fsum(series[at : at + size]) / size for at in range(start, len(series), size)]


def warm_up(series: Sequence[float]) -> int:
    """How many values to drop from the start (the MSER rule).

    The cut that gives the rest the least squared error of its mean, sought in the first half: a minimum at its
    very end says that the run was too short to settle.
    """
    count = len(series)
    best, least = 0, math.inf
    total = squares = 0.0
    shift = series[-1] if count else 0.0  # against cancellation in the squares
    for cut in range(count - 1, -1, -1):
        value = series[cut] - shift
        total += value
        squares += value * value
        kept = count - cut
        error = (squares - total * total / kept) / (kept * kept)
        if cut <= count // 2 and error <= least:
            best, least = cut, error
    return best


def steady(series: Sequence[float], count: int = 30) -> Estimate:
    """The steady-state mean of one run: warm-up removed, then batch means.

    `series` is in the order of time; means of short stretches serve as well as single observations. Batches must
    be long against the run's memory for the interval to be honest.
    """
    kept = series[warm_up(series) :]
    return mean(batches(kept, min(count, len(kept))))


def _deviation(values: Sequence[float], centre: float) -> float:
    return math.sqrt(math.fsum((value - centre) ** 2 for value in values) / (len(values) - 1))

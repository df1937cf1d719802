"""A claim: one statement of a paper, what it leads us to expect, and what was measured.

Claims are data. The verdict is computed from the measurement and its interval, never written down; what the author
of a claim adds is the reading under which it holds, or the reason why it does not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from headrace.core.errors import Gone
from headrace.core.estimates import Estimate
from headrace.spark.plan.results import Results


class Verdict(StrEnum):
    CONFIRMED = "confirmed"
    WITH_A_NOTE = "confirmed with a note"
    NOT_CONFIRMED = "not confirmed"
    NOT_MEASURED = "not measured"


class Expectation(Protocol):
    """A predicate over a measured value. Its text completes "expected …"."""

    def holds(self, value: float) -> bool: ...


@dataclass(frozen=True, slots=True)
class AtLeast:
    """The value is `bound` or more."""

    bound: float

    def holds(self, value: float) -> bool:
        return value >= self.bound

    def __str__(self) -> str:
        return f"at least {self.bound:.4g}"


@dataclass(frozen=True, slots=True)
class AtMost:
    """The value is `bound` or less."""

    bound: float

    def holds(self, value: float) -> bool:
        return value <= self.bound

    def __str__(self) -> str:
        return f"at most {self.bound:.4g}"


@dataclass(frozen=True, slots=True)
class Between:
    """The value lies from `low` to `high`."""

    low: float
    high: float

    def holds(self, value: float) -> bool:
        return self.low <= value <= self.high

    def __str__(self) -> str:
        return f"between {self.low:.4g} and {self.high:.4g}"


def about(value: float, *, within: float) -> Between:
    """`value`, give or take a share of it: `about(0.1, within=0.05)` is 0.095 to 0.105."""
    spread = abs(value) * within
    return Between(value - spread, value + spread)


def quotient(above: Estimate | float, below: Estimate | float) -> Estimate:
    """Of two independent estimates; a plain number is known exactly."""
    above, below = (each if isinstance(each, Estimate) else Estimate(each, 0.0) for each in (above, below))
    value = above.value / below.value
    if above.half_width is None or below.half_width is None:
        return Estimate(value)
    return Estimate(value, math.hypot(above.half_width, value * below.half_width) / abs(below.value))


Measured = Estimate | float | Mapping[str, Estimate | float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A statement of a paper (or one of ours, if `source` says so).

    `measure` gets the results of each of the `experiments`, in that order, and returns one value or several by name;
    `expect` must hold for every one. `note` qualifies a claim that holds: the reading it needs, what it leaves out.
    `why_not` says why it does not, should it not.
    """

    name: str
    text: str
    source: str
    experiments: tuple[str, ...]
    measure: Callable[..., Measured]
    expect: Expectation
    unit: str = ""
    note: str = ""
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class Judged:
    """A claim with what was measured and what follows."""

    claim: Claim
    measured: Mapping[str, Estimate]
    verdict: Verdict
    why: str

    def plain(self) -> dict[str, Any]:
        """The claim as plain data, for JSON."""
        return {
            "claim": self.claim.name,
            "text": self.claim.text,
            "source": self.claim.source,
            "experiments": list(self.claim.experiments),
            "expected": str(self.claim.expect),
            "measured": {
                name: {"value": estimate.value, "half_width": estimate.half_width}
                for name, estimate in self.measured.items()
            },
            "unit": self.claim.unit,
            "verdict": str(self.verdict),
            "why": self.why,
        }


def judge(claim: Claim, results: Mapping[str, Results]) -> Judged:
    """Measure a claim on the tables that are there.

    Confirmed: every value meets the expectation with its whole interval. With a note: every value does, but an
    interval reaches beyond, or the claim carries a note. Otherwise not confirmed.
    """
    absent = [name for name in claim.experiments if name not in results]
    if absent:
        return Judged(claim, {}, Verdict.NOT_MEASURED, f"there is no table of {', '.join(absent)} yet")
    try:
        measured = _named(claim.measure(*(results[name] for name in claim.experiments)))
    except Gone as error:
        return Judged(claim, {}, Verdict.NOT_MEASURED, str(error))
    outside = [name for name, estimate in measured.items() if not claim.expect.holds(estimate.value)]
    if outside:
        which = "" if len(measured) == 1 else f"Outside what is expected: {'; '.join(outside)}. "
        return Judged(claim, measured, Verdict.NOT_CONFIRMED, (which + claim.why_not).strip())
    unsure = [
        name
        for name, estimate in measured.items()
        if not (claim.expect.holds(estimate.low) and claim.expect.holds(estimate.high))
    ]
    notes = [claim.note] if claim.note else []
    if unsure:
        subject = "the interval" if len(measured) == 1 else f"the interval of {'; '.join(unsure)}"
        notes.append(f"The value meets the expectation, but {subject} reaches beyond it.")
    return Judged(claim, measured, Verdict.WITH_A_NOTE if notes else Verdict.CONFIRMED, " ".join(notes))


def _named(measured: Measured) -> dict[str, Estimate]:
    values: Mapping[str, Any] = measured if isinstance(measured, Mapping) else {"": measured}
    return {name: value if isinstance(value, Estimate) else Estimate(float(value)) for name, value in values.items()}

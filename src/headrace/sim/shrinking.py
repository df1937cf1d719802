"""From a plan that fails to the few steps that make it fail, and its story.

Delta debugging (Zeller and Hildebrandt, 2002): leave out ever smaller parts of the steps as long as the same invariant
still breaks. Steps do not depend on each other's draws, so whatever is left is a plan of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import msgspec

from headrace.sim.scenarios import AnyPlan, carry_out
from headrace.sim.steps import Step

MOST_RUNS: Final = 1500


@dataclass(frozen=True, slots=True)
class Failure:
    """A failing run, told in full."""

    plan: AnyPlan
    invariant: str
    text: str
    story: list[str]
    runs: int
    """How many runs it took to make it so small."""


def tell_failure(plan: AnyPlan, *, on_run: Callable[[int], None] = lambda steps: None) -> Failure | None:
    """The smallest plan found that breaks what this one breaks, with its story; None when nothing breaks."""
    result = carry_out(plan)
    if result.verdict.is_good:
        return None
    invariant = result.verdict.first[0].invariant
    runs = 0

    def fails(steps: list[Step]) -> bool:
        nonlocal runs
        runs += 1
        on_run(len(steps))
        return bool(carry_out(msgspec.structs.replace(plan, steps=steps)).verdict.counts[invariant])

    steps = shrink(plan.steps, fails, most_runs=MOST_RUNS)
    small = msgspec.structs.replace(plan, steps=steps)
    story: list[str] = []
    final = carry_out(small, story=story)
    text = next(found.text for found in final.verdict.first if found.invariant == invariant)
    return Failure(small, invariant, text, _up_to(story, invariant), runs)


def shrink(steps: list[Step], fails: Callable[[list[Step]], bool], *, most_runs: int) -> list[Step]:
    """Leave steps out, in parts of half, a quarter, … down to single ones, while the rest still fails."""
    parts = 2
    runs = 0
    while len(steps) > 1 and runs < most_runs:
        size = -(-len(steps) // parts)
        for start in range(0, len(steps), size):
            if runs >= most_runs:
                return steps
            rest = steps[:start] + steps[start + size :]
            runs += 1
            if fails(rest):
                steps = rest
                parts = max(2, parts - 1)
                break
        else:
            if size == 1:
                break
            parts = min(len(steps), parts * 2)
    return steps


def _up_to(story: list[str], invariant: str) -> list[str]:
    """The story as far as the first time that the invariant is broken."""
    for i, line in enumerate(story):
        if f"*** {invariant}:" in line:
            return story[: i + 1]
    return story

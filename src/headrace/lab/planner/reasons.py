"""Why a plan is as it is, in a sentence for each choice, from the figures that the search found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from headrace.lab.planner.candidate import Candidate, Figures
from headrace.lab.planner.search import BUFFERS, HOPS, Plan
from headrace.lab.planner.units import seconds


def reasons(plan: Plan) -> dict[str, str]:
    """A sentence for each choice, by its name."""
    return dict(_reasons(plan))


def _reasons(plan: Plan) -> Iterator[tuple[str, str]]:
    workload, chosen = plan.workload, plan.chosen
    yield "load", _load(plan)
    yield "design", _design(plan)
    if chosen.design == "stochastic":
        yield "max_hops", _neighbours(plan, "max_hops", HOPS)
    yield "buffers", _neighbours(plan, "buffers", BUFFERS)
    if chosen.wait == "late":
        yield "wait", _late(plan)
    if chosen.access == "learned":
        yield (
            "access",
            "The producers' rates differ, so that even probes would go to slow ones: consumers learn the rates.",
        )
    if chosen.reach:
        yield (
            "reach",
            (
                f"Each consumer connects to {chosen.reach} of {workload.producers} producers, in balanced sets (random "
                "ones would leave some producers unasked), and asks none twice."
            ),
        )


def _load(plan: Plan) -> str:
    load = plan.workload.load
    if load > 1.02:
        idle = plan.workload.consumers / plan.workload.make_rate * (1 - 1 / load)
        return (
            f"The load is {load:.0%}: consumers could take more than is made, so a mean wait of about {seconds(idle)} "
            "cannot be avoided by any design."
        )
    if load < 0.98:
        return (
            f"The load is {load:.0%}: producers make more than is taken, buffers fill, and nearly every probe succeeds."
        )
    return f"The load is {load:.0%}: makers and takers are matched, where a design matters most."


def _design(plan: Plan) -> str:
    found = []
    for design in dict.fromkeys(candidate.design for candidate in plan.simulated):
        own = [(candidate, figures) for candidate, figures in plan.simulated.items() if candidate.design == design]
        candidate, figures = min(own, key=lambda pair: pair[1].mean_wait_seconds.value)
        if candidate.design != plan.chosen.design:
            found.append(f"{design} {_brief(plan, figures)}")
    ours = f"{plan.chosen.design} {_brief(plan, plan.figures)}"
    lost = [design for design in plan.workload.designs if all(one.design != design for one in plan.simulated)]
    tail = f"; {', '.join(lost)} cannot carry the items" if lost else ""
    return f"{ours}; at their best {', '.join(found)}{tail}." if found else f"{ours}{tail}."


def _brief(plan: Plan, figures: Figures) -> str:
    bodies = ", bodies cross twice" if figures.body_bytes_per_item > plan.workload.item_bytes else ""
    wait, messages = seconds(figures.mean_wait_seconds.value), figures.messages_per_item.value
    return f"waits {wait} with {messages:.3g} messages an item{bodies}"


def _neighbours(plan: Plan, name: str, steps: tuple[int, ...]) -> str:
    """What one step less and one step more of a parameter would give, by the models."""
    value = getattr(plan.chosen, name)
    said = []
    for step in (
        max((one for one in steps if one < value), default=None),
        min((one for one in steps if one > value), default=None),
    ):
        if step is None:
            continue
        other = replace(plan.chosen, max_hops=step) if name == "max_hops" else replace(plan.chosen, buffers=step)
        figures = plan.predicted.get(_plain(other))
        here = plan.predicted.get(_plain(plan.chosen))
        if figures is not None and here is not None:
            wait = figures.mean_wait_seconds.value / here.mean_wait_seconds.value - 1
            messages = figures.messages_per_item.value - here.messages_per_item.value
            said.append(f"{step} would change the mean wait by {wait:+.0%} and the messages by {messages:+.2f}")
    return "; ".join(said) + " (by the models)."


def _plain(candidate: Candidate) -> Candidate:
    return replace(candidate, wait="at-last")


def _late(plan: Plan) -> str:
    other = plan.simulated.get(_plain(plan.chosen))
    if other is None:
        return "Waiting at all visited producers shortens the longest waits."
    return (
        f"Waiting at all visited producers takes the 99th percentile from {seconds(other.p99_wait_seconds)} to "
        f"{seconds(plan.figures.p99_wait_seconds)}, for {plan.figures.messages_per_item.value:.2f} instead of "
        f"{other.messages_per_item.value:.2f} messages an item."
    )

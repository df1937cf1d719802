"""A plan told: as text for people, as plain data for machines."""

from __future__ import annotations

import textwrap
from dataclasses import replace
from typing import Any

from headrace.lab.planner.candidate import Figures
from headrace.lab.planner.reasons import reasons
from headrace.lab.planner.search import Plan, Remedy
from headrace.lab.planner.units import seconds, size


def as_text(plan: Plan) -> str:
    """The plan, what to expect of it beside the targets, why, and what would do if the targets are missed."""
    title = plan.workload.title
    if plan.missed:
        lines = [f"{title}: nothing meets {' and '.join(plan.missed)}. The nearest of {plan.considered} is"]
    else:
        lines = [f"{title}: the plan, of {plan.considered} considered, is"]
    lines += ["", f"  {plan.chosen}", "", *_table(plan), "", "Why"]
    lines += [_folded(f"{choice}: {why}") for choice, why in reasons(plan).items()]
    if plan.missed:
        lines += [
            "",
            "What would do"
            if plan.remedies
            else "No change of one target, of producers, consumers or messages would do.",
        ]
        lines += [_folded(_remedy(remedy)) for remedy in plan.remedies]
    return "\n".join(lines)


def as_data(plan: Plan) -> dict[str, Any]:
    """The same as plain data."""
    return {
        "workload": plan.workload.title,
        "load": plan.workload.load,
        "met": not plan.missed,
        "missed": list(plan.missed),
        "configuration": plan.chosen.options(),
        "expected": _data(plan.figures),
        "reasons": reasons(plan),
        "would_do": [
            {"change": one.change, "configuration": one.candidate.options(), "expected": _data(one.figures)}
            for one in plan.remedies
        ],
        "considered": plan.considered,
        "simulated": [
            {"configuration": candidate.options(), "expected": _data(figures)}
            for candidate, figures in plan.simulated.items()
        ],
    }


def _remedy(remedy: Remedy) -> str:
    mean, tail = seconds(remedy.figures.mean_wait_seconds.value), seconds(remedy.figures.p99_wait_seconds)
    return f"{remedy.change}: {remedy.candidate} waits {mean} in the mean, {tail} at the 99th percentile."


def _table(plan: Plan) -> list[str]:
    figures, targets = plan.figures, plan.workload.targets.given()
    model = plan.predicted.get(replace(plan.chosen, wait="at-last"))
    rows = [("", "simulated", "by the model", "target")]
    for name, value in figures.by_target().items():
        measured = _in_words(name, value)
        if name == "mean_wait_seconds" and figures.mean_wait_seconds.half_width:
            measured += f" ± {seconds(figures.mean_wait_seconds.half_width)}"
        predicted = "" if model is None else _in_words(name, model.by_target()[name])
        target = ""
        if name in targets:
            target = f"{_in_words(name, targets[name])}, {'missed' if name in plan.missed else 'met'}"
        rows.append(
            (name.removesuffix("_seconds").removesuffix("_bytes").replace("_", " "), measured, predicted, target)
        )
    rows.append(("items a second", f"{figures.throughput:.4g}", "", ""))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    return [
        "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]


def _in_words(name: str, value: float) -> str:
    if name.endswith("_seconds"):
        return seconds(value)
    return size(value) if name.endswith("_bytes") else f"{value:.3g}"


def _folded(text: str) -> str:
    return textwrap.fill(text, width=100, initial_indent="  ", subsequent_indent="    ")


def _data(figures: Figures) -> dict[str, Any]:
    return {
        "mean_wait_seconds": figures.mean_wait_seconds.value,
        "mean_wait_seconds_ci95": figures.mean_wait_seconds.half_width,
        "p99_wait_seconds": figures.p99_wait_seconds,
        "messages_per_item": figures.messages_per_item.value,
        "memory_bytes": figures.memory_bytes,
        "items_per_second": figures.throughput,
        "body_bytes_per_item": figures.body_bytes_per_item,
    }

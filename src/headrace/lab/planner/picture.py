"""The trade-off as a picture: messages against waits, every candidate, the targets and the choice."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib as mpl

from headrace.core.errors import Invalid
from headrace.lab import style
from headrace.lab.planner.search import Plan

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

FORMATS = (".svg", ".png", ".pdf")


def check(path: Path) -> None:
    """Refuse a `path` that no picture can be written to, before any work is done."""
    if path.suffix not in FORMATS:
        raise Invalid(f"--picture is {str(path)!r}: its name must end in {', '.join(FORMATS)}")
    if not path.parent.is_dir():
        raise Invalid(f"--picture is {str(path)!r}: there is no directory {str(path.parent)!r}")


def save(plan: Plan, path: Path) -> None:
    """Write the picture to `path`, in the format that its name says."""
    with mpl.rc_context({"svg.hashsalt": "plan", "svg.fonttype": "none"}):
        draw(plan).savefig(path, facecolor="white", dpi=150)


def draw(plan: Plan) -> Picture:
    """Small points are the models', large ones simulated with their intervals, the ring is the choice."""
    figure, axes = style.picture(
        x="messages an item", y="", panels=2, titles=["mean wait, ms", "99th percentile of waits, ms"], share_y=False
    )
    targets = plan.workload.targets.given()
    for axis, name in zip(axes, ("mean_wait_seconds", "p99_wait_seconds"), strict=True):
        for series, design in enumerate(plan.workload.designs):
            modelled = [
                (figures.messages_per_item.value, figures.by_target()[name] * 1e3)
                for candidate, figures in plan.predicted.items()
                if candidate.design == design and candidate.wait == "at-last"
            ]
            axis.plot(
                [x for x, _ in modelled],
                [y for _, y in modelled],
                linestyle="none",
                marker=".",
                markersize=4,
                alpha=0.45,
                color=style.SERIES[series],
                label=f"{design}, model" if modelled else None,
            )
            for candidate, figures in plan.simulated.items():
                if candidate.design == design:
                    half = figures.mean_wait_seconds.half_width if name == "mean_wait_seconds" else None
                    axis.errorbar(
                        [figures.messages_per_item.value],
                        [figures.by_target()[name] * 1e3],
                        yerr=None if half is None else [half * 1e3],
                        marker=style.MARKERS[series],
                        linestyle="none",
                        capsize=2.5,
                        color=style.SERIES[series],
                        label=f"{design}, simulated",
                    )
        axis.plot(
            [plan.figures.messages_per_item.value],
            [plan.figures.by_target()[name] * 1e3],
            linestyle="none",
            marker="o",
            markersize=14,
            markerfacecolor="none",
            markeredgecolor=style.INK,
            markeredgewidth=1.6,
            label="nearest to the targets" if plan.missed else "the plan",
        )
        if name in targets:
            axis.axhline(targets[name] * 1e3, color=style.INK, linewidth=0.9, linestyle="--", label="target")
        if "messages_per_item" in targets:
            axis.axvline(targets["messages_per_item"], color=style.INK, linewidth=0.9, linestyle="--", label="target")
        axis.set_xscale("log")
        axis.set_yscale("log")
    named = dict(zip(*reversed(axes[0].get_legend_handles_labels()), strict=True))
    figure.legend(list(named.values()), list(named), loc="outside lower center", ncols=3, frameon=False)
    return figure

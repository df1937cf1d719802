"""One look for all pictures: what they are drawn with, and how they become SVG.

Series are told apart by colour (Okabe and Ito's, safe for the colour-blind), by marker and by dash, so that none
depends on colour alone. Measurements are points with intervals, models are lines, and what a paper prints are hollow
diamonds. A picture is drawn once: in the SVG its colours are CSS variables, which the page sets for light and dark.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from headrace.core.estimates import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SERIES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8a6d3b", "#7f7f7f")
INK, FAINT, RULE = "#1c1c1a", "#6b6b66", "#dededa"

MARKERS = ("o", "s", "^", "v", "P", "X", "p", "h")
DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (5, 1.5, 1, 1.5)), (0, (8, 2)), (0, (3, 1)), "-", "-")

# The same colours by the names that they have in a page, and what they are there in the dark.
LIGHT = {"ink": INK, "faint": FAINT, "rule": RULE} | {f"series-{place}": colour for place, colour in enumerate(SERIES)}
DARK = {"ink": "#ececea", "faint": "#a3a39c", "rule": "#3a3c41"} | {
    f"series-{place}": colour
    for place, colour in enumerate(
        ("#5fb4f0", "#ff8a4c", "#3fcf9f", "#e79ac6", "#f2b63d", "#9ad7f5", "#c8a566", "#b0b0b0")
    )
}

_SETTINGS = {
    "font.family": "sans-serif",
    "font.size": 10,
    "text.color": INK,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.titlesize": 10.5,
    "axes.titleweight": "normal",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": RULE,
    "grid.linewidth": 0.7,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "lines.linewidth": 1.6,
    "lines.markersize": 5,
    "legend.frameon": False,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "svg.fonttype": "none",
}

Points = Sequence[tuple[Any, Estimate]]


def picture(
    *, x: str, y: str, panels: int = 1, titles: Sequence[str] = (), share_y: bool = True
) -> tuple[Figure, list[Axes]]:
    """A figure of one or more panels, two a row, each labelled; labels name the unit: "wait, ticks"."""
    columns = min(panels, 2)
    rows = -(-panels // columns)
    layout = ConstrainedLayoutEngine(hspace=0.08, wspace=0.04)
    with mpl.rc_context(_SETTINGS):
        figure = Figure(figsize=(8.4, 4.4 if rows == columns == 1 else 3.5 * rows + 0.4), layout=layout)
        grid = figure.subplots(rows, columns, sharey=share_y, squeeze=False)
    axes = [axis for row in grid for axis in row]
    for axis in axes[panels:]:
        axis.remove()
    del axes[panels:]
    for place, axis in enumerate(axes):
        axis.set_xlabel(x)
        if place % columns == 0 or not share_y:
            axis.set_ylabel(y)
        if titles:
            axis.set_title(titles[place], loc="left")
    return figure, axes


def measured(axis: Axes, label: str, points: Points, *, series: int = 0, joined: bool = False) -> None:
    """Measurements as points with their 95 % intervals; `joined` by a thin line where no model is drawn."""
    axis.errorbar(
        [place for place, _ in points],
        [estimate.value for _, estimate in points],
        yerr=[estimate.half_width or 0.0 for _, estimate in points],
        label=label,
        color=SERIES[series],
        marker=MARKERS[series],
        linestyle=DASHES[series] if joined else "none",
        linewidth=1.1,
        elinewidth=1.1,
        capsize=2.5,
    )


def modelled(axis: Axes, label: str, xs: Sequence[float], ys: Sequence[float], *, series: int = 0) -> None:
    """A model's line, in the colour of the measurements that it predicts."""
    axis.plot(xs, ys, label=label, color=SERIES[series], linestyle=DASHES[series])


def printed(axis: Axes, label: str, xs: Sequence[float], ys: Sequence[float], *, series: int | None = None) -> None:
    """Values that a paper prints, or its authors recorded: hollow diamonds."""
    axis.plot(
        xs,
        ys,
        label=label,
        linestyle="none",
        marker="d",
        markersize=8,
        markerfacecolor="none",
        markeredgewidth=1.2,
        markeredgecolor=INK if series is None else SERIES[series],
        zorder=3,
    )


def bars(axis: Axes, label: str, edges: Sequence[float], heights: Sequence[float], *, series: int = 0) -> None:
    """A histogram as a filled outline: `heights[i]` stands from `edges[i]` to `edges[i + 1]`."""
    axis.stairs(heights, edges, label=label, color=SERIES[series], fill=True, alpha=0.35)
    axis.stairs(heights, edges, color=SERIES[series], linewidth=1.2)


def legend(figure: Figure, axis: Axes) -> None:
    """The names of all series, under the picture, where they cover nothing."""
    named = list(zip(*axis.get_legend_handles_labels(), strict=True))
    named.sort(key=lambda pair: not isinstance(pair[0], ErrorbarContainer))  # measurements first
    figure.legend(
        [handle for handle, _ in named],
        [label for _, label in named],
        loc="outside lower center",
        ncols=min(len(named), 4),
        frameon=False,
        labelcolor=INK,
    )


def svg(figure: Figure, name: str) -> str:
    """The picture as an inline SVG element. The same picture gives the same text; `name` keeps its ids apart."""
    out = io.StringIO()
    with mpl.rc_context(_SETTINGS | {"svg.hashsalt": name}):
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    text = text[text.index("<svg") :]
    # Within a page, a style sheet in one picture would reach everything else, and names of groups would stand there
    # as often as there are pictures; the picture's size is the page's affair.
    text = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>", "", text, flags=re.DOTALL)
    text = re.sub(r'<g id="[^"]*"', "<g", text)
    text = re.sub(r' (?:width|height)="[^"]*pt"', "", text, count=2)
    for variable, colour in LIGHT.items():
        text = re.sub(colour, f"var(--{variable}, {colour})", text, flags=re.IGNORECASE)
    return text

"""What the experiments of 002 share: topologies, horizons, scales, and how policies are shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

from headrace.core.estimates import Estimate
from headrace.lab import style
from headrace.lab.papers import Scale
from headrace.spark.plan.experiment import grid
from headrace.spark.plan.results import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes

KERNEL = "headrace.lab.kernels.networked"
SERIES_KERNEL = "headrace.lab.kernels.networked_series"

# A grid of five would be a line: six it is, in two rows.
FIVE = ("ring:5", "star:5", "complete:5", "grid:2x3")
TEN = ("ring:10", "star:10", "complete:10", "grid:2x5")
TWENTY = ("ring:20", "star:20", "complete:20", "grid:4x5")

LABELS = {
    "isolated": "isolated",
    "paper": "as in the paper",
    "cost": "by cost (ours)",
    "shared": "shared: the bound",
}
PLACE = {policy: place for place, policy in enumerate(LABELS)}


def clusters(topology: str) -> int:
    """How many clusters a topology of these experiments has."""
    size = topology.partition(":")[2]
    rows, _, columns = size.partition("x")
    return int(rows) * int(columns or 1)


def horizon(topology: str) -> float:
    """The paper measures 45, 70 and 120 s at 5, 10 and 20 clusters: each has its burst, and 20 s are left."""
    return 5.0 * clusters(topology) + 20.0


def points(topologies: Sequence[str], **others: Sequence[Any] | Any) -> tuple[dict[str, Any], ...]:
    """The grid of the topologies, each to its horizon, and the other axes."""
    return tuple(
        point
        for topology in topologies
        for point in grid(**{"topology": topology, "until": horizon(topology), **others})
    )


def cost(parameters: Mapping[str, Any]) -> float:
    """Requests, in proportion."""
    return clusters(parameters["topology"]) * float(parameters["until"])


def seeds(scale: Scale, at_paper_scale: int) -> int:
    return at_paper_scale if scale is Scale.PAPER else 3


def milliseconds(estimate: Estimate) -> Estimate:
    half = estimate.half_width
    return Estimate(1000 * estimate.value, None if half is None else 1000 * half)


def policies(
    axis: Axes,
    results: Results,
    metric: str,
    *,
    over: str,
    of: Sequence[str] = tuple(LABELS),
    joined: bool = True,
    **where: Any,
) -> None:
    """The metric of each policy, in ms, along a parameter."""
    for policy in of:
        found = results.series(metric, over=over, policy=policy, **where)
        style.measured(
            axis,
            LABELS[policy],
            [(place, milliseconds(estimate)) for place, estimate in found],
            series=PLACE[policy],
            joined=joined,
        )


def logarithmic(axis: Axes, *, along: str = "y") -> None:
    """A logarithmic axis with plain numbers at 1, 2, 5, 10 and so on."""
    axis.set(**{f"{along}scale": "log"})
    ruled = {"x": axis.xaxis, "y": axis.yaxis}[along]
    ruled.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ruled.set_major_formatter("{x:g}")
    ruled.set_minor_formatter(NullFormatter())


def counted(axis: Axes) -> None:
    """Whole numbers along x."""
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))

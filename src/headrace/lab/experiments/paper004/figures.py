"""Figures 2 to 7 of Lin and Liang: what was run, and the pictures with the authors' recorded runs in them."""

from __future__ import annotations

from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any

from headrace.core.estimates import Estimate
from headrace.lab import style
from headrace.lab.papers import Figure, Scale
from headrace.lab.published import recorded
from headrace.protocols.designs import relaxed_law
from headrace.spark.plan.experiment import Experiment, Parameters, grid
from headrace.spark.plan.results import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

LEVELS = (("mean", "mean"), ("p50", "median"), ("p90", "p90"), ("p99", "p99"))
"""Our name of a figure, and the authors'."""

DRAINED = {"backlog": 30_000, "pops": 10_000, "work": "drain", "draw": "replace"}
"""The set-up of figures 4 to 7."""


def experiment(points: tuple[Parameters, ...], *, replications: int, common: tuple[str, ...] = ()) -> Experiment:
    """A sweep of the relaxed kernel."""
    return Experiment(
        kernel="headrace.lab.kernels.relaxed",
        points=points,
        replications=replications,
        common=common,
        cost=_cost,
        tiny={"nodes": 5, "peeks": 2, "add_peeks": 2, "backlog": 50, "pops": 20, "warmup": 0, "concurrency": 1},
    )


def _cost(point: Parameters) -> float:
    """Seconds, nearly: each item is pushed, each pop pays for its peeks."""
    pops = point["pops"] + max(0, point["warmup"])
    return float(1e-7 * point["backlog"] + 1e-8 * pops * (20 + point["peeks"]) + 2e-8 * pops * point["add_peeks"])


def at(scale: Scale, *, quick: Any, paper: Any) -> Any:
    """A choice by scale."""
    return quick if scale is Scale.QUICK else paper


# Figure 2


def distribution(scale: Scale) -> Experiment:
    start = grid(nodes=20, backlog=10_000, pops=10_000, warmup=0, histogram=100, draw=["replace", "distinct"])
    grown = grid(
        nodes=20,
        backlog=10_000,
        pops=at(scale, quick=20_000, paper=200_000),
        histogram=100,
        draw="replace",
        keys="growing",
    )
    return experiment(start + grown, replications=at(scale, quick=5, paper=50))


def draw_distribution(results: Results) -> Picture:
    figure, (axis,) = style.picture(x="rank error, items", y="share of pops at this rank error")
    theirs = recorded("004")["fig2"]
    edges = [bin_ * theirs["bin_width"] for bin_ in range(len(theirs["bin_counts"]) + 1)]
    middles, shares = [], []
    for (low, high), count in zip(pairwise(edges), theirs["bin_counts"], strict=True):
        held = [rank for rank in range(int(low), int(high) + 2) if low <= rank < high]
        if held and held[-1] <= 60:
            middles.append(sum(held) / len(held))
            shares.append(count / theirs["total"] / len(held))
    for series, keys in enumerate(("uniform", "growing")):
        ours = results.mapping("share_at", draw="replace", keys=keys)
        points = [(int(rank), share) for rank, share in ours.items() if int(rank) <= 60]
        style.measured(axis, f"{keys} keys", points, series=series)
    survival = [1.0, *islice(relaxed_law.survival(20, 2, distinct=False), 61)]
    style.modelled(axis, "law, growing", range(61), [a - b for a, b in pairwise(survival)], series=1)
    style.printed(axis, "authors' run, uniform", middles, shares)
    style.legend(figure, axis)
    return figure


# Figure 3

STRATEGIES = {
    "no peek": {"peeks": 1, "place": "random"},
    "before add: fewest ahead": {"peeks": 1, "place": "peek-fewest-ahead"},
    "before pop": {"peeks": 2, "place": "random"},
    "before add: best top": {"peeks": 1, "place": "peek-best-top"},
    "before add: worst top": {"peeks": 1, "place": "peek-worst-top"},
}
_RECORDED_AS = {(1, 1): "no peek", (2, 1): "before add: fewest ahead", (1, 2): "before pop"}


def backlog(scale: Scale) -> Experiment:
    backlogs = at(scale, quick=[1, 20_001, 40_001, 50_001, 90_001], paper=[1, *range(10_001, 100_001, 10_000)])
    shared = {"nodes": 20, "pops": 10_000, "warmup": 0, "draw": "replace", "backlog": backlogs}
    points = tuple(point for strategy in STRATEGIES.values() for point in grid(**shared, **strategy))
    return experiment(points, replications=at(scale, quick=3, paper=40), common=("backlog", "peeks", "place"))


def draw_backlog(results: Results) -> Picture:
    figure, axes = style.picture(x="backlog, items", y="rank error, items", panels=2, titles=("mean", "median"))
    for axis, (metric, theirs) in zip(axes, LEVELS, strict=False):
        for series, (label, strategy) in enumerate(STRATEGIES.items()):
            style.measured(axis, label, results.series(metric, over="backlog", **strategy), series=series, joined=True)
            runs = [row for row in recorded("004")["fig3"] if _RECORDED_AS[row["add"], row["pop"]] == label]
            if runs:
                places, values = [row["lag"] for row in runs], [row[theirs] for row in runs]
                style.printed(axis, _one_name(series), places, values, series=series)
        axis.set_yscale("symlog", linthresh=10)
        axis.set_ylim(bottom=0)
    style.legend(figure, axes[0])
    return figure


# Figures 4 and 5


def node_counts(scale: Scale) -> Experiment:
    counts = at(scale, quick=[100, 500, 900], paper=list(range(100, 1000, 100)))
    points = grid(nodes=counts, peeks=10, **DRAINED)
    return experiment(points, replications=at(scale, quick=5, paper=60), common=("nodes",))


def draw_node_counts(results: Results) -> Picture:
    figure, (axis,) = style.picture(x="nodes", y="rank error, items")
    counts = [point["nodes"] for point in results.points()]
    laws = [_law(count, 10) for count in counts]
    for series, (metric, theirs) in enumerate(LEVELS):
        style.measured(axis, metric, results.series(metric, over="nodes"), series=series)
        style.modelled(axis, "law" if series == 0 else "_", counts, [law[metric] for law in laws], series=series)
        _draw_recorded(axis, "fig4", "n", theirs, series=series)
    style.legend(figure, axis)
    return figure


def peek_counts(scale: Scale) -> Experiment:
    counts = at(scale, quick=[1, 2, 6, 10, 30, 80], paper=[1, *range(2, 100, 2)])
    points = grid(nodes=100, peeks=counts, **DRAINED)
    return experiment(points, replications=at(scale, quick=5, paper=40), common=("peeks",))


def draw_peek_counts(results: Results) -> Picture:
    figure, (axis,) = style.picture(x="nodes peeked before a pop, of 100", y="rank error, items")
    counts = [point["peeks"] for point in results.points() if point["peeks"] > 1]
    laws = [_law(100, count) for count in counts]
    for series, (metric, theirs) in enumerate(LEVELS):
        style.measured(axis, metric, results.series(metric, over="peeks"), series=series)
        style.modelled(axis, "law" if series == 0 else "_", counts, [law[metric] for law in laws], series=series)
        _draw_recorded(axis, "fig5", "pop", theirs, series=series)
    axis.set_xscale("log")
    axis.set_yscale("symlog", linthresh=1)
    axis.set_ylim(bottom=0)
    axis.set_xticks([1, 2, 5, 10, 20, 50, 100], labels=["1", "2", "5", "10", "20", "50", "100"])
    style.legend(figure, axis)
    return figure


def _law(nodes: int, peeks: int) -> dict[str, float]:
    p50, p90, p99 = relaxed_law.percentiles(nodes, peeks, (0.5, 0.9, 0.99), distinct=False)
    return {"mean": relaxed_law.mean(nodes, peeks, distinct=False), "p50": p50, "p90": p90, "p99": p99}


def _draw_recorded(axis: Axes, figure: str, over: str, level: str, *, series: int) -> None:
    runs = recorded("004")[figure]
    style.printed(axis, _one_name(series), [row[over] for row in runs], [row[level] for row in runs], series=series)


def _one_name(series: int) -> str:
    """The authors' runs have one entry in a legend: their colours are those of ours."""
    return "authors' runs" if series == 0 else "_"


# Figures 6 and 7


def _crowds(scale: Scale) -> Any:
    return at(scale, quick=[1, 20, 100, 195], paper=[1, *range(5, 200, 5)])


def crowded(scale: Scale) -> Experiment:
    points = grid(nodes=100, peeks=10, concurrency=_crowds(scale), interleave=["lockstep", "free"], **DRAINED)
    return experiment(points, replications=at(scale, quick=3, paper=20), common=("concurrency", "interleave"))


def crowded_with_second(scale: Scale) -> Experiment:
    shared = {"nodes": 100, "peeks": 10, "concurrency": _crowds(scale)} | DRAINED
    points = grid(policy=["top-two-scan", "top-two"], interleave="lockstep", **shared)
    points += grid(policy="top-two", interleave="free", **shared)
    return experiment(points, replications=at(scale, quick=3, paper=20), common=("concurrency", "interleave", "policy"))


def draw_crowded(results: Results) -> Picture:
    panels = (("lock step, as recorded", {"interleave": "lockstep"}), ("freely interleaved", {"interleave": "free"}))
    return _draw_crowds(results, "fig6", panels)


def draw_crowded_with_second(results: Results) -> Picture:
    scan = ("second best as in the recorded runs", {"policy": "top-two-scan", "interleave": "lockstep"})
    return _draw_crowds(
        results, "fig7", (scan, ("second best as worded", {"policy": "top-two", "interleave": "lockstep"}))
    )


def _draw_crowds(results: Results, theirs: str, panels: tuple[tuple[str, dict[str, str]], ...]) -> Picture:
    figure, axes = style.picture(
        x="clients at once", y="rank error, items", panels=len(panels), titles=[title for title, _ in panels]
    )
    for panel, (axis, (_, where)) in enumerate(zip(axes, panels, strict=True)):
        for series, (metric, level) in enumerate(LEVELS):
            points = results.series(metric, over="concurrency", **where)
            style.measured(axis, metric, points, series=series, joined=True)
            if panel == 0:
                _draw_recorded(axis, theirs, "c", level, series=series)
        axis.set_yscale("log")
    style.legend(figure, axes[0])
    return figure


def agreement(
    results: Results, figure: str, over: str, ours: str, *, least: int = 1, **where: Any
) -> dict[str, Estimate]:
    """For each level, our mean over the points of a figure from `least` on, over that of the authors' runs."""
    found = {}
    for metric, theirs in LEVELS:
        measured = {point[ours]: results.estimate(metric, **point) for point in results.points(**where)}
        runs = [row for row in recorded("004")[figure] if row[over] >= least and row[over] in measured]
        pairs = [(measured[row[over]], row[theirs]) for row in runs]
        total = sum(value for _, value in pairs)
        spread = sum((estimate.half_width or 0.0) ** 2 for estimate, _ in pairs) ** 0.5
        found[metric] = Estimate(sum(estimate.value for estimate, _ in pairs) / total, spread / total)
    return found


FIGURES = (
    Figure(
        name="004-fig2",
        title="How far from the front a pop reaches",
        source="figure 2",
        experiment=distribution,
        draw=draw_distribution,
        caption="20 nodes, 2 peeks with replacement, backlog 10,000; uniform keys from a fresh fill. The authors' "
        "bins hold one or two ranks each, and are drawn as the share of one.",
    ),
    Figure(
        name="004-fig3",
        title="Rank error levels out as the backlog grows",
        source="figure 3",
        experiment=backlog,
        draw=draw_backlog,
        caption="20 nodes, 10,000 add+pop pairs from a fresh fill; two nodes peeked before each pop or each add.",
    ),
    Figure(
        name="004-fig4",
        title="Rank error is linear in the number of nodes",
        source="figure 4, equation 1",
        experiment=node_counts,
        draw=draw_node_counts,
        caption="10 peeks with replacement, 10,000 of 30,000 items popped by one client. Lines: the law.",
    ),
    Figure(
        name="004-fig5",
        title="Rank error falls steeply with the peeks",
        source="figure 5",
        experiment=peek_counts,
        draw=draw_peek_counts,
        caption="100 nodes, otherwise as in figure 4. With one peek there is no law: the error grows with the run.",
    ),
    Figure(
        name="004-fig6",
        title="Rank error grows with concurrent clients",
        source="figure 6",
        experiment=crowded,
        draw=draw_crowded,
        caption="100 nodes, 10 peeks with replacement, 10,000 of 30,000 items popped.",
    ),
    Figure(
        name="004-fig7",
        title="A second pop when the first disappoints",
        source="figure 7",
        experiment=crowded_with_second,
        draw=draw_crowded_with_second,
        caption="As in figure 6, in lock step, with the top-two policy of section 4.3.",
    ),
)

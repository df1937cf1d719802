"""Figures 5 to 9 of 002: the experiments behind them, and their pictures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from headrace.core import estimates
from headrace.lab import style
from headrace.lab.experiments.paper002.setup import (
    FIVE,
    KERNEL,
    LABELS,
    PLACE,
    SERIES_KERNEL,
    TEN,
    TWENTY,
    clusters,
    cost,
    counted,
    horizon,
    logarithmic,
    points,
    seeds,
)
from headrace.lab.papers import Figure, Scale
from headrace.spark.plan.experiment import Experiment, grid
from headrace.spark.plan.results import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

# Every topology and policy meets the same requests.
COMMON = ("topology", "policy")
EVERY = 0.25
TINY_SERIES = {"topology": "ring:3", "burst_every": 0.0, "burst_first": 1.0, "burst_length": 0.5, "until": 2.0}


def _over_time(*metrics: str) -> Callable[[Scale], Experiment]:
    def experiment(scale: Scale) -> Experiment:
        return Experiment(
            kernel=SERIES_KERNEL,
            points=points(FIVE, policy="paper", every=EVERY)
            + grid(topology="ring:5", until=horizon("ring:5"), policy=["isolated", "shared"], every=EVERY),
            replications=seeds(scale, 10),
            common=COMMON,
            cost=cost,
            metrics=metrics,
            tiny=TINY_SERIES,
        )

    return experiment


def _draw_queues(results: Results) -> Picture:
    shown = [("ring:5", "isolated"), *((topology, "paper") for topology in FIVE), ("ring:5", "shared")]
    titles = ["isolated", *(f"networked, {topology}" for topology in FIVE), "shared: the bound"]
    figure, axes = style.picture(x="time, s", y="requests waiting", panels=len(shown), titles=titles, share_y=False)
    for axis, (topology, policy) in zip(axes, shown, strict=True):
        for k in range(1 if policy == "shared" else clusters(topology)):
            values = _series(results, f"queued.{k}", topology, policy)
            axis.plot(
                [place * EVERY for place in range(len(values))], values, color=style.SERIES[k], label=f"cluster {k}"
            )
        axis.set_ylim(bottom=0, top=None if policy == "isolated" else 12)
    style.legend(figure, axes[4])
    return figure


def _draw_probabilities(results: Results) -> Picture:
    figure, axes = style.picture(
        x="time, s", y="probability", panels=len(FIVE), titles=[f"cluster 2, {topology}" for topology in FIVE]
    )
    for axis, topology in zip(axes, FIVE, strict=True):
        for burst in range(clusters(topology)):
            begin = 2.3 + 5 * burst
            axis.axvspan(begin, begin + 2, color=style.SERIES[1] if burst == 2 else style.RULE, alpha=0.25, linewidth=0)
        lines = (
            ("P", "accept", "paper"),
            ("R", "reach", "paper"),
            ("P of the shared queue", "accept", "shared"),
        )
        for place, (label, metric, policy) in enumerate(lines):
            values = _series(results, f"{metric}.2", topology if policy == "paper" else "ring:5", policy)
            axis.plot(
                [at * EVERY for at in range(len(values))],
                values,
                label=label,
                color=style.SERIES[(0, 2, 3)[place]],
                linestyle=style.DASHES[place],
            )
        axis.set_ylim(0.4, 1.02)
    style.legend(figure, axes[0])
    return figure


def _series(results: Results, metric: str, topology: str, policy: str) -> list[float]:
    """The mean over the seeds, value by value."""
    found = results.mapping(metric, topology=topology, policy=policy)
    return [found[str(place)].value for place in range(len(found))]


def _by_population(
    topologies: Sequence[str], replications: int, policies: Sequence[str], *metrics: str
) -> Callable[[Scale], Experiment]:
    def experiment(scale: Scale) -> Experiment:
        return Experiment(
            kernel=KERNEL,
            points=points(topologies, policy=list(policies), against="isolated"),
            replications=seeds(scale, replications),
            common=COMMON,
            cost=cost,
            metrics=metrics,
            tiny={"until": 1.0},
        )

    return experiment


def _draw_times(results: Results) -> Picture:
    figure, axes = style.picture(x="user population", y="system time, ms", panels=len(FIVE), titles=FIVE)
    for axis, topology in zip(axes, FIVE, strict=True):
        for policy, label in LABELS.items():
            colour, marker = style.SERIES[PLACE[policy]], style.MARKERS[PLACE[policy]]
            for k in range(clusters(topology)):
                met = {
                    of: 1000 * results.estimate(f"populations.{k}.{of}", topology=topology, policy=policy).value
                    for of in ("min", "mean", "std", "max")
                }
                at = k + 0.18 * (PLACE[policy] - 1.5)
                axis.vlines(at, met["min"], met["mean"] + met["std"], color=colour, linewidth=3, alpha=0.45)
                axis.plot(at, met["mean"], marker=marker, color=colour, label=label if k == 0 else None, linestyle="")
                axis.plot(at, met["max"], marker="_", color=colour, markersize=8)
        logarithmic(axis)
    style.legend(figure, axes[0])
    return figure


def _draw_speed_ups(topologies: Sequence[str]) -> Callable[[Results], Picture]:
    def draw(results: Results) -> Picture:
        figure, axes = style.picture(
            x="user population", y="speed-up over isolated queues", panels=len(topologies), titles=topologies
        )
        for axis, topology in zip(axes, topologies, strict=True):
            for place, (of, label) in enumerate((("mean", "mean"), ("std", "deviation"), ("max", "maximum"))):
                _speed_up(axis, results, of, label, topology, place)
            logarithmic(axis)
            counted(axis)
        style.legend(figure, axes[0])
        return figure

    return draw


def _speed_up(axis: Axes, results: Results, of: str, label: str, topology: str, place: int) -> None:
    measured = [
        (k, results.estimate(f"populations.{k}.speedup.{of}", topology=topology, policy="paper"))
        for k in range(clusters(topology))
    ]
    style.measured(axis, label, measured, series=place)
    bound = [
        results.mapping(f"populations.{k}.speedup", topology=topology, policy="shared").get(of)
        for k in range(clusters(topology))
    ]
    # Where no request ever waits at the shared queue, its deviation is 0 and has no speed-up.
    if all(bound):
        style.modelled(axis, f"{label}, bound", range(len(bound)), [one.value for one in bound if one], series=place)


def _draw_hops(results: Results) -> Picture:
    figure, axes = style.picture(x="times forwarded", y="share of requests", panels=len(TWENTY), titles=TWENTY)
    for axis, topology in zip(axes, TWENTY, strict=True):
        for policy in ("paper", "cost", "shared"):
            if policy == "paper":
                for k in range(clusters(topology)):
                    shares = hop_shares(results, f"populations.{k}", topology=topology, policy=policy)
                    axis.plot(*zip(*shares, strict=True), color=style.FAINT, linewidth=0.6, alpha=0.5)
            shares = hop_shares(results, "overall", topology=topology, policy=policy)
            style.measured(
                axis,
                LABELS[policy],
                [(hops, estimates.Estimate(share)) for hops, share in shares],
                series=PLACE[policy],
                joined=True,
            )
        axis.set_yscale("log")
        counted(axis)
    style.legend(figure, axes[0])
    return figure


def hop_shares(results: Results, part: str, *, topology: str, policy: str) -> list[tuple[int, float]]:
    """The share of requests forwarded so often, all seeds together."""
    where = {"topology": topology, "policy": policy}
    total = sum(results.values(f"{part}.requests", **where))
    return [
        (int(hops), sum(results.values(f"{part}.hops.{hops}", **where)) / total)
        for hops in sorted(results.mapping(f"{part}.hops", **where), key=int)
    ]


def _speed_up_metrics(count: int) -> tuple[str, ...]:
    return ("overall", *(f"populations.{k}.speedup" for k in range(count)))


FIGURES = (
    Figure(
        name="002-fig5",
        title="Queues over time",
        source="figure 5",
        experiment=_over_time("queued", "crowded", "drained"),
        draw=_draw_queues,
        caption=(
            "Requests waiting in each of five (grid: six) clusters, the mean over the seeds; cluster k's burst begins "
            "at 2.3 + 5k s and lasts 2 s. The isolated queues have a scale of their own."
        ),
    ),
    Figure(
        name="002-fig6",
        title="Acceptance over time",
        source="figure 6",
        experiment=_over_time("accept", "reach", "accept_in_burst"),
        draw=_draw_probabilities,
        caption=(
            "P and R of cluster 2, the mean over the seeds. Its own burst is shaded in colour, the others' in grey: P "
            "falls in neighbours' bursts as well."
        ),
    ),
    Figure(
        name="002-fig7",
        title="System times at five clusters",
        source="figure 7, above",
        experiment=_by_population(FIVE, 30, list(LABELS), "overall", "populations"),
        draw=_draw_times,
        caption="Bars from the minimum to mean + standard deviation, a mark at the mean and a dash at the maximum.",
    ),
    Figure(
        name="002-fig7-speedups",
        title="Speed-ups at five clusters",
        source="figure 7, below",
        experiment=_by_population(FIVE, 30, ["paper", "cost", "shared"], "overall", "populations"),
        draw=_draw_speed_ups(FIVE),
        caption="Isolated time over networked time, request for request the same; dashed: the shared queue's.",
    ),
    Figure(
        name="002-fig8-10",
        title="Speed-ups at ten clusters",
        source="figure 8, above",
        experiment=_by_population(TEN, 20, ["paper", "cost", "shared"], *_speed_up_metrics(10)),
        draw=_draw_speed_ups(TEN),
    ),
    Figure(
        name="002-fig8-20",
        title="Speed-ups at twenty clusters",
        source="figure 8, below",
        experiment=_by_population(TWENTY, 20, ["paper", "cost", "shared"], *_speed_up_metrics(20)),
        draw=_draw_speed_ups(TWENTY),
        caption="Where no request ever waits at the shared queue, its deviation is 0 and has no speed-up.",
    ),
    Figure(
        name="002-fig9",
        title="How often requests are forwarded",
        source="figure 9",
        experiment=_by_population(
            TWENTY,
            40,
            ["paper", "cost", "shared"],
            "overall",
            *(f"populations.{k}.{of}" for k in range(20) for of in ("hops", "requests", "forwarded_share")),
        ),
        draw=_draw_hops,
        caption="All seeds together; thin lines are the single populations. Nothing is forwarded at the shared queue.",
    ),
)

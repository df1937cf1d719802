"""Beyond 002: forwarding by cost, bursts that overlap, slow links, late news, and a burst among 1,000 clusters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from headrace.lab import style
from headrace.lab.experiments.paper002.setup import (
    FIVE,
    KERNEL,
    LABELS,
    TWENTY,
    cost,
    logarithmic,
    points,
    policies,
    seeds,
)
from headrace.lab.papers import Figure, Scale
from headrace.spark.plan.experiment import Experiment, grid
from headrace.spark.plan.results import Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

SMALL_AND_LARGE = ("ring:5", "grid:4x5")
THOUSAND = ("ring:1000", "chords:1000", "grid:25x40", "star:1000")
BURSTS = (50.0, 100.0, 200.0, 400.0, 800.0)


def _experiment(
    points: tuple[dict[str, Any], ...], replications: int, *common: str, metrics: tuple[str, ...] = ("overall",)
) -> Callable[[Scale], Experiment]:
    def experiment(scale: Scale) -> Experiment:
        return Experiment(
            kernel=KERNEL,
            points=points,
            replications=seeds(scale, replications),
            common=("topology", "policy", *common),
            cost=cost,
            metrics=metrics,
            tiny={"until": 1.0},
        )

    return experiment


def _draw_cost(results: Results) -> Picture:
    figure, axes = style.picture(x="", y="system time, ms", panels=2, titles=["mean", "maximum"], share_y=False)
    for axis, of in zip(axes, ("mean", "max"), strict=True):
        policies(axis, results, f"overall.{of}", over="topology", of=("paper", "cost", "shared"), joined=False)
        axis.tick_params(axis="x", rotation=40)
        axis.set_ylim(bottom=0)
    style.legend(figure, axes[0])
    return figure


def _draw_along(over: str, x: str, *, along_decades: bool = False) -> Callable[[Results], Picture]:
    """Mean and maximum by policy, along one parameter, on the small ring and the larger grid."""

    def draw(results: Results) -> Picture:
        titles = [f"{of}, {topology}" for topology in SMALL_AND_LARGE for of in ("mean", "maximum")]
        figure, axes = style.picture(x=x, y="system time, ms", panels=4, titles=titles, share_y=False)
        wanted = [(topology, of) for topology in SMALL_AND_LARGE for of in ("mean", "max")]
        for axis, (topology, of) in zip(axes, wanted, strict=True):
            policies(axis, results, f"overall.{of}", over=over, topology=topology)
            logarithmic(axis)
            if along_decades:
                logarithmic(axis, along="x")
        style.legend(figure, axes[0])
        return figure

    return draw


def _draw_thousand(results: Results) -> Picture:
    figure, axes = style.picture(
        x="users a second in the burst",
        y="mean system time of its requests, ms",
        panels=len(THOUSAND),
        titles=THOUSAND,
    )
    for axis, topology in zip(axes, THOUSAND, strict=True):
        policies(axis, results, "populations.0.mean", over="burst_users", topology=topology)
        logarithmic(axis)
        logarithmic(axis, along="x")
    style.legend(figure, axes[0])
    return figure


def _varied(parameter: str, values: Sequence[float]) -> tuple[dict[str, Any], ...]:
    return points(SMALL_AND_LARGE, policy=list(LABELS), **{parameter: list(values)})


BEYOND = (
    Figure(
        name="002-cost",
        title="Forwarding by cost",
        source="ours; section IV suggests other measures of load",
        experiment=_experiment(points((*FIVE, *TWENTY), policy=["paper", "cost", "shared"]), 30),
        draw=_draw_cost,
        caption=(
            "A request goes where starting costs least, by the backlogs that neighbours tell, corrected for what was "
            "sent to them since, and by what they say of the sites behind them."
        ),
    ),
    Figure(
        name="002-overlap",
        title="Bursts that overlap",
        source="ours; section III says what to expect",
        experiment=_experiment(_varied("burst_every", (0.0, 0.5, 1.0, 2.0, 3.0, 5.0)), 20, "burst_every"),
        draw=_draw_along("burst_every", "time between bursts, s"),
        caption=(
            "From one cluster's burst to the next one's. At 0 all clusters have their 2 s burst at once, and there is "
            "nowhere to forward to."
        ),
    ),
    Figure(
        name="002-links",
        title="Slow links",
        source="ours",
        experiment=_experiment(
            _varied("link_delay", (0.005, 0.010, 0.020, 0.035, 0.070, 0.140, 0.280, 0.560)), 20, "link_delay"
        ),
        draw=_draw_along("link_delay", "delay of a link, s", along_decades=True),
        caption="Requests and adverts both take a link's delay. The paper's links take 0.035 s.",
    ),
    Figure(
        name="002-news",
        title="What the exchange of state is worth",
        source="ours",
        experiment=_experiment(
            _varied("exchange", (0.010, 0.020, 0.050, 0.100, 0.200, 0.500, 1.0, 2.0, 5.0)), 20, "exchange"
        ),
        draw=_draw_along("exchange", "time between adverts, s", along_decades=True),
        caption="From one advert of a cluster to its next. The paper's clusters send their state every 0.050 s.",
    ),
    Figure(
        name="002-thousand",
        title="A burst in a network of 1,000 clusters",
        source="ours",
        experiment=_experiment(
            grid(
                topology=list(THOUSAND),
                until=10.0,
                policy=list(LABELS),
                burst_users=list(BURSTS),
                burst_every=1000.0,
            ),
            5,
            "burst_users",
            metrics=("overall", "populations.0"),
        ),
        draw=_draw_thousand,
        caption=(
            "Cluster 0 alone has a burst of 2 s: an end of the ring, a corner of the grid, the middle of the star. "
            "Its capacity is 25 users a second."
        ),
    ),
)

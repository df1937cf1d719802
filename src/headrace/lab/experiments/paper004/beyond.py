"""Beyond the figures: the law, the alternatives of section 4.3, conditional pops, the U-curve, placements, batches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.core.estimates import Estimate
from headrace.lab import style
from headrace.lab.experiments.paper004.figures import DRAINED, at, experiment
from headrace.lab.papers import Figure, Scale
from headrace.protocols.designs import relaxed_law
from headrace.spark.plan.experiment import Experiment, grid
from headrace.spark.plan.results import Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

OURS = "beyond the paper"

# The law, in both regimes of keys

_REGIMES = ((20, 2), (20, 5), (100, 2), (100, 10))


def law(scale: Scale) -> Experiment:
    points = tuple(
        point
        for nodes, peeks in _REGIMES
        for point in grid(
            nodes=nodes,
            peeks=peeks,
            pops=at(scale, quick=50_000, paper=500_000),
            draw=["distinct", "replace"],
            keys=["growing", "uniform"],
        )
    )
    return experiment(points, replications=at(scale, quick=3, paper=10))


def against_law(results: Results, keys: str) -> dict[str, Estimate]:
    """The measured mean over the law's, for each set-up and draw."""
    found = {}
    for nodes, peeks in _REGIMES:
        for draw in ("distinct", "replace"):
            ours = results.estimate("mean", nodes=nodes, peeks=peeks, draw=draw, keys=keys)
            exact = relaxed_law.mean(nodes, peeks, distinct=draw == "distinct")
            half = None if ours.half_width is None else ours.half_width / exact
            found[f"{peeks} of {nodes}, {draw}"] = Estimate(ours.value / exact, half)
    return found


# Section 4.3's alternatives

_ALTERNATIVES = ("best", "hide", "lock", "retry", "top-two", "conditional")


def alternatives(scale: Scale) -> Experiment:
    crowds = at(scale, quick=[1, 8, 64], paper=[1, 2, 4, 8, 16, 32, 64, 128])
    points = grid(nodes=100, peeks=10, concurrency=crowds, policy=_ALTERNATIVES, interleave="free", **DRAINED)
    return experiment(points, replications=at(scale, quick=2, paper=10), common=("concurrency", "policy"))


def draw_alternatives(results: Results) -> Picture:
    figure, axes = style.picture(
        x="clients at once", y="", panels=2, titles=("rank error, mean, items", "requests a pop"), share_y=False
    )
    for axis, metric in zip(axes, ("mean", "requests_per_pop"), strict=True):
        for series, policy in enumerate(_ALTERNATIVES):
            points = results.series(metric, over="concurrency", policy=policy)
            style.measured(axis, policy, points, series=series, joined=True)
        axis.set_xscale("log", base=2)
        axis.set_yscale("log")
        axis.set_xticks([1, 8, 32, 128], labels=["1", "8", "32", "128"])
    style.legend(figure, axes[0])
    return figure


# Conditional pops

CONTESTED = ((20, 128, 3), (5, 50, 2))


def conditional(scale: Scale) -> Experiment:
    points = tuple(
        point
        for nodes, crowd, peeks in CONTESTED
        for point in grid(
            nodes=nodes,
            concurrency=crowd,
            peeks=peeks,
            pops=at(scale, quick=20_000, paper=200_000),
            keys="growing",
            interleave=["free", "lockstep"],
            policy=["best", "top-two", "conditional-blind", "conditional"],
        )
    )
    return experiment(points, replications=at(scale, quick=3, paper=10), common=("policy",))


# The U-curve

U_NODES, U_CROWDS = (5, 20, 100), (1, 8, 50, 128)
_U_PEEKS = {5: [2, 3, 4, 5], 20: [2, 3, 4, 5, 6, 8, 10, 14, 20], 100: [2, 3, 4, 6, 8, 10, 14, 20, 30, 50, 100]}


def u_curve(scale: Scale) -> Experiment:
    points = tuple(
        point
        for nodes in U_NODES
        for point in grid(
            nodes=nodes,
            peeks=_U_PEEKS[nodes],
            concurrency=list(U_CROWDS),
            policy=["best", "conditional"],
            interleave="free",
            keys="growing",
            pops=at(scale, quick=10_000, paper=100_000),
        )
    )
    return experiment(points, replications=at(scale, quick=2, paper=4), common=("peeks", "policy"))


def draw_u_curve(results: Results) -> Picture:
    figure, axes = style.picture(
        x="nodes peeked before a pop",
        y="rank error, mean, items",
        panels=6,
        titles=[f"{nodes} nodes, {policy}" for nodes in U_NODES for policy in ("best", "conditional")],
        share_y=False,
    )
    panels = [(nodes, policy) for nodes in U_NODES for policy in ("best", "conditional")]
    for axis, (nodes, policy) in zip(axes, panels, strict=True):
        for series, crowd in enumerate(U_CROWDS):
            points = results.series("mean", over="peeks", nodes=nodes, policy=policy, concurrency=crowd)
            label = f"{crowd} client{'s' * (crowd > 1)}"
            style.measured(axis, label, points, series=series, joined=True)
        peeks = _U_PEEKS[nodes]
        style.modelled(axis, "law, one client", peeks, [relaxed_law.mean(nodes, d) for d in peeks], series=4)
        axis.set_xscale("log")
        axis.set_xticks(peeks, labels=[str(d) for d in peeks])
        axis.minorticks_off()
        axis.set_yscale("symlog", linthresh=1)
        axis.set_ylim(bottom=0)
    style.legend(figure, axes[0])
    return figure


def beyond_minimum(results: Results, policy: str) -> dict[str, Estimate]:
    """For 50 and 128 clients: the mean with every node peeked, less the least along the curve."""
    found = {}
    for nodes in U_NODES:
        for crowd in (50, 128):
            curve = {
                peeks: results.estimate("mean", peeks=peeks, nodes=nodes, policy=policy, concurrency=crowd)
                for peeks in _U_PEEKS[nodes]
            }
            least = min(curve, key=lambda d: curve[d].value)
            found[f"{nodes} nodes, {crowd} clients, least at {least}"] = results.difference(
                "mean", of={"peeks": nodes}, to={"peeks": least}, nodes=nodes, policy=policy, concurrency=crowd
            )
    return found


# Placements

PLACES = ("random", "round-robin", "fewest")


def placements(scale: Scale) -> Experiment:
    pops = at(scale, quick=20_000, paper=300_000)
    shared = {"nodes": [20, 100], "place": PLACES, "keys": "growing", "interleave": "free", "pops": pops}
    return experiment(
        grid(concurrency=[1, 8, 50], **shared), replications=at(scale, quick=3, paper=10), common=("place",)
    )


def draw_placements(results: Results) -> Picture:
    figure, axes = style.picture(
        x="clients at once", y="rank error, mean, items", panels=2, titles=("20 nodes", "100 nodes"), share_y=False
    )
    for axis, nodes in zip(axes, (20, 100), strict=True):
        for series, place in enumerate(PLACES):
            points = results.series("mean", over="concurrency", nodes=nodes, place=place)
            style.measured(axis, place, points, series=series, joined=True)
        style.modelled(axis, "law, random, one client", [1, 50], [relaxed_law.mean(nodes, 2)] * 2, series=3)
        axis.set_xscale("log")
        axis.set_xticks([1, 8, 50], labels=["1", "8", "50"])
        axis.minorticks_off()
        axis.set_ylim(bottom=0)
    style.legend(figure, axes[0])
    return figure


# Merged batches

_BATCHES = (1, 2, 5, 10, 20, 50)


def merged(scale: Scale) -> Experiment:
    pops = at(scale, quick=20_000, paper=200_000)
    points = grid(nodes=20, peeks=[2, 5, 10, 20], batch=_BATCHES, keys="growing", pops=pops)
    return experiment(points, replications=at(scale, quick=2, paper=5))


def draw_merged(results: Results) -> Picture:
    figure, axes = style.picture(
        x="items a pop", y="", panels=2, titles=("rank error, mean, items", "requests an item"), share_y=False
    )
    for axis, metric in zip(axes, ("mean", "requests_per_pop"), strict=True):
        for series, peeks in enumerate((2, 5, 10, 20)):
            points = results.series(metric, over="batch", peeks=peeks)
            style.measured(axis, f"{peeks} of 20 nodes", points, series=series, joined=True)
        axis.set_xscale("log")
        axis.set_xticks(_BATCHES, labels=[str(size) for size in _BATCHES])
        axis.minorticks_off()
        axis.set_yscale("symlog", linthresh=1)
        axis.set_ylim(bottom=0)
    style.legend(figure, axes[0])
    return figure


BEYOND = (
    Figure(
        name="004-law",
        title="Simulation against the law",
        source=OURS,
        experiment=law,
        draw=None,
    ),
    Figure(
        name="004-alternatives",
        title="Hiding, locking, retrying, a second pop, a conditional pop",
        source="§4.3",
        experiment=alternatives,
        draw=draw_alternatives,
        caption="100 nodes, 10 peeks, freely interleaved, 10,000 of 30,000 items popped.",
    ),
    Figure(
        name="004-conditional",
        title="Conditional pops under contention",
        source=OURS,
        experiment=conditional,
        draw=None,
    ),
    Figure(
        name="004-u-curve",
        title="More peeks are staler: the U-curve of d under concurrency",
        source=OURS,
        experiment=u_curve,
        draw=draw_u_curve,
        caption="Growing keys, backlog 10,000, random placement, freely interleaved.",
    ),
    Figure(
        name="004-placements",
        title="Where an item is put",
        source=OURS,
        experiment=placements,
        draw=draw_placements,
        caption="Growing keys, 2 distinct peeks, freely interleaved.",
    ),
    Figure(
        name="004-batches",
        title="Merged batches",
        source=OURS,
        experiment=merged,
        draw=draw_merged,
        caption="One client, 20 nodes, growing keys; a pop takes the best of all keys seen.",
    ),
)

"""Figures 2 to 9 of 000, and the messages of its four designs: points are simulated, lines are the models'."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from headrace.lab import style
from headrace.lab.experiments.paper000.setup import HOPS, LOADS, NINE_TIMES, TWICE, experiment, modelled
from headrace.lab.papers import Figure, Scale
from headrace.spark.plan.experiment import Experiment, grid
from headrace.spark.plan.results import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

BUFFERS = (1, 2, 3, 4, 5, 6, 8, 10, 15, 20)
FEW_HOPS = (1, 2, 3, 4, 5, 6, 8, 10)
SHARES = {
    TWICE: (0.3, 0.4, 0.5, 0.6, 2 / 3, 0.75, 0.85, 0.95),
    NINE_TIMES: (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8),
}
REACHES = (1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 50)
REACH_HOPS = (1, 2, 3, 5)
PROBE_TICKS = (1, 3, 5, 10, 15, 20)
PRODUCTIONS = ("uniform:50:100", "uniform:50:150", "exponential")
DESIGNS = ("stochastic", "manager", "hub", "multicast")


def hops_by_load(scale: Scale) -> Experiment:
    """The grid of figures 2, 3 and 4."""
    return experiment(scale, *grid(max_hops=HOPS, consumers=LOADS))


def _buffers(scale: Scale) -> Experiment:
    return experiment(scale, *grid(buffers=BUFFERS, max_hops=5, consumers=LOADS))


def _productions(scale: Scale) -> Experiment:
    return experiment(scale, *grid(production=PRODUCTIONS, max_hops=FEW_HOPS, consumers=LOADS))


def _types(scale: Scale) -> Experiment:
    return experiment(scale, *grid(types=[TWICE, NINE_TIMES, ""], max_hops=FEW_HOPS))


def shared(types: str, share: float) -> str:
    """The types with this share of all probes for the first, fast one."""
    fast, slow = types.split(",")
    return f"{fast}:{share!r},{slow}:{1 - share!r}"


def _shares(scale: Scale) -> Experiment:
    points = [{"types": shared(types, share)} for types, shares in SHARES.items() for share in shares]
    return experiment(scale, *points)


def _reaches(scale: Scale) -> Experiment:
    drawn = grid(reach=REACHES, reach_sets=["random", "balanced"], max_hops=REACH_HOPS)
    fresh = [
        {"reach": reach, "max_hops": hops, "exclude_visited": True}
        for hops in REACH_HOPS
        for reach in REACHES
        if reach >= hops
    ]
    # Other seeds draw other sets, which differ more than the runs do: six of each, however precise each is.
    return experiment(scale, *drawn, *fresh, {"reach": 0}, replications=6, precise=False)


def _messages(scale: Scale) -> Experiment:
    points = grid(design=DESIGNS, consumers=LOADS, max_hops=[3, 5])
    needed = [point for point in points if point["design"] == "stochastic" or point["max_hops"] == 3]
    return experiment(scale, *needed, objects=100_000, replications=2, precise=False)


def by_load(
    results: Results, axis: Axes, metric: str, over: str, xs: Sequence[int], loads: Sequence[int] = LOADS
) -> None:
    """One series a load: simulated points, and the line of the corrected model."""
    fixed = {name: value for name, value in results.experiment.points[0].items() if name in ("max_hops", "buffers")}
    fixed.pop(over)
    for series, consumers in enumerate(loads):
        where = {"consumers": consumers, **fixed}
        style.measured(axis, f"{consumers} %", results.series(metric, over=over, **where), series=series)
        line = [modelled(metric, consumers=consumers, **fixed, **{over: x}) for x in xs]
        style.modelled(axis, f"model, {consumers} %", xs, line, series=series)


def plain_numbers(axis: Axes, *, x: Sequence[float] = (), y: Sequence[float] = ()) -> None:
    """Ticks at these places, written as plain numbers on axes that are logarithmic or count things."""
    if x:
        axis.set_xticks(x, labels=[f"{place:g}" for place in x])
    if y:
        axis.set_yticks(y, labels=[f"{place:g}" for place in y])
    axis.minorticks_off()


def _draw_hops(metric: str, y: str) -> Callable[[Results], Picture]:
    def draw(results: Results) -> Picture:
        figure, (axis,) = style.picture(x="most probes before waiting (h_max)", y=y)
        by_load(results, axis, metric, "max_hops", HOPS)
        plain_numbers(axis, x=PROBE_TICKS)
        axis.set_ylim(bottom=0)
        style.legend(figure, axis)
        return figure

    return draw


def _draw_wait(results: Results) -> Picture:
    figure, axes = style.picture(
        x="most probes before waiting (h_max)",
        y="wait W, ticks",
        panels=2,
        titles=["loads of 50 % and 100 %", "loads of 150 % and 200 %"],
        share_y=False,
    )
    by_load(results, axes[0], "wait", "max_hops", HOPS, LOADS[:2])
    axes[0].axhline(2, color=style.FAINT, linewidth=0.8, linestyle=":", label="2 ticks")
    by_load(results, axes[1], "wait", "max_hops", HOPS, LOADS[2:])
    for axis in axes:
        plain_numbers(axis, x=PROBE_TICKS)
        axis.set_ylim(bottom=0)
    _legend_of_both(figure, axes)
    return figure


def _legend_of_both(figure: Picture, axes: Sequence[Axes]) -> None:
    named = {label: handle for axis in axes for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)}
    figure.legend(list(named.values()), list(named), loc="outside lower center", ncols=4, frameon=False)


def _draw_two(metrics: dict[str, str], over: str, xs: Sequence[int], x: str) -> Callable[[Results], Picture]:
    """Two metrics side by side, by load; titles name them."""

    def draw(results: Results) -> Picture:
        figure, axes = style.picture(x=x, y="probability", panels=2, titles=list(metrics.values()))
        for axis, metric in zip(axes, metrics, strict=True):
            by_load(results, axis, metric, over, xs)
            plain_numbers(axis, x=PROBE_TICKS)
            axis.set_ylim(0, 1.02)
        style.legend(figure, axes[0])
        return figure

    return draw


def _draw_productions(results: Results) -> Picture:
    titles = ["uniform in [50, 100], mean 75", "uniform in [50, 150], mean 100", "exponential, mean 100"]
    figure, axes = style.picture(x="most probes (h_max)", y="wait W, ticks", panels=3, titles=titles, share_y=True)
    for axis, production in zip(axes, PRODUCTIONS, strict=True):
        for series, consumers in enumerate(LOADS):
            points = results.series("wait", over="max_hops", production=production, consumers=consumers)
            style.measured(axis, f"M = {consumers}", points, series=series)
            line = [modelled("wait", production=production, consumers=consumers, max_hops=hops) for hops in FEW_HOPS]
            style.modelled(axis, f"model, M = {consumers}", FEW_HOPS, line, series=series)
        axis.set_yscale("log")
        plain_numbers(axis, y=(2, 5, 10, 20, 50, 100))
    style.legend(figure, axes[0])
    return figure


def _draw_types(results: Results) -> Picture:
    figure, (axis,) = style.picture(x="most probes before waiting (h_max)", y="wait W, ticks")
    names = {"": "alike", TWICE: "67/50", NINE_TIMES: "50/10"}
    for series, (types, name) in enumerate(names.items()):
        style.measured(axis, name, results.series("wait", over="max_hops", types=types), series=series)
        line = [modelled("wait", types=types, max_hops=hops) for hops in FEW_HOPS]
        style.modelled(axis, f"model, {name}", FEW_HOPS, line, series=series)
    axis.set_yscale("log")
    plain_numbers(axis, y=(2, 5, 10, 20, 50, 100))
    style.legend(figure, axis)
    return figure


def _draw_shares(results: Results) -> Picture:
    figure, (axis,) = style.picture(x="share of the probes sent to fast producers (frac_hi)", y="wait W, ticks")
    names = {TWICE: "67/50", NINE_TIMES: "50/10"}
    for series, (types, shares) in enumerate(SHARES.items()):
        points = [(share, results.estimate("wait", types=shared(types, share))) for share in shares]
        style.measured(axis, names[types], points, series=series)
        line = [modelled("wait", types=shared(types, share)) for share in shares]
        style.modelled(axis, f"model, {names[types]}", shares, line, series=series)
        best = production_share(types)
        axis.axvline(best, color=style.SERIES[series], linewidth=0.9, linestyle=":", label=f"made, {names[types]}")
    axis.set_yscale("log")
    plain_numbers(axis, y=(5, 10, 20, 50, 100))
    style.legend(figure, axis)
    return figure


def production_share(types: str) -> float:
    """What part of all objects the first type makes when nothing stops it."""
    made = [int(count) * Fraction(rate) for count, rate in (entry.split(":")[:2] for entry in types.split(","))]
    return float(made[0] / sum(made))


def _draw_reaches(results: Results) -> Picture:
    ways = {
        "random sets": {"reach_sets": "random", "exclude_visited": False},
        "balanced sets": {"reach_sets": "balanced", "exclude_visited": False},
        "balanced, no producer twice": {"reach_sets": "balanced", "exclude_visited": True},
    }
    figure, axes = style.picture(
        x="producers in reach (M_j)", y="wait W, ticks", panels=3, titles=list(ways), share_y=True
    )
    for axis, way in zip(axes, ways.values(), strict=True):
        for series, hops in enumerate(REACH_HOPS):
            points = [point for point in results.points(max_hops=hops, **way) if point["reach"] > 0]
            measured = [(point["reach"], results.estimate("wait", **point)) for point in points]
            style.measured(axis, f"h_max = {hops}", measured, series=series)
            if not way["exclude_visited"]:
                reaches = [reach for reach, _ in measured]
                line = [modelled("wait", reach=reach, max_hops=hops, reach_sets=way["reach_sets"]) for reach in reaches]
                style.modelled(axis, f"model, h_max = {hops}", reaches, line, series=series)
        axis.set_xscale("log")
        axis.set_yscale("log")
        plain_numbers(axis, x=(1, 2, 4, 10, 20, 50), y=(4, 7, 10, 20, 40, 80))
    style.legend(figure, axes[0])
    return figure


def _draw_messages(results: Results) -> Picture:
    figure, (axis,) = style.picture(x="load, %", y="messages an object")
    ways = [("stochastic, h_max = 3", "stochastic", 3), ("stochastic, h_max = 5", "stochastic", 5)]
    ways += [
        ("queue manager", "manager", 3),
        ("centralized buffer", "hub", 3),
        ("multicast of lengths", "multicast", 3),
    ]
    for series, (name, design, hops) in enumerate(ways):
        points = results.series("messages_per_object", over="consumers", design=design, max_hops=hops)
        style.measured(axis, name, points, series=series, joined=True)
    axis.set_yscale("log")
    plain_numbers(axis, x=LOADS, y=(2, 3, 4, 5, 10, 100, 400))
    style.legend(figure, axis)
    return figure


SET_UP = "N = 100, f = 5, λ = μ = 0.01, a message takes 1 tick, everything exponential; lines are the corrected model."

FIGURES = (
    Figure(
        name="000-fig2",
        title="Probes an object",
        source="figure 2",
        experiment=hops_by_load,
        draw=_draw_hops("h_avg", "probes a request (h_avg)"),
        caption=f"One series a load. {SET_UP}",
    ),
    Figure(
        name="000-fig3",
        title="Waits",
        source="figure 3",
        experiment=hops_by_load,
        draw=_draw_wait,
        caption=f"Two ticks are the least: one probe and the reply. {SET_UP}",
    ),
    Figure(
        name="000-fig4",
        title="Empty and full producers",
        source="figure 4",
        experiment=hops_by_load,
        draw=_draw_two(
            {"producer_empty": "a probe finds none (p_mt)", "producer_full": "a producer is full, p(f)"},
            "max_hops",
            HOPS,
            "most probes (h_max)",
        ),
        caption=f"The paper's text says p_mt, its caption p(f): both. {SET_UP}",
    ),
    Figure(
        name="000-fig5",
        title="Buffers",
        source="figure 5",
        experiment=_buffers,
        draw=_draw_two(
            {"producer_utilisation": "a producer works, U_p", "producer_full": "a producer is full, p(f)"},
            "buffers",
            BUFFERS,
            "buffers at each producer (f)",
        ),
        caption=f"h_max = 5. The paper's text says U_p, its caption p(f): both. {SET_UP}",
    ),
    Figure(
        name="000-fig6",
        title="Production times that vary less",
        source="figure 6",
        experiment=_productions,
        draw=_draw_productions,
        caption="The paper's uniform times also shorten the mean; [50, 150] keeps it. The model's are exponential.",
    ),
    Figure(
        name="000-fig7",
        title="Uneven producers",
        source="figure 7",
        experiment=_types,
        draw=_draw_types,
        caption="Load 100 %, every producer as likely to be probed. 67/50: half of the producers, twice as fast, make "
        "67 % of the objects. 50/10: a tenth of them, nine times as fast, make half.",
    ),
    Figure(
        name="000-fig8",
        title="Probes that follow production",
        source="figure 8",
        experiment=_shares,
        draw=_draw_shares,
        caption="h_max = 3, load 100 %; kinds as in figure 7. Dotted: the fast producers' share of what is made.",
    ),
    Figure(
        name="000-fig9",
        title="Few connections",
        source="figure 9",
        experiment=_reaches,
        draw=_draw_reaches,
        caption="Load 100 %. How the sets of producers are drawn decides the result; the paper does not say how. The "
        "model of random sets is that of one draw; it knows no exclusion.",
    ),
    Figure(
        name="000-messages",
        title="Messages of the four designs",
        source="section 2",
        experiment=_messages,
        draw=_draw_messages,
        caption="N = 100; a multicast goes to all M consumers, so its messages grow with them.",
    ),
)

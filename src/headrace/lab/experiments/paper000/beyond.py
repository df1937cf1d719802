"""Beyond 000: where requests wait, learned access, how far the models are off, and the claims about them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.core.estimates import Estimate
from headrace.lab import style
from headrace.lab.claims import AtLeast, AtMost, Claim, about, quotient
from headrace.lab.experiments.paper000.figures import plain_numbers
from headrace.lab.experiments.paper000.setup import NINE_TIMES, experiment, modelled
from headrace.lab.models.stochastic.producer import FORMS, READINGS
from headrace.lab.papers import Figure, Scale
from headrace.spark.plan.experiment import Experiment, grid
from headrace.spark.plan.results import Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

WAITS = {"at-last": "at the last producer", "shortest": "at the shortest line", "late": "at all visited, bound late"}
ACCESSES = {"uniform": "even", "rates": "by true rates", "learned": "learned"}
LEARNING_HOPS = (1, 2, 3, 4, 5)
SIZES = (1, 2, 5, 10, 20, 50, 100, 200)
VARIANTS = tuple((form, reading) for form in FORMS for reading in READINGS)


def _late(scale: Scale) -> Experiment:
    return experiment(scale, *grid(wait=list(WAITS), consumers=[50, 75, 90, 100, 110, 125, 150, 200]))


def _learned(scale: Scale) -> Experiment:
    return experiment(scale, *grid(types=NINE_TIMES, access=list(ACCESSES), max_hops=LEARNING_HOPS))


def _sizes(scale: Scale) -> Experiment:
    return experiment(
        scale,
        *({"producers": size, "consumers": size, "max_hops": hops} for size in SIZES for hops in (1, 3)),
    )


def _draw_late(results: Results) -> Picture:
    metrics = {"wait": "mean wait, ticks", "wait_p99": "99th percentile of waits, ticks"}
    metrics["messages_per_object"] = "messages an object"
    figure, axes = style.picture(x="load, %", y="", panels=3, titles=list(metrics.values()), share_y=False)
    for axis, metric in zip(axes, metrics, strict=True):
        for series, (wait, name) in enumerate(WAITS.items()):
            points = results.series(metric, over="consumers", wait=wait)
            style.measured(axis, name, points, series=series, joined=True)
        axis.set_ylim(bottom=0)
    style.legend(figure, axes[0])
    return figure


def _draw_learned(results: Results) -> Picture:
    figure, (axis,) = style.picture(x="most probes before waiting (h_max)", y="wait W, ticks")
    for series, (access, name) in enumerate(ACCESSES.items()):
        points = results.series("wait", over="max_hops", access=access)
        style.measured(axis, name, points, series=series, joined=True)
    axis.set_yscale("log")
    plain_numbers(axis, x=LEARNING_HOPS, y=(5, 10, 20, 50, 100))
    style.legend(figure, axis)
    return figure


def _draw_sizes(results: Results) -> Picture:
    figure, axes = style.picture(
        x="producers and consumers (N = M)",
        y="model's wait over the simulated",
        panels=2,
        titles=["one probe (h_max = 1)", "three probes (h_max = 3)"],
    )
    for axis, hops in zip(axes, (1, 3), strict=True):
        for series, (form, reading) in enumerate(VARIANTS):
            ratios = [(size, _model_error(results, size, hops, form, reading)) for size in SIZES]
            equation = "eq. 3" if form == "state-dependent" else "eq. 4"
            name = equation if reading == "corrected" else f"{equation} as printed"
            style.measured(axis, name, ratios, series=series, joined=True)
        axis.axhline(1, color=style.FAINT, linewidth=0.8)
        axis.set_xscale("log")
        plain_numbers(axis, x=SIZES)
    style.legend(figure, axes[0])
    return figure


def _model_error(results: Results, size: int, hops: int, form: str, reading: str) -> Estimate:
    """The model's wait over the simulated one."""
    where: dict[str, Any] = {"producers": size, "consumers": size, "max_hops": hops}
    return quotient(modelled("wait", form=form, reading=reading, **where), results.estimate("wait", **where))


BEYOND = (
    Figure(
        name="000-late",
        title="Where a request waits",
        source="ours",
        experiment=_late,
        draw=_draw_late,
        caption="h_max = 3. Bound late, a request waits at all producers it probed and takes the first object offered.",
    ),
    Figure(
        name="000-learned",
        title="Learned access",
        source="ours",
        experiment=_learned,
        draw=_draw_learned,
        caption="10 % of the producers make half of the objects; consumers learn from the rates that replies carry.",
    ),
    Figure(
        name="000-models",
        title="How far the models are off",
        source="section 4.1",
        experiment=_sizes,
        draw=_draw_sizes,
        caption="Load 100 %, one message 1 tick. Models take probes for a Poisson process; in a small system a request "
        "that misses soon asks the same producer again, which helps little: they are too low there.",
    ),
)


def _over(metric: str, of: dict[str, Any], to: dict[str, Any]) -> Any:
    """One point's metric over another's, as independent estimates."""
    return lambda results: quotient(results.estimate(metric, **of), results.estimate(metric, **to))


BEYOND_CLAIMS = (
    Claim(
        name="000-late-mean",
        text="At a load of 100 % late binding cuts the mean wait by about a quarter.",
        source="ours",
        experiments=("000-late",),
        measure=_over("wait", {"wait": "late", "consumers": 100}, {"wait": "at-last", "consumers": 100}),
        expect=about(0.75, within=0.1),
    ),
    Claim(
        name="000-late-tail",
        text="At a load of 100 % late binding about halves the 99th percentile of the waits.",
        source="ours",
        experiments=("000-late",),
        measure=_over("wait_p99", {"wait": "late", "consumers": 100}, {"wait": "at-last", "consumers": 100}),
        expect=about(0.5, within=0.1),
    ),
    Claim(
        name="000-late-messages",
        text="Above a load of 100 % late binding costs messages and gains no mean wait: switch by load.",
        source="ours",
        experiments=("000-late",),
        measure=_over("messages_per_object", {"wait": "late", "consumers": 200}, {"wait": "at-last", "consumers": 200}),
        expect=AtLeast(1.5),
    ),
    Claim(
        name="000-learned-as-good",
        text="With 10 % of producers nine times as fast, learned access waits at most 1.3 times as long as true rates.",
        source="ours",
        experiments=("000-learned",),
        measure=lambda results: {
            f"h_max {hops}": _over(
                "wait", {"access": "learned", "max_hops": hops}, {"access": "rates", "max_hops": hops}
            )(results)
            for hops in LEARNING_HOPS
        },
        expect=AtMost(1.3),
        note="A tenth of the probes goes on exploring evenly.",
    ),
    Claim(
        name="000-learned-gain",
        text="In that case learned access waits a seventh of what even access does, or less.",
        source="ours",
        experiments=("000-learned",),
        measure=_over("wait", {"access": "uniform", "max_hops": 3}, {"access": "learned", "max_hops": 3}),
        expect=AtLeast(7),
    ),
    Claim(
        name="000-shortest",
        text="Waiting at the shortest line visited shortens the mean wait a little at a load of 100 %.",
        source="ours",
        experiments=("000-late",),
        measure=_over("wait", {"wait": "shortest", "consumers": 100}, {"wait": "at-last", "consumers": 100}),
        expect=AtMost(0.99),
    ),
    Claim(
        name="000-models-state-dependent",
        text="For one producer and one consumer the corrected state-dependent form is near, the printed one is not.",
        source="section 4.1, eq. 3",
        experiments=("000-models",),
        measure=lambda results: (
            abs(_model_error(results, 1, 1, "state-dependent", "printed").value - 1)
            / abs(_model_error(results, 1, 1, "state-dependent", "corrected").value - 1)
        ),
        expect=AtLeast(2),
        note="The value is how many times as far off the printed form is.",
    ),
    Claim(
        name="000-models-eq4",
        text="With a few producers and one probe the approximation of eq. 4 is nearer than the state-dependent form.",
        source="section 4.1, eq. 4",
        experiments=("000-models",),
        measure=lambda results: {
            f"N = M = {size}": abs(_model_error(results, size, 1, "state-dependent", "corrected").value - 1)
            / abs(_model_error(results, size, 1, "approximate", "corrected").value - 1)
            for size in (5, 10, 20)
        },
        expect=AtLeast(1),
        note="Eq. 3 counts the requests that wait here, but most of those that wait do so elsewhere.",
    ),
)

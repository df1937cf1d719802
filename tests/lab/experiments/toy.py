"""A paper for tests of the lab: its kernel measures 10 and some noise."""

from matplotlib.figure import Figure as Picture

from headrace.lab import style
from headrace.lab.claims import AtLeast, AtMost, Claim, about
from headrace.lab.papers import Deviation, Figure, Paper, Scale
from headrace.spark.plan.experiment import Experiment, grid
from headrace.spark.plan.results import Results


def level(scale: Scale) -> Experiment:
    return Experiment(
        kernel="tests.spark.kernels.noise",
        points=grid(nodes=[5, 10, 20], noise=0.5),
        replications=4 if scale is Scale.QUICK else 40,
    )


def draw_level(results: Results) -> Picture:
    figure, (axis,) = style.picture(x="nodes", y="level, items")
    style.measured(axis, "measured", results.series("mean", over="nodes"))
    style.modelled(axis, "model", [5, 20], [10, 10])
    style.printed(axis, "printed", [5, 10], [10.2, 9.9], series=None)
    style.legend(figure, axis)
    return figure


def broken(_: Scale) -> Experiment:
    return Experiment(kernel="tests.spark.kernels.noise", points=grid(fails=[False, True]))


PAPER = Paper(
    name="900",
    title="On levels & their <noise>",
    authors="A. Nobody",
    year=1999,
    summary="A level does not move.",
    figures=(
        Figure(
            name="900-level",
            title="The level",
            source="figure 1",
            experiment=level,
            draw=draw_level,
            caption="It stays.",
        ),
        Figure(name="900-broken", title="Half of it fails", source="§2", experiment=broken, draw=None),
    ),
    claims=(
        Claim(
            name="900-about-ten",
            text="The level is about ten.",
            source="§1",
            experiments=("900-level",),
            measure=lambda results: {
                f"at {nodes} nodes": results.estimate("mean", nodes=nodes) for nodes in (5, 10, 20)
            },
            expect=about(10, within=0.2),
            unit="items",
        ),
        Claim(
            name="900-above-twenty",
            text="The level is above twenty.",
            source="§1",
            experiments=("900-level",),
            measure=lambda results: results.estimate("mean", nodes=5),
            expect=AtLeast(20),
            why_not="The kernel's level is ten.",
        ),
        Claim(
            name="900-below-fifty",
            text="It is below fifty.",
            source="§2",
            experiments=("900-broken",),
            measure=lambda results: results.estimate("mean", fails=False),
            expect=AtMost(50),
            note="Only where it does not fail.",
        ),
    ),
    deviations=(Deviation("§2", "We let it fail.", "To see what then happens."),),
)

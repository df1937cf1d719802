from dataclasses import replace

import pytest

from headrace.core.errors import Invalid
from headrace.lab.papers import Figure, Paper, Scale, figures, papers
from headrace.spark.plan.experiment import Experiment, grid
from tests.lab.experiments.toy import PAPER


def test_a_figures_points_are_completed_and_bear_its_name() -> None:
    experiment = PAPER.figures[0].at(Scale.QUICK)
    assert experiment.name == "900-level"
    assert experiment.points[0] == {"nodes": 5, "noise": 0.5, "length": 100, "fails": False}


@pytest.mark.parametrize(
    ("points", "message"),
    [
        (grid(node=5), "no parameter 'node'. Did you mean 'nodes'"),
        (grid(nodes=0), "--nodes is 0: it must be at least 1"),
        (grid(nodes=500, length=100), "--length is below --nodes"),
        (grid(nodes=[5, 6]) + grid(nodes=6), "twice"),
    ],
)
def test_a_grid_that_makes_no_sense_is_refused(points: tuple[dict[str, object], ...], message: str) -> None:
    def experiment(_: Scale) -> Experiment:
        return Experiment(kernel="tests.spark.kernels.noise", points=points)

    with pytest.raises(Invalid, match=message):
        replace(PAPER.figures[0], experiment=experiment).at(Scale.QUICK)


@pytest.mark.usefixtures("toy_paper")
def test_a_name_stands_for_a_figure_a_paper_or_all() -> None:
    assert [figure.name for figure in figures("900-level")] == ["900-level"]
    assert [figure.name for figure in figures("900")] == ["900-level", "900-broken"]
    assert figures("all") == figures("900")
    with pytest.raises(Invalid, match=r"no experiment '900-levle'\. Did you mean '900-level'\?"):
        figures("900-levle")


REAL = papers()


@pytest.mark.parametrize("paper", REAL.values(), ids=list(REAL))
def test_every_paper_is_sound(paper: Paper) -> None:
    names = {figure.name for figure in paper.figures}
    assert len(names) == len(paper.figures)
    assert all(name.startswith(paper.name + "-") for name in names)
    assert len({claim.name for claim in paper.claims}) == len(paper.claims)
    for claim in paper.claims:
        assert set(claim.experiments) <= names, claim.name


@pytest.mark.parametrize("scale", Scale)
@pytest.mark.parametrize(
    "figure", [figure for paper in REAL.values() for figure in paper.figures], ids=lambda figure: figure.name
)
def test_every_figure_has_a_sound_plan(figure: Figure, scale: Scale) -> None:
    assert figure.at(scale).points

"""The pictures and claims of 004, drawn and judged from runs too short to mean anything, and the authors' data."""

from functools import cache

import pytest

from headrace.lab.claims import Claim, Verdict, judge
from headrace.lab.experiments.paper004 import PAPER
from headrace.lab.kernels import relaxed
from headrace.lab.papers import Figure, Scale
from headrace.lab.published import recorded
from headrace.spark.plan.results import Results, flat, rows_of


@cache
def _results(figure: Figure) -> Results:
    """One short run of each point, in the place of the long ones."""
    experiment = figure.at(Scale.QUICK)
    rows = []
    for point in experiment.points:
        short = {"backlog": min(point["backlog"], 2000), "pops": 400, "warmup": min(point["warmup"], 100)}
        (run,) = experiment.runs(point, 0, 1)
        metrics = flat(relaxed.measure({**point, **short}, run.seed))
        rows += rows_of(figure.name, run, metrics=metrics, seconds=0.0, version="")
    return Results.of(experiment, rows)


@pytest.mark.parametrize(
    "figure", [figure for figure in PAPER.figures if figure.draw is not None], ids=lambda figure: figure.name
)
def test_every_picture_is_drawn(figure: Figure) -> None:
    assert figure.draw is not None
    picture = figure.draw(_results(figure))
    assert all(axis.has_data() for axis in picture.axes)


@pytest.mark.parametrize("claim", PAPER.claims, ids=lambda claim: claim.name)
def test_every_claim_can_be_judged(claim: Claim) -> None:
    results = {figure.name: _results(figure) for figure in PAPER.figures if figure.name in claim.experiments}
    judged = judge(claim, results)
    assert judged.verdict is not Verdict.NOT_MEASURED
    assert judged.measured


@pytest.mark.parametrize(("figure", "over"), [("fig4", "n"), ("fig5", "pop"), ("fig6", "c"), ("fig7", "c")])
def test_each_recorded_figure_has_points_of_ours_beside_it(figure: str, over: str) -> None:
    ours = {"n": "nodes", "pop": "peeks", "c": "concurrency"}[over]
    (drawn,) = [each for each in PAPER.figures if each.name == f"004-{figure}"]
    places = {point[ours] for point in drawn.at(Scale.PAPER).points}
    assert {row[over] for row in recorded("004")[figure]} <= places


def test_the_first_bar_of_figure_2_holds_two_ranks_and_all_bars_are_all_pops() -> None:
    bars = recorded("004")["fig2"]
    assert sum(bars["bin_counts"]) == bars["total"]
    assert bars["bin_width"] > 1

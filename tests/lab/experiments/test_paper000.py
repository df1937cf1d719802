"""The pictures and claims of 000, drawn and judged from runs too short to mean anything."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from headrace.lab.claims import Verdict, judge
from headrace.lab.experiments.paper000 import PAPER
from headrace.lab.experiments.paper000.figures import production_share, shared
from headrace.lab.experiments.paper000.setup import NINE_TIMES, TWICE
from headrace.lab.kernels.stochastic import measure
from headrace.lab.papers import Figure, Scale
from headrace.spark.plan.results import Results, flat, rows_of


@cache
def _results(figure: Figure) -> Results:
    """Two short runs of each point, in the place of the long ones."""
    experiment = figure.at(Scale.QUICK)
    rows = []
    for point in experiment.points:
        for run in experiment.runs(point, 0, 2):
            measured = measure({**point, "objects": 1_000}, run.seed)
            rows += rows_of(figure.name, run, metrics=flat(measured), seconds=0.0, version="")
    return Results.of(experiment, rows)


@pytest.mark.parametrize("figure", PAPER.figures, ids=lambda figure: figure.name)
def test_every_picture_is_drawn(figure: Figure) -> None:
    assert figure.draw is not None
    picture = figure.draw(_results(figure))
    assert all(axis.has_data() for axis in picture.axes)
    assert picture.legends


@pytest.mark.parametrize("claim", PAPER.claims, ids=lambda claim: claim.name)
def test_every_claim_can_be_judged(claim: Any) -> None:
    results = {figure.name: _results(figure) for figure in PAPER.figures if figure.name in claim.experiments}
    judged = judge(claim, results)
    assert judged.verdict is not Verdict.NOT_MEASURED
    assert judged.measured


def test_the_paper_scale_runs_a_million_objects_and_asks_for_two_per_cent() -> None:
    figure = next(figure for figure in PAPER.figures if figure.name == "000-fig3")
    experiment = figure.at(Scale.PAPER)
    assert {point["objects"] for point in experiment.points} == {1_000_000}
    assert experiment.precision is not None
    assert experiment.precision.relative == 0.02


def test_types_and_their_shares_are_the_papers() -> None:
    assert production_share(TWICE) == pytest.approx(2 / 3)
    assert production_share(NINE_TIMES) == pytest.approx(1 / 2)
    assert shared(TWICE, 0.5) == "50:2/150:0.5,50:1/150:0.5"

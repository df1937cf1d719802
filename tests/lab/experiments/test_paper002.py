"""The pictures and claims of 002, drawn and judged from runs too short to mean anything."""

import importlib
from functools import cache
from typing import Any

import pytest

from headrace.lab.claims import Verdict, judge
from headrace.lab.experiments.paper002 import PAPER
from headrace.lab.experiments.paper002.setup import FIVE, SERIES_KERNEL, TEN, TWENTY, clusters, horizon
from headrace.lab.kernels.topology import network
from headrace.lab.papers import Figure, Scale
from headrace.spark.plan.results import Results, flat, kept, rows_of

# Busy enough for every population to wait somewhere; a thousand clusters are played by five.
SHORT = {"until": 2.0, "users": 40.0}
SHORT_SERIES = {"burst_every": 0.0, "burst_first": 1.0, "burst_length": 1.0, "until": 3.0}


@cache
def _results(figure: Figure) -> Results:
    """One short run of each point, in the place of the long ones."""
    experiment = figure.at(Scale.QUICK)
    kernel: Any = importlib.import_module(experiment.kernel)
    short = SHORT_SERIES if experiment.kernel == SERIES_KERNEL else SHORT
    rows = []
    for point in experiment.points:
        (run,) = experiment.runs(point, 0, 1)
        few = {"topology": "ring:5"} if clusters(point["topology"]) > 100 else {}
        metrics = kept(flat(kernel.measure({**point, **short, **few}, run.seed)), experiment.metrics)
        rows += rows_of(figure.name, run, metrics=metrics, seconds=0.0, version="")
    return Results.of(experiment, rows)


@pytest.mark.parametrize("figure", PAPER.figures, ids=lambda figure: figure.name)
def test_every_picture_is_drawn_with_the_shared_queue_in_it(figure: Figure) -> None:
    assert figure.draw is not None
    picture = figure.draw(_results(figure))
    titles = [axis.get_title(loc="left") for axis in picture.axes]
    named = [text.get_text() for legend in picture.legends for text in legend.get_texts()]
    assert any("shared" in text or "bound" in text for text in titles + named)
    assert all(axis.has_data() for axis in picture.axes)


@pytest.mark.parametrize("claim", PAPER.claims, ids=lambda claim: claim.name)
def test_every_claim_can_be_judged(claim: Any) -> None:
    results = {figure.name: _results(figure) for figure in PAPER.figures if figure.name in claim.experiments}
    judged = judge(claim, results)
    assert judged.verdict is not Verdict.NOT_MEASURED
    assert judged.measured


def test_the_set_up_counts_clusters_as_the_networks_do_and_sets_the_papers_horizons() -> None:
    for topology in (*FIVE, *TEN, *TWENTY, "grid:25x40"):
        assert clusters(topology) == network(topology).clusters
    assert [horizon(topology) for topology in ("ring:5", "ring:10", "ring:20")] == [45, 70, 120]

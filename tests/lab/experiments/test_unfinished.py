"""A sweep that was stopped early, or whose points failed: the page is made, and no claim is judged by what is left."""

import pytest

from headrace.core.errors import Gone
from headrace.lab.claims import Claim, Verdict, judge
from headrace.lab.papers import Figure, Scale, figures, papers
from headrace.spark.plan.results import Results

PAPERS = papers().values()


def _nothing(name: str) -> Results:
    (figure,) = figures(name)
    return Results.of(figure.at(Scale.QUICK), ())


@pytest.mark.parametrize(
    "claim",
    [claim for paper in PAPERS for claim in paper.claims if claim.experiments],
    ids=lambda claim: claim.name,
)
def test_a_claim_whose_points_are_missing_is_not_measured(claim: Claim) -> None:
    assert judge(claim, {name: _nothing(name) for name in claim.experiments}).verdict is Verdict.NOT_MEASURED


@pytest.mark.parametrize("figure", [each for paper in PAPERS for each in paper.figures], ids=lambda each: each.name)
def test_a_picture_whose_points_are_missing_is_drawn_without_them_or_said_to_be_incomplete(figure: Figure) -> None:
    if figure.draw is None:
        return
    said = ""
    try:
        drawn = bool(figure.draw(_nothing(figure.name)).axes)
    except Gone as gone:  # the page says so in the picture's place
        drawn, said = False, str(gone)
    assert drawn or figure.name in said

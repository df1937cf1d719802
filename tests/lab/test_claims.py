from collections.abc import Mapping

import pytest

from headrace.core.errors import Gone
from headrace.core.estimates import Estimate
from headrace.lab.claims import AtLeast, AtMost, Between, Claim, Expectation, Judged, Verdict, about, judge, quotient
from headrace.spark.plan.experiment import Experiment, grid
from headrace.spark.plan.results import Results

RESULTS = {"test": Results.of(Experiment(kernel="tests.spark.kernels.noise", points=grid(nodes=1)), ())}


def judged(
    measured: Estimate | float | Mapping[str, Estimate | float],
    expect: Expectation,
    *,
    note: str = "",
    why_not: str = "",
) -> Judged:
    claim = Claim(
        name="a-claim",
        text="It is so.",
        source="§1",
        experiments=("test",),
        measure=lambda _: measured,
        expect=expect,
        note=note,
        why_not=why_not,
    )
    return judge(claim, RESULTS)


@pytest.mark.parametrize(
    ("measured", "expect", "verdict"),
    [
        (Estimate(12, 1), AtLeast(10), Verdict.CONFIRMED),
        (Estimate(10.5, 1), AtLeast(10), Verdict.WITH_A_NOTE),
        (Estimate(9.5, 1), AtLeast(10), Verdict.NOT_CONFIRMED),
        (Estimate(8, 1), AtMost(10), Verdict.CONFIRMED),
        (Estimate(11, 2), AtMost(10), Verdict.NOT_CONFIRMED),
        (Estimate(10, 0.5), Between(9, 11), Verdict.CONFIRMED),
        (Estimate(10, 1.5), Between(9, 11), Verdict.WITH_A_NOTE),
        (10.4, about(10, within=0.05), Verdict.CONFIRMED),
        (10.6, about(10, within=0.05), Verdict.NOT_CONFIRMED),
        (float("nan"), AtLeast(0), Verdict.NOT_CONFIRMED),
    ],
)
def test_the_verdict_follows_from_the_value_and_its_interval(
    measured: Estimate | float, expect: Expectation, verdict: Verdict
) -> None:
    assert judged(measured, expect).verdict is verdict


def test_a_note_qualifies_what_holds_and_is_silent_on_what_does_not() -> None:
    assert judged(5.0, AtLeast(1), note="By our reading.").verdict is Verdict.WITH_A_NOTE
    assert judged(5.0, AtLeast(1), note="By our reading.").why == "By our reading."
    assert judged(0.0, AtLeast(1), note="By our reading.", why_not="A misprint.").why == "A misprint."


def test_several_values_must_all_hold_and_those_that_do_not_are_named() -> None:
    found = judged({"p50": 1.0, "p90": 0.5, "p99": Estimate(0.4, 0.3)}, AtMost(0.6), why_not="The median stays.")
    assert found.verdict is Verdict.NOT_CONFIRMED
    assert found.why == "Outside what is expected: p50. The median stays."
    assert "interval of p99" in judged({"p90": 0.5, "p99": Estimate(0.4, 0.3)}, AtMost(0.6)).why


def test_what_has_no_table_or_no_such_point_is_not_measured() -> None:
    def absent(_: Results) -> float:
        raise Gone("test has no 'mean'")

    claim = Claim(name="x", text="x", source="x", experiments=("test",), measure=absent, expect=AtLeast(0))
    assert judge(claim, RESULTS).verdict is Verdict.NOT_MEASURED
    assert judge(claim, {}).why == "there is no table of test yet"


def test_expectations_read_as_sentences() -> None:
    assert [str(each) for each in (AtLeast(0.1), AtMost(3), about(10, within=0.05))] == [
        "at least 0.1",
        "at most 3",
        "between 9.5 and 10.5",
    ]


@pytest.mark.parametrize(
    ("above", "below", "expected"),
    [
        (Estimate(10, 1), 4.0, Estimate(2.5, 0.25)),
        (10.0, Estimate(4, 0.4), Estimate(2.5, 0.25)),
        (Estimate(10, 0.3), Estimate(-5, 0.2), Estimate(-2, 0.1)),
        (Estimate(0, 1), Estimate(4, 1), Estimate(0, 0.25)),
        (Estimate(10), Estimate(4, 1), Estimate(2.5)),
    ],
)
def test_a_quotient_is_as_sure_as_its_parts(
    above: Estimate | float, below: Estimate | float, expected: Estimate
) -> None:
    found = quotient(above, below)
    assert found.value == pytest.approx(expected.value)
    assert found.half_width == (None if expected.half_width is None else pytest.approx(expected.half_width))

import math
import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.core import estimates
from headrace.core.estimates import Estimate

# Two-sided 95 % points, as printed in tables of Student's t.
TABLE = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 9: 2.262, 10: 2.228, 29: 2.045, 30: 2.042, 120: 1.980}


@pytest.mark.parametrize(("degrees", "value"), TABLE.items())
def test_student_agrees_with_the_printed_tables(degrees: int, value: float) -> None:
    assert estimates.student(degrees) == pytest.approx(value, abs=6e-4)


def test_student_falls_to_the_normal_point() -> None:
    assert estimates.student(5000) == pytest.approx(statistics.NormalDist().inv_cdf(0.975), abs=1e-3)


def test_student_takes_other_levels() -> None:
    assert estimates.student(10, 0.99) == pytest.approx(3.169, abs=6e-4)


def test_student_refuses_no_degrees_of_freedom() -> None:
    with pytest.raises(ValueError, match="0 degrees"):
        estimates.student(0)


def test_one_value_has_no_interval() -> None:
    assert estimates.mean([3.0]) == Estimate(3.0, None)
    assert estimates.mean([3.0]).relative == math.inf


def test_the_interval_of_a_mean_covers_it_19_times_in_20() -> None:
    draw = random.Random(7)
    trials = 2000
    covered = sum(
        abs(estimate.value) <= (estimate.half_width or 0)
        for estimate in (estimates.mean([draw.gauss(0, 1) for _ in range(5)]) for _ in range(trials))
    )
    # Binomial: a deviation of 4 sigma is 0.0195 at 2,000 trials.
    assert covered / trials == pytest.approx(0.95, abs=0.0195)


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=40), st.floats(-1e3, 1e3))
def test_a_shared_shift_leaves_a_paired_difference_alone(values: list[float], shift: float) -> None:
    moved = [value + shift for value in values]
    estimate = estimates.difference(moved, values)
    assert estimate.value == pytest.approx(shift, abs=1e-6)
    assert estimate.half_width == pytest.approx(0, abs=1e-6)


def test_pairing_narrows_the_interval_of_runs_that_share_their_luck() -> None:
    draw = random.Random(3)
    luck = [draw.gauss(10, 3) for _ in range(20)]
    first = [value + 1 + draw.gauss(0, 0.1) for value in luck]
    paired = estimates.difference(first, luck)
    apart = estimates.mean(first).half_width or 0
    assert paired.low < 1 < paired.high
    assert (paired.half_width or 0) < apart / 5


def test_a_ratio_of_proportional_pairs_is_exact() -> None:
    values = [1.0, 2.0, 5.0]
    estimate = estimates.ratio([value / 2 for value in values], values)
    assert estimate.value == pytest.approx(0.5)
    assert estimate.half_width == pytest.approx(0)


def test_the_interval_of_a_ratio_covers_it_19_times_in_20() -> None:
    draw = random.Random(11)
    trials, covered = 1500, 0
    for _ in range(trials):
        below = [draw.gauss(10, 1) for _ in range(12)]
        above = [0.5 * value + draw.gauss(0, 0.5) for value in below]
        estimate = estimates.ratio(above, below)
        covered += estimate.low <= 0.5 <= estimate.high
    assert covered / trials == pytest.approx(0.95, abs=0.0225)


def test_batches_are_of_equal_length_and_leave_off_the_start() -> None:
    assert estimates.batches([9.0, 1.0, 3.0, 5.0, 7.0], 2) == [2.0, 6.0]
    with pytest.raises(ValueError, match="cannot be cut"):
        estimates.batches([1.0], 2)


def test_a_start_from_empty_is_cut_off() -> None:
    draw = random.Random(5)
    series = [10 * (1 - math.exp(-at / 20)) + draw.gauss(0, 0.5) for at in range(400)]
    assert 40 <= estimates.warm_up(series) <= 160
    assert estimates.steady(series).value == pytest.approx(10, abs=0.15)
    assert statistics.fmean(series) < 9.7


def test_a_run_that_is_steady_from_the_start_loses_little() -> None:
    draw = random.Random(6)
    lost = [estimates.warm_up([draw.gauss(0, 1) for _ in range(400)]) for _ in range(50)]
    assert statistics.median(lost) < 80


@pytest.mark.parametrize(
    ("estimate", "text"),
    [
        (Estimate(14.8334, 0.123), "14.83 ± 0.12"),
        (Estimate(0.100234, 0.00118), "0.1002 ± 0.0012"),
        (Estimate(1234.5, 120.4), "1234 ± 120"),
        (Estimate(3, 0.0), "3"),
        (Estimate(0.1), "0.1"),
    ],
)
def test_an_estimate_reads_as_people_write_it(estimate: Estimate, text: str) -> None:
    assert str(estimate) == text

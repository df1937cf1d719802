"""User populations: the rates and the burst that the paper sets, and independence of everything else."""

import numpy as np
import pytest

from headrace.lab.kernels.users import Users, requests

PAPER = Users(10.0, 50.0, 2.3, 5.0, 2.0, 0.3, 0.5, 20.0, 45.0)


def test_requests_are_in_order_within_the_horizon_and_from_every_population() -> None:
    asked = requests(PAPER, 5, seed=1)
    assert np.all(np.diff(asked.times) >= 0)
    assert asked.times[0] > PAPER.start
    assert asked.times[-1] < PAPER.until
    assert set(asked.population) == set(range(5))


def test_rates_are_those_of_the_set_up_outside_and_inside_the_burst() -> None:
    seeds = 3_000
    calm = burst = 0
    for seed in range(seeds):
        times = requests(PAPER._replace(until=8.0), 1, seed).times
        burst += np.count_nonzero((times >= 3.8) & (times < 4.3))  # three mean stays after the burst began
        calm += np.count_nonzero((times >= 7.0) & (times < 8.0))
    # 10 users a second of 5 requests each; t after the burst began, its users are 1 - exp(-t / 0.5) of the way up.
    filled = 1 - (np.exp(-1.5 / 0.5) - np.exp(-2.0 / 0.5))
    # four standard errors each, a rate's spread being the root of users present times the mean square of their rates
    assert calm / seeds == pytest.approx(50, abs=4 * (5 * 133) ** 0.5 / seeds**0.5)
    assert burst / seeds / 0.5 == pytest.approx(50 + 200 * filled, abs=4 * (25 * 133) ** 0.5 / seeds**0.5)


def test_a_population_is_the_same_in_a_larger_network_and_differs_by_seed() -> None:
    few, many = requests(PAPER, 2, seed=3), requests(PAPER, 6, seed=3)
    for k in range(2):
        assert np.array_equal(few.times[few.population == k], many.times[many.population == k])
    assert not np.array_equal(few.times[:20], requests(PAPER, 2, seed=4).times[:20])


def test_bursts_follow_one_another_or_fall_together() -> None:
    def busiest(users: Users) -> list[float]:
        total = np.zeros((3, 60))
        for seed in range(20):
            asked = requests(users, 3, seed)
            for k in range(3):
                total[k] += np.histogram(asked.times[asked.population == k], bins=60, range=(0, 30))[0]
        return [float(bin) / 2 for bin in total.argmax(axis=1)]

    assert busiest(PAPER) == pytest.approx([3.5, 8.5, 13.5], abs=0.8)
    assert busiest(PAPER._replace(burst_every=0.0)) == pytest.approx([3.5, 3.5, 3.5], abs=0.8)


def test_nobody_comes_at_rate_nothing_but_in_the_burst() -> None:
    times = requests(PAPER._replace(rate=0.0), 1, seed=1).times
    assert times.min() >= 2.3
    assert times.max() < 2.3 + 2.0 + 10 * 0.5
    assert len(requests(PAPER._replace(rate=0.0, burst_rate=0.0), 3, seed=1).times) == 0


def test_the_expected_number_of_requests_bounds_the_mean() -> None:
    mean = np.mean([len(requests(PAPER, 5, seed).times) for seed in range(40)])
    assert mean <= PAPER.expected_requests(5) <= 1.2 * mean

"""The stochastic queue's decisions, as plain Python."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.protocols.designs import stochastic as design


def test_production_stops_with_the_last_place_taken_and_waiting_requests_come_first() -> None:
    assert design.place(waiting=1, stored=0, buffers=5) == design.HAND_OVER
    assert design.place(waiting=0, stored=3, buffers=5) == design.STORE
    assert design.place(waiting=0, stored=4, buffers=5) == design.STORE_AND_STOP
    assert design.place(waiting=0, stored=0, buffers=1) == design.STORE_AND_STOP


def test_a_request_moves_on_until_its_last_probe_and_then_waits() -> None:
    assert design.forward(stored=1, hops=3, max_hops=3) == design.GIVE
    assert [design.forward(stored=0, hops=hops, max_hops=3) for hops in (1, 2, 3)] == [
        design.FORWARD,
        design.FORWARD,
        design.WAIT,
    ]


@given(st.lists(st.floats(0, 100), min_size=1, max_size=40).filter(lambda weights: sum(weights) > 1e-3))
def test_the_tables_draw_each_producer_in_proportion_to_its_weight(weights: list[float]) -> None:
    n = len(weights)
    threshold, alias = [0.0] * n, [0] * n
    design.prepare(weights, threshold, alias, [0] * n, [0] * n)
    odds = [0.0] * n
    for column in range(n):
        odds[column] += threshold[column] / n
        odds[alias[column]] += (1 - threshold[column]) / n
    assert odds == pytest.approx([weight / sum(weights) for weight in weights], abs=1e-9)


def test_find_reads_the_tables() -> None:
    threshold, alias = [0.5, 1.0], [1, 1]
    assert [design.find(threshold, alias, draw) for draw in (0.0, 0.2, 0.3, 0.5, 0.99)] == [0, 0, 1, 1, 1]


def test_the_shortest_line_wins_and_of_equals_the_last_visited() -> None:
    assert design.shortest([2, 0, 1], 3) == 1
    assert design.shortest([1, 0, 0], 3) == 2
    assert design.shortest([0, 1, 1], 3) == 0


def test_only_the_first_offer_for_the_present_request_is_accepted() -> None:
    assert design.accept(wanted=7, offered=7, taken=False)
    assert not design.accept(wanted=7, offered=7, taken=True)
    assert not design.accept(wanted=7, offered=6, taken=False)


def test_visited_looks_only_at_the_probes_made() -> None:
    assert design.visited([4, 2, 9], 2, 2)
    assert not design.visited([4, 2, 9], 2, 9)


@given(st.lists(st.floats(0.1, 10), min_size=1, max_size=30))
def test_the_gauge_is_the_mean_until_it_forgets(durations: list[float]) -> None:
    mean = 0.0
    for count, duration in enumerate(durations, 1):
        mean = design.gauge(mean, count, duration, memory=30)
    assert mean == pytest.approx(sum(durations) / len(durations))


@given(st.lists(st.floats(0, 5, allow_subnormal=False), min_size=1, max_size=30), st.floats(0, 1))
def test_learned_weights_add_up_keep_a_floor_and_follow_the_rates(told: list[float], exploration: float) -> None:
    weights = [0.0] * len(told)
    design.observe(told, weights, exploration)
    assert sum(weights) == pytest.approx(1)
    assert min(weights) >= exploration / len(told) * (1 - 1e-9)
    for a in range(len(told)):
        for b in range(len(told)):
            if 0 < told[a] <= told[b]:
                assert weights[a] <= weights[b] * (1 + 1e-9)


def test_a_producer_not_heard_of_counts_as_the_mean_of_the_others() -> None:
    weights = [0.0] * 3
    design.observe([1.0, 3.0, 0.0], weights, 0.0)
    assert weights == pytest.approx([1 / 6, 3 / 6, 2 / 6])

"""The decisions of networked sites: laws that hold for every state."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.protocols.designs import networked

probabilities = st.floats(0, 1)
neighbourhoods = st.lists(probabilities, min_size=1, max_size=12)
queues = st.integers(0, 10_000)
pools = st.integers(1, 500)
costs = st.lists(st.floats(0, 100), min_size=1, max_size=12)


@given(queues, pools)
def test_acceptance_is_a_probability_one_without_a_queue_and_falls_with_it(queued: int, servers: int) -> None:
    accepted = networked.acceptance(queued, servers)
    assert 0 < accepted <= 1
    assert networked.acceptance(0, servers) == 1
    assert networked.acceptance(queued + 1, servers) < accepted


@given(probabilities, neighbourhoods, st.integers(0, 11), probabilities)
def test_reach_is_at_least_acceptance_and_falls_as_any_neighbour_refuses_more(
    refusal: float, others: list[float], place: int, more: float
) -> None:
    reached = networked.reach(refusal, others)
    assert 1 - refusal - 1e-12 <= reached <= 1
    worse = list(others)
    worse[place % len(others)] = max(more, worse[place % len(others)])
    assert networked.reach(refusal, worse) <= reached


@given(probabilities, neighbourhoods)
def test_what_a_neighbour_is_told_is_the_product_without_itself(refusal: float, others: list[float]) -> None:
    without = [math.nan] * len(others)
    networked.refusals_without(refusal, others, without)
    for slot in range(len(others)):
        rest = [other for at, other in enumerate(others) if at != slot]
        assert without[slot] == pytest.approx(refusal * math.prod(rest), abs=1e-12)
        assert without[slot] * others[slot] == pytest.approx(1 - networked.reach(refusal, others), abs=1e-12)


@given(neighbourhoods)
def test_forwarding_is_a_distribution_that_prefers_who_refuses_less(refusals: list[float]) -> None:
    chances = [math.nan] * len(refusals)
    networked.forwarding(refusals, chances)
    assert math.fsum(chances) == pytest.approx(1)
    assert all(0 <= chance <= 1 for chance in chances)
    for refusal, chance in zip(refusals, chances, strict=True):
        if refusal < max(refusals):
            assert chance >= min(chances)


@given(st.lists(st.floats(1, 5), min_size=1, max_size=6))
def test_products_above_one_are_clamped_and_certain_refusal_everywhere_is_shared_evenly(told: list[float]) -> None:
    chances = [math.nan] * len(told)
    networked.forwarding(told, chances)
    assert chances == [1 / len(told)] * len(told)
    networked.forwarding([*told, 0.0], [*chances, math.nan])


@given(st.floats(0.01, 1), st.lists(st.tuples(st.floats(0, 0.99), neighbourhoods), min_size=1, max_size=6))
def test_fresh_products_give_the_distribution_as_the_paper_prints_it(
    own_refusal: float, neighbours: list[tuple[float, list[float]]]
) -> None:
    told = []
    printed = []
    for refusal, others in neighbours:
        without = [math.nan] * (len(others) + 1)
        networked.refusals_without(refusal, [own_refusal, *others], without)
        told.append(without[0])
        neighbour_reach = networked.reach(refusal, [own_refusal, *others])
        printed.append(1 - (1 - neighbour_reach) / own_refusal)
    chances = [math.nan] * len(told)
    networked.forwarding(told, chances)
    assert chances == pytest.approx([weight / math.fsum(printed) for weight in printed], abs=1e-9)


@given(neighbourhoods, st.floats(0, 1, exclude_max=True))
def test_a_draw_falls_on_a_neighbour_that_has_a_chance(refusals: list[float], draw: float) -> None:
    chances = [math.nan] * len(refusals)
    networked.forwarding(refusals, chances)
    slot = networked.drawn(chances, draw)
    assert chances[slot] > 0
    assert sum(chances[:slot]) <= draw + 1e-12
    assert draw < sum(chances[: slot + 1]) + 1e-12


@given(st.integers(-500, 10_000), st.floats(1e-4, 1))
def test_the_price_is_nothing_while_a_server_idles_and_rises_with_the_backlog(backlog: int, turn: float) -> None:
    here = networked.price(backlog, turn)
    assert (here == 0) == (backlog < 0)
    assert networked.price(backlog + 1, turn) > here or backlog + 1 < 0


@given(st.floats(0, 10), st.floats(0, 10), st.integers(0, 100), st.floats(1e-4, 1), st.floats(0, 1))
def test_forwarding_costs_the_link_and_never_more_than_staying_with_the_neighbour(
    direct: float, beyond: float, unseen: int, turn: float, delay: float
) -> None:
    through = networked.price_through(direct, beyond, unseen, turn, delay)
    assert delay <= through <= delay + direct
    assert networked.price_through(direct, beyond, unseen + 1, turn, delay) >= through


@given(st.floats(0, 100), costs, st.floats(0, 1, exclude_max=True))
def test_the_cheapest_is_strictly_cheaper_than_staying_or_it_is_here(
    here: float, prices: list[float], draw: float
) -> None:
    slot = networked.cheapest(here, prices, draw)
    if slot == networked.HERE:
        assert min(prices) >= here
    else:
        assert prices[slot] == min(prices) < here


def test_equally_cheap_neighbours_take_turns_by_the_draw() -> None:
    chosen = {networked.cheapest(1.0, [0.5, 0.5, 0.5], draw / 30) for draw in range(30)}
    assert chosen == {0, 1, 2}


@given(costs)
def test_the_way_on_that_a_neighbour_is_told_leaves_itself_out(prices: list[float]) -> None:
    without = [math.nan] * len(prices)
    networked.cheapest_without(prices, without)
    for slot in range(len(prices)):
        rest = [price for at, price in enumerate(prices) if at != slot]
        assert without[slot] == min(rest, default=math.inf)

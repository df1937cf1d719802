"""The relaxed design's decisions, one by one."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.protocols.designs import relaxed
from headrace.protocols.designs.relaxed import EMPTY

draws = st.floats(0, 1, exclude_max=True)
tops = st.lists(st.one_of(st.integers(0, 20), st.just(EMPTY)), min_size=1, max_size=12)


@given(st.permutations(range(9)), st.lists(draws, min_size=9, max_size=9), st.integers(0, 9))
def test_distinct_draws_permute_all_nodes(order: list[int], uniforms: list[float], count: int) -> None:
    relaxed.draw_distinct(order, count, uniforms)
    assert sorted(order) == list(range(9))


def test_each_distinct_pair_is_equally_likely() -> None:
    grid = [(i + 0.5) / 12 for i in range(12)]
    seen: Counter[tuple[int, int]] = Counter()
    for first in grid:
        for second in grid:
            order = [0, 1, 2, 3]
            relaxed.draw_distinct(order, 2, [first, second])
            seen[(order[0], order[1])] += 1
    assert len(seen) == 12
    assert set(seen.values()) == {12}


def test_draws_with_replacement_cover_all_nodes_alike() -> None:
    chosen = [0] * 6
    relaxed.draw_any(chosen, 6, 3, [0.0, 0.3, 0.34, 0.6, 0.67, 0.999])
    assert chosen == [0, 0, 1, 1, 2, 2]


def test_round_robin_comes_back_to_the_first() -> None:
    node, way = 1, []
    for _ in range(4):
        node = relaxed.next_in_turn(node, 3)
        way.append(node)
    assert way == [2, 0, 1, 2]


def test_the_node_given_fewer_items_is_chosen_and_of_equals_the_first() -> None:
    assert relaxed.fewer(0, 1, [5, 4]) == 1
    assert relaxed.fewer(0, 1, [4, 5]) == 0
    assert relaxed.fewer(1, 0, [4, 4]) == 1


@given(tops)
def test_best_worst_and_runner_up_are_those_of_sorting(values: list[int]) -> None:
    ordered = sorted(values)
    best = relaxed.least(values, len(values))
    assert values[best] == ordered[0]
    assert values[relaxed.most(values, len(values))] == ordered[-1]
    other = relaxed.runner_up(values, len(values), best)
    if len(values) == 1:
        assert other == -1
    else:
        assert other != best
        assert values[other] == ordered[1]


@pytest.mark.parametrize(
    ("values", "scanned"),
    [([3], -1), ([3, 1], -1), ([1, 3], 1), ([2, 5, 1], 1), ([5, 2, 1, 9], 3), ([1, 9, 5], 2)],
)
def test_the_forgetful_scan_loses_each_best_it_had(values: list[int], scanned: int) -> None:
    assert relaxed.runner_up_of_scan(values, len(values)) == scanned


@given(st.lists(st.lists(st.integers(0, 50), max_size=6), min_size=1, max_size=5), st.integers(1, 6))
def test_a_batch_is_the_best_of_all_that_was_seen(nodes: list[list[int]], batch: int) -> None:
    heads = [sorted(keys)[:batch] for keys in nodes]
    flat = [key for keys in heads for key in keys + [EMPTY] * (batch - len(keys))]
    wanted = [0] * len(nodes)
    count = relaxed.shares(flat, len(nodes), batch, wanted)
    taken = sorted(key for keys, share in zip(heads, wanted, strict=True) for key in keys[:share])
    assert taken == sorted(key for keys in nodes for key in keys)[:batch]
    assert count == len(taken)


def test_what_is_no_worse_than_the_alternative_settles_it() -> None:
    assert relaxed.settles(3, 3)
    assert relaxed.settles(2, EMPTY)
    assert not relaxed.settles(4, 3)

"""The rank structure and the heaps against Python's own."""

import heapq
from bisect import bisect_left

from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.lab.kernels import relaxed_nodes
from headrace.lab.kernels.ranks import below, insert, ranks, remove
from headrace.protocols.designs.relaxed import EMPTY

UNIVERSE = 70_000  # several blocks of 16,384


@settings(deadline=None)
@given(st.sets(st.integers(0, UNIVERSE - 1), max_size=80), st.data())
def test_ranks_are_places_in_the_sorted_set(keys: set[int], data: st.DataObject) -> None:
    members = ranks(UNIVERSE)
    for key in keys:
        insert(members, key)
    gone = data.draw(st.sets(st.sampled_from(sorted(keys)))) if keys else set()
    for key in gone:
        remove(members, key)
    left = sorted(keys - gone)
    for key in [*keys, 0, UNIVERSE - 1, 16_383, 16_384]:
        assert below(members, key) == bisect_left(left, key)


@settings(deadline=None)
@given(st.lists(st.one_of(st.none(), st.integers(0, 999)), max_size=120))
def test_a_node_is_a_heap_and_counts_what_stands_ahead(steps: list[int | None]) -> None:
    queue = relaxed_nodes.nodes(3, 200, 1000, counted=True)
    plain: list[int] = []
    for step in steps:
        if step is None and plain:
            assert relaxed_nodes.pop(queue, 1) == heapq.heappop(plain)
        elif step is not None and step not in plain:
            relaxed_nodes.push(queue, 1, step)
            heapq.heappush(plain, step)
        assert queue.tops[1] == (plain[0] if plain else EMPTY)
        assert relaxed_nodes.ahead(queue, 1, 500) == sum(key < 500 for key in plain)
    assert queue.tops[0] == queue.tops[2] == EMPTY
    assert not queue.overflow[0]


def test_a_full_node_raises_its_flag_and_keeps_what_it_has() -> None:
    queue = relaxed_nodes.nodes(1, 2, 10, counted=False)
    for key in (3, 2, 1):
        relaxed_nodes.push(queue, 0, key)
    assert queue.overflow[0]
    assert [relaxed_nodes.pop(queue, 0), relaxed_nodes.pop(queue, 0)] == [2, 3]

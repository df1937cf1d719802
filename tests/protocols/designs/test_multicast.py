"""The decisions of the multicast of lengths, as plain Python."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from headrace.protocols.designs import multicast


@given(st.lists(st.integers(0, 5), min_size=1, max_size=12))
def test_producers_are_asked_in_proportion_to_their_known_lengths(lengths: list[int]) -> None:
    total = sum(lengths)
    draws = 200 * total
    asked = Counter(multicast.find(lengths, total, (k + 0.5) / draws) for k in range(draws))
    assert asked == Counter({producer: 200 * length for producer, length in enumerate(lengths) if length})


def test_an_empty_table_names_nobody() -> None:
    assert multicast.find([0, 0], 0, 0.5) == multicast.NOWHERE


def test_rounding_cannot_draw_a_producer_without_items() -> None:
    assert multicast.find([3, 0], 3, 1 - 1e-16) == 0


def test_after_so_many_misses_a_request_waits() -> None:
    assert multicast.forward(stored=1, misses=9, max_hops=3) == multicast.GIVE
    assert [multicast.forward(stored=0, misses=misses, max_hops=3) for misses in (0, 1, 2)] == [
        multicast.MISS,
        multicast.MISS,
        multicast.WAIT,
    ]


def test_an_overtaken_announcement_is_not_news() -> None:
    assert multicast.observe(known=3, announced=4)
    assert not multicast.observe(known=4, announced=3)


def test_only_what_is_stored_is_announced() -> None:
    assert multicast.place(waiting=0, stored=2, buffers=5)
    assert not multicast.place(waiting=1, stored=0, buffers=5)

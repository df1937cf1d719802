"""Multicast of lengths: each producer keeps its items and tells every consumer how many it has.

T. Johnson, "Designing a Distributed Queue" (1995), section 2. A consumer picks from its own table of lengths, so a
request and its reply suffice when the table is right. It can be stale: a producer that has nothing says so, the
consumer notes it and asks another in its table, and after `max_hops` misses it waits at the producer it missed
last. A consumer whose table is empty waits at home for news. These are the decisions alone.
"""

from __future__ import annotations

from collections.abc import Sequence

# What a producer answers to a request.
GIVE, MISS, WAIT = 0, 1, 2

NOWHERE = -1


def place(waiting: int, stored: int, buffers: int) -> bool:
    """Whether a new item is stored, and so announced, rather than handed to the first waiting request."""
    assert stored < buffers
    return waiting == 0


def find(lengths: Sequence[int], total: int, draw: float) -> int:
    """The producer to ask, in proportion to the lengths that are known (`total` in all), or NOWHERE."""
    if total == 0:
        return NOWHERE
    rest = draw * total
    last = NOWHERE
    for producer in range(len(lengths)):
        if lengths[producer] > 0:
            last = producer
            rest -= lengths[producer]
            if rest < 0.0:
                return producer
    return last


def forward(stored: int, misses: int, max_hops: int) -> int:
    """What a producer with `stored` items answers to a request that has missed `misses` times before."""
    if stored > 0:
        return GIVE
    return MISS if misses + 1 < max_hops else WAIT


def observe(known: int, announced: int) -> bool:
    """Whether an announcement is news: announcements are numbered at the producer and can overtake each other."""
    return announced > known

"""The hub: one process stores everything, or (as queue manager) knows where everything is.

T. Johnson, "Designing a Distributed Queue" (1995), section 2: the centralized buffer, and the queue manager that
holds references while each item stays at its producer until it is fetched. Requests are served first come first
served, items leave in the order in which the hub heard of them. These are its decisions alone.
"""

from __future__ import annotations

GIVE, WAIT = 0, 1


def place(held: int, buffers: int) -> bool:
    """Whether a producer goes on: fewer than `buffers` (f) of its items are stored or on their way to the hub."""
    return held < buffers


def find(stored: int) -> int:
    """What the hub answers to a request when `stored` items are allocated to nobody."""
    return GIVE if stored > 0 else WAIT


def hand_over(waiting: int) -> bool:
    """Whether a new item (or reference) goes straight to a waiting request."""
    return waiting > 0

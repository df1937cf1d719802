"""The next event among a fixed number of slots: a tournament tree in two flat arrays.

Each slot has one pending time (infinity when it has none). `winners[1]` is always the slot whose time is the
least, and moving one slot's time replays the log2(slots) matches above it, whose opponents are known beforehand:
measured faster here than a binary heap, which has to search its way. Among equal times the order is fixed by the
sequence of calls, so a run is repeatable, but not first come first served.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headrace.lab.kernels.compiled import inlined

Times = NDArray[np.float64]
Winners = NDArray[np.int64]


def tournament(slots: int) -> tuple[Times, Winners]:
    """`times` and `winners` for at least `slots` slots, all without a pending time."""
    size = 1 << max(1, (slots - 1).bit_length())
    winners = np.zeros(2 * size, dtype=np.int64)
    winners[size:] = np.arange(size)
    for node in range(size - 1, 0, -1):
        winners[node] = winners[2 * node]
    return np.full(size, np.inf), winners


@inlined
def schedule(times: Times, winners: Winners, slot: int, time: float) -> None:
    """Let `slot` be next at `time`, earlier or later than before."""
    times[slot] = time
    winner = slot
    node = slot + len(times)
    while node > 1:
        other = winners[node ^ 1]
        other_time = times[other]
        if other_time < time:
            winner = other
            time = other_time
        node >>= 1
        winners[node] = winner

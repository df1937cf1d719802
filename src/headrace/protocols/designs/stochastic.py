"""The stochastic queue: items stay where they were made, and a consumer finds one by a few random probes.

T. Johnson, "Designing a Distributed Queue" (1995), section 2. A producer keeps at most so many items; a request
that finds none moves on to a random producer of the consumer's choice, at most `max_hops` probes in all, and
then waits, first come first served. Here are its decisions alone, as leaf functions over numbers and arrays
with the random draws handed in; who carries the messages and how long they take is left to the caller.
"""

from __future__ import annotations

from collections.abc import MutableSequence, Sequence

# What a producer answers to a request.
GIVE, FORWARD, WAIT = 0, 1, 2

# What a producer does with a new item.
HAND_OVER, STORE, STORE_AND_STOP = 0, 1, 2

# A consumer that learns goes on drawing this share of its probes evenly, so that it notices changed rates.
EXPLORATION = 0.1


def place(waiting: int, stored: int, buffers: int) -> int:
    """Where a new item goes: to the first waiting request, into the buffer, or into its last place.

    Production stops once the last of `buffers` (f) places is taken: nothing is held in hand.
    """
    if waiting > 0:
        return HAND_OVER
    if stored + 1 < buffers:
        return STORE
    return STORE_AND_STOP


def forward(stored: int, hops: int, max_hops: int) -> int:
    """What a producer with `stored` free items does with a request on its probe number `hops`."""
    if stored > 0:
        return GIVE
    if hops < max_hops:
        return FORWARD
    return WAIT


def find(threshold: Sequence[float], alias: Sequence[int], draw: float) -> int:
    """The producer to probe, by p_access: one draw from [0, 1) against the tables of `prepare`."""
    place_in_table = draw * len(threshold)
    column = int(place_in_table)
    return column if place_in_table - column < threshold[column] else alias[column]


def prepare(
    weights: Sequence[float],
    threshold: MutableSequence[float],
    alias: MutableSequence[int],
    small: MutableSequence[int],
    large: MutableSequence[int],
) -> None:
    """Fill the tables of `find` so that producers are drawn in proportion to `weights` (Vose's alias method).

    `small` and `large` are room to work in, as long as `weights`.
    """
    total = 0.0
    for weight in weights:
        total += weight
    smalls = 0
    larges = 0
    for column in range(len(weights)):
        threshold[column] = weights[column] * len(weights) / total
        alias[column] = column
        if threshold[column] < 1.0:
            small[smalls] = column
            smalls += 1
        else:
            large[larges] = column
            larges += 1
    while smalls > 0 and larges > 0:
        smalls -= 1
        poor = small[smalls]
        rich = large[larges - 1]
        alias[poor] = rich
        threshold[rich] -= 1.0 - threshold[poor]
        if threshold[rich] < 1.0:
            larges -= 1
            small[smalls] = rich
            smalls += 1
    # What is left is full but for rounding; a producer of no weight always has a partner.
    for k in range(smalls):
        threshold[small[k]] = 1.0
    for k in range(larges):
        threshold[large[k]] = 1.0


def visited(path: Sequence[int], hops: int, producer: int) -> bool:
    """Whether `producer` is among the first `hops` of the request's path."""
    for hop in range(hops):  # noqa: SIM110  (a generator would not compile)
        if path[hop] == producer:
            return True
    return False


def shortest(waiting: Sequence[int], hops: int) -> int:
    """Which of the `hops` producers probed had the fewest requests waiting; of equals the last, where we are."""
    best = hops - 1
    for hop in range(hops - 1, -1, -1):
        if waiting[hop] < waiting[best]:
            best = hop
    return best


def accept(wanted: int, offered: int, taken: bool) -> bool:
    """Whether a consumer takes an offer made for its request number `offered`: only the first for the one it has."""
    return offered == wanted and not taken


def gauge(mean: float, count: int, duration: float, memory: int) -> float:
    """A producer's own mean time an item, after the `count`-th item took `duration`.

    A plain mean at first, then one that forgets at the rate of the last `memory` items.
    """
    return mean + (duration - mean) / min(count, memory)


def observe(told: Sequence[float], weights: MutableSequence[float], exploration: float) -> None:
    """The weights of a consumer's probes, from the rates that replies `told` it (0: none yet).

    A producer not heard of counts as the mean of the others; the share `exploration` is spread evenly over all.
    """
    total = 0.0
    heard = 0
    for rate in told:
        if rate > 0.0:
            total += rate
            heard += 1
    mean = total / heard if heard > 0 else 1.0
    whole = total + mean * (len(told) - heard)
    for producer in range(len(told)):
        rate = told[producer] if told[producer] > 0.0 else mean
        weights[producer] = (1.0 - exploration) * (rate / whole) + exploration / len(told)

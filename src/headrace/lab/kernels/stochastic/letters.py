"""Messages on their way besides the one that each consumer may have: a pool that the caller lets grow.

A letter has a slot of its own in the tournament, above the producers' and consumers' slots.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headrace.lab.kernels.compiled import inlined
from headrace.lab.kernels.lines import Ints


class Letters(NamedTuple):
    """`free[:unused[0]]` are the letters not in use; the rest is by letter."""

    unused: Ints
    free: Ints
    kind: Ints
    consumer: Ints
    producer: Ints
    number: Ints
    value: Ints
    served: NDArray[np.bool_]


def letters(capacity: int) -> Letters:
    """A pool of unused letters."""
    return Letters(
        unused=np.array([capacity]),
        free=np.arange(capacity)[::-1].copy(),
        served=np.zeros(capacity, dtype=np.bool_),
        **{name: np.zeros(capacity, dtype=np.int64) for name in ("kind", "consumer", "producer", "number", "value")},
    )


def enlarged(pool: Letters, capacity: int) -> Letters:
    """The same letters in a pool of `capacity`."""
    more = letters(capacity)
    old = len(pool.kind)
    fresh = np.arange(old, capacity)[::-1]
    unused = int(pool.unused[0])
    more.free[: len(fresh)] = fresh
    more.free[len(fresh) : len(fresh) + unused] = pool.free[:unused]
    more.unused[0] = len(fresh) + unused
    for name in ("kind", "consumer", "producer", "number", "value", "served"):
        getattr(more, name)[:old] = getattr(pool, name)
    return more


@inlined
def claim(pool: Letters, kind: int, consumer: int, producer: int, number: int) -> int:
    """A letter of this content; the caller has seen to it that one is unused."""
    pool.unused[0] -= 1
    letter = pool.free[pool.unused[0]]
    pool.kind[letter] = kind
    pool.consumer[letter] = consumer
    pool.producer[letter] = producer
    pool.number[letter] = number
    return int(letter)


@inlined
def release(pool: Letters, letter: int) -> None:
    """The letter is read and done with."""
    pool.free[pool.unused[0]] = letter
    pool.unused[0] += 1

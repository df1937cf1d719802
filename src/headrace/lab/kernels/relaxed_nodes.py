"""The nodes of the relaxed kernel: a binary heap of keys each, in one flat array, their tops beside it.

Tops lie together because peeks read nothing else. Slots beyond a heap's size hold EMPTY, so that sifting needs no
bounds. A heap that would outgrow its slots raises the `overflow` flag instead; the run then starts again with more.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from headrace.lab.kernels.compiled import inlined
from headrace.lab.kernels.ranks import Ranks, below, insert, ranks, remove
from headrace.protocols.designs.relaxed import EMPTY

_BLOCK = 14  # a shelf of `by_node` is whole blocks of Ranks, so that counting starts at its own


class Nodes(NamedTuple):
    """All nodes, and their keys once more by rank if somebody has to count those ahead of a key."""

    tops: NDArray[np.int32]
    sizes: NDArray[np.int32]
    heaps: NDArray[np.int32]
    slots: int
    by_node: Ranks
    shelf: int  # the universe of one node in `by_node`; 0 if that is not kept
    overflow: NDArray[np.bool_]


def nodes(count: int, slots: int, universe: int, *, counted: bool) -> Nodes:
    """`count` empty nodes of up to `slots` keys each, all below `universe`."""
    shelf = ((universe >> _BLOCK) + 1) << _BLOCK if counted else 0
    return Nodes(
        tops=np.full(count, EMPTY, dtype=np.int32),
        sizes=np.zeros(count, dtype=np.int32),
        heaps=np.full(count * (slots + 1), EMPTY, dtype=np.int32),
        slots=slots + 1,
        by_node=ranks(count * shelf),
        shelf=shelf,
        overflow=np.zeros(1, dtype=np.bool_),
    )


@inlined
def push(queue: Nodes, node: int, key: int) -> None:
    """Add `key` to `node`."""
    place = queue.sizes[node]
    if place + 1 == queue.slots:
        queue.overflow[0] = True
        return
    queue.sizes[node] = place + 1
    base = node * queue.slots
    _rise(queue.heaps, base, place, key)
    queue.tops[node] = queue.heaps[base]
    if queue.shelf:
        insert(queue.by_node, node * queue.shelf + key)


@inlined
def pop(queue: Nodes, node: int) -> int:
    """Take the top of `node`, which must have one."""
    base, heaps = node * queue.slots, queue.heaps
    top = heaps[base]
    size = queue.sizes[node] - 1
    queue.sizes[node] = size
    last = heaps[base + size]
    heaps[base + size] = EMPTY
    # The hole sinks to the bottom along the lesser children, and the last key rises from there: most of a heap is
    # at its bottom, so this compares half as much as sinking the last key would.
    hole, child = 0, 1
    while child < size:
        child += int(heaps[base + child + 1] < heaps[base + child])
        heaps[base + hole] = heaps[base + child]
        hole, child = child, 2 * child + 1
    if size:
        _rise(heaps, base, hole, last)
    queue.tops[node] = heaps[base]
    if queue.shelf:
        remove(queue.by_node, node * queue.shelf + top)
    return top


@inlined
def ahead(queue: Nodes, node: int, key: int) -> int:
    """How many keys of `node` are less than `key`; only with `shelf`."""
    return below(queue.by_node, node * queue.shelf + key, node * queue.shelf >> _BLOCK)


@inlined
def _rise(heaps: Any, base: int, place: int, key: int) -> None:
    while place > 0:
        parent = (place - 1) >> 1
        if heaps[base + parent] <= key:
            break
        heaps[base + place] = heaps[base + parent]
        place = parent
    heaps[base + place] = key

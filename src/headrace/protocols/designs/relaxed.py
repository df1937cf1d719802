"""The relaxed design's decisions: where an item is put among the nodes, and which node a pop goes to.

Leaf functions over numbers and sequences. A client calls them, and the compiled kernel jits the same source: so
none of them calls another, all random draws (in [0, 1)) are handed in, and a node without items has the top
`EMPTY`, which is less urgent than any key. What they add up to is the law in `relaxed_law`.
"""

from __future__ import annotations

from collections.abc import MutableSequence, Sequence

EMPTY = 2**31 - 1
"""The top of a node that has nothing to give."""


# Which nodes to look at


def draw_distinct(order: MutableSequence[int], count: int, draws: Sequence[float]) -> None:
    """Move `count` different nodes to the front of `order`, a permutation of all, each choice equally likely."""
    nodes = len(order)
    for i in range(count):
        j = i + int(draws[i] * (nodes - i))
        node = order[j]
        order[j] = order[i]
        order[i] = node


def draw_any(chosen: MutableSequence[int], count: int, nodes: int, draws: Sequence[float]) -> None:
    """Write `count` nodes to the front of `chosen`, each drawn from all of them, so that one may come twice."""
    for i in range(count):
        chosen[i] = int(draws[i] * nodes)


# Place: where an item goes


def next_in_turn(last: int, nodes: int) -> int:
    """Round-robin: the node after the one that got this client's last item."""
    return last + 1 if last + 1 < nodes else 0


def fewer(first: int, second: int, added: Sequence[int]) -> int:
    """Of two nodes, the one that was given fewer items so far."""
    return second if added[second] < added[first] else first


# Find: which of the nodes looked at a pop goes to


def least(values: Sequence[int], count: int) -> int:
    """The place of the least of the first `count` values, of equals the first: the best top."""
    at = 0
    for i in range(1, count):
        if values[i] < values[at]:
            at = i
    return at


def most(values: Sequence[int], count: int) -> int:
    """The place of the greatest of the first `count` values, of equals the first: the worst top."""
    at = 0
    for i in range(1, count):
        if values[i] > values[at]:
            at = i
    return at


def runner_up(values: Sequence[int], count: int, best: int) -> int:
    """The place of the least of the first `count` values but for the one at `best`; -1 if there is no other."""
    at = -1
    for i in range(count):
        if i != best and (at < 0 or values[i] < values[at]):
            at = i
    return at


def runner_up_of_scan(values: Sequence[int], count: int) -> int:
    """What one pass takes for the runner-up when it forgets to demote the best it had before; -1 if none.

    Once a better top turns up, the best before it is lost, so this may name a worse one than `runner_up`.
    """
    best, at = 0, -1
    for i in range(1, count):
        if values[i] < values[best]:
            best = i
        elif at < 0 or values[i] < values[at]:
            at = i
    return at


def shares(tops: Sequence[int], count: int, batch: int, wanted: MutableSequence[int]) -> int:
    """Split a batch over `count` nodes whose `batch` best keys each stand in `tops`, node after node, ascending.

    Writes to `wanted` how many to pop from each node so that together they are the best, and returns their sum,
    which is less than `batch` if there are not as many.
    """
    for i in range(count):
        wanted[i] = 0
    for taken in range(batch):
        best, best_top = -1, EMPTY
        for i in range(count):
            if wanted[i] < batch and tops[i * batch + wanted[i]] < best_top:
                best, best_top = i, tops[i * batch + wanted[i]]
        if best < 0:
            return taken
        wanted[best] += 1
    return batch


def settles(top: int, alternative: int) -> bool:
    """Whether an item is taken rather than the best alternative known, going by their keys."""
    return top <= alternative

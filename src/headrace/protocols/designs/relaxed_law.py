"""The rank error of the relaxed queue, exactly, for one client and keys that keep growing.

Rank error (PEI in Lin and Liang's paper) is how many more urgent items were queued when an item was popped.
The law is Walzer and Williams's ("A Simple yet Exact Analysis of the MultiQueue", ESA 2025, LIPIcs 351:85).
Sort the n nodes by their tops. A pop that peeks d of them takes from one of the j best with probability S_j,
and the gaps between neighbouring tops, counted in items, are independent geometric numbers of mean
n S_j / (n S_j - j). So the rank error is the sum of the first i - 1 gaps with probability S_i - S_{i-1}. With
a single peek there is no such law: the error grows without end.

Exact but for mass below 1e-9 in all, dropped where it decides nothing. Plain Python, so that a node or a
client can use it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from headrace.core.errors import Invalid

DROPPED = 1e-15
"""Mass below this at an end of the band of `survival` is dropped at each step."""


def missed(nodes: int, peeks: int, *, distinct: bool = True) -> list[float]:
    """1 - S_j for j = 0..n: the probability that none of the j best nodes is among those peeked.

    With distinct peeks C(n-j, d) / C(n, d), with replacement (1 - j/n)^d.
    """
    if nodes < 1:
        raise Invalid(f"nodes is {nodes}: a queue needs at least 1")
    if peeks < 1:
        raise Invalid(f"peeks is {peeks}: a pop needs at least 1")
    if distinct and peeks > nodes:
        raise Invalid(f"peeks is {peeks}, more than the {nodes} nodes: use at most {nodes}, or draw with replacement")
    if peeks == 1 < nodes:
        raise Invalid("peeks is 1: without a choice the rank error grows without end, so use at least 2")
    if not distinct:
        return [(1 - j / nodes) ** peeks for j in range(nodes + 1)]
    shares = [1.0]
    for j in range(nodes):
        shares.append(shares[-1] * max(0, nodes - peeks - j) / (nodes - j))
    return shares


def gap_means(miss: Sequence[float]) -> list[float]:
    """The mean gaps between neighbouring tops, n S_j / (n S_j - j) for j = 1..n-1, from `missed`."""
    nodes = len(miss) - 1
    return [nodes * (1 - miss[j]) / (nodes * (1 - miss[j]) - j) for j in range(1, nodes)]


def mean(nodes: int, peeks: int, *, distinct: bool = True) -> float:
    """E: each gap counts with the probability that the pop reached beyond it."""
    miss = missed(nodes, peeks, distinct=distinct)
    return sum(share * gap for share, gap in zip(miss[1:], gap_means(miss), strict=False))


def survival(nodes: int, peeks: int, *, distinct: bool = True) -> Iterator[float]:
    """P(rank error > 0), P(rank error > 1), … without end.

    Walks along the items: `inside[j]` is the probability that the walk stands in gap j and the pop lies
    beyond. A step stays in the gap, or ends it and goes on into the next unless the pop is there. Only a band
    of gaps has visible mass, some square root of n wide.
    """
    miss = missed(nodes, peeks, distinct=distinct)
    ends = [1 / gap for gap in gap_means(miss)]
    stays = [1 - end for end in ends]
    # P(ends gap j and goes on) for the gap before each, nothing before the first
    enters = [0.0] + [ends[j] * miss[j + 2] / miss[j + 1] if miss[j + 1] else 0.0 for j in range(nodes - 2)]
    first, inside = 0, [miss[1]] if nodes > 1 else []
    while True:
        yield sum(inside)
        if first + len(inside) < nodes - 1:
            inside.append(0.0)
        after = first + len(inside)
        inside = [
            here * stay + before * enter
            for here, stay, before, enter in zip(
                inside, stays[first:after], [0.0, *inside], enters[first:after], strict=False
            )
        ]
        while inside and inside[-1] < DROPPED:
            inside.pop()
        dropped = next((j for j, share in enumerate(inside) if share >= DROPPED), len(inside))
        first, inside = first + dropped, inside[dropped:]


def percentiles(nodes: int, peeks: int, shares: Sequence[float], *, distinct: bool = True) -> list[int]:
    """For each of the ascending `shares`, the least rank error that this share of pops does not exceed."""
    found: list[int] = []
    for rank, beyond in enumerate(survival(nodes, peeks, distinct=distinct)):
        while len(found) < len(shares) and beyond <= 1 - shares[len(found)]:
            found.append(rank)
        if len(found) == len(shares):
            break
    return found

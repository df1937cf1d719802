"""Networks of clusters: named shapes, or links read from a file, as arrays that a compiled kernel walks.

A network is undirected; every link is two directed edges that know each other. Clusters are numbered from 0, and an
edge's place among its cluster's edges is the neighbour's slot in the decisions of `designs/networked`.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headrace.core.errors import Invalid

MOST_CLUSTERS = 50_000
MOST_COMPLETE = 2_000
SHAPES = "ring:N, chords:N, star:N, complete:N, grid:RxC"


class Network(NamedTuple):
    """`heads[first_edge[k]:first_edge[k + 1]]` are the neighbours of cluster k; `backward` is an edge's opposite."""

    first_edge: NDArray[np.int64]
    heads: NDArray[np.int64]
    backward: NDArray[np.int64]

    @property
    def clusters(self) -> int:
        return len(self.first_edge) - 1

    def lonely(self) -> int | None:
        """A cluster without a neighbour, if there is one."""
        lonely = np.flatnonzero(np.diff(self.first_edge) == 0)
        return int(lonely[0]) if len(lonely) else None


def network(topology: str) -> Network:
    """The network that `topology` names: a shape with its size, or the path of a file of links."""
    shape, _, size = topology.partition(":")
    if shape == "grid":
        rows, columns = (_count(topology, side) for side in (*size.split("x", 1), "")[:2])
        _count(topology, str(rows * columns))
        return _linked(*_grid(rows, columns))
    if shape in _SHAPES:
        clusters = _count(topology, size)
        if shape == "complete" and clusters > MOST_COMPLETE:
            raise Invalid(f"--topology is {topology!r}: a complete network has at most {MOST_COMPLETE} clusters")
        return _linked(clusters, _SHAPES[shape](clusters))
    return _linked(*_read(topology))


def alone(clusters: int) -> Network:
    """Clusters without links."""
    return _linked(clusters, [])


def _count(topology: str, text: str) -> int:
    count = _number(text)
    if count is None or not 1 <= count <= MOST_CLUSTERS:
        raise Invalid(f"--topology is {topology!r}: write one of {SHAPES}, with 1 to {MOST_CLUSTERS} clusters in all")
    return count


def _number(text: str) -> int | None:
    """A plain whole number of at most nine digits, or nothing."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 9 else None


def _ring(clusters: int) -> list[tuple[int, int]]:
    """Each to the next; two clusters share one link."""
    return [(k, k + 1) for k in range(clusters - 1)] + ([(clusters - 1, 0)] if clusters > 2 else [])


def _chords(clusters: int) -> list[tuple[int, int]]:
    """The ring, and a chord across it from each cluster of its first half."""
    links = _ring(clusters)
    return links + [(k, k + clusters // 2) for k in range(clusters // 2) if (k, k + clusters // 2) not in links]


def _star(clusters: int) -> list[tuple[int, int]]:
    """Cluster 0 to all others."""
    return [(0, k) for k in range(1, clusters)]


def _complete(clusters: int) -> list[tuple[int, int]]:
    return [(a, b) for a in range(clusters) for b in range(a + 1, clusters)]


def _grid(rows: int, columns: int) -> tuple[int, list[tuple[int, int]]]:
    """Each to its right and lower neighbour; the edges of the grid are not joined."""
    across = [(r * columns + c, r * columns + c + 1) for r in range(rows) for c in range(columns - 1)]
    down = [(r * columns + c, (r + 1) * columns + c) for r in range(rows - 1) for c in range(columns)]
    return rows * columns, across + down


_SHAPES = {"ring": _ring, "chords": _chords, "star": _star, "complete": _complete}


def _read(path: str) -> tuple[int, list[tuple[int, int]]]:
    """Links from a file: two cluster numbers a line; what follows a # is a comment."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise Invalid(f"--topology is {path!r}: it must be one of {SHAPES}, or a readable file of links") from error
    links: list[tuple[int, int]] = []
    for number, line in enumerate(lines, start=1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        ends = sorted(end for word in words if (end := _number(word)) is not None and end < MOST_CLUSTERS)
        if len(words) != 2 or len(ends) != 2:
            raise Invalid(f"line {number} of {path} is {line.strip()!r}: a link is two cluster numbers, as in '0 1'")
        a, b = ends
        if a == b:
            raise Invalid(f"line {number} of {path} links cluster {a} to itself: name two clusters")
        links.append((a, b))
    if not links:
        raise Invalid(f"{path} has no links: write one a line, as in '0 1'")
    if len(set(links)) < len(links):
        twice = Counter(links).most_common(1)[0][0]
        raise Invalid(f"{path} links clusters {twice[0]} and {twice[1]} twice: keep one line")
    return 1 + max(b for _, b in links), links


def _linked(clusters: int, links: list[tuple[int, int]]) -> Network:
    ends = np.array(links, dtype=np.int64).reshape(-1, 2)
    tails = np.concatenate([ends[:, 0], ends[:, 1]])
    heads = np.concatenate([ends[:, 1], ends[:, 0]])
    order = np.lexsort((heads, tails))
    position = np.empty_like(order)
    position[order] = np.arange(len(order))
    opposite = np.roll(np.arange(len(order)), len(links))
    return Network(
        first_edge=np.searchsorted(tails[order], np.arange(clusters + 1)).astype(np.int64),
        heads=heads[order],
        backward=position[opposite[order]],
    )

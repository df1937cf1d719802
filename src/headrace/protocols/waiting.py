"""Requests that wait in the node: pops for an item, adds for room. Volatile: a client that waited through a crash asks
again. First come, first served, a queue at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from headrace.core.commands import Request


class Parked:
    """One waiting request. `until_us` None is for ever."""

    __slots__ = ("queues", "request", "until_us")

    def __init__(self, request: Request, queues: Sequence[str], until_us: int | None) -> None:
        self.request = request
        self.queues = queues
        self.until_us = until_us


class Line:
    """The requests of one kind that wait, by queue and by who waits for the answer."""

    def __init__(self) -> None:
        self._by_queue: dict[str, dict[int, Parked]] = {}
        self.parked: dict[Any, Parked] = {}

    def park(self, parked: Parked) -> None:
        self.parked[parked.request.ref] = parked
        for queue in parked.queues:
            self._by_queue.setdefault(queue, {})[id(parked)] = parked

    def leave(self, ref: Any) -> Parked | None:
        """Take a request out of the line; None when it is not in it."""
        parked = self.parked.pop(ref, None)
        if parked is not None:
            for queue in parked.queues:
                line = self._by_queue[queue]
                del line[id(parked)]
                if not line:
                    del self._by_queue[queue]
        return parked

    def waits(self, queue: str) -> bool:
        return queue in self._by_queue

    def first(self, queue: str) -> Parked | None:
        """Who has waited longest for this queue."""
        line = self._by_queue.get(queue)
        return next(iter(line.values())) if line else None

    def of(self, queue: str) -> list[Parked]:
        """Who waits for this queue, longest first."""
        return list(self._by_queue.get(queue, {}).values())

    def __iter__(self) -> Iterator[Parked]:
        return iter(list(self.parked.values()))

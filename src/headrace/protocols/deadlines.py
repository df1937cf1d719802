"""When leases end. Volatile: after a recovery each lease has a full new period.

Times here are *lease time*: the monotonic clock less what our own stalls have cost, so that a stall expires nobody.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush, heapreplace
from typing import Final

from headrace.protocols.subqueue import Subqueue

SLACK: Final = 1024


class Deadlines:
    """A heap of (deadline, first receipt, count, queue), tidied when it is mostly of leases that are settled."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, int, str]] = []
        self._prolonged: dict[int, int] = {}

    def set(self, deadline_us: int, first: int, count: int, sub: Subqueue) -> None:
        """These leases end then. The earliest one makes room if it is settled, which mostly keeps the heap short."""
        heap = self._heap
        new = (deadline_us, first, count, sub.name)
        if heap:
            _, earliest, its_count, its_queue = heap[0]
            if its_count == 1 and its_queue == sub.name and earliest not in sub.leases:
                heapreplace(heap, new)
                return
        heappush(heap, new)

    def prolong(self, deadline_us: int, counters: list[int], queue: str) -> None:
        for counter in counters:
            self._prolonged[counter] = deadline_us
            heappush(self._heap, (deadline_us, counter, 1, queue))

    def next_us(self) -> int | None:
        return self._heap[0][0] if self._heap else None

    def expired(self, lease_now_us: int, queues: dict[str, Subqueue]) -> dict[str, list[int]]:
        """The receipts whose period is over, by queue; those being settled have a last say and are asked again."""
        over: dict[str, dict[int, None]] = {}  # a receipt that was prolonged may come up more than once
        heap = self._heap
        while heap and heap[0][0] <= lease_now_us:
            _, first, count, queue = heappop(heap)
            sub = queues.get(queue)
            if sub is None:
                continue
            for counter in range(first, first + count):
                held = counter in sub.leases and counter not in sub.settling
                if held and self._prolonged.get(counter, 0) <= lease_now_us:
                    self._prolonged.pop(counter, None)
                    over.setdefault(queue, {})[counter] = None
        return {queue: list(counters) for queue, counters in over.items()}

    def tidy(self, queues: dict[str, Subqueue]) -> None:
        """Let go of settled leases once they outnumber the live ones."""
        live = sum(len(sub.leases) for sub in queues.values())
        if max(len(self._heap), len(self._prolonged)) <= 2 * live + SLACK:
            return
        self._heap = [
            (deadline, first, count, queue)
            for deadline, first, count, queue in self._heap
            if (sub := queues.get(queue)) is not None and any(c in sub.leases for c in range(first, first + count))
        ]
        heapify(self._heap)
        held = {c for sub in queues.values() for c in sub.leases} if self._prolonged else set()
        self._prolonged = {c: deadline for c, deadline in self._prolonged.items() if c in held}

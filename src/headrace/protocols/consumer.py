"""What a consumer decides by itself: when the leases it works on are to be renewed.

A lease is renewed at a third of its period, for as long as its worker's process lives and its loop turns.
"""

from __future__ import annotations

from headrace.core.commands import Extend


class Renewal:
    """The leases that are being worked on here, by receipt."""

    def __init__(self) -> None:
        self._watched: dict[tuple[str, int, int], tuple[int, int]] = {}

    def watch(self, queue: str, epoch: int, counter: int, lease_us: int, now_us: int) -> int:
        """Renew this lease from now on; when that is first due."""
        due_us = now_us + lease_us // 3
        self._watched[queue, epoch, counter] = due_us, lease_us
        return due_us

    def unwatch(self, queue: str, epoch: int, counter: int) -> None:
        self._watched.pop((queue, epoch, counter), None)

    def next_us(self) -> int | None:
        """When the next renewal is due."""
        return min((due_us for due_us, _ in list(self._watched.values())), default=None)

    def due(self, now_us: int) -> list[Extend]:
        """The renewals that are due, each for the period that its lease has."""
        groups: dict[tuple[str, int, int], list[int]] = {}
        for receipt, (due_us, lease_us) in list(self._watched.items()):
            if due_us <= now_us:
                queue, epoch, counter = receipt
                groups.setdefault((queue, epoch, lease_us), []).append(counter)
                if receipt in self._watched:
                    self._watched[receipt] = now_us + lease_us // 3, lease_us
        return [Extend(queue, epoch, counters, lease_us) for (queue, epoch, lease_us), counters in groups.items()]

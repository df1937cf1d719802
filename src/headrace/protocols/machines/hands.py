"""The taking half of the hand-over: one item at a time is taken, and what is done is remembered until that is known.

Without the memory an inquiry that comes after the work is done would be answered "missing", and the item would come
out again. What is taken is worked on once, however often it arrives. The memory dies with the process: what its
forerunner was handed may come out twice, and its sender is told why.
"""

from __future__ import annotations

from headrace.protocols.designs.stochastic import accept
from headrace.protocols.machines import messages as m
from headrace.protocols.machines.orders import Orders

Key = tuple[int, int, int]
"""Sender, epoch, counter."""


class Hands:
    """What one receiver holds, and what it has done."""

    def __init__(self, first_number: int = 0) -> None:
        """A receiver that comes back begins with a number that its forerunner did not reach."""
        self._first_number = first_number
        self.number = first_number
        """The request that is open, or was last."""
        self.taken = True
        """Whether that one has its item."""
        self._holds: Key | None = None
        self._done: dict[Key, None] = {}

    def want(self) -> int:
        """Open a new request; its number."""
        self.number += 1
        self.taken = False
        return self.number

    def finish(self, orders: Orders) -> None:
        """The item in hand, if there is one, is worked off; what is not known to be done yet is said again with it."""
        if self._holds is not None:
            self._done[self._holds] = None
            self._holds = None
        for sender, epoch, counter in self._done:
            orders.send(sender, m.Settled(epoch, counter, m.DONE))

    def on_handed(self, sender: int, handed: m.Handed, orders: Orders) -> None:
        """An item has come: take it if it is the first for the open request."""
        key = sender, handed.epoch, handed.counter
        state = self._state(key)
        if state == m.MISSING and accept(self.number, handed.number, self.taken):
            self.taken = True
            self._holds = key
            orders.work(handed.entry)
            return
        if state == m.MISSING:
            state = m.FORGOTTEN if handed.number <= self._first_number else m.DECLINED
        orders.send(sender, m.Settled(handed.epoch, handed.counter, state))

    def on_inquiry(self, sender: int, inquiry: m.Inquiry, orders: Orders) -> None:
        state = self._state((sender, inquiry.epoch, inquiry.counter))
        orders.send(sender, m.Settled(inquiry.epoch, inquiry.counter, state))

    def on_known(self, sender: int, known: m.Known) -> None:
        self._done.pop((sender, known.epoch, known.counter), None)

    def _state(self, key: Key) -> int:
        if key == self._holds:
            return m.HOLDING
        return m.DONE if key in self._done else m.MISSING

"""What all consumers have in common: one request at a time, and work on what comes of it.

How a request is made is each design's own. With a patience, a request that has not got its item in time is given up for
a new one; without, a consumer trusts the network and whoever it waits at, as the paper's do.
"""

from __future__ import annotations

from headrace.protocols.machines import messages as m
from headrace.protocols.machines.hands import Hands
from headrace.protocols.machines.orders import Orders


class Asker:
    """Gets ready, asks for an item, works it off, and asks again."""

    def __init__(self, address: int, *, patience_us: int | None = None, first_number: int = 0) -> None:
        self.hands = Hands(first_number)
        self.address = address
        self._patience_us = patience_us
        self.wake_us: int | None = None

    def request(self, number: int, orders: Orders) -> None:
        """Send out the request of this number."""
        raise NotImplementedError

    def on_news(self, now_us: int, sender: int, message: m.AnyMessage, orders: Orders) -> None:
        """Something has come that is not of the hand-over."""

    def begin(self, now_us: int, orders: Orders) -> None:
        orders.work()

    def on_worked(self, now_us: int, product: bytes, orders: Orders) -> None:
        self.hands.finish(orders)
        self._ask(now_us, orders)

    def handle(self, now_us: int, sender: int, message: m.AnyMessage, orders: Orders) -> None:
        match message:
            case m.Handed():
                self.hands.on_handed(sender, message, orders)
            case m.Inquiry():
                self.hands.on_inquiry(sender, message, orders)
            case m.Known():
                self.hands.on_known(sender, message)
            case _:
                self.on_news(now_us, sender, message, orders)
        if self.hands.taken:
            self.wake_us = None

    def on_wake(self, now_us: int, orders: Orders) -> None:
        """The answer has not come in time."""
        if self.wake_us is not None and now_us >= self.wake_us:
            self._ask(now_us, orders)

    def _ask(self, now_us: int, orders: Orders) -> None:
        if self._patience_us is not None:
            self.wake_us = now_us + self._patience_us
        self.request(self.hands.want(), orders)

"""Multicast of lengths: producers that tell every consumer how much they have, consumers that ask by a table.

T. Johnson (1995), section 2; the decisions are those of `designs/multicast`. A length that a lost notice told is
corrected by the next one; a consumer whose table is empty for want of notices, or whose request was lost, asks some
producer when its patience ends, and waits there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headrace.protocols.designs import multicast as design
from headrace.protocols.machines import messages as m
from headrace.protocols.machines.asker import Asker
from headrace.protocols.machines.orders import Orders
from headrace.protocols.machines.stock import Receiver, Stock


class Producer:
    """Makes items, keeps at most `buffers` (f) of them, and tells its length whenever that changes."""

    def __init__(
        self, stock: Stock, *, buffers: int, max_hops: int, consumers: Sequence[int], first_notice: int = 0
    ) -> None:
        """One that comes back begins with a notice that its forerunner did not reach."""
        self.stock = stock
        self._buffers = buffers
        self._max_hops = max_hops
        self._consumers = consumers
        self._is_stopped = True
        self._told = 0
        self._notice = first_notice
        self._seen: dict[int, tuple[int, int]] = {}

    @property
    def wake_us(self) -> int:
        return self.stock.wake_us

    def begin(self, now_us: int, orders: Orders) -> None:
        self.stock.begin(now_us, orders)
        self._settle(orders)

    def on_worked(self, now_us: int, product: bytes, orders: Orders) -> None:
        """An item is made."""
        # An item that was taken back may have filled the last place while this one was being made.
        taken = min(self.stock.stored, self._buffers - 1)
        stored = design.place(self.stock.waiting, taken, self._buffers)
        self.stock.add(now_us, product, orders)
        self._is_stopped = stored and self.stock.stored >= self._buffers
        if not self._is_stopped:
            orders.work()
        self._settle(orders)

    def handle(self, now_us: int, sender: int, message: m.AnyMessage, orders: Orders) -> None:
        if isinstance(message, m.Look):
            self._on_look(now_us, sender, message, orders)
        elif isinstance(message, m.Settled):
            self.stock.settle(now_us, sender, message, orders)
        self._settle(orders)

    def on_wake(self, now_us: int, orders: Orders) -> None:
        self.stock.on_wake(now_us, orders)
        self._settle(orders)

    def _on_look(self, now_us: int, sender: int, look: m.Look, orders: Orders) -> None:
        latest = look.number, look.misses
        if latest <= self._seen.get(sender, (-1, -1)):
            return  # it came twice, or its consumer has asked anew
        self._seen[sender] = latest
        self.stock.leave(sender)
        if design.forward(self.stock.stored, look.misses, self._max_hops) == design.MISS:
            orders.send(sender, m.Miss(look.number, look.misses, self._notice))
        else:
            self.stock.give(now_us, Receiver(sender, look.number), orders)

    def _settle(self, orders: Orders) -> None:
        """Go on making items once there is room, and tell a length that is new."""
        if self._is_stopped and self.stock.stored < self._buffers:
            self._is_stopped = False
            orders.work()
        if self.stock.stored != self._told:
            self._told = self.stock.stored
            self._notice += 1
            for consumer in self._consumers:
                orders.send(consumer, m.Notice(self._notice, self._told))


class Consumer(Asker):
    """Asks a producer of its table; with an empty one it waits at home for news."""

    def __init__(
        self,
        address: int,
        *,
        producers: int,
        max_hops: int,
        draw: Callable[[], float],
        patience_us: int | None = None,
        first_number: int = 0,
    ) -> None:
        """Producers have the addresses from 0."""
        super().__init__(address, patience_us=patience_us, first_number=first_number)
        self._lengths = [0] * producers
        self._known = [0] * producers
        self._max_hops = max_hops
        self._draw = draw
        self._misses = 0
        self._is_home = False

    def request(self, number: int, orders: Orders) -> None:
        self._misses = 0
        self._look(orders)

    def on_wake(self, now_us: int, orders: Orders) -> None:
        super().on_wake(now_us, orders)
        if self._is_home:
            self._is_home = False
            self._misses = self._max_hops
            producer = int(self._draw() * len(self._lengths))
            orders.send(producer, m.Look(self.hands.number, self._misses))

    def on_news(self, now_us: int, sender: int, message: m.AnyMessage, orders: Orders) -> None:
        match message:
            case m.Notice():
                self._note(sender, message.length, message.number)
                if self._is_home:
                    self._look(orders)
            case m.Miss() if (message.number, message.misses) == (self.hands.number, self._misses):
                self._misses += 1
                self._note(sender, 0, message.notice)
                self._look(orders)
            case _:
                pass

    def _note(self, producer: int, length: int, number: int) -> None:
        if design.observe(self._known[producer], number):
            self._known[producer] = number
            self._lengths[producer] = length

    def _look(self, orders: Orders) -> None:
        producer = design.find(self._lengths, sum(self._lengths), self._draw())
        self._is_home = producer == design.NOWHERE
        if not self._is_home:
            orders.send(producer, m.Look(self.hands.number, self._misses))

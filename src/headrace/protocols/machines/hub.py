"""The hub: one process stores all items, or, as queue manager, references to them.

T. Johnson (1995), section 2; the decisions are those of `designs/hub`. With bodies, a source hands each item over to
the hub and keeps it until the hub says that it has left: that ends the hand-over, and gives the source its room
back. What comes twice the hub knows by its key. With references a source keeps its items and informs the hub; who is
answered with a reference fetches an item of that source's.

Bodies survive lost, late and doubled messages and crashes. References do not: an inform that is lost leaves its item
unknown to the hub, as in the paper.
"""

from __future__ import annotations

from headrace.core.items import ENTRY_ID, Item, encode_item, entry_body, entry_extras
from headrace.protocols.designs import hub as design
from headrace.protocols.machines import messages as m
from headrace.protocols.machines.asker import Asker
from headrace.protocols.machines.orders import Orders
from headrace.protocols.machines.stock import Receiver, Stock


class Source:
    """Makes items; at most `buffers` (f) of them are on their way to the hub or stored, there or here."""

    def __init__(self, stock: Stock, *, hub: int, buffers: int, keeps: bool) -> None:
        """`keeps` the items until they are fetched, and gives the hub references."""
        self.stock = stock
        self._hub = hub
        self._buffers = buffers
        self._keeps = keeps
        self._serial = 0
        self._is_working = False
        self._fetched: dict[int, int] = {}

    @property
    def wake_us(self) -> int:
        return self.stock.wake_us

    def begin(self, now_us: int, orders: Orders) -> None:
        self.stock.begin(now_us, orders)
        self._go_on(now_us, orders)

    def on_worked(self, now_us: int, product: bytes, orders: Orders) -> None:
        """An item is made."""
        self._is_working = False
        self.stock.add(now_us, product, orders)
        if self._keeps:
            self._serial += 1
            orders.send(self._hub, m.Inform(self._serial))
        self._go_on(now_us, orders)

    def handle(self, now_us: int, sender: int, message: m.AnyMessage, orders: Orders) -> None:
        if isinstance(message, m.Fetch) and self._fetched.get(sender, -1) < message.number:
            self._fetched[sender] = message.number
            self.stock.give(now_us, Receiver(sender, message.number), orders)
        elif isinstance(message, m.Settled):
            self.stock.settle(now_us, sender, message, orders)
        elif isinstance(message, m.Room):
            self.stock.settle(now_us, sender, m.Settled(message.epoch, message.counter, m.DONE), orders)
        self._go_on(now_us, orders)

    def on_wake(self, now_us: int, orders: Orders) -> None:
        self.stock.on_wake(now_us, orders)
        self._go_on(now_us, orders)

    def _go_on(self, now_us: int, orders: Orders) -> None:
        if not self._keeps:
            while self.stock.stored:
                self.stock.give(now_us, Receiver(self._hub, m.PUT), orders)
        held = self.stock.stored if self._keeps else len(self.stock.under_way)
        if not self._is_working and design.place(held, self._buffers):
            self._is_working = True
            orders.work()


class Hub:
    """Serves requests and items, or references, first come first served."""

    def __init__(self, stock: Stock, *, references: bool) -> None:
        self.stock = stock
        self._references = references
        self._seen: dict[int, int] = {}

    @property
    def wake_us(self) -> int:
        return self.stock.wake_us

    def begin(self, now_us: int, orders: Orders) -> None:
        self.stock.begin(now_us, orders)

    def on_worked(self, now_us: int, product: bytes, orders: Orders) -> None:
        raise AssertionError("a hub has no work but to answer")

    def handle(self, now_us: int, sender: int, message: m.AnyMessage, orders: Orders) -> None:
        before = len(orders.sends)
        match message:
            case m.Handed():
                key = _key(sender, message.epoch, message.counter)
                if not self.stock.knows(now_us, key):
                    self._store(now_us, message.entry[ENTRY_ID], entry_body(message.entry), key, orders)
            case m.Inform():
                item_id = sender.to_bytes(8, "big") + message.serial.to_bytes(8, "big")
                self._store(now_us, item_id, b"", f"{sender}/{message.serial}", orders)
            case m.Ask() if self._seen.get(sender, -1) < message.number:
                self._seen[sender] = message.number
                self._on_ask(now_us, Receiver(sender, message.number), orders)
            case m.Inquiry():
                state = self._whereabouts(now_us, _key(sender, message.epoch, message.counter))
                orders.send(sender, m.Settled(message.epoch, message.counter, state))
            case m.Settled():
                self.stock.settle(now_us, sender, message, orders)
            case _:
                pass
        self._tell(before, orders)

    def on_wake(self, now_us: int, orders: Orders) -> None:
        before = len(orders.sends)
        self.stock.on_wake(now_us, orders)
        self._tell(before, orders)

    def _store(self, now_us: int, item_id: bytes, body: bytes, key: str, orders: Orders) -> None:
        node = self.stock.node
        item = encode_item(Item(body, key=key), item_id, node.wall_us(now_us), node.limits)
        stored, goes = self.stock.stored, design.hand_over(self.stock.waiting)
        self.stock.add(now_us, item, orders)
        assert self.stock.stored == stored + (not goes)

    def _on_ask(self, now_us: int, to: Receiver, orders: Orders) -> None:
        self.stock.leave(to.address)
        gives = design.find(self.stock.stored) == design.GIVE
        self.stock.give(now_us, to, orders)
        assert gives == (to.address not in self.stock.waiting_addresses)

    def _whereabouts(self, now_us: int, key: str) -> int:
        """What became of an item that was put: it is here, or has left, or never came."""
        if not self.stock.knows(now_us, key):
            return m.MISSING
        return m.HOLDING if any(entry_extras(entry).key == key for entry in self.stock.entries) else m.DONE

    def _tell(self, before: int, orders: Orders) -> None:
        """With each item that leaves, tell its source; with references, say where the item is."""
        for place, (to, message) in enumerate(orders.sends[before:], before):
            if isinstance(message, m.Handed):
                source, *receipt = (int(part) for part in (entry_extras(message.entry).key or "").split("/"))
                if self._references:
                    answer = m.Answer(message.number, message.epoch, message.counter, source)
                    orders.sends[place] = to, answer
                else:
                    orders.send(source, m.Room(*receipt))


class Consumer(Asker):
    """Asks the hub; one that is answered with a reference fetches the item."""

    def __init__(self, address: int, *, hub: int, patience_us: int | None = None, first_number: int = 0) -> None:
        super().__init__(address, patience_us=patience_us, first_number=first_number)
        self._hub = hub

    def request(self, number: int, orders: Orders) -> None:
        orders.send(self._hub, m.Ask(number))

    def on_news(self, now_us: int, sender: int, message: m.AnyMessage, orders: Orders) -> None:
        if isinstance(message, m.Answer):
            orders.send(sender, m.Settled(message.epoch, message.counter, m.DONE))
            orders.send(message.producer, m.Fetch(message.number))


def _key(source: int, epoch: int, counter: int) -> str:
    """What an item is known by at the hub: who put it, under which receipt."""
    return f"{source}/{epoch}/{counter}"

"""The networked queue's machine: a site with servers, a queue, and links to neighbours that it forwards to.

Lai and Polak, section II; the decisions are those of `designs/networked`. A site decides on an item when it comes:
start it, queue it, or hand it over to a neighbour. An item's key names the item and how often it was forwarded, and
the log remembers keys; so an item that is handed over again, even after a crash, is taken once. Where a hand-over ends
without having been taken, the item stays here. State that is lost is old state, no more: the next advert says all.

A link is an agreement of two sites. Whoever withdraws it takes nothing more from there, and says so as often as it is
asked to.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from headrace.core.items import ENTRY_ID, Item, encode_item, entry_body
from headrace.protocols.designs import networked as design
from headrace.protocols.machines import messages as m
from headrace.protocols.machines.orders import Orders
from headrace.protocols.machines.stock import QUEUE, Receiver, Stock

Policy = Literal["paper", "cost", "isolated"]


@dataclass(frozen=True, slots=True)
class Rules:
    """How sites work, the same at each. `service_us` and `link_us` are what `cost` reckons with."""

    policy: Policy
    servers: int
    service_us: int
    link_us: int
    exchange_us: int
    hop_limit: int = 0


@dataclass(slots=True)
class _Neighbour:
    """What a site knows of one it has a link with; before the first advert, that it is idle."""

    address: int
    told: float
    beyond: float
    number: int = 0
    told_received: int = 0
    sent: int = 0
    received: int = 0


class Site:
    """One site."""

    def __init__(
        self,
        address: int,
        stock: Stock,
        rules: Rules,
        *,
        neighbours: Sequence[int],
        draw: Callable[[], float],
        first_advert_us: int,
    ) -> None:
        self.stock = stock
        self.address = address
        self._rules = rules
        told, beyond = (-float(rules.servers), math.inf) if rules.policy == "cost" else (0.0, 0.0)
        self.links = [_Neighbour(other, told, beyond) for other in neighbours]
        self._outboxes: list[str] = []
        self._draw = draw
        self._advert_us = first_advert_us
        self._adverts = 0
        self._busy = 0
        self._serving: dict[bytes, tuple[int, int]] = {}
        """The receipts of what is served, by entry: an item that came twice has two."""
        self._own_refusal = 0.0

    @property
    def wake_us(self) -> int:
        return min(self.stock.wake_us, self._advert_us) if self._exchanges else self.stock.wake_us

    @property
    def queued(self) -> int:
        """Requests that wait here (N), without those that are served."""
        return self.stock.stored

    def begin(self, now_us: int, orders: Orders) -> None:
        """Go on with what is here; what was being served is served anew."""
        self.stock.begin(now_us, orders, outboxes=[_outbox(link.address) for link in self.links])
        # There may be more of them than links: what was to go over one that is withdrawn stays here.
        self._outboxes = [queue for queue in self.stock.queues if queue != QUEUE]
        self.stock.take_back(now_us, self.address, orders)
        while self._exchanges and self._advert_us <= now_us:
            self._advert_us += self._rules.exchange_us
        self._go_on(now_us, orders)

    def withdraw(self, now_us: int, other: int, orders: Orders) -> None:
        """End the link with another site."""
        self._drop(other)
        orders.send(other, m.Unlink())
        self._go_on(now_us, orders)

    def on_worked(self, now_us: int, product: bytes, orders: Orders) -> None:
        """The service of an item, whose entry is the product, is over."""
        epoch, counter = self._serving.pop(product)
        self._busy -= 1
        self.stock.settle(now_us, self.address, m.Settled(epoch, counter, m.DONE), orders)
        self._go_on(now_us, orders)

    def handle(self, now_us: int, sender: int, message: m.AnyMessage, orders: Orders) -> None:
        match message:
            case m.Submit():
                self._arrive(now_us, message.item_id, message.body, 0, orders)
            case m.Handed() if sender == self.address:
                self._serving[message.entry] = message.epoch, message.counter
                orders.work(message.entry)
            case m.Handed():
                self._on_forwarded(now_us, sender, message, orders)
            case m.Inquiry():
                orders.send(sender, m.Settled(message.epoch, message.counter, m.MISSING))
            case m.Settled():
                self.stock.settle(now_us, sender, message, orders)
            case m.Advert():
                self._on_advert(sender, message)
            case m.Unlink():
                self._drop(sender)
            case _:
                pass
        self._go_on(now_us, orders)

    def on_wake(self, now_us: int, orders: Orders) -> None:
        self.stock.on_wake(now_us, orders)
        if self._exchanges and now_us >= self._advert_us:
            self._advert_us += self._rules.exchange_us
            self._advertise(orders)
        self._go_on(now_us, orders)

    # -- items -------------------------------------------------------------------------------------------------------

    def _on_forwarded(self, now_us: int, sender: int, handed: m.Handed, orders: Orders) -> None:
        """An item comes over a link. It is ours, and said to be, once it is in our log."""
        link = self._link(sender)
        item_id, hops = handed.entry[ENTRY_ID], handed.number + 1
        state = m.DONE
        if not self.stock.knows(now_us, _key(item_id, hops)):
            if link is None:
                state = m.DECLINED
                orders.send(sender, m.Unlink())
            else:
                link.received += 1
                self._arrive(now_us, item_id, entry_body(handed.entry), hops, orders)
        orders.send(sender, m.Settled(handed.epoch, handed.counter, state))

    def _arrive(self, now_us: int, item_id: bytes, body: bytes, hops: int, orders: Orders) -> None:
        node = self.stock.node
        item = encode_item(Item(body, key=_key(item_id, hops)), item_id, node.wall_us(now_us), node.limits)
        link = self._decide(hops) if self._busy == self._rules.servers else None
        if link is None:
            self.stock.add(now_us, item, orders)
        else:
            link.sent += 1
            outbox = _outbox(link.address)
            self.stock.add(now_us, item, orders, queue=outbox)
            self.stock.give(now_us, Receiver(link.address, hops), orders, queue=outbox)

    def _go_on(self, now_us: int, orders: Orders) -> None:
        """What came back from a neighbour stays here; servers that are idle take what is queued."""
        for outbox in self._outboxes:
            self.stock.free(now_us, outbox, orders)
        while self._busy < self._rules.servers and self.stock.stored:
            self._busy += 1
            self.stock.give(now_us, Receiver(self.address, 0), orders)

    def _decide(self, hops: int) -> _Neighbour | None:
        """The neighbour that an item goes on to, with all servers busy; or None, and it stays."""
        rules, links = self._rules, self.links
        if rules.policy == "isolated" or not links or hops == rules.hop_limit > 0:
            return None
        if rules.policy == "paper":
            if self._draw() < design.acceptance(self.queued, rules.servers):
                return None
            weights = [0.0] * len(links)
            design.forwarding([link.beyond for link in links], weights)
            return links[design.drawn(weights, self._draw())]
        here = design.price(self.queued, self._turn_us)
        # Each hop it took makes a request harder to move on, or stale adverts would send it back and forth.
        slot = design.cheapest(here - hops * rules.link_us, self._prices(), self._draw())
        return None if slot == design.HERE else links[slot]

    # -- what sites know of each other -------------------------------------------------------------------------------

    def _on_advert(self, sender: int, advert: m.Advert) -> None:
        link = self._link(sender)
        if link is not None and advert.number > link.number:  # one that was overtaken is no news
            link.number = advert.number
            link.told, link.beyond, link.told_received = advert.state, advert.beyond, advert.received
            self._own_refusal = self._refusal

    def _advertise(self, orders: Orders) -> None:
        self._adverts += 1
        beyond = [0.0] * len(self.links)
        if self._rules.policy == "paper":
            state = self._refusal
            design.refusals_without(self._own_refusal, [link.told for link in self.links], beyond)
        else:
            state = float(self.queued - (self._rules.servers - self._busy))
            design.cheapest_without(self._prices(), beyond)
        for link, way_on in zip(self.links, beyond, strict=True):
            orders.send(link.address, m.Advert(self._adverts, state, way_on, link.received))

    def _prices(self) -> list[float]:
        """What forwarding over each link costs."""
        turn = self._turn_us
        prices = []
        for link in self.links:
            unseen = link.sent - link.told_received
            direct = design.price(link.told + unseen, turn)
            prices.append(design.price_through(direct, link.beyond, unseen, turn, self._rules.link_us))
        return prices

    @property
    def _turn_us(self) -> float:
        return self._rules.service_us / self._rules.servers

    @property
    def _refusal(self) -> float:
        return 1.0 - design.acceptance(self.queued, self._rules.servers)

    @property
    def _exchanges(self) -> bool:
        return self._rules.policy != "isolated"

    def _link(self, address: int) -> _Neighbour | None:
        return next((link for link in self.links if link.address == address), None)

    def _drop(self, address: int) -> None:
        self.links = [link for link in self.links if link.address != address]


def _outbox(address: int) -> str:
    return f"to-{address}"


def _key(item_id: bytes, hops: int) -> str:
    return f"{item_id.hex()}/{hops}"

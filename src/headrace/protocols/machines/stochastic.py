"""The stochastic queue's two machines: a producer with a bounded stock, a consumer that probes.

T. Johnson (1995), section 2; the decisions are those of `designs/stochastic`. As the paper has it, a lost probe loses
its consumer for ever, and so does a crash of the producer it waits at. So a consumer may have a patience, and then
it asks anew; what comes for the old request is declined. A producer follows one request of a consumer at a time, the
latest, and each of its probes once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headrace.protocols.designs import stochastic as design
from headrace.protocols.machines import messages as m
from headrace.protocols.machines.asker import Asker
from headrace.protocols.machines.orders import Orders
from headrace.protocols.machines.stock import Receiver, Stock


class Producer:
    """Makes items, keeps at most `buffers` (f) of them, and stops while it has so many."""

    def __init__(self, stock: Stock, *, buffers: int, max_hops: int, wait_shortest: bool = False) -> None:
        self.stock = stock
        self._buffers = buffers
        self._max_hops = max_hops
        self._wait_shortest = wait_shortest
        self._is_stopped = True
        self._seen: dict[int, tuple[int, int]] = {}
        """The latest probe of each consumer: its number and hops."""

    @property
    def wake_us(self) -> int:
        return self.stock.wake_us

    def begin(self, now_us: int, orders: Orders) -> None:
        self.stock.begin(now_us, orders)
        self._resume(orders)

    def on_worked(self, now_us: int, product: bytes, orders: Orders) -> None:
        """An item is made."""
        where = design.place(self.stock.waiting, self.stock.stored, self._buffers)
        self.stock.add(now_us, product, orders)
        if where == design.STORE_AND_STOP:
            self._is_stopped = True
        else:
            orders.work()

    def handle(self, now_us: int, sender: int, message: m.AnyMessage, orders: Orders) -> None:
        if isinstance(message, m.Probe):
            self._on_probe(now_us, message, orders)
        elif isinstance(message, m.Settled):
            self.stock.settle(now_us, sender, message, orders)
        self._resume(orders)

    def on_wake(self, now_us: int, orders: Orders) -> None:
        self.stock.on_wake(now_us, orders)
        self._resume(orders)

    def _on_probe(self, now_us: int, probe: m.Probe, orders: Orders) -> None:
        latest = probe.number, probe.hops
        if latest <= self._seen.get(probe.consumer, (-1, -1)):
            return  # it came twice, or its consumer has asked anew
        self._seen[probe.consumer] = latest
        stock = self.stock
        stock.leave(probe.consumer)
        answer = design.forward(stock.stored, probe.hops, self._max_hops)
        if answer == design.GIVE:
            stock.give(now_us, Receiver(probe.consumer, probe.number), orders)
            return
        seen = [*probe.seen, stock.waiting] if self._wait_shortest else []
        if answer == design.FORWARD:
            orders.send(
                probe.route[probe.hops], m.Probe(probe.consumer, probe.number, probe.hops + 1, probe.route, seen)
            )
            return
        if self._wait_shortest and probe.hops == self._max_hops:
            chosen = probe.route[design.shortest(seen, probe.hops)]
            if chosen != probe.route[probe.hops - 1]:
                orders.send(chosen, m.Probe(probe.consumer, probe.number, probe.hops + 1, probe.route))
                return
        stock.give(now_us, Receiver(probe.consumer, probe.number), orders)

    def _resume(self, orders: Orders) -> None:
        """Go on making items once there is room."""
        if self._is_stopped and self.stock.stored < self._buffers:
            self._is_stopped = False
            orders.work()


class Consumer(Asker):
    """Asks by probes that it draws by p_access."""

    def __init__(
        self,
        address: int,
        *,
        reach: Sequence[int],
        weights: Sequence[float],
        max_hops: int,
        draw: Callable[[], float],
        patience_us: int | None = None,
        first_number: int = 0,
    ) -> None:
        """`weights` are p_access of the producers in `reach`; `draw` gives numbers evenly from [0, 1)."""
        super().__init__(address, patience_us=patience_us, first_number=first_number)
        self._reach = reach
        self._threshold, self._alias = [0.0] * len(reach), [0] * len(reach)
        design.prepare(weights, self._threshold, self._alias, [0] * len(reach), [0] * len(reach))
        self._max_hops = max_hops
        self._draw = draw

    def request(self, number: int, orders: Orders) -> None:
        route = [self._reach[design.find(self._threshold, self._alias, self._draw())] for _ in range(self._max_hops)]
        orders.send(route[0], m.Probe(self.address, number, 1, route))

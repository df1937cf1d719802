"""Producers and consumers of the distributed queue (000), as parties: who is there, how fast, under which design.

Makers and users of items are random: production and consumption take exponential times. What is measured is kept in
`Ledger`: when each item was made, when each request was made and granted, and who worked off what.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from headrace.core.items import ENTRY_ID, encode_plain
from headrace.protocols.machines import hub, multicast
from headrace.protocols.machines import messages as m
from headrace.protocols.machines.asker import Asker
from headrace.protocols.machines.orders import Machine
from headrace.protocols.machines.stochastic import Consumer, Producer
from headrace.protocols.machines.stock import Asking
from headrace.sim.disk import SimDisk
from headrace.sim.messages import Carriage, Post
from headrace.sim.party import LIMITS, Keeping, Party
from headrace.sim.world import World

TICK_US = 1_000
"""A tick of the paper's."""
NEVER_US = 1 << 60


@dataclass(frozen=True, slots=True)
class Setup:
    """The paper's parameters, times in ticks; `patience` 0 is none, and nobody is asked before `ask_after`."""

    design: str = "stochastic"
    producers: int = 5
    consumers: int = 5
    buffers: int = 5
    max_hops: int = 3
    produce: float = 100.0
    consume: float = 100.0
    message: float = 1.0
    is_exponential: bool = True
    wait_shortest: bool = False
    patience: float = 0.0
    ask_after: float = 0.0
    tries: int = 5
    has_disks: bool = False


@dataclass(slots=True)
class Ledger:
    """What happened to items and requests; instants in microseconds."""

    made: dict[bytes, int] = field(default_factory=dict)
    finished: Counter[bytes] = field(default_factory=Counter)
    asked: dict[tuple[int, int], int] = field(default_factory=dict)
    granted: dict[tuple[int, int], int] = field(default_factory=dict)
    """When an item first left for a request, in the order in which they did."""
    received: dict[tuple[int, int], int] = field(default_factory=dict)
    served: Counter[int] = field(default_factory=Counter)
    """Items worked off, by consumer."""


class Market:
    """Producers at addresses from 0, then consumers."""

    def __init__(self, world: World, setup: Setup, fired: Counter[str]) -> None:
        self.world = world
        self.setup = setup
        self.ledger = Ledger()
        self.is_producing = True
        self.fired = fired
        self.post = Post(world, Carriage(round(setup.message * TICK_US), setup.is_exponential), fired)
        self.post.watchers.append(self._watch)
        self._durations = world.stream("durations")
        self._ids = 0
        self.hub_address = setup.producers + setup.consumers
        self.keepings = [self._keeping(n) for n in range(setup.producers)]
        self.producers = [self._producer(n) for n in range(setup.producers)]
        self.hubs = [self._hub()] if setup.design in ("hub", "manager") else []
        self.keepers = [*self.producers, *self.hubs]
        """Who stores items."""
        self.consumers = [self._consumer(setup.producers + n) for n in range(setup.consumers)]

    @property
    def parties(self) -> list[Party]:
        return [*self.hubs, *self.producers, *self.consumers]

    def begin(self) -> None:
        for party in self.parties:
            party.up()

    # -- parties -----------------------------------------------------------------------------------------------------

    def _keeping(self, address: int) -> Keeping:
        setup = self.setup
        asking = Asking(round(setup.ask_after * TICK_US) or NEVER_US, setup.tries)
        disk = SimDisk(self.world.stream(f"disk {address}"), fired=self.fired) if setup.has_disks else None
        return Keeping(self.world, asking=asking, disk=disk)

    def _producer(self, address: int) -> Party:
        setup, keeping = self.setup, self.keepings[address]
        lives = iter(range(1 << 30))

        def build() -> Machine:
            stock = keeping.stock()
            match setup.design:
                case "stochastic":
                    return Producer(
                        stock, buffers=setup.buffers, max_hops=setup.max_hops, wait_shortest=setup.wait_shortest
                    )
                case "multicast":
                    return multicast.Producer(
                        stock,
                        buffers=setup.buffers,
                        max_hops=setup.max_hops,
                        consumers=range(setup.producers, setup.producers + setup.consumers),
                        first_notice=next(lives) << 32,
                    )
                case _:
                    return hub.Source(
                        stock, hub=self.hub_address, buffers=setup.buffers, keeps=setup.design == "manager"
                    )

        return Party(
            self.world,
            self.post,
            address,
            build=build,
            work_us=lambda entry: self._lasts_us(setup.produce) if self.is_producing else NEVER_US,
            worked=self._make,
            keeping=keeping,
        )

    def _hub(self) -> Party:
        keeping = self._keeping(self.hub_address)
        references = self.setup.design == "manager"
        return Party(
            self.world,
            self.post,
            self.hub_address,
            build=lambda: hub.Hub(keeping.stock(), references=references),
            work_us=lambda entry: NEVER_US,
            worked=lambda entry: entry,
            keeping=keeping,
        )

    def _consumer(self, address: int) -> Party:
        setup = self.setup
        draws = self.world.stream(f"probes {address}")
        lives = iter(range(1 << 30))

        def build() -> Machine:
            patience_us = round(setup.patience * TICK_US) or None
            first_number = next(lives) << 32
            match setup.design:
                case "stochastic":
                    return Consumer(
                        address,
                        reach=range(setup.producers),
                        weights=[1.0] * setup.producers,
                        max_hops=setup.max_hops,
                        draw=draws.random,
                        patience_us=patience_us,
                        first_number=first_number,
                    )
                case "multicast":
                    return multicast.Consumer(
                        address,
                        producers=setup.producers,
                        max_hops=setup.max_hops,
                        draw=draws.random,
                        patience_us=patience_us,
                        first_number=first_number,
                    )
                case _:
                    return hub.Consumer(
                        address, hub=self.hub_address, patience_us=patience_us, first_number=first_number
                    )

        return Party(
            self.world,
            self.post,
            address,
            build=build,
            work_us=lambda entry: self._use_us(address, entry),
            worked=lambda entry: self._use(address, entry),
        )

    # -- work --------------------------------------------------------------------------------------------------------

    def _lasts_us(self, mean_ticks: float) -> int:
        return round(self._durations.expovariate(1 / mean_ticks) * TICK_US)

    def _make(self, entry: bytes) -> bytes:
        self._ids += 1
        item_id = self._ids.to_bytes(16, "big")
        self.ledger.made[item_id] = self.world.now_us
        return encode_plain(b"", 0, item_id, LIMITS)

    def _use_us(self, address: int, entry: bytes) -> int:
        if entry:
            self.ledger.received[address, self._asker(address).hands.number] = self.world.now_us
        return self._lasts_us(self.setup.consume)

    def _use(self, address: int, entry: bytes) -> bytes:
        if entry:
            self.ledger.finished[entry[ENTRY_ID]] += 1
            self.ledger.served[address] += 1
        machine = self._asker(address)
        self.ledger.asked[address, machine.hands.number + 1] = self.world.now_us
        return b""

    def _asker(self, address: int) -> Asker:
        machine = self.consumers[address - self.setup.producers].machine
        assert isinstance(machine, Asker)
        return machine

    def _watch(self, sender: int, to: int, message: m.AnyMessage) -> None:
        if isinstance(message, m.Handed) and message.number != m.PUT:
            self.ledger.granted.setdefault((to, message.number), self.world.now_us)

"""The networked sites of 002 as parties: users that ask, links between sites, and what became of each request."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from headrace.core.items import ENTRY_ID
from headrace.protocols.machines import messages as m
from headrace.protocols.machines.networked import Rules, Site
from headrace.protocols.machines.orders import Machine
from headrace.protocols.machines.stock import Asking
from headrace.sim.disk import SimDisk
from headrace.sim.messages import Carriage, Post
from headrace.sim.party import Keeping, Party
from headrace.sim.world import World

USERS = -1
"""The address that requests come from."""


@dataclass(frozen=True, slots=True)
class SitesSetup:
    """A network of sites, by the pairs that have links; phases say when each tells its state first."""

    sites: int
    links: tuple[tuple[int, int], ...]
    rules: Rules
    phases_us: tuple[int, ...]
    ask_after_us: int = 1 << 60
    tries: int = 5
    has_disks: bool = False
    ask_every_us: int = 0
    """The mean time between two requests of a site's own users; 0 is no users."""


@dataclass(slots=True)
class SitesLedger:
    """What happened to requests, by their numbers; instants in microseconds."""

    made: dict[bytes, int] = field(default_factory=dict)
    """When each was asked."""
    ended: dict[bytes, int] = field(default_factory=dict)
    finished: Counter[bytes] = field(default_factory=Counter)
    hops: Counter[bytes] = field(default_factory=Counter)
    served: Counter[int] = field(default_factory=Counter)


class Sites:
    """All sites."""

    def __init__(self, world: World, setup: SitesSetup, fired: Counter[str]) -> None:
        self.world = world
        self.setup = setup
        self.fired = fired
        self.ledger = SitesLedger()
        self.post = Post(world, Carriage(setup.rules.link_us, is_exponential=False), fired)
        self.post.watchers.append(self._watch)
        self.withdrawn: set[tuple[int, int]] = set()
        self.parties = [self._party(k) for k in range(setup.sites)]
        self.keepers = self.consumers = self.parties
        self.is_producing = True
        self._ids = 0
        self._users = world.stream("users")

    def begin(self) -> None:
        for party in self.parties:
            party.up()
            if self.setup.ask_every_us:
                self._await_user(party.address)

    def _await_user(self, site: int) -> None:
        def come() -> None:
            if self.is_producing:
                self.ask(site)
                self._await_user(site)

        self.world.after(round(self._users.expovariate(1 / self.setup.ask_every_us)), come)

    def ask(self, site: int) -> bool:
        """A request of a user's; whether the site was there to take it."""
        party = self.parties[site]
        if not party.is_up:
            return False
        self._ids += 1
        item_id = self._ids.to_bytes(16, "big")
        self.ledger.made[item_id] = self.world.now_us
        if not party.hear(USERS, m.Submit(item_id, b"")):
            party.doubtful.add(item_id)
        return True

    def withdraw(self, one: int, other: int) -> None:
        """One site ends its link with another."""
        self.withdrawn.add((one, other))
        party = self.parties[one]
        party.act(lambda now_us, orders: _site(party).withdraw(now_us, other, orders))

    def neighbours(self, site: int) -> Sequence[int]:
        """Whom a site has links with, as it knows when it begins."""
        ends = [pair[1 - pair.index(site)] for pair in self.setup.links if site in pair]
        return sorted(other for other in ends if (site, other) not in self.withdrawn)

    def _party(self, address: int) -> Party:
        setup, world = self.setup, self.world
        draws = world.stream(f"decisions {address}")
        disk = SimDisk(world.stream(f"disk {address}"), fired=self.fired) if setup.has_disks else None
        keeping = Keeping(world, asking=Asking(setup.ask_after_us, setup.tries), disk=disk)
        begun_us = world.now_us

        def build() -> Machine:
            return Site(
                address,
                keeping.stock(),
                setup.rules,
                neighbours=self.neighbours(address),
                draw=draws.random,
                first_advert_us=begun_us + setup.phases_us[address],
            )

        return Party(
            world,
            self.post,
            address,
            build=build,
            work_us=lambda entry: setup.rules.service_us,
            worked=lambda entry: self._served(address, entry),
            keeping=keeping,
        )

    def _served(self, address: int, entry: bytes) -> bytes:
        item_id = entry[ENTRY_ID]
        self.ledger.ended[item_id] = self.world.now_us
        self.ledger.finished[item_id] += 1
        self.ledger.served[address] += 1
        return entry

    def _watch(self, sender: int, to: int, message: m.AnyMessage) -> None:
        if isinstance(message, m.Handed):
            self.ledger.hops[message.entry[ENTRY_ID]] += 1


def _site(party: Party) -> Site:
    assert isinstance(party.machine, Site)
    return party.machine

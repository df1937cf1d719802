"""One run of a design's parties under faults, then with the faults over, then drained; and the verdict.

Conservation: every item whose add was acknowledged is worked off, once, or more often with a logged reason. Liveness:
with the faults over every consumer is served, and without new items everything is worked off.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final

from headrace.protocols.machines.stock import Stock
from headrace.sim.checkers import verdict as v
from headrace.sim.market_steps import Bother, ConsumerVanishes, CutHandOver, KeeperCrashes, MarketPlan, WithdrawLink
from headrace.sim.markets import TICK_US, Market
from headrace.sim.messages import NO_TROUBLE
from headrace.sim.party import Party
from headrace.sim.run import Result
from headrace.sim.sites import Sites, SitesSetup
from headrace.sim.steps import Step
from headrace.sim.world import World

CALM_US: Final = 1_000 * TICK_US
"""By then whoever was down is up, whatever was late has come, and all patience has run out."""
SERVED_ROUNDS: Final = 60
"""Within so many rounds everybody is served who can be."""
DRAIN_ROUNDS: Final = 100
ROUND_US: Final = 100 * TICK_US


class MarketRun:
    """A plan being carried out."""

    def __init__(self, plan: MarketPlan, *, story: list[str] | None = None) -> None:
        self.plan = plan
        self.verdict = v.Verdict()
        self.faults: Counter[str] = Counter()
        self.world = World(f"{plan.scenario}/{plan.seed}", story=story)
        setup = plan.setup
        self.market = (
            Sites(self.world, setup, self.faults)
            if isinstance(setup, SitesSetup)
            else Market(self.world, setup, self.faults)
        )
        self._troubled_until_us = 0

    def go(self) -> Result:
        """Carry the plan out."""
        try:
            self.market.begin()
            for step in self.plan.steps:
                self.world.run(step.at_us)
                self._do(step)
            self._calm()
            self._drain()
            self._check()
        except Exception as error:  # no message, fault or recovery excuses a machine that raises
            self._broken(v.MACHINE, f"{type(error).__name__}: {error}")
        parties = self.market.parties
        return Result(
            self.plan.scenario,
            self.plan.seed,
            self.verdict,
            self.faults,
            self.world.trace,
            sum(self.market.post.sent.values()),
            sum(party.lives for party in parties),
        )

    # -- faults ------------------------------------------------------------------------------------------------------

    def _do(self, step: Step) -> None:
        deed, market = step.deed, self.market
        self.world.tell(lambda: f"fault: {deed}")
        match deed:
            case Bother():
                market.post.trouble = deed.trouble
                self._troubled_until_us = until_us = self.world.now_us + deed.for_us
                self.world.at(until_us, lambda: self._soothe(until_us))
            case ConsumerVanishes():
                waiting = {address for keeper in self._keepers() for address in stock_of(keeper).waiting_addresses}
                party = _picked(market.consumers, deed.pick, lambda party: party.address in waiting)
                if party is not None:
                    self.faults["vanished_waiting" if party.address in waiting else "vanished"] += 1
                    party.down(deed.for_us)
            case KeeperCrashes():
                party = _picked(market.keepers, deed.pick, lambda party: stock_of(party).waiting > 0)
                if party is not None:
                    self._crash(party, deed)
            case CutHandOver():
                pairs = [(keeper.address, to) for keeper in self._keepers() for to in stock_of(keeper).under_way]
                pairs = [(one, other) for one, other in pairs if one != other]
                if pairs:
                    self.faults["cut_in_hand_over"] += 1
                    market.post.cut(*pairs[deed.pick % len(pairs)], deed.for_us)
            case WithdrawLink():
                assert isinstance(market, Sites)
                self._withdraw(market, deed.pick)
            case _:
                raise AssertionError(f"no fault of a market: {deed}")

    def _keepers(self) -> list[Party]:
        return [party for party in self.market.keepers if party.is_up]

    def _crash(self, party: Party, deed: KeeperCrashes) -> None:
        self.faults["crashed_with_waiting" if stock_of(party).waiting else "crashed"] += 1
        if deed.points and party.keeping is not None and party.keeping.disk is not None:
            disk = party.keeping.disk
            disk.crash_at = disk.points + deed.points
            party.down_us = deed.for_us
        else:
            party.down(deed.for_us)

    def _withdraw(self, sites: Sites, pick: int) -> None:
        """The receiver of a hand-over withdraws the link, or any site does."""
        pairs = [(to, keeper.address) for keeper in self._keepers() for to in stock_of(keeper).under_way]
        links = [pair for pair in pairs if pair[0] != pair[1]] or sites.setup.links
        one, other = links[pick % len(links)]
        if sites.parties[one].is_up and (one, other) not in sites.withdrawn:
            self.faults["withdrawn_in_hand_over" if links is not sites.setup.links else "withdrawn"] += 1
            sites.withdraw(one, other)

    def _soothe(self, until_us: int) -> None:
        if self._troubled_until_us == until_us:
            self.market.post.trouble = NO_TROUBLE

    # -- the end -----------------------------------------------------------------------------------------------------

    def _calm(self) -> None:
        """The faults are over: everybody is served."""
        world, market = self.world, self.market
        world.tell(lambda: "faults end")
        market.post.mend()
        for party in market.keepers:
            if party.keeping is not None and party.keeping.disk is not None:
                party.keeping.disk.crash_at = None
        world.run(world.now_us + CALM_US)
        before = market.ledger.served.copy()
        unserved = {party.address for party in market.consumers}
        for _ in range(SERVED_ROUNDS):
            world.run(world.now_us + ROUND_US)
            unserved = {address for address in unserved if market.ledger.served[address] == before[address]}
            if not unserved:
                return
        self._broken(v.LIVENESS, f"consumers are not served: {sorted(unserved)}")

    def _drain(self) -> None:
        """Nothing is made any more: what is there is worked off."""
        self.market.is_producing = False
        for _ in range(DRAIN_ROUNDS):
            self.world.run(self.world.now_us + ROUND_US)
            if not any(stock_of(party).stored or stock_of(party).under_way for party in self.market.keepers):
                return
        self._broken(v.LIVENESS, "items are left that nobody gets")

    def _check(self) -> None:
        market = self.market
        excused = sum(
            (party.keeping.excused for party in market.keepers if party.keeping is not None), Counter[bytes]()
        )
        doubtful = set[bytes]().union(*(party.doubtful for party in market.parties))
        finished = market.ledger.finished
        for item_id in market.ledger.made.keys() - doubtful:
            if not finished[item_id]:
                self._broken(v.LOST, f"item {int.from_bytes(item_id, 'big')} was never worked off")
        for item_id, times in finished.items():
            number = int.from_bytes(item_id, "big")
            if item_id not in market.ledger.made:
                self._broken(v.UNEXPECTED, f"item {number} was never made")
            if times > 1:
                self.faults["repeated"] += 1
            if times > 1 + excused[item_id]:
                self._broken(
                    v.DUPLICATE, f"item {number} was worked off {times} times, and {excused[item_id]} are explained"
                )

    def _broken(self, invariant: str, text: str) -> None:
        self.verdict.broken(invariant, self.world.now_us, text)
        self.world.tell(lambda: f"*** {invariant}: {text}")


def _picked(parties: list[Party], pick: int, is_wanted: Callable[[Party], bool]) -> Party | None:
    """One of those that are up, of those wanted if there are any."""
    up = [party for party in parties if party.is_up]
    of = [party for party in up if is_wanted(party)] or up
    return of[pick % len(of)] if of else None


def stock_of(party: Party) -> Stock:
    """What a keeper stores."""
    assert party.keeping is not None
    return party.keeping.current

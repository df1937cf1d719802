"""What can go wrong among the parties of a design, as steps of a plan: plain data."""

from __future__ import annotations

import msgspec

from headrace.sim.markets import Setup
from headrace.sim.messages import Trouble
from headrace.sim.sites import SitesSetup
from headrace.sim.steps import Deed, Step


class Bother(Deed, frozen=True):
    """Messages are lost, doubled and late for a while."""

    trouble: Trouble
    for_us: int


class ConsumerVanishes(Deed, frozen=True):
    """A consumer dies, one that waits if there is one, and comes back after a while."""

    pick: int
    for_us: int


class KeeperCrashes(Deed, frozen=True):
    """Who keeps items loses its power, one with waiting consumers if there is one: so many calls of its disk from now,
    or at once."""

    pick: int
    points: int
    for_us: int


class CutHandOver(Deed, frozen=True):
    """Two parties between which an item is being handed over are cut off from each other for a while."""

    pick: int
    for_us: int


class WithdrawLink(Deed, frozen=True):
    """A site ends a link, one over which an item is being handed over if there is one."""

    pick: int


class MarketPlan(msgspec.Struct, frozen=True):
    """A whole run."""

    scenario: str
    seed: int
    setup: Setup | SitesSetup
    steps: list[Step]

"""The scenarios of the designs' parties, and the plan that a seed makes of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Final

from headrace.protocols.machines.networked import Rules
from headrace.sim.market_steps import Bother, ConsumerVanishes, CutHandOver, KeeperCrashes, MarketPlan, WithdrawLink
from headrace.sim.markets import TICK_US, Setup
from headrace.sim.messages import Trouble
from headrace.sim.sites import SitesSetup
from headrace.sim.steps import Deed, Step
from headrace.sim.world import START_US

FAULTS: Final = (15, 30)
GAP_TICKS: Final = 60


@dataclass(frozen=True, slots=True)
class MarketScenario:
    """A design, and how often which fault comes to it, in shares of all faults."""

    about: str
    design: str
    faults: Mapping[str, int]


EVERYTHING: Final = {"bother": 3, "vanish": 2, "crash": 2, "cut": 3}
MARKET_SCENARIOS: Final[dict[str, MarketScenario]] = {
    "stochastic": MarketScenario(
        "probes lost, late and doubled; consumers that vanish while they wait; producers that crash with waiting "
        "consumers; cuts during hand-over",
        "stochastic",
        EVERYTHING,
    ),
    "hub": MarketScenario(
        "a hub that stores everything: it crashes, so do its sources, puts and words of room get lost",
        "hub",
        EVERYTHING,
    ),
    "multicast": MarketScenario(
        "tables of lengths that are wrong, for notices that are lost, late and doubled", "multicast", EVERYTHING
    ),
    "networked": MarketScenario(
        "sites that forward: links withdrawn, state messages lost, hand-overs cut, doubled and late, sites that crash",
        "networked",
        {"bother": 4, "crash": 2, "cut": 3, "withdraw": 1},
    ),
}


def make_market_plan(name: str, seed: int) -> MarketPlan:
    """The plan of one seed."""
    rng = Random(f"{name}/{seed}/plan")
    scenario = MARKET_SCENARIOS[name]
    steps = []
    at_us = START_US
    for _ in range(rng.randint(*FAULTS)):
        at_us += round(rng.expovariate(1 / GAP_TICKS) * TICK_US)
        kind = rng.choices(list(scenario.faults), list(scenario.faults.values()))[0]
        steps.append(Step(at_us, -1, _deed(kind, rng)))
    setup = _sites(rng) if scenario.design == "networked" else _market(scenario.design, rng)
    return MarketPlan(name, seed, setup, steps)


def _sites(rng: Random) -> SitesSetup:
    count = rng.randint(2, 5)
    links = {(k, k + 1) for k in range(count - 1)}  # all sites hang together, and some by more links
    links |= {(i, k) for k in range(count) for i in range(k) if rng.random() < 0.3}
    rules = Rules(
        policy=rng.choice(("paper", "cost")),
        servers=rng.choice((1, 3)),
        service_us=8 * TICK_US,
        link_us=3 * TICK_US,
        exchange_us=rng.choice((20, 40)) * TICK_US,
        hop_limit=rng.choice((0, 0, 2)),
    )
    return SitesSetup(
        sites=count,
        links=tuple(sorted(links)),
        rules=rules,
        phases_us=tuple(rng.randrange(rules.exchange_us) for _ in range(count)),
        ask_after_us=rng.choice((10, 40)) * TICK_US,
        tries=rng.choice((2, 5)),
        has_disks=True,
        ask_every_us=round(rules.service_us / rules.servers * rng.choice((1.2, 2.0))),
    )


def _market(design: str, rng: Random) -> Setup:
    return Setup(
        design=design,
        producers=rng.randint(1, 5),
        consumers=rng.randint(2, 6),
        buffers=rng.choice((1, 2, 5)),
        max_hops=rng.randint(1, 4),
        produce=rng.choice((20.0, 60.0)),
        consume=30.0,
        patience=rng.choice((60.0, 300.0)),
        ask_after=rng.choice((8.0, 40.0)),
        tries=rng.choice((2, 5)),
        wait_shortest=rng.random() < 0.3,
        has_disks=True,
    )


def _deed(kind: str, rng: Random) -> Deed:
    for_us = round(rng.choice((3, 30, 200)) * TICK_US * rng.uniform(0.5, 1.5))
    pick = rng.getrandbits(16)
    match kind:
        case "vanish":
            return ConsumerVanishes(pick, for_us)
        case "crash":
            return KeeperCrashes(pick, rng.choice((0, rng.randint(1, 30))), for_us)
        case "withdraw":
            return WithdrawLink(pick)
        case "cut":
            return CutHandOver(pick, for_us)
        case _:
            lost, doubled, late = (rng.choice((0.0, 0.1, 0.4)) for _ in range(3))
            return Bother(Trouble(lost, doubled, late, round(rng.choice((10, 500)) * TICK_US)), for_us)

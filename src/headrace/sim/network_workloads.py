"""The scenarios of the network, and the plan that a seed makes of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import msgspec

from headrace.core import commands as c
from headrace.core.limits import US
from headrace.sim import steps as s
from headrace.sim.network import CLEAR, Weather
from headrace.sim.workloads import EVERYDAY, Maker, Scenario

DAY_US: Final = 24 * 3600 * US
REMOTE: Final = {**EVERYDAY, "pop": 22, "stream": 14, "peek": 1, "why": 1, "list": 1, "forsake": 2}


@dataclass(frozen=True)
class NetworkScenario(Scenario):
    """A scenario with a network in it."""

    weather: Weather = CLEAR
    renewing: float = 0.3
    """How many clients renew what they hold."""
    call_us: tuple[int, ...] = (2 * US, 10 * US, 30 * US)
    """How long clients wait for an answer."""
    embedded: float = 0.0
    intruders: Mapping[str, int] = field(default_factory=dict)


NETWORK_SCENARIOS: Final[dict[str, NetworkScenario]] = {
    "remote": NetworkScenario(
        "clients over a network, and nothing goes wrong but that bytes take their time and come in pieces", REMOTE
    ),
    "resets": NetworkScenario(
        "connections that break at any byte: in mid-batch, after a commit and before its answer, silently, one way",
        {**REMOTE, "cut": 5, "vanish": 1, "leave": 1},
        {"kill": 0.003},
        weather=Weather(cut=0.03, late=0.02, pieces=0.2),
    ),
    "late": NetworkScenario(
        "frames that come late, and twice, and on a connection that has long been replaced",
        {**REMOTE, "cut": 6},
        {},
        weather=Weather(cut=0.02, late=0.15, pieces=0.3, silent=0.8),
        twice=0.2,
    ),
    "outages": NetworkScenario(
        "a node that is killed, loses the power, or pauses for longer than leases last, with clients on the line",
        {**REMOTE, "cut": 1, "vanish": 1},
        {"kill": 0.01, "crash": 0.01, "pause": 0.02, "stop": 0.003},
        weather=Weather(cut=0.005, late=0.02),
        gap_us=100_000,
        long_gaps=0.03,
    ),
    "consumers": NetworkScenario(
        "streams with little credit and many hands, consumers that sleep, vanish and hold on",
        {**REMOTE, "stream": 40, "pop": 5, "add": 40, "commit": 40, "away": 4, "cut": 4, "vanish": 2, "forsake": 5},
        {"kill": 0.002},
        weather=Weather(cut=0.01, late=0.05),
        gap_us=60_000,
        long_gaps=0.02,
    ),
    "returning": NetworkScenario(
        "clients that come back after a day, on the old connection or a new one",
        {**REMOTE, "away_a_day": 2, "away": 2, "former": 10, "cut": 2},
        {"day": 0.008, "kill": 0.003},
        weather=Weather(cut=0.01, late=0.02),
        gap_us=100_000,
        renewing=0.0,
    ),
    "intruders": NetworkScenario(
        "peers that break the protocol between clients that do not",
        REMOTE,
        {"intrude": 0.08, "pause": 0.003},
        weather=Weather(late=0.02, pieces=0.2),
    ),
}  # fmt: skip


def make_network_plan(name: str, seed: int) -> s.Plan:
    """The plan of one seed."""
    return _NetworkMaker(name, NETWORK_SCENARIOS[name], seed).plan()


class _NetworkMaker(Maker):
    """Draws a plan with a network in it."""

    scenario: NetworkScenario

    def plan(self) -> s.Plan:
        rng, scenario = self.rng, self.scenario
        self.limits = msgspec.structs.replace(self.limits, session_silence_us=DAY_US)
        call_us = rng.choice(scenario.call_us)
        renewing = sum(rng.random() < scenario.renewing for _ in range(self.clients))
        plan = super().plan()
        return msgspec.structs.replace(plan, weather=scenario.weather, call_us=call_us, renewing=renewing)

    def _fault(self, kind: str) -> s.Deed:
        if kind == "day":
            self.now_us += DAY_US + round(self.rng.uniform(0, 2) * 3600 * US)
            return s.StepClock(0)
        if kind == "intrude":
            kinds = ("garbage", "oversize", "bent", "early", "broken_item", "absurd", "flood", "mute")
            return s.Intrude(self.rng.choice(kinds), self.rng.getrandbits(30))
        return super()._fault(kind)

    def _stream(self) -> s.Deed:
        rng = self.rng
        queues = [self._queue()] if rng.random() < 0.8 else rng.sample(self.queues, rng.randint(1, len(self.queues)))
        lease_us = round(rng.choice((0, 0, 2, 60)) * US)
        return self._ask(
            c.Pop(queues, rng.choice((1, 2, 3, 10, 100)), rng.choice((-1, -1, 5 * US)), lease_us, stream=True)
        )

    def _cut(self) -> s.Deed:
        return s.Cut(self.rng.random() < self.scenario.weather.silent)

    def _away(self) -> s.Deed:
        return s.Away(
            round(self.rng.choice((0.1, 1, 5, 70)) * US * self.rng.uniform(0.5, 1.5)), self.rng.random() < 0.3
        )

    def _away_a_day(self) -> s.Deed:
        return s.Away(DAY_US + US, self.rng.random() < 0.6)

    def _forsake(self) -> s.Deed:
        return s.Forsake(self.rng.randrange(20))

"""The scenarios, and the plan that a seed makes of each.

A scenario says how often clients do what, and which faults come how often. The plan draws everything else: settings of
queues, limits of the node, the store's pace, bodies, priorities, instants.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Final

from headrace.core import commands as c
from headrace.core.items import Item, encode_item
from headrace.core.limits import US, Limits
from headrace.sim import steps as s
from headrace.sim.disk import DiskFaults
from headrace.sim.process import Pace
from headrace.sim.world import START_US, WALL_US

OPERATIONS: Final = (200, 500)
QUEUES: Final = ("a", "b", "c")

EVERYDAY: Final = {
    "add": 30,
    "pop": 30,
    "commit": 22,
    "abort": 5,
    "extend": 3,
    "former": 3,
    "peek": 2,
    "why": 2,
    "list": 2,
}
TENDING: Final = {"declare": 3, "revive": 3, "purge": 2, "drop": 1, "pause": 2, "list_dead": 2}
COMING_AND_GOING: Final = {"leave": 1, "vanish": 1, "disconnect": 2}


@dataclass(frozen=True)
class Scenario:
    """How often clients do what, and how often which fault comes, in shares of all steps."""

    about: str
    deeds: Mapping[str, int]
    faults: Mapping[str, float] = field(default_factory=dict)
    gap_us: int = 30_000
    """The mean time between two steps."""
    long_gaps: float = 0.01
    """How often many seconds pass at once."""
    capacity: float = 0.1
    """How often a queue has a capacity."""
    keys: float = 0.1
    """How many items have a key."""
    times: float = 0.1
    """How many items are delayed or expire."""
    names: float = 0.05
    """How many pops are named."""
    lost: float = 0.02
    """How many answers are lost."""
    twice: float = 0.05
    """How many requests arrive twice."""
    syncs_us: tuple[int, ...] = (0, 2_000, 30_000)
    """How long a sync takes."""
    crashes_again: tuple[int, ...] = (0, 0, 1, 1, 2, 3)
    """How often the recoveries from a crash crash in their turn."""
    embedded: float = 0.3
    """How many seeds run an embedded process."""


SCENARIOS: Final[dict[str, Scenario]] = {
    "calm": Scenario("every verb, and nothing goes wrong", {**EVERYDAY, **TENDING}),
    "crashes": Scenario(
        "kill -9 and power cuts at any fault point, again during recovery, torn and forgotten writes",
        {**EVERYDAY, "disconnect": 1},
        {"kill": 0.006, "crash": 0.014, "stop": 0.003},
    ),
    "recoveries": Scenario(
        "power cuts between slow syncs, and recoveries that crash again and again",
        {"add": 40, "pop": 20, "commit": 20, "abort": 5},
        {"crash": 0.06},
        gap_us=8_000,
        syncs_us=(60_000,),
        crashes_again=(1, 2, 4, 8),
    ),
    "disk": Scenario(
        "a disk that fills up, fails in writes and syncs, and loses the power besides",
        EVERYDAY,
        {"fail_disk": 0.012, "fill_disk": 0.012, "crash": 0.005, "kill": 0.008},
    ),
    "damage": Scenario(
        "bits that turn over in what was synced: found, never cut",
        EVERYDAY,
        {"flip_log": 0.008, "flip_snapshot": 0.008, "kill": 0.004},
    ),
    "time": Scenario(
        "pauses beyond the lease, clocks that are set, delays, expiry, named pops at their limit",
        {**EVERYDAY, "extend": 10, "former": 6, "revive": 2},
        {"pause": 0.02, "step_clock": 0.01, "kill": 0.004},
        gap_us=150_000,
        long_gaps=0.04,
        times=0.4,
        names=0.1,
    ),
    "leases": Scenario(
        "old receipts, late commits, workers that vanish, items that die and are revived",
        {**EVERYDAY, **COMING_AND_GOING, "abort": 14, "former": 14, "extend": 6, "vanish": 3, "revive": 4},
        {"kill": 0.006, "crash": 0.004},
        gap_us=120_000,
        long_gaps=0.03,
    ),
    "requests": Scenario(
        "answers that get lost, requests that come twice, connections that break, keys and names",
        {**EVERYDAY, **COMING_AND_GOING, "disconnect": 6},
        {"crash": 0.01},
        keys=0.4,
        names=0.2,
        lost=0.15,
        twice=0.2,
    ),
    "storm": Scenario(
        "everything at once",
        {**EVERYDAY, **TENDING, **COMING_AND_GOING},
        {
            "kill": 0.004,
            "crash": 0.008,
            "stop": 0.002,
            "fail_disk": 0.004,
            "fill_disk": 0.004,
            "flip_log": 0.002,
            "flip_snapshot": 0.002,
            "pause": 0.006,
            "step_clock": 0.004,
        },
        gap_us=80_000,
        long_gaps=0.02,
        capacity=0.5,
        keys=0.2,
        times=0.2,
        names=0.1,
        lost=0.05,
        twice=0.1,
    ),
}  # fmt: skip


def make_plan(name: str, seed: int) -> s.Plan:
    """The plan of one seed."""
    return Maker(name, SCENARIOS[name], seed).plan()


class Maker:
    """Draws a plan."""

    def __init__(self, name: str, scenario: Scenario, seed: int) -> None:
        self.name = name
        self.scenario = scenario
        self.seed = seed
        self.rng = Random(f"{name}/{seed}/plan")
        self.now_us = START_US
        self.ids = 0
        self.names = 0
        self.keys = 0
        self.queues = list(QUEUES[: self.rng.randint(1, 3)])
        self.clients = self.rng.randint(2, 5)
        self.limits = Limits(
            story_length=self.rng.choice((1, 2, 5, 20)),
            session_silence_us=self.rng.choice((700, 3600, 86400)) * US,
            name_us=self.rng.choice((5, 30, 300)) * US,
            names=self.rng.choice((2, 5, 100)),
        )

    def plan(self) -> s.Plan:
        rng = self.rng
        pace = Pace(
            sync_wait_us=rng.choice((0, 500, 20_000)),
            sync_us=rng.choice(self.scenario.syncs_us),
            segment_bytes=rng.choice((4096, 4096, 16384, 65536)),
            snapshot_records=rng.choice((20, 50, 50, 200)),
            part_us=rng.choice((100, 5_000)),
            ends_leases=rng.random() < self.scenario.embedded,
        )
        steps = [s.Step(self.now_us, 0, self._declare(queue)) for queue in self.queues if rng.random() < 0.8]
        deeds, weights = list(self.scenario.deeds), list(self.scenario.deeds.values())
        fault_rate = sum(self.scenario.faults.values())
        for _ in range(rng.randint(*OPERATIONS)):
            self._pass_time()
            if rng.random() < fault_rate:
                kind = rng.choices(list(self.scenario.faults), list(self.scenario.faults.values()))[0]
                steps.append(s.Step(self.now_us, -1, self._fault(kind)))
            else:
                kind = rng.choices(deeds, weights)[0]
                deed: s.Deed = getattr(self, f"_{kind}")()
                steps.append(s.Step(self.now_us, rng.randrange(self.clients), deed))
        disk_bytes = 1 << 24
        return s.Plan(self.name, self.seed, self.limits, pace, self.clients, self.queues, steps, disk_bytes)

    def _pass_time(self) -> None:
        draw = self.rng.random()
        if draw < self.scenario.long_gaps:
            self.now_us += round(self.rng.uniform(1, 20) * US)
        elif draw < 0.7:
            self.now_us += round(self.rng.expovariate(1) * self.scenario.gap_us)

    def _queue(self) -> str:
        return self.rng.choice(self.queues)

    # -- faults ------------------------------------------------------------------------------------------------------

    def _fault(self, kind: str) -> s.Deed:
        rng = self.rng
        match kind:
            case "kill":
                return s.Kill(rng.random() < 0.6)
            case "crash":
                again = [rng.randint(1, 40) for _ in range(rng.choice(self.scenario.crashes_again))]
                return s.CrashAt(rng.randint(1, 30), rng.random() < 0.7, again)
            case "stop":
                return s.Stop()
            case "pause":
                return s.Pause(round(rng.choice((0.05, 0.9, 3, 10, 60)) * US * rng.uniform(0.5, 1.5)))
            case "step_clock":
                return s.StepClock(round(rng.choice((-60, -5, -0.3, 0.3, 5, 60, 600)) * US))
            case "fail_disk":
                rates = {
                    field: rng.choice((0.02, 0.1))
                    for field in rng.sample(("write_error", "short_write", "sync_error", "create_error"), 2)
                }
                return s.FailDisk(DiskFaults(**rates), round(rng.uniform(0.05, 1) * US))
            case "fill_disk":
                return s.FillDisk(rng.choice((0, 2000, 10_000, 40_000)), round(rng.uniform(0.1, 5) * US))
            case _:
                return s.Flip(kind.removeprefix("flip_"), rng.getrandbits(30), rng.random() < 0.5)

    # -- deeds -------------------------------------------------------------------------------------------------------

    def _ask(self, command: c.AnyCommand, *, numbered: float = 0.9) -> s.Ask:
        is_numbered, copies, lost_answers = self._manner(numbered)
        return s.Ask(command, is_numbered, copies, lost_answers)

    def _manner(self, numbered: float) -> tuple[bool, int, int]:
        rng = self.rng
        is_numbered = rng.random() < numbered
        copies = 2 if is_numbered and rng.random() < self.scenario.twice else 1
        lost_answers = rng.randint(1, 2) if is_numbered and rng.random() < self.scenario.lost else 0
        return is_numbered, copies, lost_answers

    def _items(self, most: int) -> list[bytes]:
        rng, scenario = self.rng, self.scenario
        items = []
        for _ in range(rng.choice((1, 1, 1, rng.randint(1, most)))):
            self.ids += 1
            body = b"%d" % self.ids + bytes(rng.choice((0, 10, 100, 100, 3000)))
            key = delay = expires = None
            if rng.random() < scenario.keys:
                key = f"k{rng.randrange(6)}"
            if rng.random() < scenario.times:
                delay = rng.choice((0.0, 0.5, 5.0, 20.0))
            if rng.random() < scenario.times:
                expires = rng.choice((0.2, 2.0, 20.0))
            item = Item(body, priority=rng.randint(-1, 2), key=key, delay=delay, expires=expires)
            wall_us = WALL_US + self.now_us - START_US
            items.append(encode_item(item, self.ids.to_bytes(16, "big"), wall_us, self.limits))
        return items

    def _add(self) -> s.Deed:
        wait_us = round(self.rng.choice((0, 0, 0.5, 5)) * US)
        return self._ask(c.Add(self._queue(), self._items(8), wait_us))

    def _pop(self) -> s.Deed:
        rng = self.rng
        count = rng.choice((1, 1, 1, 3, 10))
        wait_us = round(rng.choice((0, 0, 0, 0.5, 5, 30)) * US)
        queue = self._queue()
        if rng.random() < self.scenario.names:
            return self._ask(c.Pop([queue], count, wait_us, name=f"n{rng.randrange(8)}"))
        if rng.random() < 0.1:
            return self._ask(c.Pop([queue], count, wait_us, at_least=rng.randint(-2, 2)))
        queues = [queue] if rng.random() < 0.8 else rng.sample(self.queues, rng.randint(1, len(self.queues)))
        lease_us = round(rng.choice((0, 0, 0, 0.2, 2, 60)) * US)
        return self._ask(c.Pop(queues, count, wait_us, lease_us, detached=rng.random() < 0.1))

    def _commit(self) -> s.Deed:
        added = []
        if self.rng.random() < 0.2:
            added = [(queue, self._items(3)) for queue in self.queues if self.rng.random() < 0.6]
        return self._settle("commit", added=added)

    def _abort(self) -> s.Deed:
        delay_us = round(self.rng.choice((0, 0, 1, 10)) * US)
        return self._settle("abort", delay_us=delay_us, dead=self.rng.random() < 0.15)

    def _extend(self) -> s.Deed:
        return self._settle("extend", lease_us=round(self.rng.choice((0, 0, 1, 5, 90)) * US))

    def _former(self) -> s.Deed:
        verb = self.rng.choice(("commit", "commit", "commit", "abort", "extend"))
        added = [(self._queue(), self._items(2))] if verb == "commit" and self.rng.random() < 0.2 else []
        return self._settle(verb, is_former=True, added=added)

    def _settle(
        self,
        verb: str,
        *,
        is_former: bool = False,
        added: list[tuple[str, list[bytes]]] | None = None,
        delay_us: int = 0,
        lease_us: int = 0,
        dead: bool = False,
    ) -> s.Settle:
        is_numbered, copies, lost_answers = self._manner(0.9)
        return s.Settle(
            verb,
            self.rng.randrange(20),
            self.rng.choice((1, 1, 1, 2, 10)),
            is_former,
            added or [],
            delay_us,
            lease_us,
            dead,
            is_numbered,
            copies,
            lost_answers,
        )

    def _peek(self) -> s.Deed:
        return self._ask(c.Peek(self._queue(), self.rng.choice((1, 5, 100))), numbered=0)

    def _why(self) -> s.Deed:
        return self._ask(c.Why(self.rng.randint(1, self.ids + 1).to_bytes(16, "big")), numbered=0)

    def _list(self) -> s.Deed:
        return self._ask(c.ListQueues(), numbered=0)

    def _list_dead(self) -> s.Deed:
        return self._ask(c.ListDead(self._queue(), self.rng.choice((1, 100))), numbered=0)

    # -- tending -----------------------------------------------------------------------------------------------------

    def _declare(self, queue: str | None = None) -> s.Deed:
        rng = self.rng
        drawn: dict[str, object] = {
            "lease_seconds": rng.choice((0.5, 3.0, 20.0, 60.0)),
            "max_attempts": rng.choice((1, 2, 5, 20)),
            "max_crashes": rng.choice((1, 2, 3)),
            "dead_items": rng.choice((1, 3, 100)),
            "keep_expired": rng.random() < 0.5,
            "key_seconds": rng.choice((1.0, 10.0, 3600.0)),
            "key_count": rng.choice((1, 3, 100)),
            "capacity_items": rng.choice((3, 10, 30)) if rng.random() < self.scenario.capacity else None,
            "capacity_bytes": rng.choice((500, 10_000)) if rng.random() < self.scenario.capacity / 2 else None,
        }
        settings = {name: drawn[name] for name in rng.sample(sorted(drawn), rng.randint(1, len(drawn)))}
        return self._ask(c.Declare(queue or self._queue(), settings))

    def _pause(self) -> s.Deed:
        return self._ask(c.Declare(self._queue(), {"paused": self.rng.random() < 0.4}))

    def _revive(self) -> s.Deed:
        return self._ask(c.Revive(self._queue(), self._some_ids()))

    def _purge(self) -> s.Deed:
        rng = self.rng
        if rng.random() < 0.3:
            return self._ask(c.Purge(self._queue(), ids=self._some_ids()))
        return self._ask(c.Purge(self._queue(), queued=rng.random() < 0.3, dead=rng.random() < 0.7))

    def _drop(self) -> s.Deed:
        return self._ask(c.Drop(self._queue()))

    def _some_ids(self) -> list[bytes]:
        rng = self.rng
        if rng.random() < 0.7:
            return []
        return [rng.randint(1, self.ids + 1).to_bytes(16, "big") for _ in range(rng.randint(1, 2))]

    # -- coming and going --------------------------------------------------------------------------------------------

    def _leave(self) -> s.Deed:
        return s.Leave(self.rng.random() < 0.4)

    def _vanish(self) -> s.Deed:
        return s.Vanish()

    def _disconnect(self) -> s.Deed:
        return s.Disconnect()

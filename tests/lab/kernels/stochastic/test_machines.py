"""The kernels of the distributed queue against its machines: equal in distribution.

The machines run in the simulator, over the common node, in encoded messages, with nothing going wrong. Kernel and
machine share their decisions and nothing else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import replace
from statistics import mean

import numpy as np
import pytest

from headrace.lab.distributed_queue import understand
from headrace.lab.kernels.stochastic import PARAMETERS
from headrace.lab.kernels.stochastic.simulation import Simulation
from headrace.lab.parameters import complete
from headrace.protocols.machines.messages import AnyMessage
from headrace.sim.markets import TICK_US, Market, Setup
from headrace.sim.world import START_US, World
from tests.lab.kernels.two_samples import Comparison, Run, compare

OBJECTS = 400
MACHINE_RUNS = 100
KERNEL_RUNS = 1000
LONG_TICKS = 20.0
DETECTABLE = {"mean": 0.2, "ticks": 0.04, "miss": 0.45}
"""The relative differences that the test finds with probability 0.9 at each point; in all else 0.25."""
SINGLE = {"object", "ask", "room", "answer", "fetch"}
"""Kinds of which there is one an object; kernels count them ahead of time."""
AHEAD: dict[str, set[str]] = {"stochastic": {"request"}, "hub": set(), "manager": set(), "multicast": set()}
"""Of requests too, where a consumer makes one an object."""
HAND_OVER = {"settled", "known"}
"""Kinds that make a hand-over safe; they delay nobody, and the papers and kernels leave them out."""

POINTS = {
    "light": Setup(producers=5, consumers=4, max_hops=1),
    "even": Setup(producers=5, consumers=5, max_hops=2),
    "heavy": Setup(producers=6, consumers=9, max_hops=3),
    "one buffer, slow messages": Setup(producers=4, consumers=4, buffers=1, max_hops=2, message=8.0),
    "messages of constant time": Setup(producers=5, consumers=6, buffers=2, max_hops=2, is_exponential=False),
    "hub": Setup(design="hub", producers=4, consumers=5, buffers=2, message=5.0),
    "manager": Setup(design="manager", producers=4, consumers=5, buffers=2, message=5.0),
    "multicast": Setup(design="multicast", producers=5, consumers=4, buffers=3, max_hops=2, message=5.0),
    "waits at the shortest line": Setup(producers=4, consumers=7, max_hops=3, wait_shortest=True),
}


def _statistics(waits: list[float], ticks: float, sent: Mapping[str, float]) -> Run:
    """What is compared: waits, the time it took, and messages an object by kind."""
    return {
        "mean": mean(waits),
        "long": mean(wait > LONG_TICKS for wait in waits),
        "ticks": ticks,
        **{kind: count / OBJECTS for kind, count in sent.items()},
    }


def _of_machines(setup: Setup, seed: int, kinds: Collection[str]) -> Run:
    """The first objects from time 0 on."""
    world = World(f"machines/{seed}")
    market = Market(world, setup, Counter())
    ledger, sent = market.ledger, Counter[str]()

    def watch(sender: int, to: int, message: AnyMessage) -> None:
        if len(ledger.granted) == OBJECTS and not sent:
            sent.update(market.post.sent)

    market.post.watchers.append(watch)
    market.begin()
    while len(ledger.granted) < OBJECTS + setup.consumers:
        world.run(world.now_us + 100 * TICK_US)
    first = list(ledger.granted)[:OBJECTS]
    assert all(request in ledger.received for request in first)
    waits = [(ledger.received[request] - ledger.asked[request]) / TICK_US for request in first]
    ticks = (ledger.granted[first[-1]] - START_US) / TICK_US
    assert sent["object"] == OBJECTS
    assert sent.keys() <= {*kinds, *SINGLE, *HAND_OVER, "request"}
    return _statistics(waits, ticks, {kind: sent[kind] for kind in kinds})


def _of_kernel(setup: Setup, seed: int) -> Run:
    given = {
        "design": setup.design,
        "producers": setup.producers,
        "consumers": setup.consumers,
        "buffers": setup.buffers,
        "max_hops": setup.max_hops,
        "message_time": setup.message,
        "message_distribution": "exponential" if setup.is_exponential else "deterministic",
        "wait": "shortest" if setup.wait_shortest else "at-last",
    }
    simulation = Simulation(understand(complete(PARAMETERS, given)), seed)
    waits = np.empty(OBJECTS)
    simulation.go_on(waits)
    sent = {
        kind: float(simulation.counts[place])
        for kind, place in simulation.kinds.items()
        if kind not in SINGLE | AHEAD[setup.design]
    }
    return _statistics(waits.tolist(), simulation.clock, sent)


def _compare(setup: Setup, *, machine: Setup | None = None) -> dict[str, Comparison]:
    kernel = [_of_kernel(setup, seed) for seed in range(KERNEL_RUNS)]
    kinds = [name for name in kernel[0] if name not in ("mean", "long", "ticks") and any(run[name] for run in kernel)]
    kernel = [{name: run[name] for name in ("mean", "long", "ticks", *kinds)} for run in kernel]
    return compare([_of_machines(machine or setup, seed, kinds) for seed in range(MACHINE_RUNS)], kernel)


@pytest.mark.parametrize("point", POINTS)
def test_kernel_and_machine_are_equal_in_distribution(point: str) -> None:
    compared = _compare(POINTS[point])
    assert all(one.agrees for one in compared.values()), compared
    for name, one in compared.items():
        assert one.detectable < DETECTABLE.get(name, 0.25), (name, one.detectable)


def test_one_more_buffer_or_probe_would_be_found() -> None:
    even = POINTS["even"]
    for other in (replace(even, buffers=even.buffers + 1), replace(even, max_hops=even.max_hops + 1)):
        assert not all(one.agrees for one in _compare(even, machine=other).values())

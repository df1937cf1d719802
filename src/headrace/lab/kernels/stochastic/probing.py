"""The stochastic design, where a request waits at one producer: two kinds of events, object made and request arrived.

The decisions are those of `headrace.protocols.designs.stochastic`, compiled.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headrace.lab.distributed_queue import System
from headrace.lab.kernels.compiled import decision, inlined, kernel
from headrace.lab.kernels.lines import NOBODY, Ints, Lines, join, leave_first, lines
from headrace.lab.kernels.stochastic.access import Access, access_of, draw, gauge_producer, learn
from headrace.lab.kernels.stochastic.processes import (
    EMPTY,
    MESSAGES,
    PROBES,
    WAITED,
    Floats,
    Processes,
    Setup,
    attend,
    begin,
    processes_of,
    produce,
    receive,
    resume,
    settle,
    setup_of,
    stop,
    travel,
)
from headrace.lab.kernels.tournament import schedule
from headrace.protocols.designs import stochastic as design

place = decision(design.place)
forward = decision(design.forward)
shortest = decision(design.shortest)

REQUEST, FORWARD, WAIT, OBJECT = range(MESSAGES, MESSAGES + 4)
KINDS = {"request": REQUEST, "forward": FORWARD, "wait": WAIT, "object": OBJECT}


class World(NamedTuple):
    """Everything that changes; a request's `target` is a place in its consumer's reach."""

    them: Processes
    access: Access
    waiting: Lines
    hops: Ints
    target: Ints
    served: NDArray[np.bool_]
    path: Ints
    seen: Ints


def build(system: System, seed: int) -> tuple[Setup, World]:
    """The system at time 0: nothing stored, every producer at work, every consumer thinking."""
    consumers = system.consumers
    setup = setup_of(system)
    world = World(
        them=processes_of(system, seed),
        access=access_of(system, seed),
        waiting=lines(system.producers, consumers),
        hops=np.zeros(consumers, dtype=np.int64),
        target=np.zeros(consumers, dtype=np.int64),
        served=np.zeros(consumers, dtype=np.bool_),
        path=np.zeros((consumers, system.max_hops), dtype=np.int64),
        seen=np.zeros((consumers, system.max_hops), dtype=np.int64),
    )
    _begin(setup, world)
    return setup, world


@kernel
def _begin(setup: Setup, world: World) -> None:
    begin(setup, world.them)
    for consumer in range(setup.consumers):
        _ask(setup, world, consumer)


@kernel
def run(setup: Setup, world: World, waits: Floats) -> int:
    """Go on until len(waits) more objects are granted; `waits` gets each one's time from request to receipt."""
    them = world.them
    granted = 0
    now = them.clock[0]
    while granted < len(waits):
        slot = them.winners[1]
        now = them.times[slot]
        if slot < setup.producers:
            consumer = _made(setup, world, slot, now)
        else:
            consumer = _arrived(setup, world, slot - setup.producers, now)
        if consumer != NOBODY:
            waits[granted] = receive(setup, them, consumer, now)
            granted += 1
            them.counts[OBJECT] += 1
            learn(setup, world.access, consumer, world.target[consumer])
            _ask(setup, world, consumer)
    settle(setup, them, now)
    return granted


@inlined
def _made(setup: Setup, world: World, producer: int, now: float) -> int:
    """An object is made. Returns the consumer that gets it at once, or NOBODY."""
    them = world.them
    gauge_producer(setup, world.access, them, producer, now)
    where = place(world.waiting.length[producer], them.held[producer], setup.buffers)
    if where == design.STORE_AND_STOP:
        them.held[producer] += 1
        stop(them, producer, now)
        return NOBODY
    produce(setup, them, producer, now)
    if where == design.STORE:
        them.held[producer] += 1
        return NOBODY
    return leave_first(world.waiting, producer)


@inlined
def _arrived(setup: Setup, world: World, consumer: int, now: float) -> int:
    """The request of `consumer` is at its target. Returns the consumer if it is granted an object, or NOBODY."""
    them = world.them
    slot = setup.producers + consumer
    producer = world.access.reach[consumer % len(world.access.reach), world.target[consumer]]
    if setup.processing_ticks > 0.0:
        world.served[consumer] = not world.served[consumer]
        if world.served[consumer]:
            attend(setup, them, producer, slot, now)
            return NOBODY
    hops = world.hops[consumer]
    moved = hops > setup.max_hops
    held = them.held[producer]
    answer = forward(held, hops, setup.max_hops)
    if not moved:
        them.counts[PROBES] += 1
    if answer == design.GIVE:
        them.held[producer] = held - 1
        if held == setup.buffers:
            resume(setup, them, producer, now)
        return consumer
    if not moved:
        them.counts[EMPTY] += 1
        world.path[consumer, hops - 1] = world.target[consumer]
        world.seen[consumer, hops - 1] = world.waiting.length[producer]
    if answer == design.FORWARD:
        them.counts[FORWARD] += 1
        _probe(setup, world, consumer, hops, now)
        return NOBODY
    if setup.wait_shortest and not moved:
        chosen = world.path[consumer, shortest(world.seen[consumer], hops)]
        if chosen != world.target[consumer]:
            them.counts[WAIT] += 1
            world.target[consumer] = chosen
            _send(setup, world, consumer, hops + 1, now)
            return NOBODY
    them.counts[WAITED] += 1
    join(world.waiting, producer, consumer)
    schedule(them.times, them.winners, slot, np.inf)
    return NOBODY


@inlined
def _ask(setup: Setup, world: World, consumer: int) -> None:
    """A new request leaves `consumer`."""
    world.them.counts[REQUEST] += 1
    _probe(setup, world, consumer, 0, world.them.asked_at[consumer])


@inlined
def _probe(setup: Setup, world: World, consumer: int, hops: int, now: float) -> None:
    """The request goes to a producer drawn by p_access, after `hops` probes."""
    world.target[consumer] = draw(setup, world.access, world.them.stream, consumer, world.path, hops)
    _send(setup, world, consumer, hops + 1, now)


@inlined
def _send(setup: Setup, world: World, consumer: int, hops: int, now: float) -> None:
    """The request is under way to its target."""
    world.hops[consumer] = hops
    schedule(world.them.times, world.them.winners, setup.producers + consumer, now + travel(setup, world.them))

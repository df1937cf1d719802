"""Multicast of lengths: every storing and every taking is told to every consumer, which picks from its own table.

A consumer's table can be stale. A producer without an object says so (a miss), and the consumer asks another from
its table; after `max_hops` misses it waits at the producer it missed last. One whose table is empty waits at home
for news. The decisions are those of `headrace.protocols.designs.multicast`, compiled.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headrace.lab.distributed_queue import System
from headrace.lab.kernels.compiled import decision, inlined, kernel
from headrace.lab.kernels.lines import NOBODY, Ints, Lines, join, leave_first, lines
from headrace.lab.kernels.stochastic.letters import Letters, claim, letters, release
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
from headrace.lab.kernels.stream import uniform
from headrace.lab.kernels.tournament import schedule
from headrace.protocols.designs import multicast as design

place = decision(design.place)
find = decision(design.find)
forward = decision(design.forward)
observe = decision(design.observe)

NOTICE, REQUEST, MISS, OBJECT = range(MESSAGES, MESSAGES + 4)
KINDS = {"notice": NOTICE, "request": REQUEST, "miss": MISS, "object": OBJECT}

# What a consumer is about, until its slot is due.
THINKING, ASKING, MISSED, AT_HOME, IN_LINE = range(5)


class World(NamedTuple):
    """Everything that changes. A letter is a notice: its value a length, its number the producer's count of them."""

    them: Processes
    letters: Letters
    waiting: Lines
    number: Ints
    """How many notices a producer has sent."""
    phase: Ints
    served: NDArray[np.bool_]
    target: Ints
    misses: Ints
    miss_number: Ints
    waited: NDArray[np.bool_]
    lengths: Ints
    """By consumer and producer: the length last heard of, and the number of the notice that told it."""
    known: Ints
    total: Ints


def build(system: System, seed: int) -> tuple[Setup, World]:
    """The system at time 0: nothing stored, every producer at work, every consumer thinking."""
    producers, consumers = system.producers, system.consumers
    capacity = 4 * consumers + 64
    setup = setup_of(system)
    world = World(
        them=processes_of(system, seed, letters=capacity),
        letters=letters(capacity),
        waiting=lines(producers, consumers),
        served=np.zeros(consumers, dtype=np.bool_),
        waited=np.zeros(consumers, dtype=np.bool_),
        number=np.zeros(producers, dtype=np.int64),
        **{name: np.zeros(consumers, dtype=np.int64) for name in ("phase", "target", "misses", "miss_number", "total")},
        **{name: np.zeros((consumers, producers), dtype=np.int64) for name in ("lengths", "known")},
    )
    _begin(setup, world)
    return setup, world


@kernel
def _begin(setup: Setup, world: World) -> None:
    begin(setup, world.them)
    for consumer in range(setup.consumers):
        _think(setup, world, consumer)


@kernel
def run(setup: Setup, world: World, waits: Floats) -> int:
    """Go on until len(waits) more objects are granted, or letters could run out; how many were granted."""
    them = world.them
    granted = 0
    now = them.clock[0]
    while granted < len(waits) and world.letters.unused[0] >= setup.consumers:
        slot = them.winners[1]
        now = them.times[slot]
        consumer = NOBODY
        if slot < setup.producers:
            consumer = _made(setup, world, slot, now)
        elif slot < setup.producers + setup.consumers:
            consumer = _due(setup, world, slot - setup.producers, now)
        else:
            _noticed(setup, world, slot - setup.producers - setup.consumers, now)
        if consumer != NOBODY:
            waits[granted] = receive(setup, them, consumer, now)
            granted += 1
            them.counts[OBJECT] += 1
            _think(setup, world, consumer)
    settle(setup, them, now)
    return granted


@inlined
def _made(setup: Setup, world: World, producer: int, now: float) -> int:
    """An object is made. Returns the consumer that gets it at once, or NOBODY."""
    them = world.them
    if not place(world.waiting.length[producer], them.held[producer], setup.buffers):
        produce(setup, them, producer, now)
        return leave_first(world.waiting, producer)
    them.held[producer] += 1
    if them.held[producer] < setup.buffers:
        produce(setup, them, producer, now)
    else:
        stop(them, producer, now)
    _announce(setup, world, producer, now)
    return NOBODY


@inlined
def _announce(setup: Setup, world: World, producer: int, now: float) -> None:
    """The producer's length goes to every consumer."""
    them, pool = world.them, world.letters
    world.number[producer] += 1
    for consumer in range(setup.consumers):
        letter = claim(pool, NOTICE, consumer, producer, world.number[producer])
        pool.value[letter] = them.held[producer]
        pool.served[letter] = False
        slot = setup.producers + setup.consumers + letter
        schedule(them.times, them.winners, slot, now + travel(setup, them))
    them.counts[NOTICE] += setup.consumers


@inlined
def _noticed(setup: Setup, world: World, letter: int, now: float) -> None:
    """A notice is with its consumer."""
    them, pool = world.them, world.letters
    slot = setup.producers + setup.consumers + letter
    consumer, producer = pool.consumer[letter], pool.producer[letter]
    if setup.processing_ticks > 0.0 and not pool.served[letter]:
        pool.served[letter] = True
        attend(setup, them, setup.producers + consumer, slot, now)
        return
    schedule(them.times, them.winners, slot, np.inf)
    _note(world, consumer, producer, pool.value[letter], pool.number[letter])
    release(pool, letter)
    if world.phase[consumer] == AT_HOME:
        _look(setup, world, consumer, now)


@inlined
def _note(world: World, consumer: int, producer: int, length: int, number: int) -> None:
    """The consumer's table takes in a length, if that is news."""
    if observe(world.known[consumer, producer], number):
        world.known[consumer, producer] = number
        world.total[consumer] += length - world.lengths[consumer, producer]
        world.lengths[consumer, producer] = length


@inlined
def _due(setup: Setup, world: World, consumer: int, now: float) -> int:
    """What a consumer was about has come to pass. Returns the consumer if it is granted an object, or NOBODY."""
    them = world.them
    slot = setup.producers + consumer
    phase, producer = world.phase[consumer], world.target[consumer]
    if setup.processing_ticks > 0.0 and phase != THINKING:
        world.served[consumer] = not world.served[consumer]
        if world.served[consumer]:
            attend(setup, them, producer if phase == ASKING else slot, slot, now)
            return NOBODY
    if phase == ASKING:
        return _asked(setup, world, consumer, producer, now)
    if phase == MISSED:
        world.misses[consumer] += 1
        _note(world, consumer, producer, 0, world.miss_number[consumer])
    _look(setup, world, consumer, now)
    return NOBODY


@inlined
def _look(setup: Setup, world: World, consumer: int, now: float) -> None:
    """The consumer asks one of the producers in its table, or waits at home if that is empty."""
    them = world.them
    slot = setup.producers + consumer
    producer = find(world.lengths[consumer], world.total[consumer], uniform(them.stream))
    if producer == design.NOWHERE:
        world.phase[consumer] = AT_HOME
        schedule(them.times, them.winners, slot, np.inf)
        _count_wait(world, consumer)
        return
    world.phase[consumer] = ASKING
    world.target[consumer] = producer
    them.counts[REQUEST] += 1
    schedule(them.times, them.winners, slot, now + travel(setup, them))


@inlined
def _asked(setup: Setup, world: World, consumer: int, producer: int, now: float) -> int:
    """A request is at its producer. Returns the consumer if it is granted an object, or NOBODY."""
    them = world.them
    slot = setup.producers + consumer
    them.counts[PROBES] += 1
    answer = forward(them.held[producer], world.misses[consumer], setup.max_hops)
    if answer == design.GIVE:
        them.held[producer] -= 1
        if them.held[producer] + 1 == setup.buffers:
            resume(setup, them, producer, now)
        _announce(setup, world, producer, now)
        return consumer
    them.counts[EMPTY] += 1
    if answer == design.MISS:
        them.counts[MISS] += 1
        world.phase[consumer] = MISSED
        world.miss_number[consumer] = world.number[producer]
        schedule(them.times, them.winners, slot, now + travel(setup, them))
        return NOBODY
    world.phase[consumer] = IN_LINE
    schedule(them.times, them.winners, slot, np.inf)
    _count_wait(world, consumer)
    join(world.waiting, producer, consumer)
    return NOBODY


@inlined
def _count_wait(world: World, consumer: int) -> None:
    """A request waits; counted once."""
    if not world.waited[consumer]:
        world.waited[consumer] = True
        world.them.counts[WAITED] += 1


@inlined
def _think(setup: Setup, world: World, consumer: int) -> None:
    """The consumer is busy until its next request."""
    world.phase[consumer] = THINKING
    world.misses[consumer] = 0
    world.waited[consumer] = False
    schedule(world.them.times, world.them.winners, setup.producers + consumer, world.them.asked_at[consumer])

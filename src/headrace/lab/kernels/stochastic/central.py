"""The hub: all objects in one process, or, as queue manager, references to them.

The hub serves requests and objects first come first served. A producer may have `buffers` objects stored at the hub
or under way; the hub tells it when one has left. As manager, objects stay in their producers' buffers until they
are fetched. The decisions are those of `headrace.protocols.designs.hub`, compiled.
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
    handling,
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
from headrace.protocols.designs import hub as design

place = decision(design.place)
find = decision(design.find)
hand_over = decision(design.hand_over)

PUT, ASK, ROOM, ANSWER, FETCH, OBJECT = range(MESSAGES, MESSAGES + 6)
HUB_KINDS = {"put": PUT, "ask": ASK, "object": OBJECT, "room": ROOM}
MANAGER_KINDS = {"inform": PUT, "ask": ASK, "answer": ANSWER, "fetch": FETCH, "object": OBJECT}

ONLY = 0
"""There is one line of requests and one of objects."""


class World(NamedTuple):
    """Everything that changes. A letter stands for one object, on its way to the hub and in line there."""

    them: Processes
    letters: Letters
    objects: Lines
    requests: Lines
    references: NDArray[np.bool_]
    """One place: whether the hub is a manager."""
    fetching: NDArray[np.bool_]
    served: NDArray[np.bool_]
    producer: Ints
    """Where a consumer fetches."""


def build(system: System, seed: int) -> tuple[Setup, World]:
    """The system at time 0: nothing stored, every producer at work, every consumer thinking."""
    consumers = system.consumers
    capacity = system.producers * system.buffers
    setup = setup_of(system)
    world = World(
        them=processes_of(system, seed, letters=capacity),
        letters=letters(capacity),
        objects=lines(1, capacity),
        requests=lines(1, consumers),
        references=np.array([system.design == "manager"]),
        fetching=np.zeros(consumers, dtype=np.bool_),
        served=np.zeros(consumers, dtype=np.bool_),
        producer=np.zeros(consumers, dtype=np.int64),
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
        consumer = NOBODY
        if slot < setup.producers:
            _made(setup, world, slot, now)
        elif slot < setup.producers + setup.consumers:
            consumer = _asked(setup, world, slot - setup.producers, now)
        else:
            consumer = _delivered(setup, world, slot - setup.producers - setup.consumers, now)
        if consumer != NOBODY:
            waits[granted] = receive(setup, them, consumer, now)
            granted += 1
            them.counts[OBJECT] += 1
            _ask(setup, world, consumer)
    settle(setup, them, now)
    return granted


@inlined
def _made(setup: Setup, world: World, producer: int, now: float) -> None:
    """An object is made: it, or word of it, goes to the hub."""
    them = world.them
    them.held[producer] += 1
    _post(setup, world, claim(world.letters, PUT, NOBODY, producer, 0), PUT, now)
    if place(them.held[producer], setup.buffers):
        produce(setup, them, producer, now)
    else:
        stop(them, producer, now)


@inlined
def _post(setup: Setup, world: World, letter: int, kind: int, now: float) -> None:
    """The letter is under way, with this meaning."""
    world.letters.kind[letter] = kind
    world.letters.served[letter] = False
    world.them.counts[kind] += 1
    slot = setup.producers + setup.consumers + letter
    schedule(world.them.times, world.them.winners, slot, now + travel(setup, world.them))


@inlined
def _delivered(setup: Setup, world: World, letter: int, now: float) -> int:
    """An object or word of it is at the hub, or word of room at a producer. Returns whose object leaves, or NOBODY."""
    them, pool = world.them, world.letters
    slot = setup.producers + setup.consumers + letter
    if setup.processing_ticks > 0.0 and not pool.served[letter]:
        pool.served[letter] = True
        hub = setup.producers + setup.consumers
        attend(setup, them, hub if pool.kind[letter] == PUT else pool.producer[letter], slot, now)
        return NOBODY
    schedule(them.times, them.winners, slot, np.inf)
    if pool.kind[letter] == ROOM:
        _make_room(setup, world, pool.producer[letter], now)
        release(pool, letter)
        return NOBODY
    if not hand_over(world.requests.length[ONLY]):
        join(world.objects, ONLY, letter)
        return NOBODY
    return _allot(setup, world, leave_first(world.requests, ONLY), letter, now)


@inlined
def _allot(setup: Setup, world: World, consumer: int, letter: int, now: float) -> int:
    """This object is for `consumer`. Returns the consumer if the object leaves at once, or NOBODY if it is fetched."""
    if not world.references[0]:
        _post(setup, world, letter, ROOM, now)
        return consumer
    them = world.them
    world.producer[consumer] = world.letters.producer[letter]
    world.fetching[consumer] = True
    release(world.letters, letter)
    them.counts[ANSWER] += 1
    them.counts[FETCH] += 1
    asked = now + travel(setup, them)
    if setup.processing_ticks > 0.0:
        asked += handling(setup, them)
    schedule(them.times, them.winners, setup.producers + consumer, asked + travel(setup, them))
    return NOBODY


@inlined
def _asked(setup: Setup, world: World, consumer: int, now: float) -> int:
    """A request is at the hub, or at the producer to fetch. Returns the consumer if its object leaves, or NOBODY."""
    them = world.them
    slot = setup.producers + consumer
    fetching = world.fetching[consumer]
    if setup.processing_ticks > 0.0:
        world.served[consumer] = not world.served[consumer]
        if world.served[consumer]:
            hub = setup.producers + setup.consumers
            attend(setup, them, world.producer[consumer] if fetching else hub, slot, now)
            return NOBODY
    if fetching:
        world.fetching[consumer] = False
        _make_room(setup, world, world.producer[consumer], now)
        return consumer
    schedule(them.times, them.winners, slot, np.inf)
    them.counts[PROBES] += 1
    if find(world.objects.length[ONLY]) == design.GIVE:
        return _allot(setup, world, consumer, leave_first(world.objects, ONLY), now)
    them.counts[EMPTY] += 1
    them.counts[WAITED] += 1
    join(world.requests, ONLY, consumer)
    return NOBODY


@inlined
def _make_room(setup: Setup, world: World, producer: int, now: float) -> None:
    """One object fewer counts against `producer`."""
    world.them.held[producer] -= 1
    if world.them.held[producer] + 1 == setup.buffers:
        resume(setup, world.them, producer, now)


@inlined
def _ask(setup: Setup, world: World, consumer: int) -> None:
    """A new request leaves `consumer` for the hub."""
    them = world.them
    them.counts[ASK] += 1
    schedule(them.times, them.winners, setup.producers + consumer, them.asked_at[consumer] + travel(setup, them))

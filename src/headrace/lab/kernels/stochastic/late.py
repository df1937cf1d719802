"""The stochastic design with late binding: a request that found nothing waits at all the producers it visited.

The last producer registers it at the others. Whichever has an object first offers it; the consumer accepts the
first offer, cancels the other registrations and declines offers that come all the same, whose objects go to the
next in line. An offered object keeps its place in the buffer until it leaves. Beyond the paper; the decisions are
those of `headrace.protocols.designs.stochastic`, compiled.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headrace.lab.distributed_queue import System
from headrace.lab.kernels.compiled import decision, inlined, kernel
from headrace.lab.kernels.lines import NOBODY, Ints, Lines, join, leave_after, leave_first, lines
from headrace.lab.kernels.stochastic.access import Access, access_of, draw, gauge_producer, learn
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
from headrace.lab.kernels.tournament import schedule
from headrace.protocols.designs import stochastic as design

place = decision(design.place)
forward = decision(design.forward)
visited = decision(design.visited)
accept = decision(design.accept)

REQUEST, FORWARD, REGISTER, OFFER, ACCEPT, DECLINE, CANCEL, OBJECT = range(MESSAGES, MESSAGES + 8)
KINDS = {
    "request": REQUEST,
    "forward": FORWARD,
    "register": REGISTER,
    "offer": OFFER,
    "accept": ACCEPT,
    "decline": DECLINE,
    "cancel": CANCEL,
    "object": OBJECT,
}


class World(NamedTuple):
    """Everything that changes. A letter's number is that of the request it is about."""

    them: Processes
    access: Access
    letters: Letters
    registered: Lines
    offered: Ints
    """Objects of a producer that are on offer."""
    hops: Ints
    target: Ints
    served: NDArray[np.bool_]
    path: Ints
    number: Ints
    taken: NDArray[np.bool_]


def build(system: System, seed: int) -> tuple[Setup, World]:
    """The system at time 0: nothing stored, every producer at work, every consumer thinking."""
    consumers = system.consumers
    capacity = 4 * consumers * system.max_hops + 64
    setup = setup_of(system)
    world = World(
        them=processes_of(system, seed, letters=capacity),
        access=access_of(system, seed),
        letters=letters(capacity),
        registered=lines(system.producers, capacity),
        offered=np.zeros(system.producers, dtype=np.int64),
        hops=np.zeros(consumers, dtype=np.int64),
        target=np.zeros(consumers, dtype=np.int64),
        served=np.zeros(consumers, dtype=np.bool_),
        path=np.zeros((consumers, system.max_hops), dtype=np.int64),
        number=np.zeros(consumers, dtype=np.int64),
        taken=np.zeros(consumers, dtype=np.bool_),
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
    """Go on until len(waits) more objects are granted, or letters could run out; how many were granted."""
    them = world.them
    granted = 0
    now = them.clock[0]
    while granted < len(waits) and world.letters.unused[0] > setup.max_hops:
        slot = them.winners[1]
        now = them.times[slot]
        consumer = NOBODY
        if slot < setup.producers:
            _made(setup, world, slot, now)
        elif slot < setup.producers + setup.consumers:
            consumer = _probed(setup, world, slot - setup.producers, now)
        else:
            consumer = _delivered(setup, world, slot - setup.producers - setup.consumers, now)
        if consumer != NOBODY:
            waits[granted] = receive(setup, them, consumer, now)
            granted += 1
            them.counts[OBJECT] += 1
            learn(setup, world.access, consumer, world.target[consumer])
            _ask(setup, world, consumer)
    settle(setup, them, now)
    return granted


@inlined
def _made(setup: Setup, world: World, producer: int, now: float) -> None:
    """An object is made: stored, and offered to whoever is registered first."""
    them = world.them
    gauge_producer(setup, world.access, them, producer, now)
    where = place(0, them.held[producer], setup.buffers)  # an offered object is stored until it leaves
    them.held[producer] += 1
    if where == design.STORE_AND_STOP:
        stop(them, producer, now)
    else:
        produce(setup, them, producer, now)
    _offer_next(setup, world, producer, now)


@inlined
def _offer_next(setup: Setup, world: World, producer: int, now: float) -> None:
    """A free object goes on offer to the first that is registered, if any is."""
    if world.registered.length[producer] > 0:
        world.offered[producer] += 1
        _post(setup, world, leave_first(world.registered, producer), OFFER, now)


@inlined
def _probed(setup: Setup, world: World, consumer: int, now: float) -> int:
    """The request of `consumer` is at its target. Returns the consumer if it is granted an object, or NOBODY."""
    them = world.them
    slot = setup.producers + consumer
    target = world.target[consumer]
    producer = world.access.reach[consumer % len(world.access.reach), target]
    if setup.processing_ticks > 0.0:
        world.served[consumer] = not world.served[consumer]
        if world.served[consumer]:
            attend(setup, them, producer, slot, now)
            return NOBODY
    hops = world.hops[consumer]
    them.counts[PROBES] += 1
    answer = forward(them.held[producer] - world.offered[producer], hops, setup.max_hops)
    if answer == design.GIVE:
        _take_out(setup, world, producer, now)
        return consumer
    them.counts[EMPTY] += 1
    world.path[consumer, hops - 1] = target
    if answer == design.FORWARD:
        them.counts[FORWARD] += 1
        _probe(setup, world, consumer, hops, now)
        return NOBODY
    them.counts[WAITED] += 1
    schedule(them.times, them.winners, slot, np.inf)
    _tell_visited(setup, world, consumer, REGISTER, target, now)
    join(world.registered, producer, claim(world.letters, REGISTER, consumer, target, world.number[consumer]))
    return NOBODY


@inlined
def _take_out(setup: Setup, world: World, producer: int, now: float) -> None:
    """An object leaves its producer's buffer."""
    world.them.held[producer] -= 1
    if world.them.held[producer] + 1 == setup.buffers:
        resume(setup, world.them, producer, now)


@inlined
def _tell_visited(setup: Setup, world: World, consumer: int, kind: int, but: int, now: float) -> None:
    """A letter of `kind` to each producer that the request visited, except `but`."""
    path = world.path[consumer]
    for hop in range(setup.max_hops):
        if path[hop] != but and not visited(path, hop, path[hop]):
            _post(setup, world, claim(world.letters, kind, consumer, path[hop], world.number[consumer]), kind, now)


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
    """A letter has arrived. Returns the consumer whose object leaves in answer, or NOBODY."""
    them, pool = world.them, world.letters
    slot = setup.producers + setup.consumers + letter
    kind, consumer, target = pool.kind[letter], pool.consumer[letter], pool.producer[letter]
    producer = world.access.reach[consumer % len(world.access.reach), target]
    if setup.processing_ticks > 0.0 and not pool.served[letter]:
        pool.served[letter] = True
        attend(setup, them, setup.producers + consumer if kind == OFFER else producer, slot, now)
        return NOBODY
    schedule(them.times, them.winners, slot, np.inf)
    if kind == REGISTER:
        join(world.registered, producer, letter)
        if them.held[producer] > world.offered[producer]:
            _offer_next(setup, world, producer, now)
    elif kind == OFFER:
        if accept(world.number[consumer], pool.number[letter], world.taken[consumer]):
            world.taken[consumer] = True
            _tell_visited(setup, world, consumer, CANCEL, target, now)
            _post(setup, world, letter, ACCEPT, now)
        else:
            _post(setup, world, letter, DECLINE, now)
    elif kind == ACCEPT:
        world.offered[producer] -= 1
        _take_out(setup, world, producer, now)
        world.target[consumer] = target
        release(pool, letter)
        return int(consumer)
    elif kind == DECLINE:
        world.offered[producer] -= 1
        release(pool, letter)
        _offer_next(setup, world, producer, now)
    else:
        _strike(world, producer, consumer, pool.number[letter])
        release(pool, letter)
    return NOBODY


@inlined
def _strike(world: World, producer: int, consumer: int, number: int) -> None:
    """A cancelled registration leaves the line; one that is on offer or still under way is left to be declined."""
    pool = world.letters
    ahead = NOBODY
    letter = world.registered.first[producer]
    for _ in range(world.registered.length[producer]):
        if pool.consumer[letter] == consumer and pool.number[letter] == number:
            release(pool, leave_after(world.registered, producer, ahead))
            break
        ahead = letter
        letter = world.registered.behind[letter]


@inlined
def _ask(setup: Setup, world: World, consumer: int) -> None:
    """A new request leaves `consumer`."""
    world.them.counts[REQUEST] += 1
    world.number[consumer] += 1
    world.taken[consumer] = False
    _probe(setup, world, consumer, 0, world.them.asked_at[consumer])


@inlined
def _probe(setup: Setup, world: World, consumer: int, hops: int, now: float) -> None:
    """The request goes to a producer drawn by p_access, after `hops` probes."""
    them = world.them
    world.target[consumer] = draw(setup, world.access, them.stream, consumer, world.path, hops)
    world.hops[consumer] = hops + 1
    schedule(them.times, them.winners, setup.producers + consumer, now + travel(setup, them))

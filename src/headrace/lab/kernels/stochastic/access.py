"""p_access: whom a consumer probes, and how it learns whom to prefer.

The draws and the learning are the decisions of `headrace.protocols.designs.stochastic`, compiled.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from headrace.lab.distributed_queue import System, reach_sets
from headrace.lab.kernels.compiled import decision, inlined, kernel
from headrace.lab.kernels.lines import Ints
from headrace.lab.kernels.stochastic.processes import Floats, Processes, Setup
from headrace.lab.kernels.stream import Stream, uniform
from headrace.protocols.designs import stochastic as design

find = decision(design.find)
prepare = decision(design.prepare)
visited = decision(design.visited)
gauge = decision(design.gauge)
observe = decision(design.observe)

RATE_MEMORY = 64
"""How many items back a producer's own rate remembers."""


class Access(NamedTuple):
    """One row for all consumers while they are alike, else one each."""

    reach: Ints
    threshold: Floats
    alias: Ints
    drawable: Ints
    """How many producers of a row are ever drawn."""
    made: Ints
    gauged: Floats
    told: Floats
    replies: Ints
    weights: Floats
    small: Ints
    large: Ints


def access_of(system: System, seed: int) -> Access:
    """The tables that `system` begins with."""
    learned = system.access == "learned"
    if system.limited_reach:
        reach = reach_sets(system, seed)
    else:
        reach = np.tile(np.arange(system.producers), (system.consumers if learned else 1, 1))
    weights = system.weights()[reach]
    weights[~weights.any(axis=1)] = 1.0  # a reach of producers that all have share 0: what is left is to try them
    threshold, alias = np.empty(reach.shape), np.empty(reach.shape, dtype=np.int64)
    small, large = np.empty(system.reach, dtype=np.int64), np.empty(system.reach, dtype=np.int64)
    _prepare_all(weights, threshold, alias, small, large)
    return Access(
        reach=reach,
        threshold=threshold,
        alias=alias,
        drawable=np.count_nonzero(weights, axis=1),
        made=np.zeros(system.producers, dtype=np.int64),
        gauged=np.zeros(system.producers),
        told=np.zeros(reach.shape if learned else (1, 1)),
        replies=np.zeros(system.consumers, dtype=np.int64),
        weights=np.zeros(system.reach),
        small=small,
        large=large,
    )


@kernel
def _prepare_all(weights: Floats, threshold: Floats, alias: Ints, small: Ints, large: Ints) -> None:
    for row in range(len(weights)):
        prepare(weights[row], threshold[row], alias[row], small, large)


@inlined
def draw(setup: Setup, access: Access, stream: Stream, consumer: int, path: Ints, hops: int) -> int:
    """The next producer to probe after `hops` probes, as a place in the consumer's reach."""
    row = consumer % len(access.reach)
    target = find(access.threshold[row], access.alias[row], uniform(stream))
    if setup.exclude_visited and hops < access.drawable[row]:
        while visited(path[consumer], hops, target):
            target = find(access.threshold[row], access.alias[row], uniform(stream))
    return target


@inlined
def gauge_producer(setup: Setup, access: Access, them: Processes, producer: int, now: float) -> None:
    """A producer that has made an object measures its own rate."""
    if setup.learned:
        access.made[producer] += 1
        duration = now - them.begun[producer]
        access.gauged[producer] = gauge(access.gauged[producer], access.made[producer], duration, RATE_MEMORY)


@inlined
def learn(setup: Setup, access: Access, consumer: int, target: int) -> None:
    """A reply tells its producer's rate; now and then the consumer makes its table of probes anew."""
    if not setup.learned:
        return
    access.told[consumer, target] = 1.0 / access.gauged[access.reach[consumer, target]]
    access.replies[consumer] += 1
    if access.replies[consumer] % max(1, len(access.weights) // 4) == 0:
        observe(access.told[consumer], access.weights, design.EXPLORATION)
        prepare(access.weights, access.threshold[consumer], access.alias[consumer], access.small, access.large)

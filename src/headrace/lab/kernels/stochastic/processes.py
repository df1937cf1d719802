"""What every design has in common: producers at work, consumers that think, messages, and what is counted.

A process takes its messages one at a time when processing takes time. From the moment an object leaves for a
consumer, nobody else is affected until that consumer's next request is under way, so receipt, consumption and the
next request are drawn at once (`receive`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headrace.lab.distributed_queue import System
from headrace.lab.kernels.compiled import inlined
from headrace.lab.kernels.lines import Ints
from headrace.lab.kernels.stochastic.durations import KINDS, message_time, production_time
from headrace.lab.kernels.stream import Stream, exponential, stream
from headrace.lab.kernels.tournament import Times, Winners, schedule, tournament

Floats = NDArray[np.float64]

# What is counted, by place in `Processes.counts`: first what all designs count, then each one's messages.
PROBES, EMPTY, WAITED, WAIT_TICKS, THINK_TICKS, FULL_TICKS = range(6)
MESSAGES = 6
COUNTERS = 16


class Setup(NamedTuple):
    """The numbers of the system that do not change."""

    producers: int
    consumers: int
    buffers: int
    max_hops: int
    think_ticks: float
    message_ticks: float
    message_kind: int
    processing_ticks: float
    production_kind: int
    spread: float
    shape: float
    wait_shortest: bool
    exclude_visited: bool
    learned: bool


class Processes(NamedTuple):
    """Producers and consumers. Slots of the tournament: producers, then consumers, then letters."""

    stream: Stream
    times: Times
    winners: Winners
    clock: Floats
    counts: Floats
    mean_ticks: Floats
    held: Ints
    """Objects that take up a producer's buffer."""
    begun: Floats
    """When production of the current object began."""
    full_since: Floats
    busy_until: Floats
    asked_at: Floats


def setup_of(system: System) -> Setup:
    """The numbers of `system` as a kernel takes them."""
    return Setup(
        producers=system.producers,
        consumers=system.consumers,
        buffers=system.buffers,
        max_hops=system.max_hops,
        think_ticks=1 / system.consume_rate,
        message_ticks=system.message_time,
        message_kind=KINDS[system.message_distribution],
        processing_ticks=system.processing_time,
        production_kind=KINDS[system.production.kind],
        spread=system.production.spread,
        shape=system.production.shape,
        wait_shortest=system.wait == "shortest",
        exclude_visited=system.exclude_visited,
        learned=system.access == "learned",
    )


def processes_of(system: System, seed: int, *, letters: int = 0) -> Processes:
    """Time 0: nothing stored and nothing scheduled. One more process than the system has serves as hub."""
    producers, consumers = system.producers, system.consumers
    times, winners = tournament(producers + consumers + letters)
    return Processes(
        stream=stream(seed, "distributed queue"),
        times=times,
        winners=winners,
        clock=np.zeros(1),
        counts=np.zeros(COUNTERS),
        mean_ticks=1 / system.rates(),
        held=np.zeros(producers, dtype=np.int64),
        begun=np.zeros(producers),
        full_since=np.zeros(producers),
        busy_until=np.zeros(producers + consumers + 1),
        asked_at=np.zeros(consumers),
    )


def with_slots(them: Processes, slots: int) -> Processes:
    """The same processes with room for more slots."""
    times, winners = tournament(slots)
    for slot in np.flatnonzero(np.isfinite(them.times)).tolist():
        schedule(times, winners, slot, them.times[slot])
    return them._replace(times=times, winners=winners)


@inlined
def begin(setup: Setup, them: Processes) -> None:
    """Time 0: every producer sets to work, and every consumer thinks before it asks."""
    for producer in range(setup.producers):
        produce(setup, them, producer, 0.0)
    for consumer in range(setup.consumers):
        them.asked_at[consumer] = exponential(them.stream, setup.think_ticks)


@inlined
def produce(setup: Setup, them: Processes, producer: int, now: float) -> None:
    """Production of the next object begins."""
    duration = production_time(them.stream, setup.production_kind, them.mean_ticks[producer], setup.spread, setup.shape)
    them.begun[producer] = now
    schedule(them.times, them.winners, producer, now + duration)


@inlined
def stop(them: Processes, producer: int, now: float) -> None:
    """The buffer is full: production stops."""
    them.full_since[producer] = now
    schedule(them.times, them.winners, producer, np.inf)


@inlined
def resume(setup: Setup, them: Processes, producer: int, now: float) -> None:
    """There is room again."""
    them.counts[FULL_TICKS] += now - them.full_since[producer]
    produce(setup, them, producer, now)


@inlined
def settle(setup: Setup, them: Processes, now: float) -> None:
    """Count up to `now` what is still going on, and keep the time for the next call."""
    for producer in range(setup.producers):
        if them.held[producer] == setup.buffers:
            them.counts[FULL_TICKS] += now - them.full_since[producer]
            them.full_since[producer] = now
    them.clock[0] = now


@inlined
def travel(setup: Setup, them: Processes) -> float:
    """How long the next message is under way."""
    return message_time(them.stream, setup.message_kind, setup.message_ticks)


@inlined
def handling(setup: Setup, them: Processes) -> float:
    """How long a process takes over the next message."""
    return message_time(them.stream, setup.message_kind, setup.processing_ticks)


@inlined
def attend(setup: Setup, them: Processes, process: int, slot: int, now: float) -> None:
    """The message of `slot` queues at `process`, which takes one at a time; its slot is due when it is handled."""
    done = max(now, them.busy_until[process]) + handling(setup, them)
    them.busy_until[process] = done
    schedule(them.times, them.winners, slot, done)


@inlined
def receive(setup: Setup, them: Processes, consumer: int, now: float) -> float:
    """An object leaves for `consumer`, which asks again after consuming it. Returns what it waited."""
    received = now + travel(setup, them)
    if setup.processing_ticks > 0.0:
        received += handling(setup, them)
    wait = received - them.asked_at[consumer]
    think = exponential(them.stream, setup.think_ticks)
    them.counts[WAIT_TICKS] += wait
    them.counts[THINK_TICKS] += think
    them.asked_at[consumer] = received + think
    return wait

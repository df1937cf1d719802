"""A model of hub, manager and multicast, beyond the paper: all objects in one pool that every request can reach.

The pool is a birth-death chain like the paper's producer: its state is the number of objects in it or, below 0, of
requests that wait. Requests come from the consumers that neither wait nor receive; production slows down as buffers
fill, which also hold what is under way. How unevenly the buffers fill is approximated (`_open_share`), stale tables
and the misses that follow are left out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from headrace.lab.distributed_queue import System
from headrace.lab.models.stochastic.fixed_point import Floats, bracketed
from headrace.lab.models.stochastic.tail import Mixture, quantile


@dataclass(frozen=True, slots=True)
class Way:
    """What a design costs in messages: in a request's way, and while an object takes up a buffer outside the pool."""

    request: int
    held: int
    kinds: tuple[str, ...]
    central: int
    """Messages an object that the hub itself handles."""


WAYS = {
    "hub": Way(request=2, held=2, kinds=("put", "ask", "object", "room"), central=2),
    "manager": Way(request=4, held=3, kinds=("inform", "ask", "answer", "fetch", "object"), central=2),
    "multicast": Way(request=2, held=0, kinds=("request", "object"), central=0),
}


@dataclass(frozen=True, slots=True)
class Pool:
    """The chain solved at one throughput."""

    throughput: float
    wait: float
    open_share: float
    empty: float
    """The odds that a request finds none, and so waits."""
    behind: Floats
    """By place in line, the odds that a request waits there."""


def predict(system: System) -> dict[str, Any]:
    """The keys of the simulator, for a design with a pool."""
    way = WAYS[system.design]
    rate = sum(kind.count * kind.rate for kind in system.types)
    busiest = min(rate, system.consumers * system.consume_rate)
    if way.central and system.processing_time > 0:
        busiest = min(busiest, 0.999 / (way.central * system.processing_time))
    passes = 0

    def excess(throughput: float) -> float:
        nonlocal passes
        passes += 1
        return throughput - _pool(system, way, throughput).throughput

    throughput = bracketed(excess, 1e-9 * busiest, busiest)
    pool = _pool(system, way, throughput)
    messages = dict.fromkeys(way.kinds, 1.0)
    if system.design == "multicast":
        messages["notice"] = 2.0 * system.consumers * (1 - pool.empty)
    think = 1 / system.consume_rate
    return {
        "h_avg": 1.0,
        "wait": pool.wait,
        "wait_ci95": 0.0,
        "wait_p99": quantile(
            0.99,
            Mixture(
                found=np.append(np.zeros(way.request - 2), 1 - pool.empty),
                message_ticks=_message_ticks(system, way, throughput),
                exponential=system.message_distribution == "exponential",
                blocked=pool.behind[None, :],
                rates=np.array([rate]),
            ),
        ),
        "producer_full": 1 - pool.open_share,
        "producer_empty": pool.empty,
        "producer_utilisation": pool.open_share,
        "consumer_utilisation": think / (think + pool.wait),
        "throughput": throughput,
        "messages_per_object": sum(messages.values()),
        "messages": messages,
        "blocked": pool.empty,
        "model": "pool",
        "iterations": passes,
        "residual": abs(excess(throughput)) / throughput,
        "notes": _notes(system, throughput * way.central * system.processing_time, pool.empty),
    }


def _pool(system: System, way: Way, throughput: float) -> Pool:
    """The chain when objects flow at `throughput`; it is the solution where it gives that back."""
    ticks = _message_ticks(system, way, throughput)
    on_the_way = throughput * way.held * ticks
    rate = sum(kind.count * kind.rate for kind in system.types)
    room = system.producers * system.buffers
    asking = system.consumers / (1 / system.consume_rate + way.request * ticks)
    stored = np.arange(room + 1)
    open_share = _open_share(system, np.minimum(stored + on_the_way, room))
    waiting = np.arange(system.consumers)
    with np.errstate(divide="ignore"):
        up = np.cumsum(np.log(rate * open_share[:-1] / asking))
        down = np.cumsum(np.log((1 - waiting / system.consumers) * asking / (rate * open_share[0])))
    logs = np.concatenate((down[::-1], [0.0], up))
    shares = np.exp(logs - logs.max())
    shares /= shares.sum()
    below, above = shares[system.consumers :: -1], shares[system.consumers + 1 :]
    arrivals = asking * (above.sum() + float(below @ (1 - np.arange(system.consumers + 1) / system.consumers)))
    joining = asking * below[:-1] * (1 - waiting / system.consumers) / arrivals
    queue = float(below @ np.arange(system.consumers + 1))
    return Pool(
        throughput=float(arrivals),
        wait=float(way.request * ticks + queue / arrivals),
        open_share=float(below.sum() * open_share[0] + above @ open_share[1:]),
        empty=float(joining.sum()),
        behind=joining,
    )


def _message_ticks(system: System, way: Way, throughput: float) -> float:
    """A message with its processing; the hub's own are inflated by its queue (M/M/1), spread over the request's way."""
    load = throughput * way.central * system.processing_time
    handling = system.processing_time
    if way.central:
        handling *= (way.request - 1 + 1 / (1 - load)) / way.request
    return system.message_time + handling


def _open_share(system: System, held: Floats) -> Floats:
    """The share of producers that are not full while `held` objects take up buffers.

    Requests take objects in the order of their arrival, which is nearly a random order of producers: then stocks are
    Poisson variables, cut at f, whose mean `held` tells. For f = 1 this is exact.
    """
    stocks = np.arange(system.buffers + 1)
    intensities = np.concatenate(([-60.0], np.linspace(-8, 12, 481), [60.0]))
    logs = intensities[:, None] * stocks - np.array([math.lgamma(stock + 1) for stock in stocks])
    odds = np.exp(logs - logs.max(axis=1, keepdims=True))
    odds /= odds.sum(axis=1, keepdims=True)
    means, full = odds @ stocks, odds[:, -1]
    return np.asarray(np.maximum(1 - np.interp(held / system.producers, means, full), 1e-12))


def _notes(system: System, central_load: float, empty: float) -> list[str]:
    notes = ["a pool model: how evenly buffers fill is approximated"]
    if central_load > 0.95:
        notes.append(f"the hub is {central_load:.0%} busy with messages: it is the limit of this system")
    if system.production.kind != "exponential":
        notes.append(f"production times are taken as exponential of the same mean, not {system.production.kind}")
    if system.design == "multicast":
        notes.append("stale tables and their misses are left out; who waits at home is served in no order: p99 is low")
        if empty > 0.05:
            notes.append(f"{empty:.0%} of the requests wait at home and hear of objects there: notices are too few")
    return notes

"""The kernels against exact solutions: Markov chains of small systems with all their states, M/M/c and M/D/c."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from headrace.lab.kernels.stochastic import PARAMETERS, measure
from headrace.lab.parameters import complete
from tests.lab.exact_chain import Probing, stationary


def simulated(seed: int = 1, **given: Any) -> dict[str, Any]:
    return measure(complete(PARAMETERS, given), seed)


def agree(measured: dict[str, Any], exact: dict[str, float]) -> None:
    """Every exact figure lies within twice the measured 95 % interval (an honest miss has odds of about 1 in 1,900)."""
    for name, value in exact.items():
        assert measured[name] == pytest.approx(value, abs=2 * measured[f"{name}_ci95"] + 1e-9), name


@pytest.mark.parametrize(
    "chain",
    [
        Probing((0.1,), (1.0,), consumers=1, buffers=5, max_hops=1, consume_rate=0.1, message_time=1.0),
        Probing((0.1, 0.1), (0.5, 0.5), consumers=3, buffers=2, max_hops=2, consume_rate=0.1, message_time=2.0),
        Probing((0.1,) * 3, (1 / 3,) * 3, consumers=2, buffers=1, max_hops=3, consume_rate=0.3, message_time=0.5),
        Probing((0.3, 0.05), (0.8, 0.2), consumers=3, buffers=2, max_hops=2, consume_rate=0.2, message_time=1.0),
    ],
    ids=["one of each", "two and three", "three probes", "two types"],
)
def test_the_stochastic_design_agrees_with_the_exact_chain(chain: Probing) -> None:
    types = ",".join(f"1:{rate}:{share}" for rate, share in zip(chain.rates, chain.shares, strict=True))
    measured = simulated(
        producers=len(chain.rates),
        consumers=chain.consumers,
        buffers=chain.buffers,
        max_hops=chain.max_hops,
        consume_rate=chain.consume_rate,
        message_time=chain.message_time,
        types=types,
        objects=400_000,
    )
    agree(measured, chain.solve())


def test_late_binding_without_message_time_agrees_with_the_exact_chain() -> None:
    """One consumer, two producers of one buffer, two probes: it waits at the one or two that it visited."""
    make, think = (0.1, 0.04), 0.2

    def moves(state: Any) -> Iterable[tuple[float, Any]]:
        stored, waits_at = state
        for producer in (0, 1):
            if producer in waits_at:
                yield make[producer], (stored, ())
            elif not stored[producer]:
                yield make[producer], (_with(stored, producer, 1), waits_at)
        if waits_at:
            return
        for first in (0, 1):
            for second in (0, 1):
                found = next((p for p in (first, second) if stored[p]), None)
                if found is None:
                    yield think / 4, (stored, tuple(sorted({first, second})))
                else:
                    yield think / 4, (_with(stored, found, 0), ())

    chain = stationary(((0, 0), ()), moves)
    waiting = sum(share for (_, waits_at), share in chain.items() if waits_at)
    granted = (1 - waiting) * think
    exact = {
        "wait": waiting / granted,
        "throughput": granted,
        "producer_full": sum(share * sum(stored) / 2 for (stored, _), share in chain.items()),
    }
    measured = simulated(
        producers=2,
        consumers=1,
        buffers=1,
        max_hops=2,
        consume_rate=think,
        message_time=0.0,
        types=f"1:{make[0]},1:{make[1]}",
        wait="late",
        objects=400_000,
    )
    agree(measured, exact)


def _with(numbers: tuple[int, ...], place: int, value: int) -> tuple[int, ...]:
    return (*numbers[:place], value, *numbers[place + 1 :])


@pytest.mark.parametrize("design", ["hub", "manager"])
def test_the_hub_agrees_with_the_exact_chain(design: str) -> None:
    """One producer of two buffers, three consumers; every message takes an exponential time of mean 2."""
    make, think, speed, buffers, consumers = 0.1, 0.05, 0.5, 2, 3
    # A state: puts under way, objects at the hub (below 0: requests waiting), asks, answers and fetches under way,
    # objects on their way to a consumer, and words of room on their way to the producer.

    def moves(state: Any) -> Iterable[tuple[float, Any]]:
        puts, level, asks, answers, fetches, objects, rooms = state
        held = puts + max(0, level) + answers + fetches + rooms
        if held < buffers:
            yield make, (puts + 1, level, asks, answers, fetches, objects, rooms)
        thinking = consumers - asks - answers - fetches - objects + min(0, level)
        yield thinking * think, (puts, level, asks + 1, answers, fetches, objects, rooms)
        if design == "manager":
            granted = (answers + 1, fetches, objects, rooms)
        else:
            granted = (answers, fetches, objects + 1, rooms + 1)
        same = (answers, fetches, objects, rooms)
        yield puts * speed, (puts - 1, level + 1, asks, *(granted if level < 0 else same))
        yield asks * speed, (puts, level - 1, asks - 1, *(granted if level > 0 else same))
        yield answers * speed, (puts, level, asks, answers - 1, fetches + 1, objects, rooms)
        yield fetches * speed, (puts, level, asks, answers, fetches - 1, objects + 1, rooms)
        yield objects * speed, (puts, level, asks, answers, fetches, objects - 1, rooms)
        yield rooms * speed, (puts, level, asks, answers, fetches, objects, rooms - 1)

    chain = stationary((0,) * 7, moves)
    throughput = sum(share * state[5] * speed for state, share in chain.items())
    busy = sum(share * (state[2] + state[3] + state[4] + state[5] - min(0, state[1])) for state, share in chain.items())
    full = sum(
        share * (state[0] + max(0, state[1]) + state[3] + state[4] + state[6] == buffers)
        for state, share in chain.items()
    )
    exact = {"throughput": throughput, "wait": busy / throughput, "producer_full": full}
    measured = simulated(
        design=design,
        producers=1,
        consumers=consumers,
        buffers=buffers,
        produce_rate=make,
        consume_rate=think,
        message_time=2.0,
        objects=400_000,
    )
    agree(measured, exact)


def _wait_in_mmc(servers: int, rate: float, consumers: int, think_rate: float) -> float:
    """The wait in M/M/c for so many sources, by its chain of orders: only those that wait do not think."""

    def moves(orders: Any) -> Iterable[tuple[float, Any]]:
        yield (consumers - max(0, orders - servers)) * think_rate, orders + 1
        if orders:
            yield min(orders, servers) * rate, orders - 1

    chain = stationary(0, moves)
    waiting = sum(share * max(0, orders - servers) for orders, share in chain.items())
    return waiting / ((consumers - waiting) * think_rate)


@pytest.mark.parametrize("servers", [1, 3])
def test_a_hub_of_producers_with_one_buffer_is_mmc(servers: int) -> None:
    """Without message time each request sets one of `servers` producers to work, or waits until one is free."""
    consumers, think = 60, 0.1 * servers * 0.8 / 60
    measured = simulated(
        design="hub",
        producers=servers,
        consumers=consumers,
        buffers=1,
        produce_rate=0.1,
        consume_rate=think,
        message_time=0.0,
        objects=600_000,
    )
    agree(measured, {"wait": _wait_in_mmc(servers, 0.1, consumers, think)})


def _wait_in_mdc(servers: int, duration: float, arrival_rate: float) -> float:
    """The wait before service in M/D/c (Crommelin 1932): lengths at instants one service apart are a chain."""
    most = 200
    mean = arrival_rate * duration
    poisson = [math.exp(k * math.log(mean) - mean - math.lgamma(k + 1)) for k in range(most)]
    matrix = np.zeros((most, most))
    for present in range(most):
        rest = max(0, present - servers)
        matrix[rest:, present] = poisson[: most - rest]
    matrix -= np.eye(most)
    matrix[-1] = 1.0
    right = np.zeros(most)
    right[-1] = 1.0
    shares = np.linalg.solve(matrix, right)
    return float(sum(shares[n] * max(0, n - servers) for n in range(most)) / arrival_rate)


@pytest.mark.parametrize(("servers", "design"), [(1, "hub"), (1, "stochastic"), (1, "multicast"), (3, "hub")])
def test_deterministic_producers_with_one_buffer_are_mdc(servers: int, design: str) -> None:
    """Many consumers that ask seldom make requests a Poisson process; one producer is one server in each design."""
    customers, arrivals = 1_000 if design == "multicast" else 20_000, 0.1 * servers * 0.7
    exact = _wait_in_mdc(servers, 10.0, arrivals)
    objects = 30_000 if design == "multicast" else 600_000
    measured = simulated(
        design=design,
        producers=servers,
        consumers=customers,
        buffers=1,
        max_hops=1,
        production="deterministic",
        produce_rate=0.1,
        consume_rate=arrivals / customers,
        message_time=0.0,
        objects=objects,
    )
    # That customers are finite lowers the wait: by 1 % at 1,000 of them, by nothing visible at 20,000.
    slack = 0.01 if design == "multicast" else 0.001
    assert measured["wait"] == pytest.approx(exact, abs=2 * measured["wait_ci95"] + slack * exact)

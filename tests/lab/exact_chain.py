"""Exact stationary distributions of small Markov chains: all states are found, and none is sampled."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

State = Hashable
Moves = Callable[[Any], Iterable[tuple[float, Any]]]


def stationary(start: State, moves: Moves) -> dict[Any, float]:
    """The share of time in each state reachable from `start`; `moves(state)` gives pairs of rate and next state."""
    index = {start: 0}
    queue = [start]
    flows: list[tuple[int, int, float]] = []
    while queue:
        state = queue.pop()
        for rate, other in moves(state):
            if rate > 0:
                if other not in index:
                    index[other] = len(index)
                    queue.append(other)
                flows.append((index[state], index[other], rate))
    matrix = np.zeros((len(index), len(index)))
    for source, target, rate in flows:
        matrix[target, source] += rate
        matrix[source, source] -= rate
    matrix[-1] = 1.0
    right = np.zeros(len(index))
    right[-1] = 1.0
    shares = np.linalg.solve(matrix, right)
    return {state: float(shares[place]) for state, place in index.items()}


@dataclass(frozen=True, slots=True)
class Probing:
    """The stochastic design, everything exponential; consumers are alike, so only their numbers count."""

    rates: tuple[float, ...]
    shares: tuple[float, ...]
    """p_access by producer."""
    consumers: int
    buffers: int
    max_hops: int
    consume_rate: float
    message_time: float

    def solve(self) -> dict[str, float]:
        """The exact metrics."""
        hops = self.max_hops
        # A state: objects stored by producer (below 0: requests waiting), requests under way by probe, replies.
        chain = stationary(((0,) * len(self.rates), (0,) * hops, 0), self._moves)
        speed = 1 / self.message_time
        granted = sum(share * replies * speed for (_, _, replies), share in chain.items())
        probes = sum(share * sum(requests) * speed for (_, requests, _), share in chain.items())
        empty = waits = 0.0
        for (levels, requests, _), share in chain.items():
            miss = sum(p for p, level in zip(self.shares, levels, strict=True) if level <= 0)
            empty += share * sum(requests) * speed * miss
            waits += share * requests[-1] * speed * miss
        thinking = sum(share * self._thinking(state) for state, share in chain.items())
        full = sum(share * levels.count(self.buffers) for (levels, _, _), share in chain.items()) / len(self.rates)
        return {
            "throughput": granted,
            "h_avg": probes / granted,
            "wait": (self.consumers - thinking) / granted,
            "producer_full": full,
            "producer_empty": empty / probes,
            "blocked": waits / granted,
            "consumer_utilisation": thinking / self.consumers,
        }

    def _thinking(self, state: Any) -> int:
        levels, requests, replies = state
        return self.consumers - sum(requests) - replies - sum(-min(0, level) for level in levels)

    def _moves(self, state: Any) -> Iterable[tuple[float, Any]]:
        levels, requests, replies = state
        speed = 1 / self.message_time
        for producer, level in enumerate(levels):
            if level < self.buffers:
                yield self.rates[producer], (_add(levels, producer, 1), requests, replies + (level < 0))
        yield self._thinking(state) * self.consume_rate, (levels, _add(requests, 0, 1), replies)
        if replies:
            yield replies * speed, (levels, requests, replies - 1)
        for hop, count in enumerate(requests):
            fewer = _add(requests, hop, -1)
            for producer, level in enumerate(levels):
                rate = count * speed * self.shares[producer]
                if level > 0:
                    yield rate, (_add(levels, producer, -1), fewer, replies + 1)
                elif hop + 1 < self.max_hops:
                    yield rate, (levels, _add(fewer, hop + 1, 1), replies)
                else:
                    yield rate, (_add(levels, producer, -1), fewer, replies)


def _add(numbers: tuple[int, ...], place: int, amount: int) -> tuple[int, ...]:
    return (*numbers[:place], numbers[place] + amount, *numbers[place + 1 :])

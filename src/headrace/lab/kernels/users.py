"""Who asks when: the private user populations of the networked clusters (Lai and Polak, section III).

Users come to a cluster as a Poisson process whose rate rises for one burst, stay an exponential time, and each sends
requests as a Poisson process of its own rate, drawn evenly from 0 to a maximum. Each cluster has its own random
stream, so that a population is the same whatever the topology, the policy and the other clusters are.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

from headrace.lab.kernels.stream import Stream, exponential, stream, uniform


class Users(NamedTuple):
    """Rates a second and times in seconds; cluster k's burst begins at `burst_first + k * burst_every`."""

    rate: float
    burst_rate: float
    burst_first: float
    burst_every: float
    burst_length: float
    start: float
    stay: float
    rate_max: float
    until: float

    def expected_requests(self, clusters: int) -> float:
        """How many requests to expect, at most: as if every burst fell before `until`."""
        users = self.rate * (self.until - self.start) + self.burst_rate * min(self.burst_length, self.until)
        return clusters * users * self.stay * self.rate_max / 2


class Requests(NamedTuple):
    """Requests in the order of their times; `population` is the cluster whose user asks."""

    times: NDArray[np.float64]
    population: NDArray[np.int64]


def requests(users: Users, clusters: int, seed: int) -> Requests:
    """All requests sent before `users.until`."""
    each = [
        _population(users, users.burst_first + k * users.burst_every, stream(seed, "users", k)) for k in range(clusters)
    ]
    times = np.concatenate(each)
    order = np.argsort(times)
    return Requests(times[order], np.repeat(np.arange(clusters), [len(one) for one in each])[order])


@nb.njit(cache=True)
def _population(users: Users, burst: float, draws: Stream) -> NDArray[np.float64]:
    """The times of one population's requests, user by user."""
    times = np.empty(256)
    count = 0
    stages = (users.start, burst, burst + users.burst_length, users.until)
    begin = users.start
    for stage in range(3):
        # Arrivals are memoryless: each stage of constant rate may start afresh.
        end = max(begin, min(stages[stage + 1], users.until))
        rate = users.burst_rate if stage == 1 else users.rate
        arrival = begin + (exponential(draws, 1.0 / rate) if rate > 0.0 else math.inf)
        while arrival < end:
            leaves = min(users.until, arrival + exponential(draws, users.stay))
            request_rate = users.rate_max * (1.0 - uniform(draws))
            sent = arrival + exponential(draws, 1.0 / request_rate)
            while sent < leaves:
                if count == len(times):
                    times = np.append(times, np.empty(count))
                times[count] = sent
                count += 1
                sent += exponential(draws, 1.0 / request_rate)
            arrival += exponential(draws, 1.0 / rate)
        begin = end
    return times[:count]

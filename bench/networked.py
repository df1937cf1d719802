"""Networked clusters: the kernel's requests a second, and how many times a lean SimPy program's.

The SimPy program is written from the model's text alone and shares no code with the kernel, users and random numbers
included; the tests compare the two in distribution.
"""

from __future__ import annotations

import math
import random
import time
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import simpy

from headrace.lab.kernels import networked
from headrace.lab.parameters import complete

Neighbours = Mapping[int, tuple[int, ...]]
Run = Iterator[Any]

LINK_DELAY = 0.035


class Answer(NamedTuple):
    """One request served: whose it was, request to end of service in seconds, how often it was forwarded."""

    population: int
    system_time: float
    hops: int


class Clusters:
    """The set-up of Lai and Polak: one process a user, a request and a cluster's adverts."""

    def __init__(self, neighbours: Neighbours, *, until: float, seed: int) -> None:
        self.env = simpy.Environment()
        self.random = random.Random(seed)
        self.neighbours = neighbours
        self.until = until
        self.idle = dict.fromkeys(neighbours, 5)
        self.queues: dict[int, deque[simpy.Event]] = {k: deque() for k in neighbours}
        self.heard: dict[int, dict[int, tuple[float, ...]]] = {
            k: dict.fromkeys(others, (0.0, 0.0)) for k, others in neighbours.items()
        }
        self.own_refusal = dict.fromkeys(neighbours, 0.0)
        self.asked = 0
        self.answers: list[Answer] = []

    def run(self) -> list[Answer]:
        for k in self.neighbours:
            burst = 2.3 + 5 * k
            for begin, end, rate in ((0.3, burst, 10), (burst, burst + 2, 50), (burst + 2, self.until, 10)):
                self.env.process(self.users(k, begin, min(end, self.until), rate))
            self.env.process(self.adverts(k))
        self.env.run(until=self.until)
        while len(self.answers) < self.asked:
            self.env.step()
        return self.answers

    def users(self, k: int, begin: float, end: float, rate: float) -> Run:
        yield self.env.timeout(begin)
        while True:
            yield self.env.timeout(self.random.expovariate(rate))
            if self.env.now >= end:
                return
            self.env.process(self.user(k))

    def user(self, k: int) -> Run:
        leaves = min(self.until, self.env.now + self.random.expovariate(1 / 0.5))
        rate = self.random.uniform(0, 20)
        while True:
            gap = self.random.expovariate(rate)
            if self.env.now + gap >= leaves:
                return
            yield self.env.timeout(gap)
            self.asked += 1
            self.env.process(self.request(k))

    def request(self, home: int) -> Run:
        k, born, hops = home, self.env.now, 0
        while not self.idle[k]:
            other = self.forward(k, hops)
            if other is None:
                turn = self.env.event()
                self.queues[k].append(turn)
                yield turn
                break
            hops += 1
            yield self.env.timeout(LINK_DELAY)
            self.landed(k, other)
            k = other
        else:
            self.idle[k] -= 1
        yield self.env.timeout(0.040)
        if self.queues[k]:
            self.queues[k].popleft().succeed()
        else:
            self.idle[k] += 1
        self.answers.append(Answer(home, self.env.now - born + 0.006, hops))

    def adverts(self, k: int) -> Run:
        yield self.env.timeout(self.random.uniform(0, 0.05))
        while True:
            for y in self.neighbours[k]:
                advert = self.env.timeout(LINK_DELAY, (k, y, self.state(k, y)))
                advert.callbacks.append(self.hear)
            yield self.env.timeout(0.05)

    def hear(self, advert: simpy.Event) -> None:
        sender, k, state = advert.value
        self.heard[k][sender] = state
        self.own_refusal[k] = self.refusal(k)

    # What follows is policy `paper`; another policy overrides it.

    def refusal(self, k: int) -> float:
        return 1 - 5 / (len(self.queues[k]) + 5)

    def state(self, k: int, y: int) -> tuple[float, ...]:
        """What k tells y: 1 - P_k, and the product without y."""
        others = [refusal for z, (refusal, _) in self.heard[k].items() if z != y]
        return self.refusal(k), self.own_refusal[k] * math.prod(others)

    def forward(self, k: int, hops: int) -> int | None:
        """Where a request that k cannot serve at once goes on to, or nowhere."""
        if self.random.random() >= self.refusal(k):
            return None
        chances = [1 - product for _, product in self.heard[k].values()]
        return self.random.choices(list(self.heard[k]), chances if sum(chances) > 0 else None)[0]

    def landed(self, k: int, y: int) -> None:
        """A request from k has come to y."""


def ring(clusters: int) -> Neighbours:
    return {k: ((k - 1) % clusters, (k + 1) % clusters) for k in range(clusters)}


def main() -> None:
    begin = time.process_time()
    served = len(Clusters(ring(20), until=120.0, seed=1).run())
    lean = served / (time.process_time() - begin)
    print(f"SimPy, ring of 20, paper:          {lean:12,.0f} requests/s")
    for topology, policy in (
        ("ring:20", "paper"),
        ("ring:20", "cost"),
        ("grid:4x5", "paper"),
        ("complete:20", "paper"),
    ):
        parameters = complete(networked.PARAMETERS, {"topology": topology, "policy": policy, "until": 120.0})
        networked.measure(parameters, 0)
        begin = time.process_time()
        total = sum(networked.measure(parameters, seed)["overall"]["requests"] for seed in range(1, 21))
        rate = total / (time.process_time() - begin)
        print(f"kernel, {topology:>11}, {policy:>5}:       {rate:12,.0f} requests/s, {rate / lean:5.0f} x SimPy")

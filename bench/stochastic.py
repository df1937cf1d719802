"""The distributed queue: the kernel's consumed objects a second, and how many times a lean SimPy program's.

The SimPy program is written from the paper's two protocols alone and shares no code with the kernel; the tests compare
the two. Seconds are the process's own, so that a busy machine counts less.
"""

from __future__ import annotations

import random
import time
from collections import deque
from collections.abc import Iterator
from statistics import mean
from typing import Any

import numpy as np
import simpy

from headrace.lab.distributed_queue import PARAMETERS, understand
from headrace.lab.kernels.stochastic.simulation import Simulation
from headrace.lab.models import stochastic as models
from headrace.lab.parameters import complete

Run = Iterator[Any]

OBJECTS = 5_000_000
SIMPY_OBJECTS = 60_000
WARM_UP = 100_000


class Queue:
    """T. Johnson's set-up: one process a producer and a consumer, exponential times."""

    def __init__(self, *, producers: int = 100, consumers: int = 100, max_hops: int = 3, seed: int = 1) -> None:
        self.env = simpy.Environment()
        self.random = random.Random(seed)
        self.max_hops = max_hops
        self.stored = [0] * producers
        self.room: list[simpy.Event | None] = [None] * producers
        self.waiting: list[deque[simpy.Event]] = [deque() for _ in range(producers)]
        self.waits: list[float] = []
        for producer in range(producers):
            self.env.process(self.produce(producer))
        for _ in range(consumers):
            self.env.process(self.consume())

    def run(self, objects: int) -> list[float]:
        """The waits of the next `objects` that are received."""
        self.waits = []
        while len(self.waits) < objects:
            self.env.step()
        return self.waits

    def produce(self, own: int, rate: float = 0.01, buffers: int = 5) -> Run:
        env = self.env
        while True:
            yield env.timeout(self.random.expovariate(rate))
            if self.waiting[own]:
                self.waiting[own].popleft().succeed()
                continue
            self.stored[own] += 1
            if self.stored[own] == buffers:
                self.room[own] = env.event()
                yield self.room[own]

    def consume(self, rate: float = 0.01, message_rate: float = 1.0) -> Run:
        env, draw = self.env, self.random.expovariate
        while True:
            yield env.timeout(draw(rate))
            asked = env.now
            for hop in range(1, self.max_hops + 1):
                yield env.timeout(draw(message_rate))
                producer = self.random.randrange(len(self.stored))
                if self.stored[producer]:
                    self.stored[producer] -= 1
                    room, self.room[producer] = self.room[producer], None
                    if room is not None:
                        room.succeed()
                    break
                if hop == self.max_hops:
                    handed = env.event()
                    self.waiting[producer].append(handed)
                    yield handed
            yield env.timeout(draw(message_rate))
            self.waits.append(env.now - asked)


def main() -> None:
    """Print both rates and their ratio, measured in one run, and what a model solution takes."""
    simulation = Simulation(understand(complete(PARAMETERS, {})), 1)
    simulation.go_on(np.empty(WARM_UP))
    waits = np.empty(OBJECTS)
    kernel_rate = OBJECTS / _seconds(lambda: simulation.go_on(waits))
    queue = Queue()
    queue.run(SIMPY_OBJECTS // 5)
    simpy_rate = SIMPY_OBJECTS / _seconds(lambda: queue.run(SIMPY_OBJECTS))
    print(f"kernel: {kernel_rate:,.0f} objects/s (N = M = 100, h_max = 3, wait {waits.mean():.2f} ticks)")
    print(
        f"SimPy:  {simpy_rate:,.0f} objects/s (wait {mean(queue.waits):.2f} ticks), "
        f"{kernel_rate / simpy_rate:,.0f} times fewer"
    )
    for name, given in (
        ("model 1", {}),
        ("model 1, h_max = 1, 200 %", {"consumers": 200, "max_hops": 1}),
        ("model 2", {"types": "10:0.05,90:1/180"}),
        ("model 3, balanced", {"reach": 4}),
        ("model 3, random", {"reach": 4, "reach_sets": "random"}),
    ):
        parameters = complete(models.PARAMETERS, given)
        models.solve(parameters)
        times = [_seconds(lambda: models.solve(parameters)) for _ in range(15)]  # noqa: B023
        print(f"{name}: {sorted(times)[7] * 1e3:.1f} ms")


def _seconds(work: Any) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun

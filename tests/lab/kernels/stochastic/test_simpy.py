"""The kernel against a program of the same model that shares no code with it."""

from __future__ import annotations

from statistics import mean

import pytest
from bench.stochastic import Queue

from headrace.core import estimates
from headrace.lab.kernels.stochastic import PARAMETERS, measure
from headrace.lab.parameters import complete


@pytest.mark.parametrize("max_hops", [1, 3])
def test_the_kernel_and_a_simpy_program_agree(max_hops: int) -> None:
    means = []
    for seed in range(6):
        queue = Queue(producers=20, consumers=20, max_hops=max_hops, seed=seed)
        queue.run(1_000)
        means.append(mean(queue.run(6_000)))
    simpy = estimates.mean(means)
    given = {"producers": 20, "consumers": 20, "max_hops": max_hops, "objects": 400_000}
    measured = measure(complete(PARAMETERS, given), 1)
    assert simpy.half_width is not None
    assert measured["wait"] == pytest.approx(simpy.value, abs=2 * (simpy.half_width + measured["wait_ci95"]))

"""The relaxed kernel: add+pop pairs a second for each policy and placement, and how many times a plain program's.

Processor time, one thread, exact rank error and overtaking included, at 20 nodes with a backlog of 10,000. The plain
program is the one that the tests hold the kernel equal to in distribution.
"""

from __future__ import annotations

import time
from typing import Any

from tests.lab.kernels.plain_relaxed import Plain

from headrace.lab.kernels import relaxed
from headrace.lab.kernels.relaxed_clients import PLACES, POLICIES
from headrace.lab.parameters import complete

ROUNDS = 7


def pairs_a_second(**given: Any) -> float:
    """The best of a few runs of the kernel, set-up and warm-up included."""
    options = complete(relaxed.PARAMETERS, {"pops": 200_000, "warmup": 0} | given)
    relaxed.measure(options | {"pops": 1}, 1)  # compiled, or loaded
    best = 0.0
    for seed in range(ROUNDS):
        start = time.process_time()
        relaxed.measure(options, seed)
        best = max(best, options["pops"] / (time.process_time() - start))
    return best


def plain_pairs_a_second(pops: int = 20_000) -> float:
    options = complete(relaxed.PARAMETERS, {"pops": pops, "warmup": 0})
    start = time.process_time()
    Plain(options, 1).run()
    return pops / (time.process_time() - start)


def main() -> None:
    plain = plain_pairs_a_second()
    best = pairs_a_second()
    print(f"plain program            {plain / 1e6:8.3f} M pairs/s")
    print(f"policy best              {best / 1e6:8.3f} M pairs/s, {best / plain:.0f} times the plain program")
    for policy in POLICIES[1:]:
        alone, crowd = (
            pairs_a_second(policy=policy),
            pairs_a_second(policy=policy, concurrency=50, interleave="free"),
        )
        print(f"policy {policy:<18}{alone / 1e6:8.3f} M pairs/s, {crowd / 1e6:.3f} with 50 clients freely interleaved")
    for place in PLACES:
        print(f"place  {place:<18}{pairs_a_second(place=place) / 1e6:8.3f} M pairs/s")
    print(f"keys   {'growing':<18}{pairs_a_second(keys='growing') / 1e6:8.3f} M pairs/s")

"""The kernel of networked clusters against its machine: equal in distribution.

The sites run in the simulator, over the common node, in encoded messages, with nothing going wrong. Both sides meet the
same requests and tell their states at the same phases; what they draw to decide is their own.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from headrace.lab.kernels.networked import PARAMETERS, run
from headrace.lab.kernels.stream import stream
from headrace.lab.kernels.topology import network
from headrace.lab.parameters import complete
from headrace.protocols.machines.networked import Policy, Rules
from headrace.sim.sites import Sites, SitesSetup
from headrace.sim.world import START_US, World
from tests.lab.kernels.two_samples import Comparison, Run, compare_pairs

RUNS = 40
SECOND_US = 1e6
DETECTABLE = {"wait": 0.1, "deviation": 0.1, "forwarded": 0.1, "hops": 0.1}
"""The relative differences that the test finds with probability 0.9, at each point."""

POINTS: list[tuple[str, Policy, int]] = [("ring:4", "paper", 0), ("star:4", "paper", 1), ("ring:4", "cost", 0)]


def _given(topology: str, policy: str, hop_limit: int) -> dict[str, object]:
    burst = {"until": 4.0, "burst_first": 1.0, "burst_every": 1.0, "burst_length": 1.0}
    return complete(PARAMETERS, {"topology": topology, "policy": policy, "hop_limit": hop_limit, **burst})


def _statistics(waits: list[float], hops: list[int]) -> Run:
    return {
        "wait": float(np.mean(waits)),
        "deviation": float(np.std(waits)),
        "forwarded": float(np.mean(np.array(hops) > 0)),
        "hops": float(np.mean(hops)),
    }


def _both(topology: str, policy: Policy, hop_limit: int, seed: int) -> tuple[Run, Run]:
    """One run of the machines, and one of the kernel, on the same requests."""
    given = _given(topology, policy, hop_limit)
    asked, served, _ = run(given, seed)
    kernel = _statistics((served.started - asked.times).tolist(), served.hops.tolist())
    net = network(topology)
    links = {
        (min(k, int(other)), max(k, int(other)))
        for k in range(net.clusters)
        for other in net.heads[net.first_edge[k] : net.first_edge[k + 1]]
    }
    phases = np.random.default_rng(stream(seed, "phases")).uniform(0.0, 0.05, net.clusters)
    rules = Rules(policy, servers=5, service_us=40_000, link_us=35_000, exchange_us=50_000, hop_limit=hop_limit)
    setup = SitesSetup(net.clusters, tuple(sorted(links)), rules, tuple(round(p * SECOND_US) for p in phases))
    world = World(f"sites/{seed}")
    sites = Sites(world, setup, Counter())
    sites.begin()
    for time, population in zip(asked.times.tolist(), asked.population.tolist(), strict=True):
        world.at(START_US + round(time * SECOND_US), lambda population=population: sites.ask(population))
    world.run(START_US + round(12 * SECOND_US))
    ledger = sites.ledger
    assert len(ledger.finished) == len(asked.times) == ledger.finished.total()
    waits = [(ledger.ended[item] - at_us - rules.service_us) / SECOND_US for item, at_us in ledger.made.items()]
    return _statistics(waits, [ledger.hops[item] for item in ledger.made]), kernel


def _compare(topology: str, policy: Policy, hop_limit: int) -> dict[str, Comparison]:
    runs = [_both(topology, policy, hop_limit, seed) for seed in range(RUNS)]
    return compare_pairs([machine for machine, _ in runs], [kernel for _, kernel in runs])


@pytest.mark.parametrize(("topology", "policy", "hop_limit"), POINTS)
def test_kernel_and_sites_are_equal_in_distribution(topology: str, policy: Policy, hop_limit: int) -> None:
    compared = _compare(topology, policy, hop_limit)
    assert all(one.agrees for one in compared.values()), compared
    for name, one in compared.items():
        assert one.detectable < DETECTABLE[name], (name, one.detectable)

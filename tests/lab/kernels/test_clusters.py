"""The compiled simulation of clusters, against exact results where it degenerates, and its invariants anywhere."""

import heapq
import math

import numpy as np
import pytest

from headrace.lab.kernels.clusters import ALONE, COST, PAPER, Rules, Samples, Served, serve
from headrace.lab.kernels.stream import stream
from headrace.lab.kernels.topology import Network, alone, network
from headrace.lab.kernels.users import Requests, Users, requests

RULES = Rules(PAPER, servers=5, occupied=0.04, link_delay=0.035, exchange=0.05, hop_limit=0)
USERS = Users(10.0, 50.0, 2.3, 5.0, 2.0, 0.3, 0.5, 20.0, 45.0)
NEVER = np.empty(0)


def _serve(
    asked: Requests, net: Network, rules: Rules, *, seed: int = 1, samples: np.ndarray = NEVER
) -> tuple[Served, Samples]:
    phases = np.random.default_rng(seed).uniform(0, rules.exchange, net.clusters)
    served, sampled = serve(asked, net, rules, phases, stream(seed, "decisions"), samples)
    return served, sampled


def _poisson(rate: float, count: int, seed: int) -> Requests:
    rng = np.random.default_rng(seed)
    return Requests(np.cumsum(rng.exponential(1 / rate, count)), np.zeros(count, np.int64))


def _deterministic_service_wait(load: float, servers: int, service: float) -> float:
    """The mean wait of M/D/c: the chain of the number present, seen one service time apart, solved without sampling.

    All who are in service now have left one service time later, and all who came meanwhile are still here.
    """
    mean = load * servers
    size = 400
    arrivals = np.exp([k * math.log(mean) - mean - math.lgamma(k + 1) for k in range(size)])
    step = np.zeros((size, size))
    for present in range(size):
        left = max(present - servers, 0)
        step[present, left:] = arrivals[: size - left]
        step[present, -1] += 1 - step[present].sum()
    stationary = np.linalg.matrix_power(step, 1 << 14)[0]
    queued = stationary @ np.maximum(np.arange(size) - servers, 0)
    return float(queued * service / mean)


@pytest.mark.parametrize(("servers", "load"), [(1, 0.5), (5, 0.4), (5, 0.8), (25, 0.9)])
def test_one_cluster_with_poisson_requests_waits_as_m_d_c_does(servers: int, load: float) -> None:
    asked = _poisson(load * servers / 0.04, 1_000_000, seed=servers)
    served, _ = _serve(asked, alone(1), RULES._replace(forwarding=ALONE, servers=servers))
    waits = (served.started - asked.times)[50_000:]
    means = waits.reshape(50, -1).mean(axis=1)
    error = 4 * means.std(ddof=1) / 50**0.5
    exact = _deterministic_service_wait(load, servers, 0.04)
    assert error < 0.15 * exact
    assert waits.mean() == pytest.approx(exact, abs=error)


def test_the_exact_wait_is_that_of_pollaczek_and_khinchine_for_one_server() -> None:
    assert _deterministic_service_wait(0.5, 1, 0.04) == pytest.approx(0.5 * 0.04 / (2 * (1 - 0.5)), rel=1e-6)


def test_clusters_alone_start_each_request_when_the_nth_before_it_ends() -> None:
    asked = requests(USERS, 5, seed=2)
    served, _ = _serve(asked, alone(5), RULES._replace(forwarding=ALONE))
    for k in range(5):
        mine = asked.population == k
        assert served.started[mine] == pytest.approx(_in_turn(asked.times[mine], servers=5), abs=1e-9)
    assert np.array_equal(served.cluster, asked.population)
    assert not served.hops.any()


def _in_turn(times: np.ndarray, *, servers: int) -> list[float]:
    """Starts of first-come service at `servers`, by their next free instants."""
    free = [0.0] * servers
    starts = []
    for time in times:
        start = max(time, heapq.heappop(free))
        heapq.heappush(free, start + 0.04)
        starts.append(start)
    return starts


@pytest.mark.parametrize("forwarding", [PAPER, COST])
@pytest.mark.parametrize("topology", ["ring:5", "star:6", "complete:4", "grid:3x3", "chords:8"])
def test_every_request_is_served_once_in_order_within_capacity(forwarding: int, topology: str) -> None:
    net = network(topology)
    asked = requests(USERS._replace(until=20.0), net.clusters, seed=5)
    served, _ = _serve(asked, net, RULES._replace(forwarding=forwarding))
    assert served.hops.any()
    assert np.all(served.started >= asked.times + served.hops * RULES.link_delay - 1e-9)
    for k in range(net.clusters):
        starts = np.sort(served.started[served.cluster == k])
        # Never more than five at a time: the sixth starts when the first has ended.
        assert np.all(starts[5:] >= starts[:-5] + RULES.occupied - 1e-9)
    moved = served.cluster != asked.population
    assert np.all(served.hops[moved] > 0)
    neighbours = [set(net.heads[net.first_edge[k] : net.first_edge[k + 1]]) for k in range(net.clusters)]
    once = np.flatnonzero(served.hops == 1)
    assert all(served.cluster[i] in neighbours[asked.population[i]] for i in once)


def test_no_server_idles_while_its_queue_waits() -> None:
    asked = requests(USERS._replace(until=20.0), 5, seed=6)
    served, sampled = _serve(asked, network("ring:5"), RULES, samples=np.arange(0, 20, 0.011))
    waits = 0
    for row, time in enumerate(np.arange(0, 20, 0.011)):
        for k in range(5):
            if sampled.queued[row, k]:
                mine = served.started[served.cluster == k]
                assert np.count_nonzero((mine <= time) & (mine + RULES.occupied > time - 1e-9)) >= 5
                waits += 1
    assert waits > 50


def test_a_hop_limit_holds_and_no_limit_lets_requests_go_further() -> None:
    asked = requests(USERS, 5, seed=7)
    for limit in (1, 2):
        served, _ = _serve(asked, network("ring:5"), RULES._replace(hop_limit=limit))
        assert served.hops.max() == limit
    assert _serve(asked, network("ring:5"), RULES)[0].hops.max() > 2


def test_samples_show_the_queue_and_what_clusters_know() -> None:
    asked = requests(USERS._replace(until=10.0), 3, seed=8)
    times = np.arange(0.0, 12.0, 0.05)
    _, sampled = _serve(asked, network("ring:3"), RULES, samples=times)
    assert sampled.queued.max() > 5
    assert sampled.queued[-1].tolist() == [0, 0, 0]
    assert np.all((sampled.reach >= 0) & (sampled.reach <= 1))
    assert sampled.reach.min() < 1
    _, other = _serve(asked, network("ring:3"), RULES._replace(forwarding=COST), samples=times)
    assert np.all(other.reach >= 5 / (5 + other.queued) - 1e-9)
    _, lonely = _serve(asked, alone(3), RULES._replace(forwarding=ALONE), samples=times)
    assert np.array_equal(lonely.reach, 1 - (1 - 5 / (5 + lonely.queued)))


@pytest.mark.parametrize("forwarding", [PAPER, COST])
def test_news_that_comes_late_serves_worse(forwarding: int) -> None:
    """Adverts must matter. Where neighbours' bursts overlap, that is: in the paper's set-up they hardly do."""
    rules = RULES._replace(forwarding=forwarding)
    fresh = stale = 0.0
    for seed in range(8):
        asked = requests(USERS._replace(until=15.0, burst_every=0.7), 10, seed)
        fresh += (_serve(asked, network("ring:10"), rules)[0].started - asked.times).mean()
        stale += (_serve(asked, network("ring:10"), rules._replace(exchange=2.0))[0].started - asked.times).mean()
    assert stale > 1.1 * fresh

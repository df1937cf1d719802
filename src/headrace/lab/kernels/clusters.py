"""The compiled simulation of networked clusters: requests in, who served them and when out.

Every delay in the model is constant (service, link, exchange), so whatever starts first ends first: requests in
service, on links and in each queue stand in first-in-first-out chains, adverts go round in the order of the clusters'
phases, and the next event is the earliest of five heads. There is no event heap. The decisions are those of
`designs/networked`, compiled from the same source.

A request is in one chain at a time, so one `following` array links them all. What a request met on its way is kept
with it; statistics are left to the caller.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

from headrace.lab.kernels.stream import Stream, uniform
from headrace.lab.kernels.topology import Network
from headrace.lab.kernels.users import Requests
from headrace.protocols.designs import networked as design

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

ALONE, PAPER, COST = 0, 1, 2
FIRST, LAST, LENGTH = 0, 1, 2
NOBODY = -1

_inlined = nb.njit(inline="always", error_model="numpy")
_compiled = nb.njit(cache=True, error_model="numpy")
_acceptance = _compiled(design.acceptance)
_reach = _compiled(design.reach)
_refusals_without = _compiled(design.refusals_without)
_forwarding = _compiled(design.forwarding)
_drawn = _compiled(design.drawn)
_price = _compiled(design.price)
_price_through = _compiled(design.price_through)
_cheapest = _compiled(design.cheapest)
_cheapest_without = _compiled(design.cheapest_without)
_HERE = design.HERE


class Rules(NamedTuple):
    """How clusters work. Times in seconds; `occupied` is how long a request keeps its server."""

    forwarding: int
    servers: int
    occupied: float
    link_delay: float
    exchange: float
    hop_limit: int


class Served(NamedTuple):
    """What became of each request, in the order of the requests."""

    started: Floats
    cluster: Ints
    hops: Ints
    queue_seen: Ints


class Samples(NamedTuple):
    """Queue length and R by time and cluster. Who does not forward reaches only itself."""

    queued: Ints
    reach: Floats


class _Chains(NamedTuple):
    """First-in-first-out chains of requests: one queue a cluster, then those in service, then those on links."""

    following: Ints
    due: Floats
    first: Ints
    last: Ints
    length: Ints


class _Knowledge(NamedTuple):
    """What clusters know: by cluster, then of each neighbour by the edge to it."""

    own_refusal: Floats  # as of the last receipt: R is computed anew only then
    told: Floats  # the neighbour's refusal (PAPER), its backlog (COST)
    told_beyond: Floats  # its product without us (PAPER), its cheapest other way on (COST)
    told_received: Ints  # how many requests from us it had received when it said so
    sent: Ints  # to the neighbour
    received: Ints  # from the neighbour
    weights: Floats  # room to decide in


class _Post(NamedTuple):
    """Adverts on their way, by the sender's round modulo as many as can be under way, and by cluster or edge."""

    state: Floats
    beyond: Floats
    received: Ints


@nb.njit(cache=True, error_model="numpy")
def serve(
    asked: Requests, network: Network, rules: Rules, phases: Floats, draws: Stream, sample_times: Floats
) -> tuple[Served, Samples]:
    """Serve all requests. `population` says where each enters; `phases` when each cluster sends its first advert."""
    times, population = asked.times, asked.population
    count, clusters, edges = len(times), len(network.first_edge) - 1, len(network.heads)
    started, at = np.empty(count), np.empty(count, np.int64)
    hops, seen, via = np.zeros(count, np.int64), np.zeros(count, np.int64), np.empty(count, np.int64)
    ends, following, due = np.zeros((clusters + 2, 3), np.int64), np.empty(count, np.int64), np.empty(count)
    in_service, on_links = clusters, clusters + 1
    known, idle = _knowledge(rules, clusters, edges), np.full(clusters, rules.servers)
    post, turns = _post(rules, clusters, edges), np.argsort(phases)
    samples = Samples(np.empty((len(sample_times), clusters), np.int64), np.empty((len(sample_times), clusters)))
    arrived = sampled = sent = received = 0
    next_advert = _advert(phases, turns, rules, 0)
    next_receipt = next_advert + rules.link_delay
    while True:
        next_arrival = times[arrived] if arrived < count else math.inf
        next_end, next_landing = _head(ends, due, in_service), _head(ends, due, on_links)
        now = min(next_arrival, next_end, next_landing)
        if sampled < len(sample_times) and sample_times[sampled] <= min(now, next_advert, next_receipt):
            _sample(ends, known, rules, network, samples.queued[sampled], samples.reach[sampled])
            sampled += 1
            continue
        if now == math.inf and sampled == len(sample_times):
            return Served(started, at, hops, seen), samples
        if min(next_advert, next_receipt) <= now:
            if next_receipt <= next_advert:
                _receive(ends, known, post, rules, network, turns[received % clusters], received // clusters)
                received += 1
                next_receipt = _advert(phases, turns, rules, received) + rules.link_delay
            else:
                _send(ends, idle, known, post, rules, network, turns[sent % clusters], sent // clusters)
                sent += 1
                next_advert = _advert(phases, turns, rules, sent)
            continue
        if now == next_end:
            k = at[_pop(ends, following, in_service)]
            idle[k] += 1
            if ends[k, LENGTH] == 0:
                continue
            request = _pop(ends, following, k)
        else:
            if now == next_landing:
                request = _pop(ends, following, on_links)
                k = network.heads[via[request]]
                known.received[network.backward[via[request]]] += 1
            else:
                request, k = arrived, population[arrived]
                arrived += 1
            at[request] = k
            seen[request] = max(seen[request], ends[k, LENGTH])
            if idle[k] == 0:
                slot = _decide(ends, known, rules, network, k, hops[request], draws)
                if slot == _HERE:
                    _push(ends, following, due, k, request, now)
                else:
                    via[request] = network.first_edge[k] + slot
                    known.sent[via[request]] += 1
                    hops[request] += 1
                    _push(ends, following, due, on_links, request, now + rules.link_delay)
                continue
        idle[k] -= 1
        started[request] = now
        _push(ends, following, due, in_service, request, now + rules.occupied)


@_inlined
def _knowledge(rules: Rules, clusters: int, edges: int) -> _Knowledge:
    """Before the first adverts, clusters take their neighbours to be idle."""
    return _Knowledge(
        np.zeros(clusters),
        np.full(edges, -float(rules.servers) if rules.forwarding == COST else 0.0),
        np.full(edges, math.inf if rules.forwarding == COST else 0.0),
        np.zeros(edges, np.int64),
        np.zeros(edges, np.int64),
        np.zeros(edges, np.int64),
        np.empty(edges),
    )


@_inlined
def _post(rules: Rules, clusters: int, edges: int) -> _Post:
    under_way = int(rules.link_delay / rules.exchange) + 2
    return _Post(
        np.empty((under_way, clusters)),
        np.empty((under_way, edges)),
        np.zeros((under_way, edges), np.int64),
    )


@_inlined
def _advert(phases: Floats, turns: Ints, rules: Rules, number: int) -> float:
    """When the advert of that number is sent."""
    if rules.forwarding == ALONE:
        return math.inf
    return phases[turns[number % len(turns)]] + number // len(turns) * rules.exchange


@_inlined
def _push(ends: Ints, following: Ints, due: Floats, chain: int, request: int, time: float) -> None:
    due[request] = time
    if ends[chain, LENGTH] == 0:
        ends[chain, FIRST] = request
    else:
        following[ends[chain, LAST]] = request
    ends[chain, LAST] = request
    ends[chain, LENGTH] += 1


@_inlined
def _pop(ends: Ints, following: Ints, chain: int) -> int:
    request = ends[chain, FIRST]
    ends[chain, FIRST] = following[request]
    ends[chain, LENGTH] -= 1
    return request


@_inlined
def _head(ends: Ints, due: Floats, chain: int) -> float:
    """When the first of a chain is due."""
    return due[ends[chain, FIRST]] if ends[chain, LENGTH] > 0 else math.inf


@_inlined
def _decide(ends: Ints, known: _Knowledge, rules: Rules, network: Network, k: int, hops: int, draws: Stream) -> int:
    """The slot of the neighbour that a request goes on to from cluster k, whose servers are all busy; or HERE."""
    if rules.forwarding == ALONE or hops == rules.hop_limit > 0:
        return _HERE
    begin, end = network.first_edge[k], network.first_edge[k + 1]
    weights = known.weights[begin:end]
    if rules.forwarding == PAPER:
        if uniform(draws) < _acceptance(ends[k, LENGTH], rules.servers):
            return _HERE
        _forwarding(known.told_beyond[begin:end], weights)
        return _drawn(weights, uniform(draws))
    _prices(known, rules, begin, end)
    here = _price(ends[k, LENGTH], rules.occupied / rules.servers)
    # Each hop it took makes a request harder to move on, or stale adverts would send it back and forth.
    return _cheapest(here - hops * rules.link_delay, weights, uniform(draws))


@_inlined
def _prices(known: _Knowledge, rules: Rules, begin: int, end: int) -> None:
    """What forwarding over each edge costs, into the room to decide in."""
    turn = rules.occupied / rules.servers
    for edge in range(begin, end):
        unseen = known.sent[edge] - known.told_received[edge]
        direct = _price(known.told[edge] + unseen, turn)
        known.weights[edge] = _price_through(direct, known.told_beyond[edge], unseen, turn, rules.link_delay)


@_inlined
def _send(
    ends: Ints, idle: Ints, known: _Knowledge, post: _Post, rules: Rules, network: Network, k: int, turn: int
) -> None:
    """Cluster k tells its neighbours its state."""
    place = turn % len(post.state)
    begin, end = network.first_edge[k], network.first_edge[k + 1]
    beyond = post.beyond[place, begin:end]
    if rules.forwarding == PAPER:
        post.state[place, k] = 1.0 - _acceptance(ends[k, LENGTH], rules.servers)
        _refusals_without(known.own_refusal[k], known.told[begin:end], beyond)
    else:
        post.state[place, k] = ends[k, LENGTH] - idle[k]
        _prices(known, rules, begin, end)
        _cheapest_without(known.weights[begin:end], beyond)
        post.received[place, begin:end] = known.received[begin:end]


@_inlined
def _receive(
    ends: Ints, known: _Knowledge, post: _Post, rules: Rules, network: Network, sender: int, turn: int
) -> None:
    """The neighbours of `sender` learn what it told them one link's delay ago."""
    place = turn % len(post.state)
    for edge in range(network.first_edge[sender], network.first_edge[sender + 1]):
        back, k = network.backward[edge], network.heads[edge]
        known.told[back] = post.state[place, sender]
        known.told_beyond[back] = post.beyond[place, edge]
        known.told_received[back] = post.received[place, edge]
        known.own_refusal[k] = 1.0 - _acceptance(ends[k, LENGTH], rules.servers)


@_inlined
def _sample(ends: Ints, known: _Knowledge, rules: Rules, network: Network, queued: Ints, reach: Floats) -> None:
    """Queue lengths, and R by what each cluster knows of its neighbours."""
    for k in range(len(queued)):
        queued[k] = ends[k, LENGTH]
        begin, end = network.first_edge[k], network.first_edge[k + 1]
        if rules.forwarding == PAPER:
            reach[k] = _reach(known.own_refusal[k], known.told[begin:end])
        else:
            for edge in range(begin, end):
                known.weights[edge] = 1.0 - _acceptance(max(0.0, known.told[edge]), rules.servers)
            others = known.weights[begin:end] if rules.forwarding == COST else known.weights[:0]
            reach[k] = _reach(1.0 - _acceptance(queued[k], rules.servers), others)

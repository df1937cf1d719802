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

import numpy as np
from numpy.typing import NDArray

from headrace.lab.kernels.compiled import decision, inlined, kernel
from headrace.lab.kernels.stream import Stream, uniform
from headrace.lab.kernels.topology import Network
from headrace.lab.kernels.users import Requests
from headrace.protocols.designs import networked as design

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

ALONE, PAPER, COST = 0, 1, 2

_acceptance = decision(design.acceptance)
_reach = decision(design.reach)
_refusals_without = decision(design.refusals_without)
_forwarding = decision(design.forwarding)
_drawn = decision(design.drawn)
_price = decision(design.price)
_price_through = decision(design.price_through)
_cheapest = decision(design.cheapest)
_cheapest_without = decision(design.cheapest_without)
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

    first: Ints
    last: Ints
    length: Ints
    following: Ints
    due: Floats


class _Knowledge(NamedTuple):
    """What clusters know: by cluster, then of each neighbour by the edge to it."""

    idle: Ints
    own_refusal: Floats  # as of the last receipt: R is computed anew only then
    told: Floats  # the neighbour's refusal (PAPER), its backlog (COST)
    told_beyond: Floats  # its product without us (PAPER), its cheapest other way on (COST)
    told_received: Ints  # how many requests from us it had received when it said so
    sent: Ints  # to the neighbour
    received: Ints  # from the neighbour
    weights: Floats  # room to decide in


class _Post(NamedTuple):
    """Adverts: when and in which order clusters send them, and those on their way by the sender's round.

    Rounds count modulo as many as can be under way.
    """

    phases: Floats
    turns: Ints
    state: Floats  # by cluster
    beyond: Floats  # by edge
    received: Ints  # by edge


def serve(
    asked: Requests, network: Network, rules: Rules, phases: Floats, draws: Stream, sample_times: Floats
) -> tuple[Served, Samples]:
    """Serve all requests. `population` says where each enters; `phases` when each cluster sends its first advert."""
    count, clusters, edges = len(asked.times), len(network.first_edge) - 1, len(network.heads)
    served = Served(np.empty(count), _zeros(count), _zeros(count), _zeros(count))
    samples = Samples(_zeros(len(sample_times), clusters), np.zeros((len(sample_times), clusters)))
    chains = _Chains(_zeros(clusters + 2), _zeros(clusters + 2), _zeros(clusters + 2), _zeros(count), np.empty(count))
    # Before the first adverts, clusters take their neighbours to be idle.
    known = _Knowledge(
        idle=np.full(clusters, rules.servers),
        own_refusal=np.zeros(clusters),
        told=np.full(edges, -float(rules.servers) if rules.forwarding == COST else 0.0),
        told_beyond=np.full(edges, math.inf if rules.forwarding == COST else 0.0),
        told_received=_zeros(edges),
        sent=_zeros(edges),
        received=_zeros(edges),
        weights=np.empty(edges),
    )
    under_way = int(rules.link_delay / rules.exchange) + 2
    post = _Post(
        phases,
        np.argsort(phases),
        np.empty((under_way, clusters)),
        np.empty((under_way, edges)),
        _zeros(under_way, edges),
    )
    _serve(asked, network, rules, draws, sample_times, served, samples, _zeros(count), chains, known, post)
    return served, samples


def _zeros(*shape: int) -> Ints:
    return np.zeros(shape, np.int64)


@kernel
def _serve(
    asked: Requests,
    network: Network,
    rules: Rules,
    draws: Stream,
    sample_times: Floats,
    served: Served,
    samples: Samples,
    via: Ints,
    chains: _Chains,
    known: _Knowledge,
    post: _Post,
) -> None:
    """The loop over events; `via` is the edge by which each request came last."""
    count, clusters = len(asked.times), len(known.idle)
    in_service, on_links = clusters, clusters + 1
    arrived = sampled = sent = received = 0
    next_advert = _advert(post, rules, 0)
    next_receipt = next_advert + rules.link_delay
    while True:
        next_arrival = asked.times[arrived] if arrived < count else math.inf
        next_end, next_landing = _head(chains, in_service), _head(chains, on_links)
        now = min(next_arrival, next_end, next_landing)
        if sampled < len(sample_times) and sample_times[sampled] <= min(now, next_advert, next_receipt):
            _sample(chains, known, rules, network, samples, sampled)
            sampled += 1
        elif now == math.inf and sampled == len(sample_times):
            break
        elif next_receipt <= min(now, next_advert):
            _receive(chains, known, post, rules, network, received)
            received += 1
            next_receipt = _advert(post, rules, received) + rules.link_delay
        elif next_advert <= now:
            _send(chains, known, post, rules, network, sent)
            sent += 1
            next_advert = _advert(post, rules, sent)
        elif next_end == now:
            k = served.cluster[_pop(chains, in_service)]
            known.idle[k] += 1
            if chains.length[k] > 0:
                _start(_pop(chains, k), k, now, served, chains, known, rules)
        else:
            if next_landing == now:
                request = _pop(chains, on_links)
                k = network.heads[via[request]]
                known.received[network.backward[via[request]]] += 1
            else:
                request, k = arrived, asked.population[arrived]
                arrived += 1
            served.cluster[request] = k
            served.queue_seen[request] = max(served.queue_seen[request], chains.length[k])
            slot = _HERE
            if known.idle[k] == 0:
                slot = _decide(chains, known, rules, network, k, served.hops[request], draws)
            if slot != _HERE:
                via[request] = network.first_edge[k] + slot
                known.sent[via[request]] += 1
                served.hops[request] += 1
                _push(chains, on_links, request, now + rules.link_delay)
            elif known.idle[k] > 0:
                _start(request, k, now, served, chains, known, rules)
            else:
                _push(chains, k, request, now)


@inlined
def _start(request: int, k: int, now: float, served: Served, chains: _Chains, known: _Knowledge, rules: Rules) -> None:
    """A server of cluster k begins with the request."""
    known.idle[k] -= 1
    served.started[request] = now
    _push(chains, len(known.idle), request, now + rules.occupied)


@inlined
def _advert(post: _Post, rules: Rules, number: int) -> float:
    """When the advert of that number is sent."""
    if rules.forwarding == ALONE:
        return math.inf
    clusters = len(post.turns)
    return post.phases[post.turns[number % clusters]] + number // clusters * rules.exchange


@inlined
def _push(chains: _Chains, chain: int, request: int, due: float) -> None:
    chains.due[request] = due
    if chains.length[chain] == 0:
        chains.first[chain] = request
    else:
        chains.following[chains.last[chain]] = request
    chains.last[chain] = request
    chains.length[chain] += 1


@inlined
def _pop(chains: _Chains, chain: int) -> int:
    request = chains.first[chain]
    chains.first[chain] = chains.following[request]
    chains.length[chain] -= 1
    return request


@inlined
def _head(chains: _Chains, chain: int) -> float:
    """When the first of a chain is due."""
    return chains.due[chains.first[chain]] if chains.length[chain] > 0 else math.inf


@inlined
def _decide(
    chains: _Chains, known: _Knowledge, rules: Rules, network: Network, k: int, hops: int, draws: Stream
) -> int:
    """The slot of the neighbour that a request goes on to from cluster k, whose servers are all busy; or HERE."""
    if rules.forwarding == ALONE or hops == rules.hop_limit > 0:
        return _HERE
    begin, end = network.first_edge[k], network.first_edge[k + 1]
    weights = known.weights[begin:end]
    if rules.forwarding == PAPER:
        if uniform(draws) < _acceptance(chains.length[k], rules.servers):
            return _HERE
        _forwarding(known.told_beyond[begin:end], weights)
        return _drawn(weights, uniform(draws))
    _prices(known, rules, begin, end)
    here = _price(chains.length[k], rules.occupied / rules.servers)
    # Each hop it took makes a request harder to move on, or stale adverts would send it back and forth.
    return _cheapest(here - hops * rules.link_delay, weights, uniform(draws))


@inlined
def _prices(known: _Knowledge, rules: Rules, begin: int, end: int) -> None:
    """What forwarding over each edge costs, into the room to decide in."""
    turn = rules.occupied / rules.servers
    for edge in range(begin, end):
        unseen = known.sent[edge] - known.told_received[edge]
        direct = _price(known.told[edge] + unseen, turn)
        known.weights[edge] = _price_through(direct, known.told_beyond[edge], unseen, turn, rules.link_delay)


@inlined
def _send(chains: _Chains, known: _Knowledge, post: _Post, rules: Rules, network: Network, number: int) -> None:
    """The next cluster in turn tells its neighbours its state."""
    k = post.turns[number % len(post.turns)]
    place = number // len(post.turns) % len(post.state)
    begin, end = network.first_edge[k], network.first_edge[k + 1]
    beyond = post.beyond[place, begin:end]
    if rules.forwarding == PAPER:
        post.state[place, k] = 1.0 - _acceptance(chains.length[k], rules.servers)
        _refusals_without(known.own_refusal[k], known.told[begin:end], beyond)
    else:
        post.state[place, k] = chains.length[k] - known.idle[k]
        _prices(known, rules, begin, end)
        _cheapest_without(known.weights[begin:end], beyond)
        for edge in range(begin, end):
            post.received[place, edge] = known.received[edge]


@inlined
def _receive(chains: _Chains, known: _Knowledge, post: _Post, rules: Rules, network: Network, number: int) -> None:
    """The neighbours of the next cluster in turn learn what it told them one link's delay ago."""
    sender = post.turns[number % len(post.turns)]
    place = number // len(post.turns) % len(post.state)
    for edge in range(network.first_edge[sender], network.first_edge[sender + 1]):
        back, k = network.backward[edge], network.heads[edge]
        known.told[back] = post.state[place, sender]
        known.told_beyond[back] = post.beyond[place, edge]
        known.told_received[back] = post.received[place, edge]
        known.own_refusal[k] = 1.0 - _acceptance(chains.length[k], rules.servers)


@inlined
def _sample(chains: _Chains, known: _Knowledge, rules: Rules, network: Network, samples: Samples, row: int) -> None:
    """Queue lengths, and R by what each cluster knows of its neighbours."""
    for k in range(len(known.idle)):
        samples.queued[row, k] = chains.length[k]
        begin, end = network.first_edge[k], network.first_edge[k + 1]
        refusal = 1.0 - _acceptance(chains.length[k], rules.servers)
        if rules.forwarding == PAPER:
            samples.reach[row, k] = _reach(known.own_refusal[k], known.told[begin:end])
        elif rules.forwarding == COST:
            for edge in range(begin, end):
                known.weights[edge] = 1.0 - _acceptance(max(0.0, known.told[edge]), rules.servers)
            samples.reach[row, k] = _reach(refusal, known.weights[begin:end])
        else:
            samples.reach[row, k] = 1.0 - refusal

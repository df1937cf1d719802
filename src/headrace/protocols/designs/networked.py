"""Networked queues of autonomous sites (Lai and Polak): accept a request here, or forward it to a neighbour.

Two policies decide, each from what a site knows itself and what its neighbours last said. `paper`: accept with
P = m/(N+m), else draw a neighbour by how likely it, or one of *its* neighbours, accepts (section II). `cost`, which
is ours: go where starting costs least, links included, by the backlogs that sites tell each other.

Guarantees: probabilities are in [0, 1], a distribution sums to 1, and nothing is divided by a probability. The paper
prints P_ky = C (1 − (1−R_y)/(1−P_k)); since 1−R_y is a product that contains 1−P_k, each neighbour sends that product
without the receiver's factor instead, and the quotient, with its stale denominators, never arises.

Everything here is a leaf over numbers and indexable sequences, random draws handed in, so that a live site calls it
and a kernel compiles it. What a site may not serve at all, and when adverts travel, is left to the callers.
"""

from __future__ import annotations

import math
from collections.abc import MutableSequence, Sequence

HERE = -1

# A request that queues delays those behind it as well as itself: 1 / (1 - load) times its own wait, at half load.
WAIT_WEIGHT = 2.0
# How much of what was sent to a neighbour since its advert is taken to weigh on the sites behind it.
SPILL = 0.25


def acceptance(queued: int, servers: int) -> float:
    """The probability that a site accepts (P_k = m_k / (N_k + m_k)); `queued` leaves out what is being served."""
    return servers / (queued + servers)


def reach(refusal: float, neighbour_refusals: Sequence[float]) -> float:
    """The probability that the site or one of its neighbours accepts (R_k); a refusal is 1 − P."""
    product = refusal
    for other in neighbour_refusals:
        product *= other
    return 1.0 - product


def refusals_without(refusal: float, neighbour_refusals: Sequence[float], without: MutableSequence[float]) -> None:
    """For each neighbour, the chance that the site and all its *other* neighbours refuse: (1−R_k) / (1−P_y).

    This is what the site tells that neighbour. Filled from both ends, so that a refusal of 0 divides nothing.
    """
    ahead = refusal
    for slot in range(len(neighbour_refusals)):
        without[slot] = ahead
        ahead *= neighbour_refusals[slot]
    behind = 1.0
    for slot in range(len(neighbour_refusals) - 1, -1, -1):
        without[slot] *= behind
        behind *= neighbour_refusals[slot]


def forwarding(refusals: Sequence[float], probabilities: MutableSequence[float]) -> None:
    """Where to forward (P_ky): in proportion to 1 − each neighbour's product; evenly where all surely refuse.

    A product told by a peer is believed within [0, 1] only, so a negative weight cannot arise.
    """
    total = 0.0
    for slot in range(len(refusals)):
        weight = 1.0 - min(max(refusals[slot], 0.0), 1.0)
        probabilities[slot] = weight
        total += weight
    for slot in range(len(refusals)):
        probabilities[slot] = probabilities[slot] / total if total > 0.0 else 1.0 / len(refusals)


def drawn(probabilities: Sequence[float], draw: float) -> int:
    """The neighbour's place in the distribution that a uniform `draw` in [0, 1) falls on."""
    last = 0
    for slot in range(len(probabilities)):
        if probabilities[slot] > 0.0:
            if draw < probabilities[slot]:
                return slot
            draw -= probabilities[slot]
            last = slot
    return last


def price(backlog: float, turn: float) -> float:
    """What joining a site costs: the expected wait for a server there, weighed; in the unit of `turn`.

    `backlog` is requests queued less servers idle, `turn` is service / servers. With all servers busy the next one
    frees itself after half a turn on average.
    """
    return WAIT_WEIGHT * max(0.0, backlog + 0.5) * turn


def price_through(direct: float, beyond: float, unseen: float, turn: float, delay: float) -> float:
    """What forwarding to a neighbour costs: the link, then the cheaper of staying there and going on.

    `beyond` is what the neighbour said the cheapest way on costs; `unseen` counts requests sent to it that it had
    not yet received when it said so.
    """
    return delay + min(direct, beyond + SPILL * WAIT_WEIGHT * unseen * turn)


def cheapest(here: float, prices: Sequence[float], draw: float) -> int:
    """The neighbour that is cheaper than staying and than all others, or HERE; a uniform `draw` breaks ties."""
    best = HERE
    start = int(draw * len(prices))
    for step in range(len(prices)):
        slot = (start + step) % len(prices)
        if prices[slot] < here:
            here = prices[slot]
            best = slot
    return best


def cheapest_without(prices: Sequence[float], without: MutableSequence[float]) -> None:
    """For each neighbour, the cheapest way on through any *other* one: what a site tells it as `beyond`."""
    least = second = math.inf
    at = HERE
    for slot in range(len(prices)):
        if prices[slot] < least:
            second = least
            least = prices[slot]
            at = slot
        elif prices[slot] < second:
            second = prices[slot]
    for slot in range(len(prices)):
        without[slot] = second if slot == at else least

"""A quantile of the wait, beyond the paper: a mixture of Erlang times.

A request that finds an object on probe h takes h + 1 messages. One that blocks as k-th in line takes all its messages,
counted by their mean, and k production times.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from headrace.lab.models.stochastic.fixed_point import Floats, bracketed


@dataclass(frozen=True, slots=True)
class Mixture:
    """Of all requests `found[h-1]` find an object on probe h, `blocked[j, k-1]` wait as k-th at class j."""

    found: Floats
    message_ticks: float
    exponential: bool
    blocked: Floats
    rates: Floats


def quantile(share: float, mixture: Mixture) -> float:
    """The time within which `share` of the requests are served."""
    weights = mixture.blocked
    places = max(1, int(np.flatnonzero(weights.max(axis=0, initial=0.0) > 1e-9).max(initial=0)) + 1)
    weights = weights[:, :places]
    probing_ticks = (len(mixture.found) + 1) * mixture.message_ticks

    def late(ticks: float) -> float:
        return _found_later(mixture, ticks) + float(
            (weights * _erlang_tails(mixture.rates * max(0.0, ticks - probing_ticks), places)).sum()
        )

    most = probing_ticks * 40 + (places + 40 * math.sqrt(places) + 40) / float(mixture.rates.min())
    return bracketed(lambda ticks: (1 - share) - late(ticks), 0.0, most)


def _found_later(mixture: Mixture, ticks: float) -> float:
    hops = len(mixture.found)
    if mixture.message_ticks == 0:
        return 0.0
    if mixture.exponential:
        tails = _erlang_tails(np.array([ticks / mixture.message_ticks]), hops + 1)[0, 1:]
    else:
        tails = (np.arange(2, hops + 2) * mixture.message_ticks > ticks).astype(float)
    return float(mixture.found @ tails)


def _erlang_tails(scaled: Floats, places: int) -> Floats:
    """P(a sum of k exponential times of mean 1 exceeds x), by x and k = 1 … places."""
    steps = np.arange(1, places)
    with np.errstate(divide="ignore"):
        logs = np.concatenate((np.zeros((len(scaled), 1)), np.cumsum(np.log(scaled[:, None] / steps), axis=1)), axis=1)
    return np.asarray(np.cumsum(np.exp(logs - scaled[:, None]), axis=1))

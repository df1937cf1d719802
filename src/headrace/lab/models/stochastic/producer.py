"""One producer as a birth-death chain (section 4.1): objects stored above state 0, requests waiting below it.

The states are summed numerically, so that nothing degenerates where λ = μ_c or λ = p_b μ_c. Vectors are over the
classes of producers that are alike.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

FORMS = ("state-dependent", "approximate")
READINGS = ("corrected", "printed")


@dataclass(frozen=True, slots=True)
class Chain:
    """The stationary producer, by class."""

    arrival: Floats
    """Mean rate of requests that arrive."""
    empty: Floats
    """p_mt: the probability that a request finds no object."""
    block: Floats
    """p_b: the probability that a request that finds none waits."""
    log_stocked: Floats
    """log(1 − p_mt), exact where 1 − p_mt is too small for a float."""
    full: Floats
    """p(f): the share of time in which production is stopped."""
    behind: Floats
    """By class and place: the odds that a request that blocks is the first, second, … in line."""
    blocked_ticks: Floats
    """B_c: the mean time that a request blocks, given that it does."""


def chain(
    *,
    rate: Floats,
    arrival: Floats,
    block: Floats,
    room: NDArray[np.int64],
    buffers: int,
    form: str,
    reading: str,
) -> Chain:
    """Producers of `rate` λ, requests at `arrival` μ_c while none waits, of which `block` (p_b) wait at an empty one.

    `room` is how many requests can wait (M, or M_j). In the state-dependent form (eq. 3) requests arrive more
    slowly while some wait; corrected, that also weights what a request meets, and `Chain.arrival` is their mean.
    """
    places = np.arange(int(room.max()))
    free = np.clip(1.0 - places / room[:, None], 0.0, None)  # (M+s)/M at s = 0, -1, …
    slower = free if form == "state-dependent" else (free > 0).astype(float)
    with np.errstate(divide="ignore"):
        up = np.log(rate / arrival)[:, None] * np.arange(1, buffers + 1)  # eq. 2
        down = np.cumsum(np.log((block * arrival / rate)[:, None] * slower), axis=1)  # eq. 3 or eq. 4
    logs = np.concatenate((down[:, ::-1], np.zeros((len(rate), 1)), up), axis=1)
    most, up_most = logs.max(axis=1, keepdims=True), up.max(axis=1, keepdims=True)
    shares = np.exp(logs - most)
    total = shares.sum(axis=1)
    shares /= total[:, None]
    below = shares[:, len(places) :: -1]  # states 0, -1, …
    above = shares[:, len(places) + 1 :].sum(axis=1)
    if form == "state-dependent" and reading == "corrected":
        weights = np.concatenate((slower, np.zeros((len(rate), 1))), axis=1) * below
        pace = above + weights.sum(axis=1)
    else:
        weights, pace = below, np.ones(len(rate))
    empty = weights.sum(axis=1) / pace  # eq. 6
    joining = weights[:, : len(places)]
    behind = joining / np.maximum(weights.sum(axis=1, keepdims=True), 1e-300)
    return Chain(
        arrival=arrival * pace,
        empty=empty,
        block=block,
        log_stocked=np.log(np.exp(up - up_most).sum(axis=1)) + up_most[:, 0] - most[:, 0] - np.log(total * pace),
        full=shares[:, -1],
        behind=behind,
        blocked_ticks=behind @ (places + 1.0) / rate,
    )

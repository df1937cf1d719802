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


@dataclass(frozen=True, slots=True)
class Line:
    """How a producer's line of waiting requests slows their arrival down, prepared once."""

    places: Floats
    slower: Floats
    """By class and number of requests waiting, the share of the full rate at which more arrive: (M+s)/M, or 1."""
    log_down: Floats
    """The logarithms of the products of `slower` from state 0 on."""
    weighted: bool
    """Whether what a request meets is weighted by that rate."""


def line(*, room: NDArray[np.int64], form: str, reading: str) -> Line:
    """A line for at most `room` requests (M, or M_j), in a form and a reading."""
    places = np.arange(int(room.max()), dtype=np.float64)
    free: Floats = np.clip(1.0 - places / room[:, None], 0.0, None)
    slower = free if form == "state-dependent" else (free > 0).astype(np.float64)
    with np.errstate(divide="ignore"):
        log_down = np.cumsum(np.log(slower), axis=1)
    return Line(places + 1, slower, log_down, form == "state-dependent" and reading == "corrected")


def chain(*, rate: Floats, arrival: Floats, block: Floats, line: Line, buffers: int) -> Chain:
    """Producers of `rate` λ, requests at `arrival` μ_c while none waits, of which `block` (p_b) wait at an empty one.

    In the state-dependent form (eq. 3) requests arrive more slowly while some wait; corrected, that also weights what
    a request meets, and `Chain.arrival` is their mean.
    """
    places = len(line.places)
    log_ratio = np.log(arrival / rate)
    with np.errstate(divide="ignore"):
        log_block = np.log(block)
    up = -log_ratio[:, None] * np.arange(1, buffers + 1)  # eq. 2
    down = (log_ratio + log_block)[:, None] * line.places + line.log_down  # eq. 3 or eq. 4
    logs = np.concatenate((down[:, ::-1], np.zeros((len(rate), 1)), up), axis=1)
    most, up_most = logs.max(axis=1, keepdims=True), up.max(axis=1, keepdims=True)
    shares = np.exp(logs - most)
    total = shares.sum(axis=1)
    shares /= total[:, None]
    below = shares[:, places::-1]  # states 0, -1, …
    above = shares[:, places + 1 :].sum(axis=1)
    joining = below[:, :places]
    if line.weighted:
        joining = joining * line.slower
        met = joining.sum(axis=1)
        pace = above + met
    else:
        met, pace = below.sum(axis=1), np.ones(len(rate))
    behind = joining / np.maximum(met, 1e-300)[:, None]
    return Chain(
        arrival=arrival * pace,
        empty=met / pace,  # eq. 6
        block=block,
        log_stocked=np.log(np.exp(up - up_most).sum(axis=1)) + up_most[:, 0] - most[:, 0] - np.log(total * pace),
        full=shares[:, -1],
        behind=behind,
        blocked_ticks=behind @ line.places / rate,
    )

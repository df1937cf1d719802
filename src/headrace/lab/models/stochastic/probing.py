"""Models 1, 2 and 3 of the stochastic design (sections 4.1 to 4.3), solved as one.

Producers that are alike form a class, and so do consumers. Model 1 has one class of each, model 2 several classes of
producers (the types), model 3 one class for each process whose p_access differs. The equations of model 3 reduce to
the others'; the numbers beside the code are the paper's. `docs/papers/000.md` tells what the reading "corrected"
mends in them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headrace.lab.distributed_queue import System, reach_sets
from headrace.lab.models.stochastic.fixed_point import CONVERGED, TOLERANCE, Floats, bracketed_near, damped, fixed_point
from headrace.lab.models.stochastic.producer import Chain, chain, line

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Classes:
    """Who is alike: numbers of producers and consumers by class, and whom a consumer's probes go to."""

    model: int
    producers: Ints
    rates: Floats
    consumers: Ints
    access: Floats
    """By classes of consumers and producers: the probability that a probe goes to some producer of the class."""
    room: Ints
    """By class of producers: how many consumers may probe one (M, or M_j)."""


@dataclass(frozen=True, slots=True)
class Solution:
    """The system solved. By class of consumers: `hops` (h_avg), `empty` (p_mt), `blocked_ticks` (B)."""

    classes: Classes
    chain: Chain
    hops: Floats
    empty: Floats
    blocked_ticks: Floats
    message_ticks: float
    """r, and the time to process a message; queueing for that is neglected."""
    iterations: int
    residual: float

    def waits(self) -> Floats:
        """W by class of consumers: (h_avg + 1) r + B; eq. 9's B already carries p_mt^h_max."""
        return (self.hops + 1) * self.message_ticks + self.blocked_ticks


def classes_of(system: System, seed: int) -> Classes:
    """The classes of a system whose consumers know p_access; random reach sets are those that `seed` draws."""
    counts = np.array([kind.count for kind in system.types])
    rates = np.array([kind.rate for kind in system.types])
    shares = np.array([[kind.share for kind in system.types]])
    consumers = np.array([system.consumers])
    if not system.limited_reach:
        room = np.full(len(counts), system.consumers)
        return Classes(1 if len(counts) == 1 else 2, counts, rates, consumers, shares, room)
    if len(counts) == 1 and system.reach_sets == "balanced":
        # Each producer serves the same number of consumers, so that all are alike again.
        fair = max(1, round(system.consumers * system.reach / system.producers))
        return Classes(3, counts, rates, consumers, shares, np.array([fair]))
    sets = reach_sets(system, seed)
    access = np.zeros((system.consumers, system.producers))
    np.put_along_axis(access, sets, system.weights()[sets], axis=1)
    reached = access.sum(axis=0) > 0
    access = access[:, reached] / access.sum(axis=1, keepdims=True)
    one_each = np.ones(access.shape[1], dtype=np.int64)
    return Classes(
        3,
        one_each,
        system.rates()[reached],
        np.ones(system.consumers, dtype=np.int64),
        access,
        (access > 0).sum(axis=0),
    )


def solve(system: System, classes: Classes, *, form: str, reading: str) -> Solution:
    """The solution of equations 13 to 18: by iteration with mixing, and where that circles in a slower, surer way.

    Where all consumers are alike, that is bracketing, which always succeeds; else it is iteration in small steps.
    """
    equations = _Equations(system, classes, form, reading)
    alike = len(classes.consumers) == 1
    point, residual = fixed_point(equations.step, equations.start(), most=40 if alike else 200)
    if residual > TOLERANCE and alike:
        point = equations.bracket()
    residual = float(np.abs(equations.step(point) - point).max())
    if residual > CONVERGED:
        point = damped(equations.step, equations.start())
        residual = float(np.abs(equations.step(point) - point).max())
    return equations.solution(point, equations.calls, residual)


class _Equations:
    """The equations as a map of the unknowns: by consumers the rate of probes and the odds of p_mt, and by producers
    the rate at which requests arrive while none waits."""

    def __init__(self, system: System, classes: Classes, form: str, reading: str) -> None:
        self.system, self.classes, self.reading = system, classes, reading
        self.line = line(room=classes.room, form=form, reading=reading)
        self.message_ticks = system.message_time + system.processing_time
        self.calls = 0
        # What a producer gets of a consumer's probes, times the consumers that send them.
        self.flow = classes.access * classes.consumers[:, None] / classes.producers
        if reading == "printed" and classes.model == 2:
            # section 4.2 has μ_k = M frac_k μ_c / N_k, with eq. 1's μ_c, which is already a rate by producer
            self.flow = self.flow * system.consumers / system.producers

    def start(self) -> Floats:
        """A guess: nine tenths of the objects that can flow, and empty producers as often as the load makes them."""
        count = len(self.classes.consumers)
        flow = 0.9 * self.system.consume_rate * min(1.0, 1 / self.system.load)
        odds = np.full(count, np.log(self.system.load))
        probes = flow * self._hops(odds)[0]
        return np.concatenate((np.log(probes), odds, np.log(probes @ self.flow)))

    def step(self, point: Floats) -> Floats:
        """The unknowns anew."""
        probes, odds, arrival = self._parts(point)
        hops, block = self._hops(odds)
        wanted = probes @ self.flow  # eq. 14
        blocking = (probes * block) @ self.flow / wanted  # eq. 16
        found = self._chain(arrival if self.line.weighted else wanted, blocking)
        cycle = self._cycle(hops, self._blocked_ticks(found))
        # State-dependent arrivals are scaled so that their mean is what the consumers send.
        return np.concatenate((np.log(hops / cycle), self._odds(found), np.log(arrival * wanted / found.arrival)))

    def bracket(self) -> Floats:
        """The fixed point for consumers that are all alike: p_mt between 0 and 1, and for each p_mt the arrivals."""
        rate = float(np.log(self.system.consume_rate))

        def at(odds: float) -> tuple[Floats, Floats, Floats, Chain]:
            nonlocal rate
            hops, block = self._hops(np.array([odds]))
            rate = bracketed_near(lambda rate: float(self._odds(self._at(rate, block)[1])[0]) - odds, rate, -80.0, 60.0)
            return hops, block, *self._at(rate, block)

        def excess(odds: float) -> float:
            hops, _, _, found = at(odds)
            cycle = self._cycle(hops, self._blocked_ticks(found))
            return float(np.log(found.arrival[0] / self.flow[0, 0] * cycle / hops)[0])

        odds = bracketed_near(excess, 0.0, -700.0, 20_000.0)
        _, _, arrival, found = at(odds)
        return np.concatenate(([np.log(found.arrival[0] / self.flow[0, 0]), odds], np.log(arrival)))

    def _at(self, log_rate: float, block: Floats) -> tuple[Floats, Chain]:
        """The arrivals while none waits, and the producers, when alike consumers probe at this rate.

        With one type, it is the rate while none waits, which is as good a number to bracket and needs no scaling.
        """
        wanted = np.exp(log_rate) * self.flow[0]
        blocking = np.full(len(wanted), block[0])
        if not self.line.weighted or len(wanted) == 1:
            return wanted, self._chain(wanted, blocking)
        low, high = np.log(wanted), np.log(wanted) + 60.0
        for _ in range(60):
            middle = (low + high) / 2
            less = self._chain(np.exp(middle), blocking).arrival < wanted
            low, high = np.where(less, middle, low), np.where(less, high, middle)
        return np.exp(low), self._chain(np.exp(low), blocking)

    def solution(self, point: Floats, calls: int, residual: float) -> Solution:
        """What the unknowns at the fixed point mean."""
        probes, odds, arrival = self._parts(point)
        hops, block = self._hops(odds)
        wanted = probes @ self.flow
        found = self._chain(arrival if self.line.weighted else wanted, (probes * block) @ self.flow / wanted)
        empty = self.classes.access @ found.empty
        return Solution(
            self.classes, found, hops, empty, self._blocked_ticks(found), self.message_ticks, calls, residual
        )

    def _parts(self, point: Floats) -> tuple[Floats, Floats, Floats]:
        count = len(self.classes.consumers)
        return np.exp(point[:count]), point[count : 2 * count], np.exp(point[2 * count :])

    def _hops(self, odds: Floats) -> tuple[Floats, Floats]:
        """h_avg (eq. 7) and p_b (eq. 8) by class of consumers."""
        empty = 1 / (1 + np.exp(-odds))
        most = self.system.max_hops
        hops = (empty[:, None] ** np.arange(most)).sum(axis=1)
        return hops, empty ** (most - 1) / hops

    def _chain(self, arrival: Floats, block: Floats) -> Chain:
        self.calls += 1
        return chain(
            rate=self.classes.rates,
            arrival=arrival,
            block=block,
            line=self.line,
            buffers=self.system.buffers,
        )

    def _odds(self, found: Chain) -> Floats:
        """The odds of p_mt by class of consumers (eq. 15, eq. 11), as a logarithm."""
        most = found.log_stocked.max()
        stocked = np.log(self.classes.access @ np.exp(found.log_stocked - most) + 1e-300) + most
        return np.asarray(np.log(self.classes.access @ found.empty + 1e-300) - stocked)

    def _blocked_ticks(self, found: Chain) -> Floats:
        """B by class of consumers."""
        most = self.system.max_hops
        empty = self.classes.access @ found.empty
        weighted = self.classes.access @ (found.empty * found.blocked_ticks)  # eq. 17 (eq. 12): one p_mt is in it
        if self.reading == "printed" and self.classes.model == 2:
            return np.asarray(empty**most * weighted)  # eq. 9 on top of eq. 12
        return np.asarray(empty ** (most - 1) * weighted)  # eq. 18 (eq. 9)

    def _cycle(self, hops: Floats, blocked_ticks: Floats) -> Floats:
        """From one request to the next: the denominator of eq. 13 (eq. 1)."""
        reply_forgotten = self.reading == "printed" and self.classes.model < 3  # eq. 1 has h_avg r only
        messages = hops if reply_forgotten else hops + 1
        return np.asarray(1 / self.system.consume_rate + messages * self.message_ticks + blocked_ticks)

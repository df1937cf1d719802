"""One run of any design: the kernel that fits the system, and what it has counted so far."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.lab.distributed_queue import System
from headrace.lab.kernels.lines import Lines, lines
from headrace.lab.kernels.stochastic import central, late, multicast, probing
from headrace.lab.kernels.stochastic.letters import enlarged
from headrace.lab.kernels.stochastic.processes import COUNTERS, Floats, with_slots


class Simulation:
    """A system in time. It begins with nothing stored, every producer at work and every consumer thinking."""

    def __init__(self, system: System, seed: int) -> None:
        module: Any
        if system.design == "stochastic":
            module, self.kinds = (late, late.KINDS) if system.wait == "late" else (probing, probing.KINDS)
        elif system.design == "multicast":
            module, self.kinds = multicast, multicast.KINDS
        else:
            kinds = central.MANAGER_KINDS if system.design == "manager" else central.HUB_KINDS
            module, self.kinds = central, kinds
        self._run = module.run
        self._setup, self._world = module.build(system, seed)

    @property
    def clock(self) -> float:
        """The ticks that have passed."""
        return float(self._world.them.clock[0])

    @property
    def counts(self) -> Floats:
        """What was counted since time 0, by the places that `processes` and `kinds` name."""
        counts: Floats = self._world.them.counts.copy()
        assert counts.shape == (COUNTERS,)
        return counts

    def go_on(self, waits: Floats) -> None:
        """Until len(waits) more objects have left; `waits` gets each one's time from request to receipt."""
        done = 0
        while True:
            done += self._run(self._setup, self._world, waits[done:])
            if done == len(waits):
                return
            self._enlarge()

    def _enlarge(self) -> None:
        """More letters are under way than there was room for."""
        world = self._world
        capacity = 2 * len(world.letters.kind)
        slots = self._setup.producers + self._setup.consumers + capacity
        self._world = world._replace(them=with_slots(world.them, slots), letters=enlarged(world.letters, capacity))
        if hasattr(world, "registered"):
            self._world = self._world._replace(registered=_for_members(world.registered, capacity))


def _for_members(them: Lines, members: int) -> Lines:
    """The same lines with room for more members."""
    behind = lines(1, members).behind
    behind[: len(them.behind)] = them.behind
    return them._replace(behind=behind.astype(np.int64))

"""The world of one run: virtual time, a schedule of what happens in it, random streams by purpose, and a trace.

Nothing here waits. What happens next is the earliest thing scheduled, first come first served among equals, so that a
seed decides everything: two runs of one seed have the same `trace`, under any `PYTHONHASHSEED`. A story is only kept
when somebody asks for one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from heapq import heappop, heappush
from random import Random
from typing import Final

from headrace.core.limits import US
from headrace.sim.clock import SimClock

START_US: Final = 1000 * US
WALL_US: Final = 1_800_000_000 * US


class World:
    """Time, chance and what is to come."""

    def __init__(self, seed: str, *, story: list[str] | None = None) -> None:
        self.clock = SimClock(now_us=START_US, wall_us=WALL_US)
        self.now_us = START_US
        self.story = story
        self._seed = seed
        self._agenda: list[tuple[int, int, Callable[[], None]]] = []
        self._count = 0
        self._hash = hashlib.blake2b(digest_size=16)

    def stream(self, purpose: str) -> Random:
        """Random numbers for one purpose: what is drawn from one stream never shifts another."""
        return Random(f"{self._seed}/{purpose}")

    def at(self, at_us: int, do: Callable[[], None]) -> None:
        """Let something happen at an instant; one that has passed is now."""
        self._count += 1
        heappush(self._agenda, (at_us if at_us > self.now_us else self.now_us, self._count, do))

    def after(self, by_us: int, do: Callable[[], None]) -> None:
        self._count += 1
        heappush(self._agenda, (self.now_us + by_us, self._count, do))

    def run(self, until_us: int) -> None:
        """Let everything happen that is due until then."""
        agenda = self._agenda
        while agenda and agenda[0][0] <= until_us:
            at_us, _, do = heappop(agenda)
            self._pass_to(at_us)
            do()
        self._pass_to(until_us)

    def _pass_to(self, at_us: int) -> None:
        if at_us > self.now_us:
            self.clock.advance(at_us - self.now_us)
            self.now_us = at_us

    def note(self, data: bytes) -> None:
        """Add to the trace what must be the same whenever this seed runs."""
        self._hash.update(data)

    def tell(self, text: Callable[[], str]) -> None:
        """Add a line to the story, if one is kept."""
        if self.story is not None:
            self.story.append(f"{(self.now_us - START_US) / US:10.3f} s  {text()}")

    @property
    def trace(self) -> str:
        """The hash of all that happened."""
        return self._hash.hexdigest()

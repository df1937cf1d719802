"""A clock that stands still until it is moved."""

from __future__ import annotations


class SimClock:
    """The `Clock` port in virtual time."""

    def __init__(self, *, now_us: int = 0, wall_us: int = 1_700_000_000_000_000) -> None:
        self._now_us = now_us
        self._wall_us = wall_us

    def now_us(self) -> int:
        return self._now_us

    def wall_us(self) -> int:
        return self._wall_us

    def advance(self, by_us: int) -> None:
        """Time passes; a process that did nothing meanwhile was paused."""
        assert by_us >= 0
        self._now_us += by_us
        self._wall_us += by_us

    def step_wall(self, by_us: int) -> None:
        """The wall clock is set, forward or back."""
        self._wall_us += by_us

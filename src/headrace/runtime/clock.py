"""This machine's clocks."""

from __future__ import annotations

import time


class SystemClock:
    """The `Clock` port. The monotonic reading stands still while a machine is suspended, the wall clock does not."""

    def now_us(self) -> int:
        return time.monotonic_ns() // 1000

    def wall_us(self) -> int:
        return time.time_ns() // 1000

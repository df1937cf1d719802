"""Item ids: UUIDv7, made where the item is made.

The first 48 bits are the millisecond, the rest is drawn from the system's randomness once a millisecond and counted up
from there (RFC 9562, section 6.2, method 2), so that ids made by one process sort in the order of their making.
"""

from __future__ import annotations

import os
import threading
from time import time_ns
from typing import Final

MS_NS: Final = 1_000_000
_VERSION: Final = 7 << 76
_VARIANT: Final = 2 << 62
_COUNTER_BITS: Final = 62


class IdMaker:
    """Makes ids; one for a process is enough."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ms = 0
        self._ends_ns = 0
        self._next = 0
        self._limit = 0

    def take(self, count: int) -> list[bytes]:
        """So many new ids, in order."""
        first = self._advance(count)
        return [number.to_bytes(16, "big") for number in range(first, first + count)]

    def one(self) -> bytes:
        """A new id."""
        return self._advance(1).to_bytes(16, "big")

    def _advance(self, count: int) -> int:
        with self._lock:
            now_ns = time_ns()
            if now_ns >= self._ends_ns or self._next + count > self._limit:
                self._begin(max(now_ns // MS_NS, self._ms))
            first = self._next
            self._next = first + count
            return first

    def _begin(self, ms: int) -> None:
        """A fresh random start; the counter may run through half of its range before the next one."""
        random = int.from_bytes(os.urandom(10), "big")
        rand_a = (random >> 64) & 0xFFF
        rand_b = random & ((1 << (_COUNTER_BITS - 1)) - 1)
        if ms == self._ms:  # the same millisecond: go on above what was given out
            rand_a = ((self._next >> 64) + 1) & 0xFFF
        prefix = (ms << 80) | _VERSION | (rand_a << 64) | _VARIANT
        self._ms = ms
        self._ends_ns = (ms + 1) * MS_NS
        self._next = prefix | rand_b
        self._limit = (prefix | ((1 << _COUNTER_BITS) - 1)) + 1


ids = IdMaker()


def _after_fork() -> None:
    ids.__init__()  # type: ignore[misc]  # a lock held by another thread, and the same start, must not be inherited


os.register_at_fork(after_in_child=_after_fork)

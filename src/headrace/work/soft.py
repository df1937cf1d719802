"""Soft timeouts of plain tasks: `SoftTimeout`, raised inside the task.

In the main thread by the system's timer, which also interrupts what waits in the system; in other threads by the
interpreter, before its next step, so that a call which waits in the system is interrupted only when it returns.
"""

from __future__ import annotations

import ctypes
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from types import FrameType

from headrace.work.failures import SoftTimeout

_raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
_raise_in.argtypes = (ctypes.c_ulong, ctypes.py_object)


class Alarm:
    """For the main thread."""

    def __init__(self) -> None:
        self._is_set = False
        signal.signal(signal.SIGALRM, self._on_alarm)

    @contextmanager
    def within(self, seconds: float | None) -> Iterator[None]:
        """Raise `SoftTimeout` in what takes longer than so many seconds; None is for ever."""
        if seconds is None:
            yield
            return
        self._is_set = True
        signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            yield
        finally:
            self._is_set = False
            signal.setitimer(signal.ITIMER_REAL, 0)

    def _on_alarm(self, number: int, frame: FrameType | None) -> None:
        if self._is_set:  # or it is late, and must not meet what comes after the task
            self._is_set = False
            raise SoftTimeout


class Watchman:
    """For several threads; somebody calls `look` now and then."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._until: dict[int, float] = {}

    @contextmanager
    def within(self, seconds: float | None) -> Iterator[None]:
        """Raise `SoftTimeout` in what takes longer than so many seconds; None is for ever."""
        if seconds is None:
            yield
            return
        thread = threading.get_ident()
        with self._lock:
            self._until[thread] = monotonic() + seconds
        try:
            yield
        finally:
            with self._lock:
                if self._until.pop(thread, None) is None:
                    _raise_in(
                        thread, ctypes.py_object()
                    )  # ours may be on its way still: it must not meet what comes after

    def look(self) -> None:
        """Interrupt the threads whose time is over."""
        now = monotonic()
        with self._lock:
            for thread in [thread for thread, until in self._until.items() if until <= now]:
                del self._until[thread]
                _raise_in(thread, SoftTimeout)

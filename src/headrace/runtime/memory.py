"""Memory that was needed for a while, given back to the system."""

from __future__ import annotations

import contextlib


def give_back_memory() -> None:
    """Let the C library return what is free within its heap: glibc can, and does not by itself."""
    import ctypes  # only wanted after a large recovery

    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)

"""Times and sizes as people say them."""

from __future__ import annotations


def seconds(value: float) -> str:
    """A time as people say it."""
    if value < 1e-3:
        return f"{value * 1e6:.3g} µs"
    return f"{value * 1e3:.3g} ms" if value < 1 else f"{value:.3g} s"


def size(count: float) -> str:
    """Bytes as people say them."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} TB"

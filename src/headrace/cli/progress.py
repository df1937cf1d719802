"""A progress bar on the terminal: one line that is drawn over, on stderr, and nothing where there is no terminal."""

from __future__ import annotations

import sys
from types import TracebackType

WIDTH = 24


class Bar:
    """`with Bar() as bar: bar.show("004-fig4", done=3, total=12, seconds_left=40)`."""

    def __init__(self) -> None:
        self._shown = sys.stderr.isatty()
        self.line = ""

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.clear()

    def show(self, label: str, *, done: int, total: int, unit: str, seconds_left: float | None) -> None:
        """Draw the bar; no time is shown while none is known."""
        if not self._shown:
            return
        full = WIDTH * done // total
        left = "" if seconds_left is None or done == total else f", {duration(seconds_left)} left"
        line = f"{label} {'█' * full}{'░' * (WIDTH - full)} {done}/{total} {unit}{left}"
        self.tell(line)

    def tell(self, line: str) -> None:
        """Draw a line where the bar would be, while the end is not known."""
        self.line = line
        if self._shown:
            print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Take the bar away."""
        if self._shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def duration(seconds: float) -> str:
    """About how long, in the largest sensible unit.

    >>> duration(40), duration(400), duration(40_000)
    ('40 s', '7 min', '11 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 6000:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.0f} h"

"""Says that a kernel is being compiled, where a bar would be: a kernel's first run does, later ones find it on disk."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from headrace.cli.progress import Bar

NOTICE = "compiling the simulation: only the first time, some 15 s"


@contextmanager
def compiling_told(bar: Bar) -> Iterator[None]:
    """Within, the bar gives way to a notice while numba compiles, and comes back after that."""
    from numba.core import event

    class Notice(event.Listener):  # type: ignore[misc]  # numba has no types
        under_way = 0  # a kernel's parts are compiled within it
        before = ""

        def on_start(self, _: event.Event) -> None:
            if not self.under_way:
                self.before = bar.line
                bar.tell(NOTICE)
            self.under_way += 1

        def on_end(self, _: event.Event) -> None:
            self.under_way -= 1
            if not self.under_way:
                bar.tell(self.before)

    with event.install_listener("numba:compile", Notice()):
        yield

"""The log that keeps nothing: for tests, and for whoever wants a queue only as long as the process lives."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.core.records import AnyRecord


class MemoryLog:
    """Counts records; everything is as safe as it will ever be."""

    def __init__(self) -> None:
        self.end = 0
        self.is_due = False
        self.syncs = 0
        self.written_bytes = 0

    @property
    def safe(self) -> int:
        return self.end

    def append(self, records: Sequence[AnyRecord], *, from_reserve: bool = False) -> int:
        first = self.end
        self.end += len(records)
        return first

    def sync(self) -> None:
        """There is nothing to make safe."""

    def close(self) -> None:
        """There is nothing to let go."""

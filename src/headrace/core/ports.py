"""The outside, as the pure rooms see it. Each port has a real driver in `runtime` and an imitation in `sim`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from headrace.core.errors import HeadraceError
from headrace.core.records import AnyRecord


class DiskFull(HeadraceError):
    """There is no room; nothing was written."""


class DiskFailed(HeadraceError):
    """The disk answered with an error; what it holds of the last write is unknown."""


class Clock(Protocol):
    """Time in microseconds."""

    def now_us(self) -> int:
        """A monotonic reading, for leases and timers."""

    def wall_us(self) -> int:
        """The wall clock, for delays and for people."""


class File(Protocol):
    """One open file of a `Disk`."""

    @property
    def size_bytes(self) -> int: ...

    def read(self, offset: int, length: int) -> bytes:
        """The bytes there, fewer at the end of the file."""

    def write(self, offset: int, data: bytes) -> None:
        """Write within the file or at its end; `DiskFull` or `DiskFailed`, and then any part may be written."""

    def sync(self) -> None:
        """Make all that was written survive a power cut; `DiskFailed`, and then nothing may be assumed of it."""

    def truncate(self, size_bytes: int) -> None: ...

    def close(self) -> None: ...


class Disk(Protocol):
    """A directory, flat, synchronous."""

    def names(self) -> list[str]:
        """The files there, sorted."""

    def create(self, name: str, size_bytes: int) -> File:
        """A new file of so many zero bytes, with room reserved for all of them; `DiskFull` leaves none behind."""

    def open(self, name: str) -> File: ...

    def rename(self, name: str, to: str) -> None: ...

    def remove(self, name: str) -> None: ...

    def sync_names(self) -> None:
        """Make creations, renames and removals survive a power cut."""

    def free_bytes(self) -> int: ...


class Log(Protocol):
    """What carries a shard. A position counts records: the next record to come has position `end`."""

    @property
    def end(self) -> int: ...

    @property
    def safe(self) -> int:
        """All records below this position survive a power cut, as far as this log ever lets them."""

    def append(self, records: Sequence[AnyRecord], *, from_reserve: bool = False) -> int:
        """Write records as one group, all or none; the position of the first.

        `DiskFull`: nothing was written. What empties a full queue may use the room that is kept in reserve.
        """

    def sync(self) -> None:
        """Make everything appended so far safe."""

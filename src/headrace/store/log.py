"""The file log: the driver of the `Log` port over a `Disk`.

`append` writes one frame, all or nothing: when it raises, nothing was appended. `safe` follows the syncs. A sync that
fails is fatal: it is never tried again, nothing more is appended, and only recovery goes on from there. A failed write
cuts the segment back to its last good frame, and the log goes on in the next segment.

What may block comes in three steps, so that a driver with threads can hold its lock for the first and the third only:
`token = log.begin_sync()`, `token.run()`, `log.end_sync(token)`, and likewise `begin_segment`. One of each at a time.

Room: a spare segment is made ready once half of the current one is used. When the disk has no room for one, appends
are refused with `DiskFull`, and only those made `from_reserve` (whatever takes items out) may use the rest of the
current segment, and then what room is left on the disk. Ordinary appends leave `reserve_bytes` free, and what
`snapshot_bytes` says that a snapshot would take by now: take one when `is_scarce`, so that the log of what was taken
out can be trimmed, and a full queue be emptied.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from headrace.core.limits import MIB
from headrace.core.ports import Disk, DiskFailed, DiskFull, File
from headrace.core.records import AnyRecord, decode_records, encode_records
from headrace.store import frame, segment
from headrace.store.frame import pack as pack_frame

SEGMENT_BYTES: Final = 16 * MIB
SMALLEST_SEGMENT_BYTES: Final = 4096
PART_OF_FREE: Final = 16
"""On a small disk a segment takes at most this part of what is free."""


@dataclass(slots=True)
class Segment:
    """A segment of the log that holds frames."""

    number: int
    first: int
    """The position of its first record."""
    began_bytes: int
    """The log's `written_bytes` when it began."""


@dataclass(slots=True)
class SyncToken:
    """A sync under way: the blocking part is `run`."""

    rolled: list[File]
    """Segments that nothing more is written into."""
    last: File | None
    """The segment that the log is in; more may be written into it, and into others, before the sync is over."""
    end: int
    written_to: tuple[int, int]
    error: DiskFailed | None = None

    def run(self) -> None:
        """Sync the files; may be called without the lock. An error is kept for `end_sync`."""
        try:
            for file in self.rolled:
                file.sync()
            if self.last is not None:
                self.last.sync()
        except DiskFailed as error:
            self.error = error


@dataclass(slots=True)
class SegmentToken:
    """A spare segment being made ready: the blocking part is `run`."""

    disk: Disk
    number: int
    size_bytes: int
    synced: int
    file: File | None = None
    error: DiskFull | DiskFailed | None = None

    def run(self) -> None:
        """Create the segment; may be called without the lock. An error is kept for `end_segment`."""
        try:
            self.file = segment.create(self.disk, self.number, self.size_bytes, synced=self.synced)
        except (DiskFull, DiskFailed) as error:
            self.error = error


class FileLog:
    """The log of one shard in one directory; made by `recovery.recover`."""

    def __init__(
        self,
        disk: Disk,
        *,
        segments: list[Segment],
        file: File,
        offset: int,
        end: int,
        next_number: int,
        written_bytes: int,
        segment_bytes: int = SEGMENT_BYTES,
        spare: tuple[int, File] | None = None,
    ) -> None:
        self.end = end
        self.safe = end
        self.reserve_bytes = 0
        self.snapshot_bytes: Callable[[], int] = int
        """How large a snapshot would be now; asked when a segment is due."""
        self.syncs = 0
        """How often this log has had the disk make a file or the names in its directory safe."""
        self._before_bytes = written_bytes - offset
        """`written_bytes` less the offset in the current segment."""
        self._disk = disk
        self._segments = segments
        self._file = file
        self._number = segments[-1].number
        self._offset = offset
        self._next_number = next_number
        self._segment_bytes = segment_bytes
        self._spare = spare
        self._making: SegmentToken | None = None
        self._rolled: list[File] = []
        """Segments before the current one that may hold what is not synced."""
        self._synced_to = (self._number, offset)
        self._marked = 0
        self._error: DiskFailed | None = None
        self._is_cut = False
        """Whether the segment was cut after a failed write, and takes nothing more."""
        self.is_scarce = False
        """Whether the last segment that was wanted took, or would have taken, from the reserve."""
        self.is_due = False
        """Whether something waits for the driver: a spare segment to be made, or, when scarce, a snapshot."""
        self._limit = 0
        """The offset in the segment that an ordinary append must not pass without asking `_make_room`."""
        self._set_limit()

    @property
    def written_bytes(self) -> int:
        """Bytes of frames found at recovery and written since: never falls; a snapshot is due by its growth."""
        return self._before_bytes + self._offset

    @property
    def log_bytes(self) -> int:
        """Bytes of the frames that are kept: since the last `trim`."""
        return self.written_bytes - self._segments[0].began_bytes

    @property
    def failed(self) -> bool:
        """Whether the log is of no more use: only recovery goes on from here."""
        return self._error is not None

    # -- appending

    def append(self, records: Sequence[AnyRecord], *, from_reserve: bool = False) -> int:
        """Write records as one group; the position of the first. `DiskFull` and `DiskFailed`: nothing was appended."""
        return self._write(encode_records(records), len(records), from_reserve)

    def mark(self) -> None:
        """Say on disk what is known to be synced, if that is not said yet and there is room: when idle, and on stop."""
        if self._marked < self.safe:
            with contextlib.suppress(DiskFull):
                self._write(b"", 0, from_reserve=True)

    def _write(self, payload: bytes, count: int, from_reserve: bool) -> int:
        offset = self._offset
        length = frame.HEAD_BYTES + len(payload)
        if offset + length > self._limit:
            self._make_room(length, from_reserve)
            offset = self._offset
        position, safe = self.end, self.safe
        try:
            self._file.write(offset, pack_frame(self._number, offset, position, count, safe, payload))
        except (DiskFull, DiskFailed):
            self._cut()
            raise
        self._marked = safe
        self.end = position + count
        taken = (length + 63) & -64  # as `frame.aligned`, and `offset` is aligned
        self._offset = offset + taken
        return position

    def _cut(self) -> None:
        """After a failed write: cut it off for good, and write nothing more into this segment."""
        try:
            self._file.truncate(self._offset)
            self._file.sync()
            self.syncs += 1
        except (DiskFull, DiskFailed) as error:
            self._fail(DiskFailed(str(error)))
        self._is_cut = True
        self._limit = 0

    # -- room

    def _make_room(self, length: int, from_reserve: bool) -> None:
        """See to it that the next frame may be written: here, or in a new segment."""
        self._check()
        after = self._offset + length
        fits = after <= self._file.size_bytes
        if self._spare is None and after <= self._half() and not self.is_scarce:
            self.is_due = True
            self._limit = self._half()
            return
        if not fits and self._spare is not None and frame.FIRST + length > self._spare[1].size_bytes:
            self._drop_spare()
        if self._spare is None and not (fits and from_reserve):
            self._make_spare(frame.aligned(frame.FIRST + length), from_reserve)
        if not fits:
            self._roll()

    def _make_spare(self, needed_bytes: int, from_reserve: bool) -> None:
        """Make a spare segment at once: rarely, for a driver that makes them ahead."""
        size_bytes = self._spare_bytes(needed_bytes, from_reserve)
        token = SegmentToken(self._disk, self._take_number(), size_bytes, self.safe)
        token.run()
        self._take_spare(token)

    def _spare_bytes(self, needed_bytes: int, from_reserve: bool) -> int:
        """The size of the next segment; `DiskFull` when it would take from the reserve and may not."""
        free_bytes = self._disk.free_bytes()
        room_bytes = free_bytes // SMALLEST_SEGMENT_BYTES * SMALLEST_SEGMENT_BYTES
        size_bytes = max(min(self._segment_bytes, room_bytes), needed_bytes)
        kept_bytes = self.reserve_bytes + self.snapshot_bytes()
        self.is_scarce = free_bytes - size_bytes < kept_bytes
        self.is_due |= self.is_scarce
        if self.is_scarce and not from_reserve:
            raise DiskFull(
                f"the disk is full: {free_bytes:,} bytes are free, of which {kept_bytes:,} are kept for emptying the "
                "queues; free some room, or pop and commit items"
            )
        return size_bytes

    def wants_segment(self) -> bool:
        """Whether it is time to make a spare segment ready."""
        return self.is_due and self._spare is None and self._making is None and self._error is None

    def begin_segment(self) -> SegmentToken:
        """Begin to make a spare segment ready; `DiskFull` when that would take from the reserve."""
        assert self._making is None
        size_bytes = self._spare_bytes(0, from_reserve=False)
        self._making = SegmentToken(self._disk, self._take_number(), size_bytes, self.safe)
        return self._making

    def end_segment(self, token: SegmentToken) -> None:
        """Take the spare segment; `DiskFull` or `DiskFailed` when there is none, and nothing else has changed."""
        assert self._making is token
        self._making = None
        self._take_spare(token)

    def _take_spare(self, token: SegmentToken) -> None:
        if token.error is not None:
            raise token.error
        assert token.file is not None
        self.syncs += segment.SYNCS_TO_CREATE
        if self._spare is not None or token.number < self._number:  # an append could not wait for it
            token.file.close()
            self._disk.remove(segment.name_of(token.number))
            return
        self._spare = (token.number, token.file)
        self._set_limit()

    def _take_number(self) -> int:
        number = self._next_number
        self._next_number = number + 1
        return number

    def _drop_spare(self) -> None:
        assert self._spare is not None
        number, file = self._spare
        self._spare = None
        self._set_limit()
        file.close()
        self._disk.remove(segment.name_of(number))

    def _roll(self) -> None:
        """Go on in the spare segment."""
        assert self._spare is not None
        self._rolled.append(self._file)
        self._number, self._file = self._spare
        self._spare = None
        self._before_bytes += self._offset - frame.FIRST
        self._offset = frame.FIRST
        self._is_cut = False
        self._segments.append(Segment(self._number, self.end, self.written_bytes))
        self._set_limit()

    def _set_limit(self) -> None:
        """How far appends go without asking: a quarter of the segment, then half of it, then, with a spare, all."""
        self.is_due = self.is_scarce
        if self._error is not None or self._is_cut or (self.is_scarce and self._spare is None):
            self._limit = 0
        else:
            self._limit = self._file.size_bytes if self._spare is not None else self._half() // 2

    def _half(self) -> int:
        return 0 if self._is_cut else self._file.size_bytes // 2

    # -- syncing

    def sync(self) -> None:
        """Make everything appended so far safe."""
        token = self.begin_sync()
        token.run()
        self.end_sync(token)

    def begin_sync(self) -> SyncToken:
        """Begin to make everything appended so far safe."""
        self._check()
        written_to = (self._number, self._offset)
        last = None if written_to == self._synced_to else self._file
        return SyncToken(list(self._rolled), last, self.end, written_to)

    def end_sync(self, token: SyncToken) -> None:
        """What was appended before `begin_sync` is safe; `DiskFailed` when the sync failed, and ever after."""
        if token.error is not None:
            self._fail(token.error)
        self._check()
        for file in token.rolled:
            self._rolled.remove(file)
            file.close()
        self.syncs += len(token.rolled) + (token.last is not None)
        self._synced_to = token.written_to
        self.safe = token.end

    def _fail(self, error: DiskFailed) -> None:
        if self._error is None:
            self._error = error
            self._limit = 0

    def _check(self) -> None:
        if self._error is not None:
            raise DiskFailed(
                f"the log cannot go on after an error of the disk ({self._error}): what was not acknowledged may be "
                "lost; see to the disk, then open the directory again"
            ) from self._error

    def close(self) -> None:
        """Sync, mark and let go. After a failure of the disk only the last."""
        try:
            if self._error is None:
                self.sync()
                if self._marked < self.safe:
                    self.mark()
                    self.sync()
        finally:
            spare = [self._spare[1]] if self._spare is not None else []
            for file in [*self._rolled, self._file, *spare]:
                file.close()
            self._rolled = []
            self._fail(DiskFailed("it is closed"))

    # -- reading and trimming

    def tail(self, position: int = 0) -> Iterator[tuple[int, AnyRecord]]:
        """The records kept, from `position` on, with their positions."""
        for kept in list(self._segments):
            content = segment.read_all(self._disk, segment.name_of(kept.number))
            for found in frame.walk(content, kept.number):
                if isinstance(found, frame.Bad) or found.is_gap or not found.records or found.end <= position:
                    continue
                for at, record in enumerate(decode_records(found.payload), found.position):
                    if at >= position:
                        yield at, record

    def trim(self, position: int) -> None:
        """Remove the segments that hold nothing from `position` on: that of the older kept snapshot."""
        for name in self.take_trimmed(position):
            self._disk.remove(name)

    def take_trimmed(self, position: int) -> list[str]:
        """Forget the segments that hold nothing from `position` on; the caller removes the files, in this order."""
        names = []
        while len(self._segments) > 1 and self._segments[1].first <= position:
            names.append(segment.name_of(self._segments.pop(0).number))
        return names


def segment_bytes_for(free_bytes: int, wanted_bytes: int) -> int:
    """The size of a segment on a disk with so much room."""
    part_bytes = free_bytes // PART_OF_FREE // SMALLEST_SEGMENT_BYTES * SMALLEST_SEGMENT_BYTES
    return max(SMALLEST_SEGMENT_BYTES, min(wanted_bytes, part_bytes))

"""Recovery: from what is on disk to a shard and a log that goes on.

The newest whole snapshot is thawed, and the records after it are applied in order of position. Where the positions
break off, the highest `synced` mark on anything after the break decides. Is it past the break, records are missing that
were once known to be on disk: that is `Damaged`, nothing is changed, and `repair` is for it. Is it not, what follows
the break never was acknowledged as safe: it is an unsynced tail, and is cut and reported. The last synced group before
its first mark cannot be told from a tail.

Cutting seals: the segment ends where it was cut, and the log goes on in one of a number never used before. What is
kept beyond the last mark is written again and synced, since a sync that failed may have left it in memory only.
Each step leaves a directory from which recovery can begin again with the same result.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, Protocol

import msgspec

from headrace.core.errors import Damaged
from headrace.core.ports import Disk, File
from headrace.core.records import AnyRecord, decode_records
from headrace.store import frame, segment, snapshot
from headrace.store.log import SEGMENT_BYTES, FileLog, Segment, segment_bytes_for

DAMAGED: Final = ".damaged"
"""What is added to the name of a damaged file that is set aside."""
REPAIR_HINT: Final = "run `headrace repair --at DIR` with this directory, which sets the damaged parts aside"


class Shard(Protocol):
    """What is recovered: a fold over records."""

    def thaw(self, parts: Iterable[bytes]) -> None:
        """Become what a snapshot says; not called when there is none."""

    def apply(self, position: int, record: AnyRecord) -> object:
        """Follow one record."""

    def settle(self) -> None:
        """All records are applied."""


@dataclass(slots=True)
class Recovered:
    """What recovery found and did."""

    snapshot: int | None = None
    """The position of the snapshot it began with."""
    records: int = 0
    """How many records were applied after the snapshot."""
    tail_bytes: int = 0
    """The bytes of the frames that hold them."""
    missing: int = 0
    """Of the records after the snapshot, those that an earlier repair has set aside."""
    end: int = 0
    """The position of the next record."""
    rewritten_bytes: int = 0
    """What was kept though nothing said that it was synced."""
    cut_bytes: int = 0
    """What was cut off as unsynced tail, in bytes that are not zero padding up to a segment's end."""
    cut_records: int = 0
    """Whole records among them: written, but after a hole."""
    cut_at: str = ""
    """Where the cut begins: file and offset."""
    notes: list[str] = field(default_factory=list)
    """What else is not as it should be, though nothing is missing: one sentence each."""


@dataclass(slots=True)
class Place:
    """A place in the log: segment and offset."""

    number: int
    offset: int

    def __str__(self) -> str:
        return f"{segment.name_of(self.number)} at offset {self.offset}"


def recover(disk: Disk, shard: Shard, *, segment_bytes: int = SEGMENT_BYTES) -> tuple[FileLog, Recovered]:
    """Bring `shard`, which is new, to what the directory holds, and open its log.

    `Damaged` and `Unavailable` (a newer format) change nothing on disk; `DiskFull` when there is not even room for one
    small segment.
    """
    return Recovery(disk, shard, segment_bytes=segment_bytes).run()


class Recovery:
    """One recovery. Its steps are methods, so that a test can take one away and show what it is for."""

    def __init__(self, disk: Disk, shard: Shard, *, segment_bytes: int = SEGMENT_BYTES) -> None:
        self.disk = disk
        self.shard = shard
        self.report = Recovered()
        self._segment_bytes = segment_bytes
        self._from = 0
        """The position of the snapshot."""
        self._expected = 0
        """The position of the next record that is needed."""
        self._marks = 0
        """The highest mark on anything found."""
        self._good: Place | None = None
        """The end of the last good frame, or the beginning of the log."""
        self._bad: Place | None = None
        """The first bad place after it."""
        self._broken = False
        """Whether positions break off after it."""
        self._unmarked: deque[tuple[int, int, int, int]] = deque()
        """Good frames past the highest mark: segment, offset, the offset after, the position after."""
        self._empty: list[int] = []
        """Segments that are ready for use and hold nothing."""
        self._useless: list[int] = []
        """Segments that hold nothing to keep."""
        self._segments: list[Segment] = []
        self._frame_bytes = 0

    def run(self) -> tuple[FileLog, Recovered]:
        numbers = segment.numbers(self.disk)
        self._thaw()
        for number in self._needed(numbers):
            self._read(number)
        self._decide()
        log = self._open_log(numbers)
        self._tidy_snapshots()
        self.report.end = self._expected
        self.shard.settle()
        return log, self.report

    # -- reading

    def _thaw(self) -> None:
        loaded = snapshot.load(self.disk)
        if loaded is not None:
            self.shard.thaw(loaded.parts)
            self._from = self._expected = loaded.position
            self.report.snapshot = loaded.position

    def _needed(self, numbers: list[int]) -> list[int]:
        """The segments to read: those before hold only what the snapshot has, and are kept for the older one."""
        firsts = [self._first_position(number) for number in numbers]
        begin = max((i for i, first in enumerate(firsts) if first is not None and first <= self._from), default=0)
        for number, first in zip(numbers[:begin], firsts, strict=False):
            self._segments.append(Segment(number, first or 0, self._frame_bytes))
            self._frame_bytes += self._size_bytes(number)
        return numbers[begin:]

    def _first_position(self, number: int) -> int | None:
        name = segment.name_of(number)
        file = self.disk.open(name)
        try:
            content = file.read(0, frame.FIRST + frame.HEAD_BYTES)
        finally:
            file.close()
        segment.check_header(name, content, segment.LOG_MAGIC, number)
        head = frame.parse_head(memoryview(content), number, frame.FIRST)
        return None if head is None else head[4]

    def _size_bytes(self, number: int) -> int:
        file = self.disk.open(segment.name_of(number))
        file.close()
        return file.size_bytes

    def _read(self, number: int) -> None:
        name = segment.name_of(number)
        content = segment.read_all(self.disk, name)
        is_headed = segment.check_header(name, content, segment.LOG_MAGIC, number)
        if self._good is None and is_headed:
            self._good = Place(number, frame.FIRST)
            self._segments.append(Segment(number, self._expected, self._frame_bytes))
        anything = False
        for found in frame.walk(content, number):
            anything = True
            self._marks = max(self._marks, found.synced)
            if isinstance(found, frame.Bad):
                self._on_bad(number, found)
            elif is_headed:
                self._on_frame(number, found)
            else:
                raise Damaged(f"{name} has lost its header, though it holds records: {REPAIR_HINT}")
        if self._good is None or self._good.number != number:
            (self._empty if is_headed and not anything else self._useless).append(number)

    def _on_bad(self, number: int, bad: frame.Bad) -> None:
        if self._bad is None:
            self._bad = Place(number, bad.offset)
        if not bad.is_blank:
            self.report.cut_bytes += bad.after - bad.offset

    def _on_frame(self, number: int, found: frame.Frame) -> None:
        place = Place(number, found.offset)
        if self._broken or found.position > self._expected:
            self._broken = True
            self._bad = self._bad or place
            self.report.cut_bytes += found.after - found.offset
            self.report.cut_records += found.records
            return
        if found.end > self._from or found.position == self._expected:
            if found.position < self._expected:
                raise Damaged(f"{place} repeats records from position {found.position}: {REPAIR_HINT}")
            self._apply(place, found)
        self._keep(number, found)

    def _apply(self, place: Place, found: frame.Frame) -> None:
        report = self.report
        report.tail_bytes += found.after - found.offset
        self._expected = found.end
        if found.is_gap:
            report.missing += found.records
            return
        try:
            records = decode_records(found.payload) if found.records else []
        except msgspec.DecodeError as error:
            raise Damaged(f"{place} holds records that this version cannot read ({error}): {REPAIR_HINT}") from error
        if len(records) != found.records:
            raise Damaged(f"{place} holds {len(records)} records, not {found.records}: {REPAIR_HINT}")
        report.records += found.records
        apply = self.shard.apply
        for position, record in enumerate(records, found.position):
            apply(position, record)

    def _keep(self, number: int, found: frame.Frame) -> None:
        """The frame is part of the log."""
        if self._bad is not None:
            self.report.notes.append(f"{self._bad} holds bytes that are no records, though none are missing there")
            self._bad = None
            self.report.cut_bytes = 0
        if self._good is None or self._good.number != number:
            self._useless += self._empty
            self._empty = []
            self._segments.append(Segment(number, found.position, self._frame_bytes))
        elif self._good.offset == frame.FIRST:
            self._segments[-1].first = found.position
        self._good = Place(number, found.after)
        self._frame_bytes += found.after - found.offset
        unmarked = self._unmarked
        unmarked.append((number, found.offset, found.after, found.end))
        while unmarked and unmarked[0][3] <= self._marks:
            unmarked.popleft()

    def _tidy_snapshots(self) -> None:
        """Set aside damaged ones that are newer than the one used, and remove what a crash left unfinished."""
        for position in snapshot.positions(self.disk):
            if position > (-1 if self.report.snapshot is None else self.report.snapshot):
                name = snapshot.name_of(position)
                self.disk.rename(name, name + DAMAGED)
                self.report.notes.append(f"{name} is damaged, was not used, and is now {name + DAMAGED}")
        for name in snapshot.unfinished(self.disk):
            self.disk.remove(name)

    # -- deciding

    def _decide(self) -> None:
        """`Damaged` if records are missing that were once known to be on disk."""
        if self._marks > self._expected:
            raise Damaged(
                f"{self._bad or self._good} is damaged: records {self._expected:,} to {self._marks - 1:,} were "
                f"on disk and cannot be read (or more): {REPAIR_HINT}"
            )
        if self._bad is not None:
            self.report.cut_at = str(self._bad)
        if self._good is None and self._from:
            raise Damaged(f"the log is missing, though there is a snapshot of position {self._from:,}: {REPAIR_HINT}")

    # -- going on

    def _open_log(self, numbers: list[int]) -> FileLog:
        next_number = numbers[-1] + 1 if numbers else 1
        good = self._good
        file = None if good is None else self._go_on(good)
        if file is not None:
            assert good is not None
            offset = good.offset
        else:
            size_bytes = segment_bytes_for(self.disk.free_bytes(), self._segment_bytes)
            file = segment.create(self.disk, next_number, size_bytes)
            offset = frame.FIRST
            self._segments.append(Segment(next_number, self._expected, self._frame_bytes))
            next_number += 1
        self._remove_useless()
        spare = self._empty[-1] if self._empty else None
        return FileLog(
            self.disk,
            segments=self._segments,
            file=file,
            offset=offset,
            end=self._expected,
            next_number=next_number,
            written_bytes=self._frame_bytes,
            segment_bytes=self._segment_bytes,
            spare=None if spare is None else (spare, self.disk.open(segment.name_of(spare))),
        )

    def _go_on(self, good: Place) -> File | None:
        """Rewrite and sync what no mark covers, cut what follows; the segment to go on in, or None for a new one."""
        last = self._segments[-1].number
        for number in sorted({unmarked[0] for unmarked in self._unmarked} | {last}):
            file = self.disk.open(segment.name_of(number))
            self._rewrite(number, file)
            if number == last and self._bad is not None:
                self._seal(file, good.offset)
            file.sync()
            if number == last and self._bad is None:
                return file
            file.close()
        return None

    def _rewrite(self, number: int, file: File) -> None:
        places = [(offset, after) for of, offset, after, _ in self._unmarked if of == number]
        if places:
            begin, end = places[0][0], min(places[-1][1], file.size_bytes)
            file.write(begin, file.read(begin, end - begin))
            self.report.rewritten_bytes += end - begin

    def _seal(self, file: File, offset: int) -> None:
        """Nothing is ever written into this segment again."""
        file.truncate(offset)

    def _remove_useless(self) -> None:
        """Remove segments without anything to keep: after a newer one is there for good, so no number comes back."""
        useless = self._useless + self._empty[:-1]
        for number in useless:
            self.disk.remove(segment.name_of(number))
        if useless:
            self.disk.sync_names()

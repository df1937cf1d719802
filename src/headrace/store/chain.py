"""The chain of frames through all segments, held together by positions: what there is, and what is missing.

Whoever reads a log (recovery, verify, repair) reads it through here. `frames` gives the frames that continue the log,
in order; what stands between them is a `Finding`. Positions are the authority: bytes that are no frame do no harm as
long as the next frame has the position that was expected, wherever it stands.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from headrace.core.ports import Disk
from headrace.core.records import AnyRecord, decode_records
from headrace.store import frame, segment


@dataclass(frozen=True, slots=True)
class Place:
    """A place in the log: segment and offset."""

    number: int
    offset: int

    def __str__(self) -> str:
        return f"{segment.name_of(self.number)} at offset {self.offset}"


@dataclass(slots=True)
class Finding:
    """A range of a segment that does not continue the log."""

    place: Place
    after: int
    """The offset at which the range ends."""
    expected: int
    """The position of the record that was expected here."""
    what: str
    missing: int = 0
    """How many records the next frame leaves out: those from `expected` on."""
    is_blank: bool = False
    is_whole: bool = False
    """Whether it is a whole frame of ours that cannot be taken: never the mark of a crash."""
    is_last: bool = False
    """Whether no frame that continues the log follows."""

    def __str__(self) -> str:
        return f"{self.place} holds {self.what}"

    def damage(self, marks: int) -> str:
        """What is damaged here, or nothing: then it is no more than what a crash leaves behind."""
        if self.is_whole:
            return str(self)
        if self.missing and marks > self.expected:
            last = self.expected + self.missing - 1
            return f"{self}, where records {self.expected:,} to {last:,} once were"
        return ""


@dataclass(slots=True)
class Read:
    """A segment that was read."""

    number: int
    size_bytes: int
    is_headed: bool
    frames: int = 0
    records: int = 0
    first: int = 0
    """The position of its first record."""
    is_clean: bool = True
    """Whether there is nothing in it but frames and zeros after them."""

    @property
    def is_headless(self) -> bool:
        """Whether it holds records, and its own header is lost."""
        return bool(self.frames) and not self.is_headed


class Chain:
    """The log of a directory from position `base` on. Iterate `frames` to its end, then ask."""

    def __init__(self, disk: Disk, *, base: int) -> None:
        self.base = base
        self.expected = base
        """The position of the next record."""
        self.marks = 0
        """The highest mark on anything found: all records below it were once known to be on disk."""
        self.findings: list[Finding] = []
        self.read: list[Read] = []
        self.is_broken = False
        """Whether records are missing, or cannot be read, before the frame last given."""
        self._disk = disk
        self._pending: list[Finding] = []
        self._unread_to = 0
        """The end of the last whole frame that could not be taken."""
        self._good_number = -1
        """The segment of the last frame, and the offset after it."""
        self._good_offset = frame.FIRST
        self._good_size_bytes = 0

    # -- once all is read

    @property
    def end(self) -> int:
        """The position of the next record, once the tail is cut."""
        tail = self.tail()
        return tail[0].expected if tail else self.expected

    def damage(self) -> list[tuple[int | None, str]]:
        """What is damaged: the segment, and a sentence."""
        damage: list[tuple[int | None, str]] = [
            (read.number, f"{Place(read.number, 0)} holds no header, though records follow")
            for read in self.read
            if read.is_headless
        ]
        for found in self.findings:
            if sentence := found.damage(self.marks):
                damage.append((found.place.number, sentence))
        if self.base and not self.read:
            damage.append((None, f"the log is missing, though there is a snapshot of position {self.base:,}"))
        return damage

    def tail(self) -> list[Finding]:
        """What a crash leaves at the end of a log: from where it breaks off, without damage."""
        for i, found in enumerate(self.findings):
            if (found.missing or found.is_last) and not found.damage(self.marks):
                return self.findings[i:]
        return []

    def mended(self) -> list[Finding]:
        """All that stands before the tail: damage, and bytes that do no harm."""
        return self.findings[: len(self.findings) - len(self.tail())]

    # -- reading

    def frames(self, numbers: list[int]) -> Iterator[tuple[int, frame.Frame, list[AnyRecord]]]:
        """The frames that continue the log, with their segments and records."""
        for number in numbers:
            yield from self._frames_of(number)
        for found in self._pending:
            found.is_last = True
        end = max(self.expected, self.marks, self._unread_to)
        if end > self.expected and not self._pending and self._good_number >= 0:
            self._pend_rest(self._good_size_bytes)
            self._pending[0].is_last = True
        self._settle(end)

    def _frames_of(self, number: int) -> Iterator[tuple[int, frame.Frame, list[AnyRecord]]]:
        name = segment.name_of(number)
        content = segment.read_all(self._disk, name)
        synced = segment.parse_header(name, content, segment.LOG_MAGIC, number)
        self.marks = max(self.marks, synced or 0)
        read = Read(number, len(content), is_headed=synced is not None)
        self.read.append(read)
        if self._good_number < 0:
            self._good_number, self._good_size_bytes = number, len(content)
        for found in frame.walk(content, number):
            if found.synced > self.marks:
                self.marks = found.synced
            if isinstance(found, frame.Bad):
                read.is_clean = False
                what = "zeros" if found.is_blank else "bytes that are no records"
                self._pend(number, found, what, is_blank=found.is_blank)
                continue
            what, records = self._judge(number, found)
            if what:
                read.is_clean = False
                self._unread_to = max(self._unread_to, found.end)
                self._pend(number, found, what, is_whole=True)
                continue
            self._join(read, found)
            yield number, found, records

    def _pend(
        self, number: int, found: frame.Frame | frame.Bad, what: str, *, is_blank: bool = False, is_whole: bool = False
    ) -> None:
        place = Place(number, found.offset)
        self._pending.append(Finding(place, found.after, self.expected, what, is_blank=is_blank, is_whole=is_whole))

    def _join(self, read: Read, found: frame.Frame) -> None:
        """The frame continues the log, perhaps after a gap."""
        if found.position > self.expected and not self._pending:
            self._pend_rest(self._good_size_bytes if self._good_number != read.number else self._good_offset)
        if self._pending:
            self._settle(found.position)
        if found.end > self.expected:
            self.expected = found.end
        self._good_offset = found.after
        if not read.frames:
            self._good_number, self._good_size_bytes = read.number, read.size_bytes
            read.first = found.position
        read.frames += 1
        if not found.is_gap:
            read.records += found.end - found.position

    def _pend_rest(self, after: int) -> None:
        """Nothing follows the last frame, though something should."""
        place = Place(self._good_number, self._good_offset)
        self._pending.append(Finding(place, after, self.expected, "zeros", is_blank=True))

    def _settle(self, position: int) -> None:
        """The log goes on at a position: what was found before it is a gap up to there, or does no harm."""
        missing = position - self.expected
        for i, found in enumerate(self._pending):
            if missing > 0 and i == 0:
                found.missing = missing
            elif missing > 0:
                found.expected = position
            self.is_broken |= found.missing > 0 or found.is_whole
        self.findings += self._pending
        self._pending = []

    def _judge(self, number: int, found: frame.Frame) -> tuple[str, list[AnyRecord]]:
        """What is wrong with a whole frame, and its records."""
        if found.position == self.expected:
            return _decoded(found)
        if found.end <= self.base and found.position < self.expected == self.base:
            return "", []  # older than what is asked for
        if found.is_gap and found.position <= self.expected:
            return "", []  # it may reach across `base`
        if found.position < self.expected:
            return f"records from position {found.position:,} on, which were there before", []
        if (
            found.position > self.expected
            and (self._good_number, self._good_offset) == (number, found.offset)
            and not self._pending
            and found.offset > frame.FIRST
        ):
            return f"records from position {found.position:,} on, where {self.expected:,} was expected", []
        return _decoded(found)


def _decoded(found: frame.Frame) -> tuple[str, list[AnyRecord]]:
    """What is wrong with the records of a frame, and they."""
    if found.is_gap or found.end == found.position:
        return "", []
    try:
        records = decode_records(found.payload)
    except msgspec.DecodeError as error:
        return f"records that this version cannot read ({error})", []
    if len(records) != found.records:
        return f"{len(records)} records instead of {found.records}", []
    return "", records

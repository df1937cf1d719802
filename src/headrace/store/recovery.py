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

from headrace.core.errors import Damaged
from headrace.core.ports import Disk, DiskFull, File
from headrace.core.records import AnyRecord
from headrace.store import frame, segment, snapshot
from headrace.store.chain import Chain, Place, Read
from headrace.store.log import SEGMENT_BYTES, SMALLEST_SEGMENT_BYTES, FileLog, Segment, segment_bytes_for

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


def recover(disk: Disk, shard: Shard, *, segment_bytes: int = SEGMENT_BYTES) -> tuple[FileLog, Recovered]:
    """Bring `shard`, which is new, to what the directory holds, and open its log.

    `Damaged` and `Unavailable` (a newer format) change nothing on disk; `DiskFull` when there is not even room for one
    small segment.
    """
    return Recovery(disk, shard, segment_bytes=segment_bytes).run()


class Recovery:
    """One recovery. Its steps are methods, so that a test can take one away and show what it is for."""

    log_class: type[FileLog] = FileLog

    def __init__(self, disk: Disk, shard: Shard, *, segment_bytes: int = SEGMENT_BYTES) -> None:
        self.disk = disk
        self.shard = shard
        self.report = Recovered()
        self._segment_bytes = segment_bytes
        self._numbers = segment.numbers(disk)
        self._segments: list[Segment] = []
        self._good: Place | None = None
        """Where the log goes on."""
        self._frame_bytes = 0
        self._unmarked: deque[tuple[int, int, int, int]] = deque()
        """Good frames past the highest mark: segment, offset, the offset after, the position after."""

    def run(self) -> tuple[FileLog, Recovered]:
        base = self._thaw()
        chain = Chain(self.disk, base=base)
        self._follow(chain, self._needed(base))
        for _, sentence in self._damage(chain):
            raise Damaged(f"{sentence}: {REPAIR_HINT}")
        self._note(chain)
        self._tidy_snapshots()
        log = self._open_log(chain)
        self.shard.settle()
        return log, self.report

    # -- reading

    def _thaw(self) -> int:
        loaded = snapshot.load(self.disk)
        if loaded is None:
            return 0
        self.shard.thaw(loaded.parts)
        self.report.snapshot = loaded.position
        return loaded.position

    def _needed(self, base: int) -> list[int]:
        """The segments to read: those before hold only what the snapshot has, and are kept for the older one."""
        numbers = self._numbers
        firsts = [segment.first_position(self.disk, number) for number in numbers]
        begin = max((i for i, first in enumerate(firsts) if first is not None and first <= base), default=0)
        for number, first in zip(numbers[:begin], firsts, strict=False):
            self._segments.append(Segment(number, first or 0, self._frame_bytes))
            self._frame_bytes += segment.size_of(self.disk, number)
        return numbers[begin:]

    def _follow(self, chain: Chain, numbers: list[int]) -> None:
        """Apply what continues the log, up to where it breaks off."""
        apply = self.shard.apply
        report = self.report
        base = chain.base
        unmarked = self._unmarked
        last, after = -1, 0
        for number, found, records in chain.frames(numbers):
            if chain.is_broken:
                report.cut_records += found.records
                report.cut_bytes += found.after - found.offset
                continue
            if number != last:
                last = number
                self._segments.append(Segment(number, found.position, self._frame_bytes))
            after = found.after
            size_bytes = after - found.offset
            self._frame_bytes += size_bytes
            unmarked.append((number, found.offset, after, found.end))
            while unmarked and unmarked[0][3] <= chain.marks:
                unmarked.popleft()
            if found.end > base:
                report.tail_bytes += size_bytes
                report.end = found.end
                if found.is_gap:
                    report.missing += found.end - max(found.position, base)
                for position, record in enumerate(records, found.position):
                    apply(position, record)
                report.records += len(records)
        if last >= 0:
            self._good = Place(last, after)

    # -- deciding

    def _damage(self, chain: Chain) -> list[tuple[int | None, str]]:
        """Records that are missing though they were once known to be on disk."""
        return chain.damage()

    def _note(self, chain: Chain) -> None:
        """Say what is cut, and what is not as it should be though nothing is missing."""
        report = self.report
        report.end = max(report.end, chain.base)
        tail = chain.tail()
        if tail:
            report.cut_at = str(tail[0].place)
        for found in tail:
            if not found.is_blank:
                report.cut_bytes += found.after - found.place.offset
        report.notes += [f"{found}, though nothing that is needed is missing there" for found in chain.mended()]

    # -- going on

    def _open_log(self, chain: Chain) -> FileLog:
        """Make what is kept safe, cut what is not, and open the log where it goes on."""
        self._segment_bytes = segment_bytes_for(self.disk.free_bytes() + self._frame_bytes, self._segment_bytes)
        ready = [read.number for read in chain.read if self._is_ready(read)]
        next_number = self._numbers[-1] + 1 if self._numbers else 1
        file = self._last_file() if self._good is not None else None
        if file is None and ready and not self.report.cut_at:
            file = self._begin(ready[0], self._renewed(ready.pop(0)))
        if file is None:
            file = self._new_segment(next_number)
            file = self._begin(next_number, file)
            next_number += 1
        assert self._good is not None
        last = self._good.number
        spare = next(((number, self._renewed(number)) for number in ready if number > last), None)
        self.disk.sync_names()
        self._remove_all_but([kept.number for kept in self._segments] + ([spare[0]] if spare else []))
        return self.log_class(
            self.disk,
            segments=self._segments,
            file=file,
            offset=self._good.offset,
            end=self.report.end,
            next_number=next_number,
            written_bytes=self._frame_bytes,
            segment_bytes=self._segment_bytes,
            spare=spare,
        )

    def _new_segment(self, number: int) -> File:
        """A segment as large as there is room for."""
        size_bytes = self._segment_bytes
        while True:
            try:
                return segment.create(self.disk, number, size_bytes, synced=self.report.end)
            except DiskFull:
                if size_bytes <= SMALLEST_SEGMENT_BYTES:
                    raise
                size_bytes = max(SMALLEST_SEGMENT_BYTES, size_bytes // 2)

    def _is_ready(self, read: Read) -> bool:
        """Whether a segment can be used as it is."""
        return read.is_headed and read.is_clean and not read.frames

    def _begin(self, number: int, file: File) -> File:
        """Let the log go on at the beginning of a segment."""
        self._good = Place(number, frame.FIRST)
        self._segments.append(Segment(number, self.report.end, self._frame_bytes))
        return file

    def _renewed(self, number: int) -> File:
        """A segment that is ready for use; its header may have been seen in memory only, so it is written again."""
        file = self.disk.open(segment.name_of(number))
        file.write(0, segment.header(segment.LOG_MAGIC, number, synced=self.report.end))
        file.sync()
        return file

    def _last_file(self) -> File | None:
        """Rewrite and sync what no mark covers; the segment to go on in, or None when it is sealed."""
        good = self._good
        assert good is not None
        for number in sorted({unmarked[0] for unmarked in self._unmarked} - {good.number}):
            file = self.disk.open(segment.name_of(number))
            self._rewrite(number, file)
            file.sync()
            file.close()
        file = self.disk.open(segment.name_of(good.number))
        self._rewrite(good.number, file)
        if self.report.cut_at:
            return self._seal(file, good.offset)
        file.sync()
        return file

    def _rewrite(self, number: int, file: File) -> None:
        places = [(offset, after) for of, offset, after, _ in self._unmarked if of == number]
        if places:
            begin, end = places[0][0], min(places[-1][1], file.size_bytes)
            file.write(begin, file.read(begin, end - begin))
            self.report.rewritten_bytes += end - begin

    def _seal(self, file: File, offset: int) -> File | None:
        """Cut what follows, for good: nothing is ever written into this segment again."""
        file.truncate(offset)
        file.sync()
        file.close()
        return None

    def _remove_all_but(self, kept: list[int]) -> None:
        """Remove segments without anything to keep: once a newer one is there for good, so no number comes back."""
        useless = [number for number in self._numbers if number not in kept]
        for number in useless:
            self.disk.remove(segment.name_of(number))
        if useless:
            self.disk.sync_names()

    def _tidy_snapshots(self) -> None:
        """Set aside damaged ones that are newer than the one used, and remove what a crash left unfinished."""
        used = -1 if self.report.snapshot is None else self.report.snapshot
        for position in snapshot.positions(self.disk):
            if position > used:
                aside = snapshot.set_aside(self.disk, position)
                self.report.notes.append(f"{snapshot.name_of(position)} is damaged and is now {aside}")
        for name in filter(snapshot.is_unfinished, self.disk.names()):
            self.disk.remove(name)

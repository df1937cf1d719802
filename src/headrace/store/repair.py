"""Repair: set damaged parts aside, so that the directory opens again and says what is missing.

Nothing is deleted. The bytes of a damaged range go into a file of their own beside the log, and a gap frame takes their
place, which says how many records are missing; a damaged snapshot gets another name. Then a `Quarantined` record joins
the log. Since records name places and receipts explicitly, their fold stays meaningful across a gap.

Each step is on disk before the next one relies on it: a repair that was cut short can be run again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from headrace.core.ports import Disk
from headrace.core.records import AnyRecord, Quarantined
from headrace.store import frame, segment, snapshot
from headrace.store.chain import Finding
from headrace.store.log import SEGMENT_BYTES
from headrace.store.recovery import recover
from headrace.store.verify import survey, verify


@dataclass(slots=True)
class Repaired:
    """What repair did; all empty when there was nothing to do."""

    set_aside: list[str] = field(default_factory=list)
    """The files that hold what was damaged."""
    missing: list[tuple[int, int]] = field(default_factory=list)
    """Positions of records that are missing: from, up to but not including."""
    done: list[str] = field(default_factory=list)
    """What was done, one sentence each."""

    @property
    def loss(self) -> str:
        """What may be lost."""
        if not self.missing:
            return "nothing is known to be lost"
        count = sum(end - first for first, end in self.missing)
        return (
            f"{count:,} {'record is' if count == 1 else 'records are'} missing: items added there are lost, items "
            "handed out or committed there may be handed out again, and settings, dead items and answers to repeated "
            "requests may be those of before"
        )


class _Nothing:
    """A shard that keeps nothing: to open a log and append to it."""

    def thaw(self, parts: Iterable[bytes]) -> None: ...

    def apply(self, position: int, record: AnyRecord) -> None: ...

    def settle(self) -> None: ...


def repair(disk: Disk, *, wall_us: int, segment_bytes: int = SEGMENT_BYTES) -> Repaired:
    """Mend a directory that `verify` finds damaged, and append a record of it; the caller holds its lock."""
    repaired = Repaired()
    if not verify(disk).problems:
        return repaired
    whole = _set_snapshots_aside(disk, repaired)
    if whole and not segment.numbers(disk):
        segment.create(disk, 1, frame.FIRST, synced=0).close()
        repaired.done.append(f"a new log begins: what came after position {whole[0]:,} is lost")
    chain = survey(disk, whole)
    gaps = chain.mended()
    used = {found.place.number for found in gaps}
    for read in chain.read:
        if not read.is_headed and (read.frames or read.number in used):
            _mend_header(disk, read.number, repaired)
    for found in gaps:
        _mend(disk, found, repaired)
    log, _ = recover(disk, _Nothing(), segment_bytes=segment_bytes)
    log.append([Quarantined(wall_us, b"", 0, 0, "; ".join([*repaired.done, repaired.loss]))], from_reserve=True)
    log.close()
    return repaired


def _set_snapshots_aside(disk: Disk, repaired: Repaired) -> list[int]:
    """Give damaged snapshots another name; the positions of the whole ones, newest first."""
    whole = []
    for position in snapshot.positions(disk):
        if snapshot.is_whole(disk, position):
            whole.append(position)
        else:
            aside = snapshot.set_aside(disk, position)
            repaired.set_aside.append(aside)
            repaired.done.append(f"{snapshot.name_of(position)} is damaged and is now {aside}")
    disk.sync_names()
    return whole


def _mend_header(disk: Disk, number: int, repaired: Repaired) -> None:
    name = segment.name_of(number)
    _copy_aside(disk, name, 0, segment.HEADER_BYTES, repaired)
    file = disk.open(name)
    file.write(0, segment.header(segment.LOG_MAGIC, number, synced=0))
    file.sync()
    file.close()
    repaired.done.append(f"the header of {name} was written again")


def _mend(disk: Disk, found: Finding, repaired: Repaired) -> None:
    """Put a gap frame where a finding is."""
    number, offset = found.place.number, found.place.offset
    name = segment.name_of(number)
    if found.missing:
        end = found.expected + found.missing
        repaired.missing.append((found.expected, end))
        repaired.done.append(f"records {found.expected:,} to {end - 1:,} are missing from {found.place} on")
    if not found.is_blank:
        _copy_aside(disk, name, offset, found.after, repaired)
    if offset == found.after == frame.FIRST:  # the log begins too late: the gap goes before it
        number -= 1
        found.after = frame.FIRST + frame.ALIGNMENT
        file = segment.create(disk, number, found.after, synced=0)
    else:
        file = disk.open(name)
    room_bytes = max(0, found.after - offset - frame.HEAD_BYTES)
    gap = frame.pack(number, offset, found.expected, found.missing, 0, bytes(room_bytes), frame.GAP)
    file.write(offset, gap)
    file.sync()
    file.close()


def _copy_aside(disk: Disk, name: str, offset: int, after: int, repaired: Repaired) -> None:
    """Keep the bytes of a range in a file of their own."""
    file = disk.open(name)
    content = file.read(offset, after - offset)
    file.close()
    aside = f"{name}.at-{offset}.damaged"
    taken = set(disk.names())
    count = 1
    while aside in taken:
        count += 1
        aside = f"{name}.at-{offset}.damaged-{count}"
    copy = disk.create(aside, 0)
    copy.write(0, content)
    copy.sync()
    copy.close()
    disk.sync_names()
    repaired.set_aside.append(aside)
    repaired.done.append(f"bytes {offset:,} to {after - 1:,} of {name} are now in {aside}")

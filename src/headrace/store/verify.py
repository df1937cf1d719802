"""Verify: read everything in a directory, and say of each file what is right and what is wrong. Nothing is changed.

`verify` finds damage wherever `recover` does, and in older files that recovery would not look at today. What a crash
leaves at the end of a log is not damage, and is told as its tail.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from headrace.core.errors import Damaged
from headrace.core.ports import Disk
from headrace.store import segment, snapshot
from headrace.store.chain import Chain

LOCK_NAME: Final = "owner.lock"
_ASIDE = re.compile(r"(log-\d{12}|snapshot-\d{20})\..*damaged(-\d+)?")


@dataclass(slots=True)
class FileReport:
    """What was found in one file."""

    name: str
    kind: str
    """'segment', 'snapshot', 'unfinished snapshot', 'set aside', 'lock', or 'foreign': not ours, and left alone."""
    size_bytes: int | None
    """None for files that are not opened."""
    records: int = 0
    """Records of a segment, parts of a snapshot."""
    first: int | None = None
    """The position of the first record, or that of the snapshot."""
    problems: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Verified:
    """What was found in a directory."""

    files: list[FileReport]
    end: int
    """The position of the next record."""
    safe: int
    """All records below this position are known to have been on disk."""
    lost: list[str]
    """What is wrong with the log and belongs to none of its files."""
    tail: list[str]
    """What a crash left at the end of the log, and recovery will cut: one sentence each."""

    @property
    def problems(self) -> list[str]:
        """All that is wrong: one sentence each."""
        return [*self.lost, *(problem for file in self.files for problem in file.problems)]


def verify(disk: Disk) -> Verified:
    """Read everything; `Unavailable` when a newer version wrote it."""
    reports = {name: _unread(disk, name) for name in disk.names()}
    whole = [position for position in snapshot.positions(disk) if _check_snapshot(disk, position, reports)]
    chain = survey(disk, whole)
    lost = _check_log(chain, reports)
    return Verified(
        list(reports.values()), max([chain.end, *whole]), chain.marks, lost, [str(found) for found in chain.tail()]
    )


def survey(disk: Disk, whole: list[int]) -> Chain:
    """The log from the oldest whole snapshot on, read to its end; what the newest one has was on disk once."""
    chain = Chain(disk, base=whole[-1] if whole else 0)
    chain.marks = whole[0] if whole else 0
    for _ in chain.frames(segment.numbers(disk)):
        pass
    return chain


def _unread(disk: Disk, name: str) -> FileReport:
    kind = _kind_of(name)
    if kind in ("lock", "foreign"):  # closing a lock file would give the lock up
        return FileReport(name, kind, None)
    file = disk.open(name)
    file.close()
    return FileReport(name, kind, file.size_bytes)


def _kind_of(name: str) -> str:
    if segment.number_of(name) is not None:
        return "segment"
    if snapshot.position_of(name) is not None:
        return "snapshot"
    if snapshot.is_unfinished(name):
        return "unfinished snapshot"
    if _ASIDE.fullmatch(name):
        return "set aside"
    return "lock" if name == LOCK_NAME else "foreign"


def _check_snapshot(disk: Disk, position: int, reports: dict[str, FileReport]) -> bool:
    report = reports[snapshot.name_of(position)]
    report.first = position
    try:
        report.records = len(snapshot.read(disk, position))
    except Damaged as error:
        report.problems.append(str(error))
        return False
    return True


def _check_log(chain: Chain, reports: dict[str, FileReport]) -> list[str]:
    """Enter what is wrong with the log; what belongs to none of its files."""
    for read in chain.read:
        report = reports[segment.name_of(read.number)]
        report.records = read.records
        report.first = read.first if read.frames else None
    lost: list[str] = []
    for number, sentence in chain.damage():
        (lost if number is None else reports[segment.name_of(number)].problems).append(sentence)
    for found in chain.mended():
        if not found.damage(chain.marks):
            name = segment.name_of(found.place.number)
            reports[name].problems.append(f"{found}, though nothing that is needed is missing there")
    return lost

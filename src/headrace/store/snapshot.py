"""Snapshots: the state of a shard as of a position of its log, in a file of checksummed parts.

    header as a segment's, with the position for the number | parts | footer
    part:   length 4 | crc 4 | bytes        footer: 0xFFFFFFFF | crc 4 | count of parts 8

A snapshot is written aside under a name that ends in `.new`, synced, renamed, and the directory synced; it counts only
from then on. The two newest are kept, and the log since the older one, so that a damaged snapshot costs time and no
data. A part's checksum is seeded by those before it: a part that is missing shows.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from struct import Struct as Layout
from typing import Final
from zlib import crc32

from headrace.core.errors import Damaged
from headrace.core.limits import MIB
from headrace.core.ports import Disk, DiskFailed, DiskFull
from headrace.store import segment

MAGIC: Final = b"HEADSNAP"
KEPT: Final = 2
SYNC_EVERY_BYTES: Final = 4 * MIB
"""Synced as it grows, so that the log's own syncs never wait behind much of it."""

_PART = Layout("<II")
_FOOTER = Layout("<IIQ")
_NO_PART: Final = 0xFFFFFFFF
_NAME = re.compile(r"snapshot-(\d{20})")
_NEW_NAME = re.compile(r"snapshot-(\d{20})\.new")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot that is whole: the state is that of all records below `position`."""

    position: int
    parts: list[bytes]


def name_of(position: int) -> str:
    return f"snapshot-{position:020}"


def position_of(name: str) -> int | None:
    """The position of a snapshot, by its name; None for anything else."""
    match = _NAME.fullmatch(name)
    return int(match[1]) if match else None


def positions(disk: Disk) -> list[int]:
    """The positions of the snapshots there, newest first."""
    return sorted((position for position in map(position_of, disk.names()) if position is not None), reverse=True)


def is_unfinished(name: str) -> bool:
    """Whether a file is a snapshot that a crash left unfinished."""
    return _NEW_NAME.fullmatch(name) is not None


def load(disk: Disk) -> Snapshot | None:
    """The newest snapshot that is whole."""
    for position in positions(disk):
        try:
            return Snapshot(position, read(disk, position))
        except Damaged:
            continue
    return None


def is_whole(disk: Disk, position: int) -> bool:
    """Whether a snapshot can be used."""
    try:
        read(disk, position)
    except Damaged:
        return False
    return True


def set_aside(disk: Disk, position: int) -> str:
    """Give a damaged snapshot a name under which it counts no more; that name."""
    name = name_of(position)
    aside = name + ".damaged"
    disk.rename(name, aside)
    return aside


def read(disk: Disk, position: int) -> list[bytes]:
    """The parts of a snapshot; `Damaged` says what is wrong with it."""
    name = name_of(position)
    content = segment.read_all(disk, name)
    if segment.parse_header(name, content, MAGIC, position) is None:
        raise Damaged(f"{name} does not begin as a snapshot of position {position} does")
    parts: list[bytes] = []
    at = segment.HEADER_BYTES
    crc = 0
    while at + _PART.size <= len(content):
        length, found = _PART.unpack_from(content, at)
        if length == _NO_PART:
            if content[at:] != _footer(crc, len(parts)):
                raise Damaged(f"{name} is damaged at offset {at}: its end does not fit its parts")
            return parts
        start = at + _PART.size
        part = content[start : start + length]
        crc = crc32(part, crc)
        if len(part) != length or crc != found:
            raise Damaged(f"{name} is damaged at offset {at}: part {len(parts)} is not as it was written")
        parts.append(part)
        at = start + length
    raise Damaged(f"{name} is damaged at offset {at}: its end is missing")


def _footer(crc: int, count: int) -> bytes:
    return _FOOTER.pack(_NO_PART, crc32(count.to_bytes(8, "little"), crc), count)


class SnapshotWriter:
    """Writes one snapshot; after `DiskFull` or `DiskFailed` from a step, `abandon` it: nothing else has changed.

    All records below `position` must be safe before `finish`: a snapshot must not be newer than the log on disk.
    """

    def __init__(self, disk: Disk, position: int) -> None:
        self.position = position
        self._disk = disk
        self._new_name = name_of(position) + ".new"
        self._file = disk.create(self._new_name, 0)
        self._offset = 0
        self._synced_to = 0
        self._count = 0
        self._crc = 0
        try:
            self._write(segment.header(MAGIC, position, synced=position))
        except (DiskFull, DiskFailed):
            self.abandon()
            raise

    def put(self, part: bytes) -> None:
        """Add a part."""
        self._crc = crc32(part, self._crc)
        self._count += 1
        self._write(_PART.pack(len(part), self._crc) + part)
        if self._offset - self._synced_to >= SYNC_EVERY_BYTES:
            self._file.sync()
            self._synced_to = self._offset

    def finish(self, *, kept: int = KEPT) -> int:
        """Make it count, and remove all but the newest; the position below which the log may be trimmed.

        On a disk that is full, where the log of an emptied queue must go, `kept` is 1.
        """
        self._write(_footer(self._crc, self._count))
        self._file.sync()
        self._file.close()
        self._disk.rename(self._new_name, name_of(self.position))
        self._disk.sync_names()
        newest = positions(self._disk)
        for position in newest[kept:]:
            self._disk.remove(name_of(position))
        return newest[kept - 1] if len(newest) >= kept else 0

    def abandon(self) -> None:
        """Leave nothing behind."""
        self._file.close()
        if self._new_name in self._disk.names():
            self._disk.remove(self._new_name)

    def _write(self, data: bytes) -> None:
        self._file.write(self._offset, data)
        self._offset += len(data)

"""A segment: one file of the log, its name and its header; and the header that every file of ours begins with.

    magic 8 | format 4 | number 8 | synced 8 | crc 4

These 32 bytes keep their form in every format to come, so that any version can tell a newer one and say so. All records
below `synced` were known to be on disk when the file was made. A segment's number is never used twice in a directory.
"""

from __future__ import annotations

import re
from struct import Struct as Layout
from typing import Final
from zlib import crc32

from headrace.core.errors import Unavailable
from headrace.core.ports import Disk, DiskFailed, DiskFull, File
from headrace.store.frame import FIRST, HEAD_BYTES, parse_head

FORMAT: Final = 1
LOG_MAGIC: Final = b"HEADRLOG"

_FIELDS = Layout("<8sIQQ")
_CRC = Layout("<I")
HEADER_BYTES: Final = _FIELDS.size + _CRC.size
SYNCS_TO_CREATE: Final = 2
"""The file and the names in its directory."""

_NAME = re.compile(r"log-(\d{12})")


def name_of(number: int) -> str:
    return f"log-{number:012}"


def number_of(name: str) -> int | None:
    """The number of a segment, by its name; None for anything else."""
    match = _NAME.fullmatch(name)
    return int(match[1]) if match else None


def numbers(disk: Disk) -> list[int]:
    """The numbers of the segments there, ascending."""
    return sorted(number for number in map(number_of, disk.names()) if number is not None)


def create(disk: Disk, number: int, size_bytes: int, *, synced: int) -> File:
    """A new segment that survives a power cut: only then may a frame go into it. an error leaves none behind."""
    name = name_of(number)
    file = disk.create(name, size_bytes)
    try:
        file.write(0, header(LOG_MAGIC, number, synced=synced))
        file.sync()
        disk.sync_names()
    except (DiskFull, DiskFailed):
        file.close()
        disk.remove(name)
        raise
    return file


def first_position(disk: Disk, number: int) -> int | None:
    """The position of a segment's first record, if its first frame says one."""
    name = name_of(number)
    file = disk.open(name)
    try:
        content = file.read(0, FIRST + HEAD_BYTES)
    finally:
        file.close()
    parse_header(name, content, LOG_MAGIC, number)
    head = parse_head(memoryview(content), number, FIRST)
    return None if head is None else head[4]


def size_of(disk: Disk, number: int) -> int:
    """The bytes of a segment."""
    file = disk.open(name_of(number))
    file.close()
    return file.size_bytes


def header(magic: bytes, number: int, *, synced: int) -> bytes:
    """The first bytes of a file of ours."""
    fields = _FIELDS.pack(magic, FORMAT, number, synced)
    return fields + _CRC.pack(crc32(fields))


def parse_header(name: str, content: bytes, magic: bytes, number: int) -> int | None:
    """The `synced` of a file's header; None when it is not one of ours, `Unavailable` when a newer version wrote it."""
    head = content[:HEADER_BYTES]
    if len(head) < HEADER_BYTES:
        return None
    found_magic, found_format, found_number, synced = _FIELDS.unpack_from(head)
    if crc32(head[: _FIELDS.size]) != _CRC.unpack_from(head, _FIELDS.size)[0] or found_magic != magic:
        return None
    if found_format > FORMAT:
        raise Unavailable(
            f"{name} is of format {found_format} and this version of Headrace reads formats up to {FORMAT}: "
            "open the directory with the version that wrote it, or a newer one"
        )
    return int(synced) if found_number == number else None


def read_all(disk: Disk, name: str) -> bytes:
    """The whole of a file."""
    file = disk.open(name)
    try:
        return file.read(0, file.size_bytes)
    finally:
        file.close()


assert HEADER_BYTES <= FIRST

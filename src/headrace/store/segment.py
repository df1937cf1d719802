"""A segment: one file of the log, its name and its header; and the header that every file of ours begins with.

    magic 8 | format 4 | number 8 | crc 4

The first 24 bytes keep this form in every format to come, so that any version can tell a newer one and say so. A
segment's number is never used twice in a directory.
"""

from __future__ import annotations

import re
from struct import Struct as Layout
from typing import Final
from zlib import crc32

from headrace.core.errors import Unavailable
from headrace.core.ports import Disk, File
from headrace.store.frame import FIRST

FORMAT: Final = 1
LOG_MAGIC: Final = b"HEADRLOG"

_FIELDS = Layout("<8sIQ")
_CRC = Layout("<I")
HEADER_BYTES: Final = _FIELDS.size + _CRC.size

_NAME = re.compile(r"log-(\d{12})")


def name_of(number: int) -> str:
    return f"log-{number:012}"


def numbers(disk: Disk) -> list[int]:
    """The numbers of the segments there, ascending."""
    return sorted(int(match[1]) for match in map(_NAME.fullmatch, disk.names()) if match)


def create(disk: Disk, number: int, size_bytes: int) -> File:
    """A new segment that survives a power cut: only then may a frame go into it. `DiskFull` leaves none behind."""
    name = name_of(number)
    file = disk.create(name, size_bytes)
    file.write(0, header(LOG_MAGIC, number))
    file.sync()
    disk.sync_names()
    return file


def header(magic: bytes, number: int) -> bytes:
    """The first bytes of a file of ours."""
    fields = _FIELDS.pack(magic, FORMAT, number)
    return fields + _CRC.pack(crc32(fields))


def check_header(name: str, content: bytes, magic: bytes, number: int) -> bool:
    """Whether a file begins as it should; `Unavailable` when a newer version wrote it."""
    head = content[:HEADER_BYTES]
    if len(head) < HEADER_BYTES:
        return False
    found_magic, found_format, found_number = _FIELDS.unpack_from(head)
    if crc32(head[: _FIELDS.size]) != _CRC.unpack_from(head, _FIELDS.size)[0] or found_magic != magic:
        return False
    if found_format > FORMAT:
        raise Unavailable(
            f"{name} is of format {found_format} and this version of Headrace reads formats up to {FORMAT}: "
            "open the directory with the version that wrote it, or a newer one"
        )
    return bool(found_number == number)


def read_all(disk: Disk, name: str) -> bytes:
    """The whole of a file."""
    file = disk.open(name)
    try:
        return file.read(0, file.size_bytes)
    finally:
        file.close()


assert HEADER_BYTES <= FIRST

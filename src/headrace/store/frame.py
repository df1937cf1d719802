"""A frame: one commit group as bytes in a segment of the log.

    magic 4 | length 4 | payload crc 4 | count 4 | position 8 | synced 8 | header crc 4 | payload

Little-endian. A frame begins at a multiple of 64 bytes, in a segment that held zeros. Both checksums are seeded by the
segment's number and the offset, so that bytes left over from elsewhere are never taken for a frame. `position` is that
of the first of `count` records; all records below `synced` were known to be on disk when the frame was written. A
*marker* has no records and only says that. A *gap* stands where `repair` took damaged frames away: its records are
missing, and known to be.

This module knows bytes; which frames count is recovery's to say.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct as Layout
from typing import Final, NamedTuple
from zlib import crc32

ALIGNMENT: Final = 64
FIRST: Final = 64
"""Where the first frame of a segment begins, after the segment's own header."""

_ZEROS: Final = bytes(1 << 16)
_PREFIX: Final = b"HRf"
GROUP: Final = _PREFIX + b"r"
GAP: Final = _PREFIX + b"g"

_FIELDS = Layout("<4sIIIQQ")
_CRC = Layout("<I")
_pack_fields = _FIELDS.pack
_pack_crc = _CRC.pack
_unpack_head = Layout("<4sIIIQQI").unpack_from
_FIELDS_BYTES: Final = _FIELDS.size
HEAD_BYTES: Final = _FIELDS_BYTES + _CRC.size


class Frame(NamedTuple):
    """A frame that is whole, and what its header says."""

    offset: int
    after: int
    """Where the next frame may begin."""
    position: int
    end: int
    """The position after its last record."""
    synced: int
    payload: memoryview
    is_gap: bool

    @property
    def records(self) -> int:
        """How many records it stands for."""
        return self.end - self.position


class Bad(NamedTuple):
    """A range of a segment that is no frame, before the next frame or the end."""

    offset: int
    after: int
    synced: int
    """The highest `synced` of the headers that are whole in it, though their payload is not."""
    is_blank: bool
    """Whether it is all zeros: what was here never reached the disk."""


def seed_of(segment: int, offset: int) -> int:
    """What the checksums of a frame start from."""
    return (segment * 0x9E3779B1 + offset) & 0xFFFFFFFF


def aligned(offset: int) -> int:
    """The first offset from here on at which a frame may begin."""
    return (offset + ALIGNMENT - 1) & -ALIGNMENT


def pack(
    segment: int, offset: int, position: int, count: int, synced: int, payload: bytes, magic: bytes = GROUP
) -> bytes:
    """The bytes of a frame for its place in the log."""
    seed = (segment * 0x9E3779B1 + offset) & 0xFFFFFFFF  # `seed_of`, without the call
    fields = _pack_fields(magic, len(payload), crc32(payload, seed), count, position, synced)
    return fields + _pack_crc(crc32(fields, seed)) + payload


def parse(content: memoryview, segment: int, offset: int) -> Frame | None:
    """The frame at `offset`, if a whole one is there."""
    head = parse_head(content, segment, offset)
    if head is None:
        return None
    magic, length, crc, count, position, synced, _ = head
    start = offset + HEAD_BYTES
    end = start + length
    payload = content[start:end]
    if crc32(payload, seed_of(segment, offset)) != crc or end > len(content):
        return None
    return Frame(offset, aligned(end), position, position + count, synced, payload, magic == GAP)


def walk(content: bytes, segment: int) -> Iterator[Frame | Bad]:
    """The frames of a segment in order, and the bad ranges between and after them; zeros to the end are not bad."""
    view = memoryview(content)
    offset = FIRST
    while offset < len(content):
        frame = parse(view, segment, offset)
        if frame is None:
            if _is_blank(content, offset, len(content)):
                return
            after, synced = _scan(content, view, segment, offset)
            yield Bad(offset, after, synced, _is_blank(content, offset, after))
            offset = after
        else:
            yield frame
            offset = frame.after


def parse_head(content: memoryview, segment: int, offset: int) -> tuple[bytes, int, int, int, int, int, int] | None:
    """Magic, length, crc, count, position, synced and own crc of a header that is whole, whatever its payload is."""
    if offset + HEAD_BYTES > len(content):
        return None
    head = _unpack_head(content, offset)
    if head[0] != GROUP and head[0] != GAP:
        return None
    if crc32(content[offset : offset + _FIELDS_BYTES], seed_of(segment, offset)) != head[6]:
        return None
    return head


def _is_blank(content: bytes, offset: int, after: int) -> bool:
    """Whether a range is all zeros."""
    whole = (after - offset) // len(_ZEROS) * len(_ZEROS) + offset
    return all(content[at : at + len(_ZEROS)] == _ZEROS for at in range(offset, whole, len(_ZEROS))) and (
        content[whole:after] == bytes(after - whole)
    )


def _scan(content: bytes, view: memoryview, segment: int, offset: int) -> tuple[int, int]:
    """Where the next whole frame after a bad place is, or the end; and the highest mark of broken ones before it."""
    synced = 0
    at = offset
    while at >= 0:
        beyond = at + 1
        if at % ALIGNMENT == 0:
            head = parse_head(view, segment, at)
            if head is not None:
                if at > offset and parse(view, segment, at) is not None:
                    return at, synced
                synced = max(synced, head[5])
                beyond = at + HEAD_BYTES + head[1]  # what looks like a frame within a payload is none
        at = content.find(_PREFIX, beyond)
    return len(content), synced

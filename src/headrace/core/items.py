"""An item, the one encoding it has everywhere, and the entry that stands for it in a queue.

A client encodes an item once; the command, the log record, the snapshot and the queue in memory all carry those
bytes. The encoding begins with the priority, biased so that byte order is numeric order:

    priority 8 | id 16 | flags 1 | [extras length 2 | extras] | body

A queued item is an *entry*: the same bytes with its place in line and the time of its add put in, so that comparing
two entries as bytes compares `(priority, seq)`:

    priority 8 | seq 8 | added 8 | id 16 | flags 1 | [extras length 2 | extras] | body

Extras (key, headers, due, expires) are rare and cost nothing when absent.
"""

from __future__ import annotations

import datetime as dt
import uuid
from binascii import hexlify
from collections.abc import Mapping
from struct import Struct as Layout
from typing import Any, Final

import msgspec

from headrace.core.errors import Invalid
from headrace.core.limits import PRIORITY_MAX, PRIORITY_MIN, US, Limits, check_seconds, check_text

BIAS: Final = 1 << 63
EXTRAS: Final = 1

ITEM_ID: Final = slice(8, 24)
ITEM_FLAGS: Final = 24
ITEM_HEAD: Final = 25

ENTRY_ID: Final = slice(24, 40)
ENTRY_FLAGS: Final = 40
ENTRY_HEAD: Final = 41

_PLAIN_HEAD = Layout(">Q16sx")
_PLACE = Layout(">QQ")
_LENGTH = Layout(">H")
_pack_plain_head = _PLAIN_HEAD.pack
_pack_place = _PLACE.pack
_id_parts = Layout("8s4s4s4s12s").unpack


class Extras(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    """The rare parts of an item."""

    key: str | None = None
    headers: dict[str, str] | None = None
    due_us: int = 0
    """The wall-clock instant before which the item is not handed out; 0 is at once."""
    expires_us: int = 0
    """The wall-clock instant after which the item is worthless; 0 is never."""


NO_EXTRAS: Final = Extras()
_extras_encoder = msgspec.msgpack.Encoder()
_extras_decoder = msgspec.msgpack.Decoder(Extras)


class _Body(msgspec.Struct, frozen=True):
    body: bytes


class Item(_Body, frozen=True, kw_only=True):
    """What a producer adds: `Item(b"cat.png", priority=3)`.

    `body` is bytes and is never unpickled. A lower `priority` is more urgent. `key` is the caller's own dedupe.
    `delay` and `expires` are seconds from the add, `not_before` an aware datetime.
    """

    priority: int = 0
    key: str | None = None
    headers: Mapping[str, str] | None = None
    delay: float | None = None
    not_before: dt.datetime | None = None
    expires: float | None = None
    id: str | None = None


def encode_plain(body: bytes, priority: int, item_id: bytes, limits: Limits) -> bytes:
    """The encoding of an item without extras; `Invalid` names what is wrong with it."""
    if type(body) is not bytes:
        body = _as_bytes(body)
    if len(body) > limits.body_bytes:
        raise Invalid(
            f"the body has {len(body):,} bytes, more than the limit of {limits.body_bytes:,}: "
            "store it elsewhere and add its path or URL"
        )
    if type(priority) is not int or not PRIORITY_MIN <= priority <= PRIORITY_MAX:
        raise Invalid(f"priority must be a whole number from -2**63 to 2**63-1; it is {priority!r}")
    return _pack_plain_head(priority + BIAS, item_id) + body


def encode_bodies(bodies: list[bytes], ids: list[bytes]) -> list[bytes]:
    """As `encode_plain` for many at priority 0, whose types and sizes have been checked."""
    return [_pack_plain_head(BIAS, item_id) + body for body, item_id in zip(bodies, ids, strict=True)]


def encode_item(item: Item, item_id: bytes, wall_us: int, limits: Limits) -> bytes:
    """The encoding of `item`, added at `wall_us`; `Invalid` names what is wrong with it."""
    extras = _extras_of(item, wall_us, limits)
    if item.id is not None:
        item_id = parse_id(item.id)
    plain = encode_plain(item.body, item.priority, item_id, limits)
    if extras is None:
        return plain
    packed = _extras_encoder.encode(extras)
    return b"".join((plain[:ITEM_FLAGS], bytes((EXTRAS,)), _LENGTH.pack(len(packed)), packed, plain[ITEM_HEAD:]))


def check_encoded(encoded: bytes, limits: Limits) -> None:
    """`Invalid` when bytes that came from elsewhere are not an encoded item within the limits."""
    if len(encoded) < ITEM_HEAD or encoded[ITEM_FLAGS] > EXTRAS:
        raise Invalid("an item is not encoded as this version encodes items: bring client and node to one version")
    head = ITEM_HEAD
    if encoded[ITEM_FLAGS]:
        head = _extras_end(encoded, ITEM_HEAD)
        if head > len(encoded):
            raise Invalid("an item is cut short: its extras end beyond it")
        try:
            extras = _extras_decoder.decode(encoded[ITEM_HEAD + 2 : head])
        except msgspec.DecodeError as error:
            raise Invalid(f"an item's extras cannot be read: {error}") from error
        _check_key(extras.key, limits)
    if len(encoded) - head > limits.body_bytes:
        raise Invalid(f"a body has {len(encoded) - head:,} bytes, more than the limit of {limits.body_bytes:,}")


def item_extras(encoded: bytes) -> Extras:
    """The extras of an encoded item."""
    if not encoded[ITEM_FLAGS]:
        return NO_EXTRAS
    return _extras_decoder.decode(encoded[ITEM_HEAD + 2 : _extras_end(encoded, ITEM_HEAD)])


def entry_of(item: bytes, seq: int, added_us: int) -> bytes:
    """The entry of an item that takes the place `seq`."""
    return item[:8] + _pack_place(seq, added_us) + item[8:]


def entries_of(items: list[bytes], first_seq: int, added_us: int) -> list[bytes]:
    """The entries of items that take the places from `first_seq` on, in their order."""
    return [item[:8] + _pack_place(seq, added_us) + item[8:] for seq, item in enumerate(items, first_seq)]


def entry_priority(entry: bytes) -> int:
    return int.from_bytes(entry[:8], "big") - BIAS


def entry_seq(entry: bytes) -> int:
    return int.from_bytes(entry[8:16], "big")


def entry_added_us(entry: bytes) -> int:
    return int.from_bytes(entry[16:24], "big")


def entry_extras(entry: bytes) -> Extras:
    if not entry[ENTRY_FLAGS]:
        return NO_EXTRAS
    return _extras_decoder.decode(entry[ENTRY_HEAD + 2 : _extras_end(entry, ENTRY_HEAD)])


def entry_body(entry: bytes) -> bytes:
    return entry[entry_head(entry) :]


def entry_head(entry: bytes) -> int:
    """Where the body begins."""
    return _extras_end(entry, ENTRY_HEAD) if entry[ENTRY_FLAGS] else ENTRY_HEAD


def parse_id(text: object) -> bytes:
    """The 16 bytes of an item's id."""
    if type(text) is str:
        try:
            return uuid.UUID(text).bytes
        except ValueError:
            pass
    raise Invalid(f"{text!r} is not an item's id: ids are UUIDs, such as 01890a5d-ac96-774b-bcce-b302099a8057")


def show_id(raw: bytes) -> str:
    """An id as people see it."""
    return b"-".join(_id_parts(hexlify(raw))).decode()


def _extras_end(data: bytes, at: int) -> int:
    return at + 2 + int.from_bytes(data[at : at + 2], "big")


def _as_bytes(body: Any) -> bytes:
    if isinstance(body, bytes | bytearray | memoryview):
        return bytes(body)
    hint = "encode it, for example body.encode()" if isinstance(body, str) else "serialize it first"
    raise Invalid(f"a body is bytes, not {type(body).__name__}: {hint}")


def _check_key(key: object, limits: Limits) -> None:
    if key is None:
        return
    if type(key) is not str or not key:
        raise Invalid(f"a key is a string of at least one character; it is {key!r}")
    size_bytes = len(check_text("the key", key).encode())
    if size_bytes > limits.key_bytes:
        raise Invalid(f"the key has {size_bytes:,} bytes, more than the limit of {limits.key_bytes:,}")


def _check_headers(headers: Mapping[str, str], limits: Limits) -> dict[str, str]:
    if not isinstance(headers, Mapping):
        raise Invalid(f"headers are a mapping of strings to strings, not {type(headers).__name__}")
    size_bytes = 0
    for name, value in headers.items():
        size_bytes += len(check_text("a header", name).encode()) + len(check_text("a header", value).encode())
    if size_bytes > limits.headers_bytes:
        raise Invalid(f"the headers have {size_bytes:,} bytes, more than the limit of {limits.headers_bytes:,}")
    return dict(headers)


def _extras_of(item: Item, wall_us: int, limits: Limits) -> Extras | None:
    if (
        item.key is None
        and item.headers is None
        and item.delay is None
        and item.not_before is None
        and item.expires is None
    ):
        return None
    _check_key(item.key, limits)
    headers = _check_headers(item.headers, limits) if item.headers else None
    due_us = expires_us = 0
    if item.delay is not None and item.not_before is not None:
        raise Invalid("an item has either delay or not_before, not both")
    if item.delay is not None:
        due_us = wall_us + check_seconds("delay", item.delay)
    elif item.not_before is not None:
        due_us = _instant_us(item.not_before)
    if item.expires is not None:
        expires_us = wall_us + check_seconds("expires", item.expires)
    return Extras(key=item.key, headers=headers, due_us=due_us, expires_us=expires_us)


def _instant_us(instant: object) -> int:
    if not isinstance(instant, dt.datetime) or instant.tzinfo is None:
        raise Invalid(
            f"not_before is a datetime with a time zone, such as datetime.now(timezone.utc); it is {instant!r}"
        )
    return max(0, round(instant.timestamp() * US))

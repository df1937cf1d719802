"""Every bound of the node, by name. The simulator draws smaller ones to meet the edges sooner."""

from __future__ import annotations

import functools
import re
from typing import Final

import msgspec

from headrace.core.errors import Invalid

US: Final = 1_000_000
"""Microseconds a second: inside, all times are integers of microseconds."""

MIB: Final = 1 << 20

PRIORITY_MIN: Final = -(1 << 63)
PRIORITY_MAX: Final = (1 << 63) - 1

COUNT_MAX: Final = 10**15
LONGEST_SECONDS: Final = 10 * 366 * 86400
"""The largest bound that can be set."""

SHORTEST_LEASE_SECONDS: Final = 0.001

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The bounds of one node."""

    body_bytes: int = MIB
    """The largest body of an item; larger ones go by reference."""
    headers_bytes: int = 8 << 10
    """The headers of one item, encoded."""
    key_bytes: int = 512
    """A dedupe key, encoded."""
    frame_bytes: int = 16 * MIB
    """What one request may carry."""
    reason_chars: int = 500
    """The reason a worker gives when it aborts; longer ones are cut."""
    story_length: int = 20
    """How many leases of an item are remembered with their ends."""
    session_silence_us: int = 24 * 3600 * US
    """A session silent for so long is forgotten."""
    name_us: int = 24 * 3600 * US
    """How long a named pop holds its items."""
    names: int = 100_000
    """How many names of pops a queue remembers; the oldest settled ones go first."""
    late_us: int = US
    """A wake-up later than this is our own stall: its lateness does not count against leases."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            check_count(name, getattr(self, name), most=COUNT_MAX)


class QueueSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What can be set on a queue; durable, part of the fold."""

    capacity_items: int | None = None
    """The most items queued and leased; None is no bound."""
    capacity_bytes: int | None = None
    """The most bytes of bodies queued and leased; None is no bound."""
    lease_seconds: float = 60.0
    """How long a lease lasts unless the pop says otherwise."""
    max_attempts: int = 20
    """After so many failed attempts an item is dead."""
    max_crashes: int = 3
    """After so many crashes of its workers an item is dead."""
    dead_items: int = 100_000
    """The most dead items; further ones stay queued but held."""
    keep_expired: bool = False
    """Whether an item past its `expires` becomes dead instead of being dropped."""
    key_seconds: float = 3600.0
    """How long a dedupe key is remembered."""
    key_count: int = 100_000
    """How many dedupe keys are remembered."""
    paused: bool = False
    """Whether pops wait, or are answered `Paused`."""

    def __post_init__(self) -> None:
        for name in ("capacity_items", "capacity_bytes"):
            if getattr(self, name) is not None:
                check_count(name, getattr(self, name), most=COUNT_MAX)
        for name in ("lease_seconds", "key_seconds"):
            check_seconds(name, getattr(self, name), least=SHORTEST_LEASE_SECONDS)
        for name in ("max_attempts", "max_crashes", "dead_items", "key_count"):
            check_count(name, getattr(self, name), most=COUNT_MAX)


@functools.lru_cache(maxsize=4096)
def _is_queue_name(name: str) -> bool:
    return _NAME.fullmatch(name) is not None


def check_queue_name(name: object) -> str:
    """`name`, or `Invalid` with what is wrong with it."""
    if type(name) is str and _is_queue_name(name):
        return name
    shown = ascii(name) if isinstance(name, str | bytes) else repr(name)
    if len(shown) > 60:
        shown = shown[:57] + "..."
    raise Invalid(
        f"{shown} cannot be a queue's name: use 1 to 200 ASCII letters, digits, '.', '_' or '-', "
        "beginning with a letter or a digit"
    )


def check_count(name: str, value: object, *, least: int = 1, most: int = 1_000_000) -> int:
    """`value` as a whole number within its bounds, or `Invalid`."""
    if type(value) is int and least <= value <= most:
        return value
    raise Invalid(f"{name} must be a whole number from {least} to {most:,}; it is {value!r}")


def check_text(name: str, value: object) -> str:
    """`value` as a string that can be encoded, or `Invalid`."""
    if type(value) is not str:
        raise Invalid(f"{name} is a string; it is {value!r}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise Invalid(f"{name} {value!r} holds a lone surrogate, which is not text") from None
    return value


def check_seconds(name: str, value: object, *, least: float = 0.0) -> int:
    """Seconds given by a caller, as microseconds, or `Invalid`."""
    if isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= LONGEST_SECONDS:
        return round(value * US)
    raise Invalid(f"{name} must be a number of seconds from {least:g} to ten years; it is {value!r}")

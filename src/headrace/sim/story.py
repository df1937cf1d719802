"""Requests, answers and records in the words of a story: items by their numbers, and only what is not as usual.

The ids of the simulator are small numbers, so `item 7` says more than its bytes.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from headrace.core.items import ENTRY_ID, ITEM_ID

UNTOLD: Final = frozenset({"at_us", "answered", "session", "number"})
"""Fields that the line tells already, or that no reader misses."""
ENTRIES: Final = frozenset({"entries", "entry"})


def show(value: Any, field: str = "") -> str:
    """A value of `core`, short."""
    if isinstance(value, msgspec.Struct):
        return f"{type(value).__name__}({', '.join(_fields(value))})"
    if isinstance(value, bytes):
        return _show_bytes(value, field)
    if isinstance(value, list | tuple):
        return "[" + ", ".join(show(part, field) for part in value) + "]"
    if field == "epoch":
        return f"…{value % 10_000:04}"
    return repr(value)


def _fields(struct: msgspec.Struct) -> list[str]:
    """The fields that are not as they usually are."""
    told = []
    for field in msgspec.structs.fields(struct):
        value = getattr(struct, field.name)
        default = field.default_factory() if callable(field.default_factory) else field.default
        if field.name not in UNTOLD and value != default:
            told.append(f"{field.name}={show(value, field.name)}")
    return told


def _show_bytes(value: bytes, field: str) -> str:
    if field in ENTRIES:
        return _show_item(value[ENTRY_ID])
    if len(value) == 16:
        return _show_item(value)
    if field in ("items", "added"):
        return _show_item(value[ITEM_ID])
    return value.decode(errors="replace")


def _show_item(item_id: bytes) -> str:
    return f"item {int.from_bytes(item_id, 'big')}"

"""Entries by place, as recovery gathers them before anything is ordered.

Pages of 256 places: within a page the keys are numbers that the interpreter has once and for all, so that a million
entries leave no million keys behind, which would lie between the entries and keep their memory from being given back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from headrace.core.items import entry_seq

PAGE_BITS: Final = 8
SLOTS: Final = 1 << PAGE_BITS


class Loaded:
    """A mapping from places to entries."""

    __slots__ = ("_pages",)

    def __init__(self) -> None:
        self._pages: dict[int, dict[int, bytes]] = {}

    def put(self, seq: int, entry: bytes) -> None:
        page = self._pages.get(seq >> PAGE_BITS)
        if page is None:
            page = self._pages[seq >> PAGE_BITS] = {}
        page[seq & (SLOTS - 1)] = entry

    def put_all(self, entries: Iterable[bytes]) -> None:
        for entry in entries:
            self.put(entry_seq(entry), entry)

    def pop(self, seq: int) -> bytes:
        """Remove the entry with this place, which must be there."""
        page = self._pages[seq >> PAGE_BITS]
        entry = page.pop(seq & (SLOTS - 1))
        if not page:
            del self._pages[seq >> PAGE_BITS]
        return entry

    def __contains__(self, seq: int) -> bool:
        return seq & (SLOTS - 1) in self._pages.get(seq >> PAGE_BITS, ())

    def __len__(self) -> int:
        return sum(map(len, self._pages.values()))

    def __iter__(self) -> Iterator[bytes]:
        """The entries, in no order."""
        for page in self._pages.values():
            yield from page.values()

"""The items of one queue that can be handed out, in order: a small heap and sorted runs.

Entries compare as bytes by `(priority, seq)`, so the order needs no objects beside them. What arrives in order (the
common case: equal priorities) extends a tail run; anything else goes through a small hot heap, which is sorted into a
run when it is full. Runs are never changed once sealed: taking from one moves its cursor, and what is removed from a
middle is remembered as a tombstone until it comes up. So a snapshot can keep a run by reference and write it at
leisure.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from heapq import heapify, heappop, heappush, heapreplace, merge, nsmallest
from itertools import islice
from typing import Final

from headrace.core.items import entry_seq

HOT_MAX: Final = 4096
RUN_MAX: Final = 32768
"""Merging two runs of half this size is the longest pause an add can meet: about 2 ms."""
TRIM_AT: Final = 4096


class Run:
    """A sorted list of entries, taken from the front."""

    __slots__ = ("_oldest", "_oldest_at", "cursor", "entries")

    def __init__(self, entries: list[bytes]) -> None:
        self.entries = entries
        self.cursor = 0
        self._oldest = b""
        self._oldest_at = (-1, -1)

    def oldest(self) -> bytes:
        """The place and the time of add of the entry that was added first, as they stand in it."""
        at = self.cursor, len(self.entries)
        if at != self._oldest_at:
            self._oldest = min(entry[8:24] for entry in self.entries[self.cursor :])
            self._oldest_at = at
        return self._oldest

    def __len__(self) -> int:
        return len(self.entries) - self.cursor

    def advance(self, count: int) -> None:
        """Move past `count` entries, and let go of them in a fresh list when they are many."""
        self.cursor += count
        if self.cursor >= TRIM_AT and self.cursor * 2 >= len(self.entries):
            self.entries = self.entries[self.cursor :]
            self.cursor = 0


class Ready:
    """An ordered set of entries."""

    __slots__ = ("_gone", "_heads", "_hot", "_sealed", "_size", "_tail")

    def __init__(self) -> None:
        self._hot: list[bytes] = []
        self._tail = Run([])
        self._sealed: list[Run] = []
        self._heads: list[tuple[bytes, int]] = []
        self._gone: set[int] = set()
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[bytes]:
        """All entries, in no order."""
        gone = self._gone
        for part in self.parts():
            for entry in part:
                if not gone or entry_seq(entry) not in gone:
                    yield entry

    @classmethod
    def of_sorted(cls, entries: list[bytes]) -> Ready:
        """A set with these entries, which must be in order."""
        ready = cls()
        ready._size = len(entries)
        for start in range(0, len(entries), RUN_MAX):
            ready._add_run(entries[start : start + RUN_MAX])
        return ready

    def parts(self) -> list[list[bytes]]:
        """The entries as they lie, tombstones and all: sealed runs by reference, the rest as copies."""
        parts = [run.entries if not run.cursor else run.entries[run.cursor :] for run in self._sealed]
        parts.append(self._tail.entries[self._tail.cursor :])
        parts.append(self._hot.copy())
        return [part for part in parts if part]

    def tombstones(self) -> set[int]:
        """A copy of the places that are no longer held, though a part may still list them."""
        return self._gone.copy()

    def push(self, entry: bytes) -> None:
        self._size += 1
        if self._gone and (seq := entry_seq(entry)) in self._gone:
            self._gone.discard(seq)  # it still lies where it was
            return
        tail = self._tail.entries
        if not tail or entry > tail[-1]:
            if len(tail) >= RUN_MAX:
                self._seal_tail()
                tail = self._tail.entries
            tail.append(entry)
            return
        heappush(self._hot, entry)
        if len(self._hot) > HOT_MAX:
            self._seal_hot()

    def push_many(self, entries: list[bytes]) -> None:
        """Push entries; sorts the list it is given."""
        if len(entries) > 1:
            entries.sort()
        elif entries:
            self.push(entries[0])
            return
        else:
            return
        tail = self._tail.entries
        if (not tail or entries[0] > tail[-1]) and not self._gone:
            if len(tail) >= RUN_MAX:
                self._seal_tail()
                tail = self._tail.entries
            tail += entries
            self._size += len(entries)
            return
        for entry in entries:
            self.push(entry)

    def top(self) -> bytes | None:
        """The most urgent entry."""
        if not self._size:
            return None
        if self._gone:
            self._drop_gone_heads()
        return self._least()[0]

    def take(self, count: int, bound: bytes | None = None) -> list[bytes]:
        """Remove and return the most urgent entries, at most `count`, none at or above `bound`."""
        if not (self._gone or self._hot or self._heads) and bound is None:
            return self._take_in_order(count)
        taken: list[bytes] = []
        while count > len(taken) and self._size:
            if self._gone:
                self._drop_gone_heads()
                if not self._size:
                    break
            least, source, limit = self._least()
            if bound is not None:
                if least >= bound:
                    break
                if limit is None or bound < limit:
                    limit = bound
            chunk = self._take_from(source, 1 if self._gone else count - len(taken), limit)
            self._size -= len(chunk)
            taken += chunk
        return taken

    def _take_in_order(self, count: int) -> list[bytes]:
        """As `take`, when all that is held lies in the tail run."""
        tail = self._tail
        start = tail.cursor
        taken = tail.entries[start : start + count]
        self._size -= len(taken)
        if self._size:
            tail.advance(len(taken))
        else:
            tail.entries.clear()
            tail.cursor = 0
        return taken

    def peek(self, count: int) -> list[bytes]:
        """The most urgent entries, at most `count`, left where they are."""
        if count == 1 and not self._gone:
            return [self._least()[0]] if self._size else []
        wanted = count + len(self._gone)
        tail = self._tail
        sources = [run.entries[run.cursor : run.cursor + wanted] for run in self._sealed]
        sources.append(tail.entries[tail.cursor : tail.cursor + wanted])
        sources.append(nsmallest(wanted, self._hot))
        gone = self._gone
        return list(islice((entry for entry in merge(*sources) if entry_seq(entry) not in gone), count))

    def oldest_us(self) -> int:
        """When the entry that was added first was added; 0 when there is none. Tombstones may still count."""
        places = [run.oldest() for run in (*self._sealed, self._tail) if run]
        places += [entry[8:24] for entry in self._hot]
        return int.from_bytes(min(places)[8:], "big") if places and self._size else 0

    def discard(self, seq: int) -> None:
        """Forget the entry with this place, which must be held."""
        self._gone.add(seq)
        self._size -= 1

    def ahead_of(self, entry: bytes) -> int:
        """How many entries are more urgent than `entry`."""
        if self._gone:
            return sum(1 for other in self if other < entry)
        count = sum(1 for other in self._hot if other < entry)
        for run in (*self._sealed, self._tail):
            count += bisect_left(run.entries, entry, run.cursor) - run.cursor
        return count

    # -- where the least entry is ----------------------------------------------------------------------------------

    _HOT: Final = -1
    _TAIL: Final = -2

    def _least(self) -> tuple[bytes, int, bytes | None]:
        """The least entry, its source, and the least entry of all other sources."""
        least: bytes | None = None
        limit: bytes | None = None
        source = self._HOT
        if self._hot:
            least = self._hot[0]
        tail = self._tail
        if tail.cursor < len(tail.entries):
            head = tail.entries[tail.cursor]
            if least is None or head < least:
                least, limit, source = head, least, self._TAIL
            else:
                limit = head
        heads = self._heads
        if heads:
            head, index = heads[0]
            if least is None or head < least:
                least, limit, source = head, least, index
                for second, _ in heads[1:3]:
                    if limit is None or second < limit:
                        limit = second
            elif limit is None or head < limit:
                limit = head
        assert least is not None
        return least, source, limit

    def _take_from(self, source: int, count: int, limit: bytes | None) -> list[bytes]:
        """Up to `count` entries below `limit` from one source; at least one."""
        if source == self._HOT:
            hot = self._hot
            chunk = [heappop(hot)]
            while len(chunk) < count and hot and (limit is None or hot[0] < limit):
                chunk.append(heappop(hot))
            return chunk
        run = self._tail if source == self._TAIL else self._sealed[source]
        entries, start = run.entries, run.cursor
        stop = min(start + count, len(entries))
        if limit is not None and entries[stop - 1] >= limit:
            stop = bisect_left(entries, limit, start, stop)
        chunk = entries[start:stop]
        run.advance(len(chunk))
        if source == self._TAIL:
            if run.cursor == len(run.entries):
                run.entries.clear()
                run.cursor = 0
        elif run.cursor < len(run.entries):
            head = run.entries[run.cursor]
            if limit is not None and head < limit:  # still before all others
                self._heads[0] = head, source
            else:
                heapreplace(self._heads, (head, source))
        else:
            self._retire(source)
        return chunk

    def _drop_gone_heads(self) -> None:
        gone = self._gone
        while gone and (self._hot or self._tail or self._heads):
            least, source, _ = self._least()
            seq = entry_seq(least)
            if seq not in gone:
                return
            gone.discard(seq)
            self._take_from(source, 1, None)

    # -- runs ------------------------------------------------------------------------------------------------------

    def _seal_tail(self) -> None:
        entries = self._tail.entries[self._tail.cursor :]
        self._tail = Run([])
        if entries:
            self._add_run(entries)

    def _seal_hot(self) -> None:
        """Sort the hot heap into a run, merged with the last ones while they are no longer than it."""
        entries = sorted(self._hot)
        self._hot = []
        merged = False
        while self._sealed and len(self._sealed[-1]) <= len(entries) <= RUN_MAX // 2:
            run = self._sealed.pop()
            entries = sorted(run.entries[run.cursor :] + entries)
            merged = True
        self._add_run(entries)
        if merged:
            self._rebuild_heads()

    def _add_run(self, entries: list[bytes]) -> None:
        self._sealed.append(Run(entries))
        heappush(self._heads, (entries[0], len(self._sealed) - 1))

    def _retire(self, source: int) -> None:
        heappop(self._heads)
        del self._sealed[source]
        self._rebuild_heads()

    def _rebuild_heads(self) -> None:
        self._heads = [(run.entries[run.cursor], index) for index, run in enumerate(self._sealed)]
        heapify(self._heads)

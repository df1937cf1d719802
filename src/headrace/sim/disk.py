"""A disk in memory that tears, forgets, fills up and fails, as the `Disk` port.

Each file has two contents: `seen`, which the process reads, and `kept`, which is on the platter. Writes change what is
seen; a sync carries it over. `after_power_cut` gives the disk that a machine finds when it comes back: of what was not
synced any part may be there, by sectors, up to a byte of a write, in any order; names not synced may be missing; a file
never synced may hold what a removed one held. `after_process_death` gives the disk with all that was written.

Every call is a numbered fault point. At the point `crash_at` the call is done in part, or wholly, or not, and `Crash`
unwinds whoever called. `fired` counts each fault that happened.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Final

from headrace.core.ports import DiskFailed, DiskFull

SECTOR_BYTES: Final = 64
"""Smaller than any real sector, so that frames tear within."""
FREED_KEPT: Final = 8
"""How many contents of removed files may show again."""


class Crash(BaseException):
    """The process dies here. Not an `Exception`: nothing may catch it and go on."""


@dataclass(frozen=True, slots=True)
class DiskFaults:
    """How often a call meets each fault, from 0 to 1."""

    write_error: float = 0.0
    """A write fails and leaves nothing."""
    short_write: float = 0.0
    """A write fails and leaves a part."""
    sync_error: float = 0.0
    """A sync fails; what it should have kept is seen, is not on the platter, and no later sync will put it there."""
    create_error: float = 0.0
    """A file cannot be created."""


NO_FAULTS: Final = DiskFaults()


@dataclass(slots=True, eq=False)
class _Content:
    """What a file holds."""

    seen: bytearray
    kept: bytearray
    unsynced: list[tuple[int, int]] = field(default_factory=list)
    """Ranges written since the last sync, in their order."""
    is_cut: bool = False
    """Whether it was truncated since the last sync."""
    was_synced: bool = False


class SimFile:
    """The `File` port."""

    def __init__(self, disk: SimDisk, name: str, content: _Content) -> None:
        self._disk = disk
        self._name = name
        self._content = content

    @property
    def size_bytes(self) -> int:
        return len(self._content.seen)

    def read(self, offset: int, length: int) -> bytes:
        self._disk.step(f"a read of {self._name}")
        return bytes(self._content.seen[offset : offset + length])

    def write(self, offset: int, data: bytes) -> None:
        disk = self._disk
        content = self._content
        assert offset <= len(content.seen), "a write begins within the file or at its end"
        grown_bytes = offset + len(data) - len(content.seen)
        if grown_bytes > 0:
            disk.take_room(grown_bytes, f"to write {self._name}")
        if disk.dies():
            torn_at = disk.draw_tear(len(data))
            self._put(offset, data[:torn_at])
            raise Crash(f"in a write to {self._name}, after {torn_at} of {len(data)} bytes")
        if disk.draws("write_error"):
            raise DiskFailed(f"cannot write {self._name}: input/output error")
        if disk.draws("short_write"):
            self._put(offset, data[: disk.rng.randrange(1, max(2, len(data)))])
            raise DiskFailed(f"cannot write {self._name}: it was written in part")
        self._put(offset, data)

    def sync(self) -> None:
        disk = self._disk
        content = self._content
        disk.step(f"a sync of {self._name}", self._keep)
        if disk.draws("sync_error"):
            content.unsynced.clear()
            raise DiskFailed(f"cannot sync {self._name}: input/output error")
        self._keep()

    def truncate(self, size_bytes: int) -> None:
        self._disk.step(f"a truncation of {self._name}", lambda: self._cut(size_bytes))
        self._cut(size_bytes)

    def close(self) -> None:
        pass

    def _put(self, offset: int, data: bytes) -> None:
        self._content.seen[offset : offset + len(data)] = data
        if data:
            self._content.unsynced.append((offset, offset + len(data)))

    def _keep(self) -> None:
        content = self._content
        if content.is_cut or len(content.kept) != len(content.seen):
            content.kept = bytearray(content.seen)
        else:
            for begin, end in content.unsynced:
                content.kept[begin:end] = content.seen[begin:end]
        content.unsynced.clear()
        content.is_cut = False
        content.was_synced = True

    def _cut(self, size_bytes: int) -> None:
        content = self._content
        self._disk.used_bytes -= len(content.seen) - size_bytes
        self._disk.remember_freed(content)
        del content.seen[size_bytes:]
        content.unsynced = [(begin, min(end, size_bytes)) for begin, end in content.unsynced if begin < size_bytes]
        content.is_cut = True


class SimDisk:
    """The `Disk` port. `rng` decides the faults; what a power cut leaves is decided by the one handed to it."""

    def __init__(
        self,
        rng: Random,
        *,
        capacity_bytes: int = 1 << 40,
        faults: DiskFaults = NO_FAULTS,
        fired: Counter[str] | None = None,
    ) -> None:
        self.rng = rng
        self.capacity_bytes = capacity_bytes
        """May be changed at any time, as by another program on the same disk."""
        self.faults = faults
        """May be changed at any time."""
        self.fired: Counter[str] = Counter() if fired is None else fired
        self.points = 0
        """How many fault points were passed."""
        self.crash_at: int | None = None
        """The number of the fault point at which the process dies."""
        self.tear_at: int | None = None
        """After how many bytes a write is torn at that point; None draws it."""
        self.used_bytes = 0
        self._names: dict[str, _Content] = {}
        self._kept_names: dict[str, _Content] = {}
        self._unsynced_names: list[tuple[str, str, _Content | None]] = []
        """(name, '', content) for a creation, (name, '', None) for a removal, (name, to, None) for a renaming."""
        self._freed: list[bytes] = []

    # -- the port

    def names(self) -> list[str]:
        self.step("a listing")
        return sorted(self._names)

    def create(self, name: str, size_bytes: int) -> SimFile:
        assert name not in self._names, f"{name} is there already"
        content = _Content(bytearray(size_bytes), bytearray(size_bytes))
        self.step(f"the creation of {name}", lambda: self._create(name, content))
        if self.draws("create_error"):
            raise DiskFailed(f"cannot create {name}: input/output error")
        self.take_room(size_bytes, f"to create {name}")
        self._create(name, content)
        return SimFile(self, name, content)

    def open(self, name: str) -> SimFile:
        self.step(f"the opening of {name}")
        if name not in self._names:
            raise DiskFailed(f"cannot open {name}: no such file")
        return SimFile(self, name, self._names[name])

    def rename(self, name: str, to: str) -> None:
        self.step(f"the renaming of {name}", lambda: self._rename(name, to))
        self._rename(name, to)

    def remove(self, name: str) -> None:
        self.step(f"the removal of {name}", lambda: self._remove(name))
        self._remove(name)

    def sync_names(self) -> None:
        self.step("a sync of the directory", self._keep_names)
        self._keep_names()

    def free_bytes(self) -> int:
        return max(0, self.capacity_bytes - self.used_bytes)

    # -- what becomes of it

    def after_process_death(self) -> SimDisk:
        """The disk after a kill -9: all that was written is there, and what was not synced still is not."""
        return self._copy(self._names, self._kept_names, self._unsynced_names)

    def after_power_cut(self, rng: Random) -> SimDisk:
        """The disk after a power cut: a part of what was not synced is there, drawn from `rng`."""
        names = dict(self._kept_names)
        mode = rng.choice(("all", "none", "each"))
        for name, to, content in self._unsynced_names:
            if mode == "none" or (mode == "each" and rng.random() < 0.5):
                self.fired["lost_name"] += 1
            elif content is not None:
                names[name] = content
            elif to and name in names:
                names[to] = names.pop(name)
            elif not to:
                names.pop(name, None)
        survivors = {name: self._surviving(content, rng) for name, content in names.items()}
        return self._copy(survivors, survivors, [])

    def flip(self, name: str, offset: int, bit: int = 0) -> None:
        """Turn one bit over, on the platter."""
        content = self._names[name]
        for held in (content.seen, content.kept):
            if offset < len(held):
                held[offset] ^= 1 << bit
        self.fired["bit_flip"] += 1

    def content(self, name: str) -> bytes:
        """What a file holds, without passing a fault point."""
        return bytes(self._names[name].seen)

    # -- faults

    def dies(self) -> bool:
        """Pass a fault point; whether the process dies at it."""
        self.points += 1
        if self.points != self.crash_at:
            return False
        self.fired["crash"] += 1
        return True

    def step(self, what: str, do: Callable[[], None] | None = None) -> None:
        """Pass a fault point: at `crash_at` the process dies in `what`, which then is done or not."""
        if self.dies():
            if do is not None and self.rng.random() < 0.5:
                do()
            raise Crash(f"in {what}")

    def draw_tear(self, length: int) -> int:
        """After how many bytes a write is torn."""
        torn_at = self.rng.randint(0, length) if self.tear_at is None else min(self.tear_at, length)
        if 0 < torn_at < length:
            self.fired["torn_write"] += 1
        return torn_at

    def draws(self, fault: str) -> bool:
        """Whether this call meets a fault."""
        rate: float = getattr(self.faults, fault)
        if rate and self.rng.random() < rate:
            self.fired[fault] += 1
            return True
        return False

    def take_room(self, size_bytes: int, purpose: str) -> None:
        """Use up room; `DiskFull` when there is too little."""
        if self.used_bytes + size_bytes > self.capacity_bytes:
            self.fired["disk_full"] += 1
            raise DiskFull(f"there is no room {purpose}")
        self.used_bytes += size_bytes

    def remember_freed(self, content: _Content) -> None:
        """What a file held may show again in one that is created later."""
        self._freed.append(bytes(content.seen))
        del self._freed[:-FREED_KEPT]

    # -- names

    def _create(self, name: str, content: _Content) -> None:
        self._names[name] = content
        self._unsynced_names.append((name, "", content))

    def _rename(self, name: str, to: str) -> None:
        if to in self._names:
            self._free(self._names[to])
        self._names[to] = self._names.pop(name)
        self._unsynced_names.append((name, to, None))

    def _remove(self, name: str) -> None:
        self._free(self._names.pop(name))
        self._unsynced_names.append((name, "", None))

    def _free(self, content: _Content) -> None:
        self.used_bytes -= len(content.seen)
        self.remember_freed(content)

    def _keep_names(self) -> None:
        self._kept_names = dict(self._names)
        self._unsynced_names.clear()

    # -- copies

    def _surviving(self, content: _Content, rng: Random) -> _Content:
        """What is on the platter after a power cut."""
        kept = bytearray(content.kept)
        if not content.was_synced:
            self._show_freed(kept, rng)
        if content.is_cut or len(content.seen) != len(kept):
            if rng.random() < 0.5:
                del kept[len(content.seen) :]
                kept.extend(bytes(len(content.seen) - len(kept)))
            else:
                self.fired["lost_size"] += 1
        self._spill(content, kept, rng)
        return _Content(bytearray(kept), kept, was_synced=True)

    def _spill(self, content: _Content, kept: bytearray, rng: Random) -> None:
        """Carry a part of what was not synced over to `kept`: all, none, any sectors, or up to a byte."""
        mode = rng.choice(("all", "none", "sectors", "prefix")) if content.unsynced else "none"
        left_bytes = rng.randrange(1 + sum(end - begin for begin, end in content.unsynced)) if mode == "prefix" else 0
        lost = False
        for begin, end in content.unsynced:
            if mode == "prefix":
                pieces = [(begin, min(end, begin + left_bytes))]
                lost |= left_bytes < end - begin
                left_bytes = max(0, left_bytes - (end - begin))
            else:
                pieces = _sectors(begin, end)
            for first, after in pieces:
                if mode == "none" or (mode == "sectors" and rng.random() < 0.5):
                    lost = True
                elif after <= len(kept):
                    kept[first:after] = content.seen[first:after]
        if lost:
            self.fired["lost_write"] += 1

    def _show_freed(self, kept: bytearray, rng: Random) -> None:
        """Blocks of a file that was never synced may hold what they held in a removed one."""
        if self._freed and rng.random() < 0.5:
            old = rng.choice(self._freed)[: len(kept)]
            kept[: len(old)] = old
            self.fired["stale_blocks"] += 1

    def _copy(
        self,
        names: dict[str, _Content],
        kept_names: dict[str, _Content],
        unsynced_names: list[tuple[str, str, _Content | None]],
    ) -> SimDisk:
        """A disk of its own with these files, so that whoever still holds the old one changes nothing here."""
        copies: dict[int, _Content] = {}

        def copied(content: _Content) -> _Content:
            if id(content) not in copies:
                copies[id(content)] = _Content(
                    bytearray(content.seen),
                    bytearray(content.kept),
                    list(content.unsynced),
                    content.is_cut,
                    content.was_synced,
                )
            return copies[id(content)]

        disk = SimDisk(self.rng, capacity_bytes=self.capacity_bytes, faults=self.faults, fired=self.fired)
        disk._names = {name: copied(content) for name, content in names.items()}
        disk._kept_names = {name: copied(content) for name, content in kept_names.items()}
        disk._unsynced_names = [(name, to, content and copied(content)) for name, to, content in unsynced_names]
        disk._freed = list(self._freed)
        disk.used_bytes = sum(len(content.seen) for content in disk._names.values())
        disk.points = self.points
        return disk


def _sectors(begin: int, end: int) -> list[tuple[int, int]]:
    """A range in pieces that are each written wholly or not."""
    edges = [begin, *range(begin - begin % SECTOR_BYTES + SECTOR_BYTES, end, SECTOR_BYTES), end]
    return list(itertools.pairwise(edges))

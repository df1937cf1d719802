"""Damage to what is known to be on the disk: found, never cut, and mended from where it was copied.

A bit is turned over in a part of the log, or of a snapshot, that was synced and marked so. The next process must say
`Damaged`, or do without (the older snapshot); then the bit is turned back, as by a backup, and nothing may be missing.
"""

from __future__ import annotations

from collections import Counter

from headrace.core.errors import Damaged
from headrace.sim import steps as s
from headrace.sim.process import Process
from headrace.store import frame, segment, snapshot


class Damage:
    """Turns bits over, and back."""

    def __init__(self, process: Process, faults: Counter[str]) -> None:
        self._process = process
        self._faults = faults
        self._flipped: tuple[str, int, int] | None = None

    def flip(self, deed: s.Flip) -> None:
        """Kill the process, and turn one bit over while it is down."""
        process = self._process
        if not process.is_up or self._flipped is not None:
            return
        process.die(power=deed.power)
        spans = self._log_spans() if deed.file == "log" else self._snapshot_spans()
        if not spans:
            return
        total_bytes = sum(after - begin for _, begin, after in spans)
        at = deed.pick // 8 % total_bytes
        for name, begin, after in spans:
            if at < after - begin:
                self._flipped = name, begin + at, deed.pick % 8
                break
            at -= after - begin
        assert self._flipped is not None
        process.disk.flip(*self._flipped)
        process.world.tell(lambda: f"flipped a bit: {self._flipped}")
        if deed.file == "log":
            process.on_damage = self._mend  # a damaged snapshot has an older one in its place, and stays as it is

    def _mend(self, error: Damaged) -> None:
        """The damage was found: turn the bit back."""
        assert self._flipped is not None
        self._process.disk.flip(*self._flipped)
        self._flipped = None
        self._process.on_damage = None
        self._faults["damage_found"] += 1

    def _log_spans(self) -> list[tuple[str, int, int]]:
        """Where frames are that a later mark covers and a recovery must read."""
        disk = self._process.disk
        newest = max(snapshot.positions(disk), default=0)
        found: list[tuple[str, int, int, int]] = []
        marks = 0
        for number in segment.numbers(disk):
            name = segment.name_of(number)
            for piece in frame.walk(disk.content(name), number):
                if isinstance(piece, frame.Bad):
                    continue
                marks = max(marks, piece.synced)
                if piece.records and piece.position >= newest:
                    found.append((name, piece.offset, piece.offset + frame.HEAD_BYTES + len(piece.payload), piece.end))
        return [(name, begin, after) for name, begin, after, end in found if end < marks]

    def _snapshot_spans(self) -> list[tuple[str, int, int]]:
        """The newest snapshot, if there is an older one to fall back on."""
        disk = self._process.disk
        positions = snapshot.positions(disk)
        if len(positions) < 2:
            return []
        name = snapshot.name_of(positions[0])
        return [(name, 0, len(disk.content(name)))]

"""A process that works on a store, dies, and comes back, many times over; and what must hold each time it does."""

from __future__ import annotations

from random import Random

from headrace.core.errors import Damaged
from headrace.core.ports import DiskFailed, DiskFull
from headrace.sim.disk import Crash, DiskFaults, SimDisk
from headrace.store.log import FileLog
from headrace.store.recovery import Recovery
from headrace.store.snapshot import KEPT, SnapshotWriter
from tests.store.fold import SEGMENT_BYTES, Fold, added

SMALL_FAULTS = DiskFaults(write_error=0.02, short_write=0.02, sync_error=0.02, create_error=0.02)


class Violation(AssertionError):
    """What a store may never do; the first word says which law it broke."""


class Lives:
    """One seed: the same seed lives the same lives."""

    def __init__(
        self,
        seed: int,
        *,
        disk_class: type[SimDisk] = SimDisk,
        recovery: type[Recovery] = Recovery,
        writer: type[SnapshotWriter] = SnapshotWriter,
        faults: DiskFaults = SMALL_FAULTS,
        flips: bool = False,
    ) -> None:
        self.rng = Random(seed)
        self.disk = disk_class(self.rng, capacity_bytes=self.rng.choice((20 << 10, 1 << 40)))
        self.recovery = recovery
        self.writer = writer
        self.faults = faults
        self.flips = flips
        self.written: list[bytes] = []
        """What was appended, in order; the last one perhaps not."""
        self.returned = 0
        """How many appends have returned."""
        self.safe = 0
        """How many were said to be safe."""
        self.count = 0
        self.power_is_cut = False
        """Whether the power was cut since a recovery last came to its end."""

    def run(self, lives: int = 6) -> None:
        for _ in range(lives):
            self.disk.crash_at = self.disk.points + self.rng.randint(1, 120)
            self.disk.faults = self.faults
            try:
                self._live()
            except Crash:
                pass
            except (DiskFailed, DiskFull):
                pass  # the process gives up, as after a failed sync
            self._die()
        self.disk.crash_at = None
        self.disk.capacity_bytes = 1 << 40
        self.disk.faults = DiskFaults()
        self._open()

    def _die(self) -> None:
        if self.rng.random() < 0.7:
            self.disk = self.disk.after_power_cut(self.rng)
            self.power_is_cut = True
        else:
            self.disk = self.disk.after_process_death()
        if self.flips:
            self._flip()

    def _flip(self) -> None:
        logs = [name for name in self.disk.names() if name.startswith("log-")]
        if logs:
            name = self.rng.choice(logs)
            used = len(self.disk.content(name).rstrip(b"\0"))
            if used:
                self.disk.flip(name, self.rng.randrange(used), self.rng.randrange(8))

    def _open(self) -> FileLog:
        fold = Fold()
        try:
            log, _ = self.recovery(self.disk, fold, segment_bytes=SEGMENT_BYTES).run()
        except Damaged as error:
            raise Violation(f"damage: found where none was done: {error}") from error
        if fold.bodies != self.written[: len(fold.bodies)]:
            raise Violation(f"unexpected: {fold.bodies} of {self.written}")
        if len(fold.bodies) < (self.safe if self.power_is_cut else max(self.safe, self.returned)):
            raise Violation(f"lost: {len(fold.bodies)} of {self.safe} that were safe")
        self.power_is_cut = False
        self.written = fold.bodies
        self.returned = self.safe = len(fold.bodies)
        return log

    def _live(self) -> None:
        log = self._open()
        while True:
            verb = self.rng.choices(("append", "sync", "mark", "snapshot", "segment"), (12, 4, 1, 1, 2))[0]
            getattr(self, "_" + verb)(log)

    def _append(self, log: FileLog) -> None:
        bodies = [b"%d:" % (self.count + i) + b"." * self.rng.choice((8, 8, 90)) for i in range(self.rng.randint(1, 2))]
        self.count += len(bodies)
        before = list(self.written)
        self.written += bodies
        try:
            log.append([added(body) for body in bodies], from_reserve=self.rng.random() < 0.3)
        except (DiskFull, DiskFailed):
            self.written = before  # nothing was appended
            if log.failed:
                raise
        self.returned = len(self.written)

    def _sync(self, log: FileLog) -> None:
        log.sync()
        self.safe = len(self.written)

    def _mark(self, log: FileLog) -> None:
        try:
            log.mark()
        except DiskFailed:
            if log.failed:
                raise

    def _segment(self, log: FileLog) -> None:
        if log.wants_segment():
            try:
                token = log.begin_segment()
                token.run()
                log.end_segment(token)
            except (DiskFull, DiskFailed):
                return

    def _snapshot(self, log: FileLog) -> None:
        self._sync(log)
        fold = Fold()
        fold.bodies = list(self.written)
        try:
            writer = self.writer(self.disk, log.end)
        except (DiskFull, DiskFailed):
            return
        try:
            for part in fold.freeze():
                writer.put(part)
                if self.rng.random() < 0.3:
                    self._append(log)
            log.trim(writer.finish(kept=1 if log.is_scarce else KEPT))
        except (DiskFull, DiskFailed):
            writer.abandon()
            if log.failed:
                raise

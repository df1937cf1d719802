"""A simulated process: the very node and store that run live, driven in virtual time.

It boots (recovers, claims, syncs the claim), serves what has come in as one batch, appends, and syncs as a step of its
own, so that a crash can fall anywhere between; it makes segments ready, writes snapshots a part at a time while it
serves, trims, and wakes when the node asks to be woken. It can be paused, and dies at any numbered fault point of its
disk, during a recovery too. What dies with it is what would die with a real one: the node, what had come in, and the
answers that had not gone out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import msgspec

from headrace.core.commands import AnyOutcome, Pop, PopDone, Request
from headrace.core.errors import Damaged
from headrace.core.limits import Limits
from headrace.core.ports import DiskFailed, DiskFull
from headrace.core.records import AnyRecord, encode_records
from headrace.protocols.effects import Effects, ask, turn
from headrace.protocols.node import Node
from headrace.protocols.shard import Shard
from headrace.sim.checkers import verdict as v
from headrace.sim.checkers.checker import Checker
from headrace.sim.disk import Crash, SimDisk
from headrace.sim.fold import LogFold, state_of
from headrace.sim.story import show
from headrace.sim.world import World
from headrace.store.log import FileLog, SegmentToken, SyncToken
from headrace.store.recovery import recover
from headrace.store.snapshot import SnapshotWriter

BOOT_US = 20_000
"""From the death of a process to the next one."""
FOLD_RECORDS: Final = 16
"""Recoveries that follow each other closely are not each compared with the fold of the log: it costs more than they."""
encode_outcome = msgspec.msgpack.Encoder().encode


class Clients(Protocol):
    """Who talks to the process."""

    def on_up(self) -> None:
        """The process is there, and knows nothing of what was under way."""

    def on_down(self) -> None:
        """The process is gone, and every connection with it."""

    def on_answer(self, request: Request, outcome: AnyOutcome) -> None: ...


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast a process is, and how its store is set up."""

    sync_wait_us: int = 500
    """How long appended records wait for others to share their sync."""
    sync_us: int = 2_000
    segment_bytes: int = 4096
    snapshot_records: int = 50
    """A snapshot is begun when so many records have come since the last."""
    part_us: int = 500
    """Between two parts of a snapshot."""
    ends_leases: bool = False
    """Whether it is an embedded process, whose own leases end with it."""


class WatchedLog:
    """The log as the node's turn sees it, with the checker listening."""

    def __init__(self, log: FileLog, world: World, checker: Checker, fold: LogFold) -> None:
        self.log = log
        self._fold = fold
        self._world = world
        self._checker = checker

    @property
    def end(self) -> int:
        return self.log.end

    @property
    def safe(self) -> int:
        return self.log.safe

    def append(self, records: Sequence[AnyRecord], *, from_reserve: bool = False) -> int:
        position = self.log.end
        self._checker.writing(position, records)
        self._fold.follow(position, records)
        try:
            at = self.log.append(records, from_reserve=from_reserve)
        except DiskFull:
            self._checker.unwritten()
            self._world.tell(lambda: "the disk is full")
            raise
        self._world.note(encode_records(list(records)))
        self._world.tell(lambda: f"  {at}: " + "; ".join(map(show, records)))
        self._checker.written()
        return at

    def sync(self) -> None:
        self.log.sync()

    def tail(self) -> Iterator[tuple[int, AnyRecord]]:
        return self.log.tail()


class Process:
    """One process after another on one disk."""

    def __init__(
        self, world: World, disk: SimDisk, clients: Clients, checker: Checker, *, limits: Limits, pace: Pace
    ) -> None:
        self.world = world
        self.disk = disk
        self.pace = pace
        self.is_up = False
        self.boots = 0
        self.paused_until_us = 0
        self.recovery_crashes: list[int] = []
        """At which fault points, counted from the beginning of each, the next recoveries crash."""
        self.power_fails = False
        """Whether the next crash is a power cut rather than the process's death."""
        self.on_damage: Callable[[Damaged], None] | None = None
        """What mends a directory that does not open for its damage; None when there is none to expect."""
        self.inbox: list[Request] = []
        self._cancelled: list[object] = []
        self._limits = limits
        self._clients = clients
        self._checker = checker
        self._epochs = world.stream("epochs")
        self._cuts = world.stream("power cuts")
        self._fold = LogFold(limits)
        self._compared_at = 0
        self._deferred: list[Callable[[], None]] = []
        self._waiting: dict[object, Request] = {}

    # -- life --------------------------------------------------------------------------------------------------------

    def boot(self) -> None:
        """Come up from what is on the disk."""
        if self.is_up:
            return
        self.boots += 1
        self._deferred.clear()
        self._guarded(self._boot)

    def _boot(self) -> None:
        world, disk = self.world, self.disk
        disk.rng = world.stream(f"disk {self.boots}")
        if self.recovery_crashes:
            disk.crash_at = disk.points + self.recovery_crashes.pop(0)
        else:
            disk.crash_at = None
        shard = Shard(limits=self._limits, loading=True)
        try:
            log, report = recover(disk, shard, segment_bytes=self.pace.segment_bytes)
        except Damaged as error:
            world.tell(lambda error=error: f"does not open: {error}")  # type: ignore[misc]
            if self.on_damage is None:
                self._checker.verdict.broken(v.RECOVERY, world.now_us, f"does not open: {error}")
                raise
            self.on_damage(error)
            self._again()
            return
        world.tell(lambda: f"recovered: {report}")
        self._checker.recovered(log.end)
        self.shard, self.log = shard, log
        self.check_fold()
        now_us = world.now_us
        self.watched = WatchedLog(log, world, self._checker, self._fold)
        self.node = Node(shard, limits=self._limits, now_us=now_us, wall_us=world.clock.wall_us())
        self.out = Effects()
        self._waiting = {}
        self._is_syncing = False
        self._making: SegmentToken | None = None
        self._snapshot: tuple[SnapshotWriter, Iterator[bytes]] | None = None
        self._snapshot_at = report.snapshot or 0
        self._wake_us: int | None = None
        self._checker.deciding((), self.node.wall_us(now_us))
        log.reserve_bytes = 2 * self.pace.segment_bytes
        self.node.claim(now_us, self.out, epoch=self.new_epoch(), owner="sim", ends_leases=self.pace.ends_leases)
        turn(self.node, self.watched, now_us, self.out)
        log.sync()
        self.node.on_safe(log.safe, self.out)
        self.node.on_wake(now_us, world.clock.wall_us(), self.out)
        disk.crash_at = None
        self.is_up = True
        world.tell(lambda: "up")
        self._turn()
        self._clients.on_up()

    def new_epoch(self) -> int:
        return self._epochs.getrandbits(62)

    def die(self, *, power: bool) -> None:
        """Die at once: by kill -9, or with the power."""
        self.world.tell(lambda: "the power fails" if power else "killed")
        was_up, self.is_up = self.is_up, False
        self.inbox.clear()
        self._cancelled.clear()
        self.paused_until_us = 0
        self._checker.died()
        self.power_fails = False
        self.disk = self.disk.after_power_cut(self._cuts) if power else self.disk.after_process_death()
        if was_up:
            self._clients.on_down()
        self._again()

    def _again(self) -> None:
        """Another process will come up."""
        boots = self.boots
        self.world.after(BOOT_US, lambda: self.boot() if self.boots == boots else None)

    def stop(self) -> None:
        """An orderly end: everything is synced and marked."""
        if self.is_up:
            self.world.tell(lambda: "stops")
            self._guarded(self.log.close)
            if self.is_up:
                self.die(power=False)

    def _guarded(self, do: Callable[[], None]) -> None:
        """Do something that may end this process."""
        try:
            do()
        except Crash as crash:
            self.world.tell(lambda crash=crash: f"crashed {crash}")  # type: ignore[misc]
            self.die(power=self.power_fails)
        except DiskFailed as error:
            self.world.tell(lambda error=error: f"the disk fails: {error}")  # type: ignore[misc]
            self.disk.fired["reopened"] += 1
            self.die(power=False)
        except DiskFull as error:
            assert not self.is_up, "only a boot may fail for want of room"
            self.world.tell(lambda error=error: f"no room to open: {error}")  # type: ignore[misc]
            self._again()

    # -- pauses ------------------------------------------------------------------------------------------------------

    def pause(self, for_us: int) -> None:
        """Do nothing for a while, as under SIGSTOP."""
        now_us = self.world.now_us
        if self.is_up and now_us >= self.paused_until_us:
            self.paused_until_us = now_us + for_us
            self.disk.fired["pause"] += 1
            self._checker.paused(now_us, now_us + for_us)
            self.world.tell(lambda: f"paused for {for_us} us")
            boots = self.boots
            self.world.after(for_us, lambda: self._resume(boots))

    def _resume(self, boots: int) -> None:
        if self.boots != boots or not self.is_up:
            return
        self.world.tell(lambda: "goes on")
        deferred, self._deferred = self._deferred, []
        self._guarded(self._serve)  # what came in meanwhile is handled before time is
        for do in deferred:
            if self.boots == boots and self.is_up:
                do()

    @property
    def is_paused(self) -> bool:
        return self.world.now_us < self.paused_until_us

    def later(self, do: Callable[[], None]) -> None:
        """Do something when this process turns next, if it is still there then."""
        self._later(0, do)

    def _later(self, by_us: int, do: Callable[[], None]) -> None:
        """Do something in a while, if this process is still there; and when it is paused, after that."""
        boots = self.boots

        def due() -> None:
            if self.boots != boots or not self.is_up:
                return
            if self.is_paused:
                self._deferred.append(due)
            else:
                self._guarded(do)

        self.world.after(by_us, due)

    # -- serving -----------------------------------------------------------------------------------------------------

    def receive(self, request: Request) -> None:
        """A request comes in; all that come at one instant are one batch."""
        if self.is_up:
            self._serve_soon()
            self.inbox.append(request)

    def cancel(self, refs: Sequence[object]) -> None:
        """A connection is gone, or a client waits no more: nobody waits for these."""
        if self.is_up and refs:
            self._serve_soon()
            self._cancelled += refs
            gone = set(refs)  # of these it is as if the connection had broken before they came
            self.inbox = [request for request in self.inbox if not (request.number and request.ref in gone)]

    def _serve_soon(self) -> None:
        if not self.inbox and not self._cancelled:
            self._later(0, self._serve)

    def _serve(self) -> None:
        requests, self.inbox = self.inbox, []
        cancelled, self._cancelled = self._cancelled, []
        if not requests and not cancelled:
            return
        now_us = self.world.now_us
        self._waiting.update((request.ref, request) for request in requests)
        self._checker.deciding(requests, self.node.wall_us(now_us))
        if len(requests) == 1 and not requests[0].session and not cancelled:
            outcome = ask(self.node, self.watched, now_us, requests[0], self.out)
            if outcome is not None:
                self.out.replies.append((requests[0].ref, outcome))
            self._finish_turn()
        else:
            self.node.handle(now_us, requests, self.out)
            self._forget(cancelled)
            self._turn()

    def _forget(self, cancelled: Sequence[object]) -> None:
        """Nobody waits for these; who waited in the node hears that it has ended, after all that was granted."""
        for ref in self.node.cancel(cancelled):
            self.node.hold(ref, PopDone())
        for ref in cancelled:
            request = self._waiting.get(ref)
            if request is not None and request.number:
                del self._waiting[ref]

    def _turn(self) -> None:
        turn(self.node, self.watched, self.world.now_us, self.out)
        self._finish_turn()

    def _finish_turn(self) -> None:
        replies, self.out.replies = self.out.replies, []
        for ref, outcome in replies:
            more = type(outcome) is PopDone and outcome.more
            request = self._waiting.get(ref) if more else self._waiting.pop(ref, None)
            if request is None:
                continue
            self.world.note(encode_outcome(outcome))
            self._checker.answered(request, outcome)
            self._clients.on_answer(request, outcome)
        self._checker.decided()
        self._arrange()

    def _arrange(self) -> None:
        """See to what comes next: a sync, a segment, a snapshot, a wake-up."""
        log = self.log
        if not self._is_syncing and log.safe < log.end:
            self._is_syncing = True
            self._later(self.pace.sync_wait_us, self._begin_sync)
        if self._making is None and log.wants_segment():
            self._make_segment()
        if self._snapshot is None and log.end - self._snapshot_at >= self.pace.snapshot_records:
            self._begin_snapshot()
        wake_us = self.node.next_wake_us(self.world.now_us)
        if self._wake_us is None or wake_us < self._wake_us:
            self._wake_us = wake_us
            self._later(wake_us - self.world.now_us, lambda: self._wake(wake_us))

    def _wake(self, due_us: int) -> None:
        if due_us != self._wake_us:
            return
        self._wake_us = None
        wall_us = self.world.clock.wall_us()
        self._checker.deciding((), wall_us)
        self.node.on_wake(self.world.now_us, wall_us, self.out, due_us=due_us)
        self._turn()

    # -- the store ---------------------------------------------------------------------------------------------------

    def _begin_sync(self) -> None:
        token = self.log.begin_sync()
        token.run()
        self._later(self.pace.sync_us, lambda: self._end_sync(token))

    def _end_sync(self, token: SyncToken) -> None:
        self._is_syncing = False
        self.log.end_sync(token)
        self.node.on_safe(self.log.safe, self.out)
        if self.log.safe == self.log.end:
            self.log.mark()
        self._turn()

    def _make_segment(self) -> None:
        try:
            token = self._making = self.log.begin_segment()
        except DiskFull:
            return
        token.run()
        self._later(self.pace.sync_us, lambda: self._end_segment(token))

    def _end_segment(self, token: SegmentToken) -> None:
        self._making = None
        try:
            self.log.end_segment(token)
        except DiskFull:
            self.world.tell(lambda: "no room for a segment")

    def _begin_snapshot(self) -> None:
        self._snapshot_at = self.log.end
        try:
            self._snapshot = SnapshotWriter(self.disk, self.log.end), self.shard.freeze()
        except DiskFull:
            self.world.tell(lambda: "no room for a snapshot")
            return
        self.world.tell(lambda: f"begins a snapshot of {self.log.end}")
        self._later(self.pace.part_us, self._go_on_with_snapshot)

    def _go_on_with_snapshot(self) -> None:
        assert self._snapshot is not None
        writer, parts = self._snapshot
        try:
            part = next(parts, None)
            if part is not None:
                writer.put(part)
            elif self.log.safe >= writer.position:
                self._snapshot = None
                self.log.trim(writer.finish())
                self.disk.fired["snapshot"] += 1
                self.world.tell(lambda: f"has a snapshot of {writer.position}")
                return
        except DiskFull:
            self.world.tell(lambda: "gives the snapshot up")
            self._snapshot = None
            writer.abandon()
            return
        self._later(self.pace.part_us, self._go_on_with_snapshot)

    def check_fold(self, *, after_records: int = FOLD_RECORDS) -> None:
        """Hold the state against the fold of the whole log, if so many records have come since the last time."""
        if not 0 <= self.log.end - self._compared_at < after_records:
            self._compared_at = self.log.end
            self._checker.check_fold(state_of(self.shard), self._fold.state(self.log.end))

    # -- looking -----------------------------------------------------------------------------------------------------

    def look(self) -> None:
        """Hold what waits in the node against what is there."""
        if self.is_up and self.world.now_us >= self.paused_until_us and not self.inbox:
            wall_us = self.node.wall_us(self.world.now_us)
            for request in self._waiting.values():
                if request.number and isinstance(request.command, Pop):
                    self._checker.waiting(request, request.command, wall_us)

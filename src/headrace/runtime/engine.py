"""The thread driver: a node on the calling thread, under a lock, in front of a log.

Callers form commit groups: each appends under the lock, then one of them syncs for all, outside it. A daemon thread,
the *keeper*, serves what time brings, syncs once a second at level `os`, makes segments ready, and writes snapshots
beside the traffic. An exception that escapes the machine poisons the node: whoever waits gets `OutcomeUnknown`, and the
next call recovers from the log; not so after a failed sync, which only opening anew can mend.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import secrets
import socket
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from time import monotonic_ns
from typing import Final, Literal

from headrace.core.commands import (
    Abort,
    AnyCommand,
    AnyOutcome,
    EndSession,
    PopDone,
    QueueStats,
    Refused,
    Request,
)
from headrace.core.errors import HeadraceError, OutcomeUnknown, Unavailable
from headrace.core.items import ENTRY_ID
from headrace.core.limits import MIB, US, Limits
from headrace.core.ports import DiskFailed, DiskFull
from headrace.core.records import CLOSED
from headrace.protocols.consumer import Renewal
from headrace.protocols.effects import Effects, ask, turn
from headrace.protocols.node import Node
from headrace.protocols.shard import Shard
from headrace.runtime.clock import SystemClock
from headrace.runtime.disk import open_directory
from headrace.runtime.memory import give_back_memory
from headrace.runtime.owner import DirectoryLock
from headrace.store.log import FileLog, SyncToken
from headrace.store.memory import MemoryLog
from headrace.store.recovery import Recovered, recover
from headrace.store.snapshot import KEPT, SnapshotWriter

Durability = Literal["memory", "os", "fsync"]

BACKGROUND_SYNC_US: Final = US
IDLE_US: Final = 60 * US
LARGE_BYTES: Final = 32 * MIB
"""What recovery needed to bring back more than this is worth giving back."""
SNAPSHOT_MIN_BYTES: Final = 32 * MIB
"""A log that grew by less is read back in less time than a snapshot is worth."""

_engines: weakref.WeakSet[Engine] = weakref.WeakSet()
"""All that are open, for forks and for the end of the process."""


class Ticket:
    """Who waits for an answer: a thread, once it has a gate to wait at."""

    outcome: AnyOutcome | None = None
    gate: threading.Lock | None = None
    leads = False

    def settle(self, outcome: AnyOutcome) -> None:
        self.outcome = outcome
        if self.gate is not None:
            self.gate.release()


class Callback:
    """Who waits for an answer: whoever is called with it, under the lock."""

    __slots__ = ("_call", "outcome")

    def __init__(self, settle: Callable[[AnyOutcome], None]) -> None:
        self._call = settle
        self.outcome: AnyOutcome | None = None

    def settle(self, outcome: AnyOutcome) -> None:
        self.outcome = outcome
        self._call(outcome)


class Engine:
    """One open directory, or none, with its node."""

    def __init__(self, path: str | None, *, durability: Durability, limits: Limits, ends_leases: bool) -> None:
        self.path = path
        self.durability = durability
        self.limits = limits
        self.recovered = Recovered()
        self.clock = SystemClock()
        self._ends_leases = ends_leases
        self._lock = threading.Lock()
        self._out = Effects()
        self._syncing = False
        self._led: FileLog | None = None
        """The log that the sync under way is of."""
        self._sleeps_until_us = 0
        self._sleepers: deque[Ticket] = deque()
        self._bell = threading.Event()
        self.is_snapshotting = False
        """Whether a snapshot is being written."""
        self._stopping = False
        self._forked = False
        self._error: HeadraceError | None = None
        self._usable = False
        self._renewal = Renewal()
        self._owner = DirectoryLock(path) if path is not None else None
        self._disk = open_directory(path) if path is not None else None
        try:
            self._boot()
        except BaseException:
            self._let_go()
            raise
        _engines.add(self)
        self._keeper = threading.Thread(target=self._keep, name="headrace-keeper", daemon=True)
        self._keeper.start()

    # -- asking ----------------------------------------------------------------------------------------------------

    def ask(self, command: AnyCommand) -> AnyOutcome:
        """The answer to a command; waits as long as the command says."""
        ticket = Ticket()
        try:
            with self._lock:
                outcome = self._decide(command, ticket)
                if outcome is not None:
                    return outcome
                if ticket.outcome is None:
                    self._enlist(ticket)
            while ticket.outcome is None:
                if ticket.leads:
                    self._lead(ticket)
                elif (gate := ticket.gate) is not None:
                    gate.acquire()
        except BaseException:
            self.forsake(ticket)
            raise
        return ticket.outcome

    def submit(self, command: AnyCommand, ref: Callback) -> bool:
        """Decide on a command whose answer goes to `ref`; whether somebody must call `sync` for it."""
        with self._lock:
            outcome = self._decide(command, ref)
            if outcome is not None:
                ref.settle(outcome)
            return self.node.waits_for_safety and not self._syncing

    def decide_many(self, requests: Sequence[Request], cancelled: Sequence[object] = ()) -> bool:
        """Decide on all that one tick has gathered, as one group; whether somebody must sync for it."""
        with self._lock:
            if not self._usable:
                self._mend()
            now_us = monotonic_ns() // 1000
            with self._guarded():
                self.node.handle(now_us, requests, self._out)
                for ref in self.node.cancel(cancelled) if cancelled else ():
                    self.node.hold(ref, PopDone())  # after all that it was granted
                self._turn(now_us)
            return self.node.waits_for_safety and not self._syncing

    def sync(self) -> None:
        """Sync for all who wait for it, until nobody does."""
        while self.node.waits_for_safety and self._take_the_lead():
            self._sync_once()

    def forsake(self, ref: Ticket | Callback) -> None:
        """Nobody waits for this answer any more; what it granted is given back."""
        with self._lock:
            if not self._usable:
                return
            self.node.cancel([ref])
            if isinstance(ref, Ticket):
                with contextlib.suppress(ValueError):
                    self._sleepers.remove(ref)  # or it would be appointed, and nobody would come
                if ref.leads:
                    self._syncing = False
                    if self.node.waits_for_safety:
                        self._appoint()
            outcome = ref.outcome
            if isinstance(outcome, PopDone):
                for batch in outcome.batches:
                    self._decide(Abort(batch.queue, batch.epoch, batch.counters, cause=CLOSED), Ticket())

    def watch(self, queue: str, epoch: int, counter: int, lease_us: int) -> None:
        """Renew this lease for as long as this process lives, or until `unwatch`."""
        due_us = self._renewal.watch(queue, epoch, counter, lease_us, self.clock.now_us())
        if due_us < self._sleeps_until_us:
            self._bell.set()

    def unwatch(self, queue: str, epoch: int, counter: int) -> None:
        self._renewal.unwatch(queue, epoch, counter)

    def close(self) -> None:
        """Give back what is leased, make everything safe, and let the directory go."""
        with self._lock:
            if self._stopping or self._forked:
                self._stopping = True
                return
            self._stopping = True
            self._bell.set()
        self._keeper.join()
        with self._lock:
            try:
                if self._usable:
                    self._decide(EndSession(), Ticket())
                    self._finish_sync()
            finally:
                self._usable = False
                self._fail_all(Unavailable("the handle was closed while this call waited"))
                self._let_go()
                _engines.discard(self)

    @property
    def is_usable(self) -> bool:
        """Whether the next call will be decided on."""
        return self._usable

    @property
    def end(self) -> int:
        """How many records the log has had."""
        return self._log.end

    def queue_stats(self) -> list[QueueStats]:
        """The figures of all queues."""
        with self._lock:
            return [sub.stats() for _, sub in sorted(self.node.shard.queues.items())]

    def leased_as(self, queue: str, item_id: bytes) -> tuple[int, int] | None:
        """The epoch and the receipt under which an item is leased now; a scan of the leases."""
        with self._lock:
            shard = self.node.shard
            sub = shard.queues.get(queue)
            for counter, (entry, _) in sub.leases.items() if sub is not None else ():
                if entry[ENTRY_ID] == item_id:
                    return shard.epoch_of(counter) or 0, counter
            return None

    @property
    def syncs(self) -> int:
        """How often the log has waited for the disk since it was opened."""
        return self._log.syncs

    @property
    def written_bytes(self) -> int:
        """Bytes of log found and written since: what was written between two readings is their difference."""
        return self._log.written_bytes

    # -- deciding, under the lock ----------------------------------------------------------------------------------

    def _decide(self, command: AnyCommand, ref: Ticket | Callback | None) -> AnyOutcome | None:
        """Decide on one command; the outcome, if it is told at once and not to `ref`."""
        if not self._usable:
            self._mend()
        node, log, out = self.node, self._log, self._out
        try:
            outcome = ask(node, log, monotonic_ns() // 1000, Request(ref, command), out)
            if out.replies:
                self._answer()
        except BaseException as error:
            raise self._poison(error) from error
        if node.wake_us < self._sleeps_until_us:
            self._ring()
        if log.is_due:
            self._bell.set()
        return outcome

    def _turn(self, now_us: int) -> None:
        """Carry out what was decided, and answer."""
        turn(self.node, self._log, now_us, self._out)
        self._answer()
        if self.node.wake_us < self._sleeps_until_us:
            self._ring()

    def _answer(self) -> None:
        replies, self._out.replies = self._out.replies, []
        for ref, outcome in replies:
            ref.settle(outcome)

    def _ring(self) -> None:
        """Wake the keeper earlier than it meant to."""
        self._sleeps_until_us = self.node.wake_us
        self._bell.set()

    @contextlib.contextmanager
    def _guarded(self) -> Iterator[None]:
        """Poison the node when anything escapes the machine."""
        try:
            yield
        except BaseException as error:
            raise self._poison(error) from error

    def _mend(self) -> None:
        """See why the handle cannot be used; a poisoned node is brought back from its log."""
        if self._forked:
            raise Unavailable("this handle was opened before a fork: open the directory anew in the child process")
        if self._stopping:
            raise Unavailable("the handle is closed: open the directory again")
        if self._error is not None:
            raise self._error
        if self._owner is None:
            raise Unavailable("the node in memory failed, and nothing is kept of it: open another")
        with contextlib.suppress(DiskFailed, DiskFull):
            self._log.close()
        self._out = Effects()
        self._boot()

    def _poison(self, error: BaseException) -> BaseException:
        """The machine failed in the middle of something: nothing it holds can be trusted. What to raise."""
        self._usable = False
        if isinstance(self._log, FileLog) and self._log.failed:
            self._error = Unavailable(
                f"{error}; nothing that was acknowledged is lost: see to the disk, then open the directory again"
            )
        unknown = OutcomeUnknown(f"the node failed ({type(error).__name__}: {error}): it may have happened")
        self._fail_all(unknown)
        return unknown if isinstance(error, Exception) else error

    def _fail_all(self, error: HeadraceError) -> None:
        refused = Refused(type(error).__name__, str(error))
        for ref in self.node.all_refs():
            if ref is not None:
                ref.settle(refused)
        while self._sleepers:
            ticket = self._sleepers.popleft()
            if ticket.outcome is None:
                ticket.settle(refused)

    # -- syncing ---------------------------------------------------------------------------------------------------

    def _enlist(self, ticket: Ticket) -> None:
        """Under the lock: lead the next sync, or wait at a gate until it is done or one is to be led."""
        if self.node.waits_for_safety and not self._syncing:
            self._syncing = True
            ticket.leads = True
        else:
            ticket.gate = threading.Lock()
            ticket.gate.acquire()
            self._sleepers.append(ticket)

    def _lead(self, ticket: Ticket) -> None:
        self._sync_once()
        ticket.leads = False
        if ticket.outcome is None:
            with self._lock:
                if ticket.outcome is None:
                    self._enlist(ticket)

    def _sync_once(self) -> None:
        """One sync for all that is written by now, and the answers that waited for it; for who has the lead."""
        token = self.begin_sync()
        if token is not None:
            token.run()
            self.end_sync(token)

    def begin_sync(self) -> SyncToken | None:
        """Begin the sync that we lead; None when there is nothing to sync any more."""
        with self._lock:
            if not self._usable:
                return None
            assert isinstance(self._log, FileLog)
            self._led = self._log
            with self._guarded():
                return self._log.begin_sync()

    def end_sync(self, token: SyncToken) -> None:
        """The sync is done, and with it the lead."""
        with self._lock:
            log = self._led
            if not self._usable or log is None or log is not self._log:
                return  # the node was brought back from its log meanwhile, and the lead with it
            self._syncing = False
            with self._guarded():
                log.end_sync(token)
                self.node.on_safe(log.safe, self._out)
                self._turn(self.clock.now_us())
            if self.node.waits_for_safety:
                self._appoint()

    def take_the_lead(self) -> bool:
        """Become the one who syncs, if somebody waits for a sync and nobody is at it."""
        return self.node.waits_for_safety and self._take_the_lead()

    def _appoint(self) -> None:
        """Let one of those who sleep lead the next sync."""
        while self._sleepers:
            ticket = self._sleepers.popleft()
            if ticket.outcome is None and ticket.gate is not None:
                self._syncing = True
                ticket.leads = True
                gate, ticket.gate = ticket.gate, None
                gate.release()
                return
        self._bell.set()

    def _finish_sync(self) -> None:
        if isinstance(self._log, FileLog):
            self._log.sync()
            self.node.on_safe(self._log.safe, self._out)
            self._turn(self.clock.now_us())

    # -- opening and letting go ------------------------------------------------------------------------------------

    def _boot(self) -> None:
        """Recover the shard and claim it; the claim is safe before anything is granted."""
        shard = Shard(limits=self.limits, loading=self._disk is not None)
        self._log: FileLog | MemoryLog = MemoryLog()
        if self._disk is not None:
            self._log, self.recovered = recover(self._disk, shard)
            self._log.reserve_bytes = min(64 * MIB, self._disk.free_bytes() // 16)
            self._log.snapshot_bytes = self._live_bytes
        now_us, wall_us = self.clock.now_us(), self.clock.wall_us()
        self.node = Node(
            shard,
            limits=self.limits,
            now_us=now_us,
            wall_us=wall_us,
            safe_when_written=self.durability != "fsync",
        )
        if self._live_bytes() > LARGE_BYTES:
            give_back_memory()
        self._sleeps_until_us = 0
        self._syncing = False
        self._snapshot_at_bytes = 0
        if isinstance(self._log, FileLog):
            self._snapshot_at_bytes = self._log.written_bytes - self.recovered.tail_bytes
        owner = f"pid {os.getpid()} on {socket.gethostname()}"
        self.node.claim(now_us, self._out, epoch=secrets.randbits(63), owner=owner, ends_leases=self._ends_leases)
        turn(self.node, self._log, now_us, self._out)
        self._log.sync()
        self.node.on_safe(self._log.safe, self._out)
        self.node.on_wake(now_us, wall_us, self._out)  # what was due meanwhile is done before the first call
        self._usable = True
        self._turn(now_us)

    def _let_go(self) -> None:
        try:
            if isinstance(getattr(self, "_log", None), FileLog):
                with contextlib.suppress(DiskFailed, DiskFull):
                    self._log.close()
        finally:
            if self._disk is not None:
                self._disk.close()
            if self._owner is not None:
                self._owner.release()

    # -- the keeper ------------------------------------------------------------------------------------------------

    def _keep(self) -> None:
        """What goes on beside the calls."""
        while not self._stopping:
            with self._lock:
                now_us = self.clock.now_us()
                self._sleeps_until_us = self._next_wake_us(now_us)
            self._bell.wait((self._sleeps_until_us - now_us) / US)
            self._bell.clear()
            if not self._stopping:
                with contextlib.suppress(HeadraceError):  # kept in `_error`, or poisoned: the next call meets it
                    self._wake()
                    self._tend()

    def _next_wake_us(self, now_us: int) -> int:
        if not self._usable:
            return now_us + IDLE_US
        due_us = min(self.node.next_wake_us(now_us), self._renewal.next_us() or now_us + IDLE_US, now_us + IDLE_US)
        return min(due_us, now_us + BACKGROUND_SYNC_US) if self.durability == "os" else due_us

    def _wake(self) -> None:
        """Do what is due; leases that are held in this process are renewed first."""
        with self._lock:
            if not self._usable:
                return
            now_us, due_us = self.clock.now_us(), self._sleeps_until_us
            with self._guarded():
                renewals = [Request(None, extend) for extend in self._renewal.due(now_us)]
                self.node.handle(now_us, renewals, self._out)
                if now_us >= due_us:
                    self.node.on_wake(now_us, self.clock.wall_us(), self._out, due_us=due_us)
                self._turn(now_us)
            self._sleeps_until_us = self._next_wake_us(now_us)

    def _tend(self) -> None:
        """Sync, make a segment ready, take a snapshot, as far as each is due."""
        log = self._log
        if not isinstance(log, FileLog):
            return
        if log.safe < log.end and self._take_the_lead():
            self._sync_once()
        with self._lock:
            if log.safe == log.end and self._usable:
                log.mark()
        if log.wants_segment():
            self._make_segment(log)
        grown_bytes = log.written_bytes - self._snapshot_at_bytes
        live_bytes = self._live_bytes()
        if log.is_scarce and grown_bytes > log.reserve_bytes // 2 + live_bytes // 4:
            kept = 1
        elif grown_bytes > max(SNAPSHOT_MIN_BYTES, 2 * live_bytes):
            kept = KEPT
        else:
            return
        self.is_snapshotting = True
        try:
            self._snapshot(log, kept=kept)
        finally:
            self.is_snapshotting = False

    def _take_the_lead(self) -> bool:
        with self._lock:
            if self._syncing or not self._usable:
                return False
            self._syncing = True
            return True

    def _live_bytes(self) -> int:
        return sum(sub.size_bytes + 64 * sub.queued for sub in self.node.shard.queues.values())

    def _make_segment(self, log: FileLog) -> None:
        try:
            with self._lock:
                token = log.begin_segment()
            token.run()
            with self._lock:
                log.end_segment(token)
        except DiskFull:
            return  # an append will say so to whom it concerns

    def _snapshot(self, log: FileLog, *, kept: int) -> None:
        """Write the state as of now, beside the traffic, and trim the log below the oldest snapshot kept."""
        assert self._disk is not None
        with self._lock:
            if not self._usable:
                return
            self._snapshot_at_bytes = log.written_bytes
            position = log.end
            parts = self.node.shard.freeze()
        try:
            writer = SnapshotWriter(self._disk, position)
        except DiskFull:
            return
        try:
            for part in parts:
                writer.put(part)
                if self._stopping or log is not self._log:
                    writer.abandon()
                    return
                if self.clock.now_us() >= self._sleeps_until_us:
                    self._wake()
            while log.safe < position:
                if log is not self._log or not self._usable:
                    writer.abandon()
                    return
                if self._take_the_lead():
                    self._sync_once()
                else:
                    self._bell.wait(0.01)
            keep_from = writer.finish(kept=kept)
        except DiskFull:
            writer.abandon()
            return
        with self._lock:
            names = log.take_trimmed(keep_from)
        for name in names:
            self._disk.remove(name)

    def abandon_in_child(self) -> None:
        """After a fork: this copy of the handle is of no use."""
        self._forked = True
        self._usable = False
        self._lock = threading.Lock()


def _after_fork() -> None:
    for engine in list(_engines):
        engine.abandon_in_child()


def _at_exit() -> None:
    for engine in list(_engines):
        engine.close()


os.register_at_fork(after_in_child=_after_fork)
atexit.register(_at_exit)

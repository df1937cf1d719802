"""The node: a shard behind its requests. Pure: events in, effects out.

`handle` takes requests; what changes state becomes a record in `out` and is *reserved* until `on_appended` says that it
is written. Then it is applied, and whoever asked is answered: at once, or, where the answer promises durability, when
`on_safe` says that the record is safe at its level. A grant waits for its own record to be written and for the adds of
its items to be safe. `on_wake` does what time does. The verbs themselves are in `protocols/verbs`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from typing import Any, Final, NamedTuple

import msgspec

from headrace.core import commands as c
from headrace.core.commands import AnyOutcome, PopDone, Request, refusal
from headrace.core.errors import Full, HeadraceError, OutcomeUnknown, PeerViolation, Unavailable
from headrace.core.items import ITEM_ID
from headrace.core.limits import US, Limits
from headrace.core.records import (
    LEASE_EXPIRED,
    Added,
    AnyRecord,
    Claimed,
    ClockStepped,
    Committed,
    Declared,
    Dropped,
    Expired,
    Leased,
    NamesEnded,
    Prolonged,
    Purged,
    Returned,
    Revived,
    SessionsEnded,
)
from headrace.protocols.deadlines import Deadlines
from headrace.protocols.effects import Effects
from headrace.protocols.shard import Shard
from headrace.protocols.subqueue import Subqueue
from headrace.protocols.verbs import adding, popping, settling, tending
from headrace.protocols.waiting import Line, Parked

TICK_US: Final = US
"""While leases are held the node asks to be woken this often, so that it notices its own stalls."""
SESSIONS_EVERY_US: Final = 600 * US

Verb = Callable[["Node", int, Request, Effects], AnyRecord | None]

VERBS: Final[dict[type, Verb]] = {
    c.Peek: popping.peek,
    c.Resume: popping.resume,
    c.Abort: settling.abort,
    c.Extend: settling.extend,
    c.EndSession: settling.end_session,
    c.OpenSession: tending.open_session,
    c.ListDead: tending.list_dead,
    c.Revive: tending.revive,
    c.Purge: tending.purge,
    c.Declare: tending.declare,
    c.Drop: tending.drop,
    c.ListQueues: tending.list_queues,
    c.Describe: tending.describe,
    c.Why: tending.why,
}

# A record of these kinds may free what others wait for: items to pop, or room to add.
_BRINGS_ROOM: Final = frozenset({Committed, Returned, Expired, Purged, Declared, Dropped})
_BRINGS: Final = _BRINGS_ROOM | {Added, Revived, NamesEnded}


_RESERVE_FULL: Final = Unavailable("the disk is full, and the reserve is used up: free some space")


def _rests_on(record: AnyRecord, ids: set[bytes]) -> bool:
    """Whether what a step adds was deduped against one of these items."""
    return type(record) is Committed and any(
        holder in ids for *_, duplicates in record.added for _, holder in duplicates
    )


class _Numbered(NamedTuple):
    """Who waits for a numbered request: all who have asked for it."""

    session: bytes
    number: int


class Node:
    """One shard, its waiting requests and its timers."""

    def __init__(
        self, shard: Shard, *, limits: Limits, now_us: int, wall_us: int, safe_when_written: bool = False
    ) -> None:
        """`safe_when_written`: the durability level promises no more than what the log's records have by then."""
        self.shard = shard
        self.limits = limits
        self.safe_when_written = safe_when_written
        self.next_seq = shard.next_seq
        self.next_counter = shard.next_counter
        self.pops = Line()
        self.adds = Line()
        self.deadlines = Deadlines()
        self.stalled_us = 0
        self._offset_us = wall_us - now_us
        self.pending_keys: dict[tuple[str, str], bytes] = {}
        self.naming: dict[tuple[str, str], list[Any]] = {}
        """Named pops that are decided and not written yet, and who has asked again meanwhile."""
        self.claimed = False
        """Whether our claim is safe, so that we may grant."""
        self._claim_end = 0
        self._end = 0
        self._held: deque[tuple[int, Any, AnyOutcome]] = deque()
        self._unsafe_adds: deque[tuple[int, int]] = deque()
        self._safe_seq = shard.next_seq
        self.returned: dict[tuple[str, str], int] = {}
        """How many leases ended without a commit since we began, by queue and reason."""
        self._in_flight: dict[_Numbered, list[Any]] = {}
        self._parts: dict[Any, list[c.Batch]] = {}
        self._timers: list[tuple[int, int, str, Any]] = []
        self._timer_count = 0
        self.wake_us = now_us
        """No event of time is due before this: a lower bound that is kept cheaply."""
        self._alarms: dict[str, int] = {}
        self._settle_recovered(now_us)

    # -- events ----------------------------------------------------------------------------------------------------

    def claim(self, now_us: int, out: Effects, *, epoch: int, owner: str, ends_leases: bool) -> None:
        """Take the shard over; nothing is granted before this is safe."""
        out.stage(Claimed(self.wall_us(now_us), b"", 0, 0, epoch, owner, ends_leases))

    def handle(self, now_us: int, requests: Iterable[Request], out: Effects) -> None:
        """Decide on requests, in their order."""
        for request in requests:
            if request.number and not self._is_first(request, out):
                continue
            if request.number:
                key = _Numbered(request.session, request.number)
                self._in_flight[key] = [request.ref]
                request = msgspec.structs.replace(request, ref=key)
            try:
                record = self.decide(now_us, request, out)
            except HeadraceError as error:
                self.refuse(request.ref, error, out)
            else:
                if record is not None:
                    out.stage(record, request.ref)

    def decide(self, now_us: int, request: Request, out: Effects) -> AnyRecord | None:
        """What a request comes to: the record that answers it, or something in `out`, or a wait; or an error."""
        kind = type(request.command)
        # The verbs of every cycle are called by name: the interpreter is quickest where it always finds one function.
        if kind is c.Add:
            return adding.add(self, now_us, request, out)
        if kind is c.Pop:
            return popping.pop(self, now_us, request, out)
        if kind is c.Commit:
            return settling.commit(self, now_us, request, out)
        return VERBS[kind](self, now_us, request, out)

    def cancel(self, refs: Iterable[Any]) -> list[Any]:
        """Nobody waits for these answers any more: what is parked for them goes, and what is decided goes on.

        Those that were parked, and so would never be answered, are returned.
        """
        gone = dict.fromkeys(refs)
        for key, waiting in list(self._in_flight.items()):
            left = [ref for ref in waiting if ref not in gone]
            if len(left) < len(waiting):
                self._in_flight[key] = left
                if not left and (self.pops.leave(key) or self.adds.leave(key)):
                    del self._in_flight[key]
        return [ref for ref in gone if self.pops.leave(ref) or self.adds.leave(ref)]

    def all_refs(self) -> list[Any]:
        """Everyone who waits for an answer."""
        refs = [ref for _, ref, _ in self._held] + [
            parked.request.ref for line in (self.pops, self.adds) for parked in line
        ]
        refs += [ref for repeats in self.naming.values() for ref in repeats]
        plain = [ref for ref in refs if type(ref) is not _Numbered]
        return plain + [ref for waiting in self._in_flight.values() for ref in waiting]

    def on_appended(
        self, now_us: int, position: int, records: list[AnyRecord], refs: list[tuple[Any, bool]], out: Effects
    ) -> None:
        """The records are written: apply them, answer or hold the answers, and serve who waited for this."""
        touched: dict[str, bool] = {}
        for record, (ref, more) in zip(records, refs, strict=True):
            outcome = self.apply(now_us, position, record)
            position += 1
            if more or (self._parts and ref in self._parts):
                assert isinstance(outcome, PopDone)
                outcome = PopDone(self._parts.pop(ref, []) + outcome.batches, None, outcome.more)
                if more:
                    self._parts[ref] = outcome.batches
                    continue
            if ref is None:
                pass
            elif self.must_wait(record, outcome):
                self._held.append((position, ref, outcome))
            else:
                self.reply(ref, outcome, out)
            self._touch(record, touched)
        if touched:
            self._after(now_us, touched, out)

    def apply(self, now_us: int, position: int, record: AnyRecord) -> AnyOutcome:
        """Take a written record in; its outcome."""
        outcome = self.shard.apply(position, record)
        self._end = position + 1
        kind = type(record)
        if kind is Leased:
            self._start_leases(now_us, record)  # type: ignore[arg-type]
            if self.naming:
                for ref in self.naming.pop((record.queue, record.name), ()):  # type: ignore[union-attr]
                    self.hold(ref, outcome)
        elif kind is Added:
            self._joined(record.queue, record.items, record.duplicates)  # type: ignore[union-attr]
        elif kind is Committed:
            for queue, _, items, duplicates in record.added:  # type: ignore[union-attr]
                self._joined(queue, items, duplicates)
        elif kind is Returned:
            ended = record.queue, record.reason  # type: ignore[union-attr]
            self.returned[ended] = self.returned.get(ended, 0) + len(record.counters)  # type: ignore[union-attr]
        elif kind is Claimed:
            self._claim_end = position + 1
        if self.shard.alarms:
            self._arm_alarmed(now_us)
        return outcome

    def must_wait(self, record: AnyRecord, outcome: AnyOutcome) -> bool:
        """Whether the answer promises more than that the record is written."""
        if self.safe_when_written:
            return False
        kind = type(record)
        if kind is Leased:
            return bool(record.name) or (bool(self._unsafe_adds) and self._has_unsafe(outcome))  # type: ignore[union-attr, arg-type]
        if kind is Returned:
            return record.dead  # type: ignore[union-attr]
        return kind is not Prolonged

    def hold(self, ref: Any, outcome: AnyOutcome) -> None:
        """Answer once all that is written by now is safe."""
        self._held.append((self._end, ref, outcome))

    def on_safe(self, position: int, out: Effects) -> None:
        """All records below `position` are on disk: send the answers that waited for it."""
        if not self.claimed and position >= self._claim_end > 0:
            self.claimed = True
        if self.safe_when_written:
            position = self._end
        held = self._held
        while held and held[0][0] <= position:
            _, ref, outcome = held.popleft()
            self.reply(ref, outcome, out)
        adds = self._unsafe_adds
        while adds and adds[0][0] <= position:
            self._safe_seq = adds.popleft()[1]

    @property
    def waits_for_safety(self) -> bool:
        """Whether an answer is held until the log is safe."""
        return bool(self._held)

    def next_wake_us(self, now_us: int) -> int:
        """When `on_wake` should be called next."""
        times = [self._timers[0][0]]  # there is always one for the sessions
        lease_us = self.deadlines.next_us()
        if lease_us is not None:
            times.append(min(lease_us + self.stalled_us, now_us + TICK_US))
        self.wake_us = min(times)
        return self.wake_us

    def on_wake(self, now_us: int, wall_us: int, out: Effects, *, due_us: int | None = None) -> None:
        """Time has passed: end leases, ripen and expire items, end waits. `due_us` is when this wake-up was due."""
        if due_us is not None and now_us - due_us > self.limits.late_us:
            self.stalled_us += now_us - due_us
        self._watch_clock(now_us, wall_us, out)
        wall_us = self.wall_us(now_us)
        over = self.deadlines.expired(now_us - self.stalled_us, self.shard.queues)
        for queue, counters in over.items():
            self.shard.queues[queue].settling.update(counters)
            out.stage(Returned(wall_us, b"", 0, 0, queue, counters, LEASE_EXPIRED))
        self.deadlines.tidy(self.shard.queues)
        while self._timers and self._timers[0][0] <= now_us:
            _, _, kind, key = heappop(self._timers)
            getattr(self, f"_on_{kind}_timer")(now_us, key, out)

    def on_disk_full(
        self, now_us: int, records: list[AnyRecord], refs: list[tuple[Any, bool]], out: Effects
    ) -> tuple[list[AnyRecord], list[tuple[Any, bool]]]:
        """There is no room: adds are refused; the rest, which empties the queue, is handed back for the reserve."""
        pairs = list(zip(records, refs, strict=True))
        refused = {item[ITEM_ID] for record in records if type(record) is Added for item in record.items}
        undone = [pair for pair in pairs if type(pair[0]) is Added or _rests_on(pair[0], refused)]
        kept = [pair for pair in pairs if pair not in undone]
        self._undo(now_us, undone, out)
        return [record for record, _ in kept], [ref for _, ref in kept]

    def on_reserve_full(
        self, now_us: int, records: list[AnyRecord], refs: list[tuple[Any, bool]], out: Effects
    ) -> None:
        """Not even the reserve had room."""
        self._undo(now_us, list(zip(records, refs, strict=True)), out)

    # -- what the verbs use ----------------------------------------------------------------------------------------

    def wall_us(self, now_us: int) -> int:
        return now_us + self._offset_us

    def reply(self, ref: Any, outcome: AnyOutcome, out: Effects) -> None:
        """Answer whoever waits under `ref`."""
        if ref is None:
            return
        if type(ref) is _Numbered:
            for waiting in self._in_flight.pop(ref, ()):
                out.replies.append((waiting, outcome))
        else:
            out.replies.append((ref, outcome))

    def after(self, now_us: int, record: AnyRecord, out: Effects) -> None:
        """Serve who waited for what one record brought."""
        touched: dict[str, bool] = {}
        self._touch(record, touched)
        self._after(now_us, touched, out)

    def refuse(self, ref: Any, error: HeadraceError, out: Effects) -> None:
        self.reply(ref, refusal(error), out)

    def take_seqs(self, count: int) -> int:
        """The first of so many new places in line."""
        first = self.next_seq
        self.next_seq += count
        return first

    def take_counters(self, count: int) -> int:
        """The first of so many new receipts."""
        first = self.next_counter
        self.next_counter += count
        return first

    def park(self, line: Line, request: Request, queues: list[str], wait_us: int, now_us: int) -> None:
        """Let a request wait; a negative `wait_us` is for ever."""
        until_us = None if wait_us < 0 else now_us + wait_us
        line.park(Parked(request, queues, until_us))
        if until_us is not None:
            self._set_timer(until_us, "parked", request.ref)

    def arm(self, now_us: int, sub: Subqueue) -> None:
        """See to it that we wake when this queue's next item ripens or expires, or a name ends."""
        times = [sub.next_due_us(), sub.next_death_us(), sub.next_name_end_us()]
        wall_times = [at for at in times if at is not None]
        if not wall_times:
            return
        at_us = max(now_us, min(wall_times) - self._offset_us)
        if at_us < self._alarms.get(sub.name, at_us + 1):
            self._alarms[sub.name] = at_us
            self._set_timer(at_us, "queue", sub.name)

    # -- repeats ---------------------------------------------------------------------------------------------------

    def _is_first(self, request: Request, out: Effects) -> bool:
        """Whether a numbered request is new; a repeat is answered as the first one was."""
        key = _Numbered(request.session, request.number)
        waiting = self._in_flight.get(key)
        if waiting is not None:
            waiting.append(request.ref)
            return False
        session = self.shard.sessions.get(request.session)
        if session is None:
            error: HeadraceError = OutcomeUnknown(
                "this session is not known here (silent for too long, or another node's data): "
                "whether the request was carried out cannot be told"
            )
        elif request.number in session.outcomes:
            self.hold(request.ref, session.outcomes[request.number])
            return False
        elif request.number >= session.answered:
            return True
        else:
            error = PeerViolation(f"request {request.number} was reported as answered and is asked again")
        out.replies.append((request.ref, refusal(error)))
        return False

    # -- applying --------------------------------------------------------------------------------------------------

    def _arm_alarmed(self, now_us: int) -> None:
        """Some queues have been given an item that time will change."""
        alarmed, self.shard.alarms[:] = self.shard.alarms[:], ()
        for queue in dict.fromkeys(alarmed):
            sub = self.shard.queues.get(queue)
            if sub is not None:
                self.arm(now_us, sub)

    def _joined(self, queue: str, items: list[bytes], duplicates: adding.Duplicates) -> None:
        """Items are in: until the log is safe up to here, what hands them out waits."""
        if not self.safe_when_written:
            self._unsafe_adds.append((self._end, self.shard.next_seq))
        if self.pending_keys or self.shard.queues[queue].pending_items:
            adding.unreserve(self, queue, items, duplicates)

    def _has_unsafe(self, outcome: PopDone) -> bool:
        safe = self._safe_seq.to_bytes(8, "big")
        return any(entry[8:16] >= safe for batch in outcome.batches for entry in batch.entries)

    def _start_leases(self, now_us: int, record: Leased) -> None:
        if record.name:
            return
        deadline_us = now_us - self.stalled_us + record.lease_us
        self.deadlines.set(deadline_us, record.first, len(record.seqs), self.shard.queues[record.queue])
        wake_us = now_us + min(TICK_US, record.lease_us)
        if wake_us < self.wake_us:
            self.wake_us = wake_us

    def _touch(self, record: AnyRecord, touched: dict[str, bool]) -> None:
        """Note which queues a record may have brought items to, or room (True)."""
        kind = type(record)
        if kind in _BRINGS:
            queue = record.queue  # type: ignore[union-attr]
            touched[queue] = touched.get(queue, False) or kind in _BRINGS_ROOM
            if kind is Committed:
                for queue, *_ in record.added:  # type: ignore[union-attr]
                    touched.setdefault(queue, False)

    def _after(self, now_us: int, touched: dict[str, bool], out: Effects) -> None:
        """Serve who waited for what the records brought: items, and room where the queue's flag says so."""
        for queue, brings_room in touched.items():
            if self.pops.waits(queue) and queue in self.shard.queues:
                popping.serve(self, now_us, queue, out)
            if brings_room and self.adds.waits(queue):
                adding.serve(self, now_us, queue, out)

    def _undo(self, now_us: int, pairs: list[tuple[AnyRecord, tuple[Any, bool]]], out: Effects) -> None:
        """Take decisions back whose records could not be written, last first."""
        wall_us = self.wall_us(now_us)
        for record, (ref, more) in reversed(pairs):
            queue = getattr(record, "queue", None)
            sub = self.shard.queues.get(queue) if queue is not None else None
            if sub is not None:
                sub.stirred.clear()
            match record:
                case Added():
                    adding.unreserve(self, record.queue, record.items, record.duplicates)
                case Committed() | Returned():
                    assert sub is not None
                    sub.settling.difference_update(record.counters)
                    if isinstance(record, Returned) and record.reason == LEASE_EXPIRED:
                        again_us = now_us - self.stalled_us + TICK_US
                        self.deadlines.prolong(again_us, record.counters, sub.name)
                    sub.release([sub.former[n] for n in record.counters if n in sub.former], wall_us)
                    for target, _, items, duplicates in record.added if isinstance(record, Committed) else ():
                        adding.unreserve(self, target, items, duplicates)
                case Leased():
                    for repeat in self.naming.pop((record.queue, record.name), ()):
                        self.refuse(repeat, _RESERVE_FULL, out)
                    if record.more:
                        self.pops.leave(ref)  # the rest of a stream goes with the part that is refused
                    if sub is not None:
                        sub.release(record.seqs, wall_us)
                case Expired():
                    assert sub is not None
                    sub.release(record.seqs, wall_us)
                    self._try_again(now_us, sub.name)
                case NamesEnded():
                    self._try_again(now_us, record.queue)
                case Dropped():
                    assert sub is not None
                    sub.release(list(sub.reserved), wall_us)
                case Purged():
                    assert sub is not None
                    sub.release(record.queued_seqs, wall_us)
                case _:
                    pass
            if queue is not None and (self.pops.waits(queue) or self.adds.waits(queue)):
                self._try_again(now_us, queue)
            if more:
                continue
            self._parts.pop(ref, None)
            if isinstance(record, Added):
                self.refuse(
                    ref, Full("the disk is full: free some space, or work the queue off; nothing was added"), out
                )
            else:
                self.refuse(ref, _RESERVE_FULL, out)

    def _try_again(self, now_us: int, queue: str) -> None:
        """What time or somebody waiting asked for could not be written: look again in a while."""
        again_us = now_us + TICK_US
        if again_us < self._alarms.get(queue, again_us + 1):
            self._alarms[queue] = again_us
            self._set_timer(again_us, "queue", queue)

    # -- timers ----------------------------------------------------------------------------------------------------

    def _set_timer(self, at_us: int, kind: str, key: Any) -> None:
        self._timer_count += 1
        if at_us < self.wake_us:
            self.wake_us = at_us
        heappush(self._timers, (at_us, self._timer_count, kind, key))

    def _on_parked_timer(self, now_us: int, ref: Any, out: Effects) -> None:
        for line in (self.pops, self.adds):
            parked = line.leave(ref)
            if parked is None:
                continue
            if parked.until_us is not None and parked.until_us > now_us:
                line.park(parked)
            elif line is self.pops:
                popping.give_up(self, now_us, parked.request, out)
            else:
                adding.give_up(self, parked.request, out)

    def _on_queue_timer(self, now_us: int, queue: str, out: Effects) -> None:
        sub = self.shard.queues.get(queue)
        if self._alarms.pop(queue, None) is None or sub is None:
            return  # an alarm that was moved forward leaves its old timer behind
        wall_us = self.wall_us(now_us)
        popping.freshen(self, now_us, sub, out)
        names = sub.ended_names(wall_us)
        if names:
            out.stage(NamesEnded(wall_us, b"", 0, 0, queue, names))  # its record arms the queue again
        else:
            self.arm(now_us, sub)
        if self.pops.waits(queue):
            popping.serve(self, now_us, queue, out)
        if self.adds.waits(queue):
            adding.serve(self, now_us, queue, out)

    def _on_sessions_timer(self, now_us: int, key: None, out: Effects) -> None:
        horizon_us = self.wall_us(now_us) - self.limits.session_silence_us
        busy = {grant.session for sub in self.shard.queues.values() for _, grant in sub.leases.values()}
        busy.update(parked.request.session for line in (self.pops, self.adds) for parked in line)
        silent = [
            session
            for session, state in self.shard.sessions.items()
            if state.seen_us < horizon_us and session not in busy
        ]
        if silent:
            out.stage(SessionsEnded(self.wall_us(now_us), b"", 0, 0, silent))
        self._set_timer(now_us + SESSIONS_EVERY_US, "sessions", None)

    def _watch_clock(self, now_us: int, wall_us: int, out: Effects) -> None:
        """Follow the wall clock; a step of it is a fact worth keeping, and moves every alarm."""
        step_us = wall_us - self.wall_us(now_us)
        self._offset_us += step_us
        if abs(step_us) > US:
            out.stage(ClockStepped(wall_us, b"", 0, 0, step_us))
            self._alarms.clear()
            for sub in self.shard.queues.values():
                self.arm(now_us, sub)

    def _settle_recovered(self, now_us: int) -> None:
        """Give what was recovered its timers: each lease a full new period, but a detached one what is left of its own.

        Nobody renews a detached lease, and each one-shot command is a boot: full periods would keep it for ever.
        """
        wall_us = self.wall_us(now_us)
        for sub in self.shard.queues.values():
            for counter, (_, grant) in sub.leases.items():
                if not grant.name:
                    spent_us = max(0, wall_us - grant.at_us) if grant.detached else 0
                    self.deadlines.set(now_us + max(0, grant.lease_us - spent_us), counter, 1, sub)
            self.arm(now_us, sub)
        self.shard.alarms.clear()
        self._set_timer(now_us + SESSIONS_EVERY_US, "sessions", None)

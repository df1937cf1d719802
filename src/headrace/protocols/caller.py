"""The client's side of a session. Sans-I/O: a driver moves messages and tells the time.

A call that changes state bears a number, and is sent again under it after every reconnect until it is answered or its
deadline passes: the node answers a repeat as it did the first. A pop that waits is unnumbered, for it may wait for
ever: what it was handed and the connection lost, the node hands out again when we `Resume`. Whoever asks is told
exactly one final outcome: the node's; `Unavailable` when the call was never sent, or only looked; `OutcomeUnknown`
otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from headrace.core.commands import (
    Abort,
    Add,
    AnyCommand,
    AnyOutcome,
    Batch,
    Commit,
    Describe,
    EndSession,
    Extend,
    ListDead,
    ListQueues,
    Peek,
    Pop,
    PopDone,
    Resume,
    Settled,
    Why,
    refusal,
)
from headrace.core.errors import HeadraceError, OutcomeUnknown, PeerViolation, Unavailable
from headrace.core.messages import VERSION, Answer, Call, Calls, Goodbye, Hello, Welcome
from headrace.core.records import CLOSED

LOOKS: Final = (Peek, ListDead, ListQueues, Describe, Why)
"""Commands that change nothing."""
HELD_SLACK: Final = 1000
UNWANTED: Final = "nobody waited for it any more"

CALL_BYTES: Final = 4096
"""More than a call has beside its items and receipts."""
RECEIPT_BYTES: Final = 9

Told = list[tuple[Any, AnyOutcome]]


class Pending(msgspec.Struct, gc=False):
    """A call that has not had its final answer."""

    ref: Any
    command: AnyCommand
    number: int
    deadline_us: int | None
    waits: bool
    sent: bool = False


class Caller:
    """One session, over one connection at a time."""

    def __init__(self, session: bytes, *, token: str = "") -> None:
        self.session = session
        self.welcome: Welcome | None = None
        """What the node said of itself, while we are connected."""
        self._token = token
        self._is_new = True
        self._next_id = 1
        self.next_number = 1
        """The number of the next call that has one."""
        self._pending: dict[int, Pending] = {}
        self._numbered: dict[int, int] = {}
        self._outbox: list[int] = []
        self._under_way: set[int] = set()
        """What was sent on this connection and has not had its last answer, whoever waits for it."""
        self._cancels: list[int] = []
        self._earliest_us: int | None = None
        """No deadline is earlier."""
        self.is_unheard = False
        """Whether a call on this connection was not answered by its deadline: the other end may be gone."""
        self._resume_id = 0
        self._held: dict[tuple[int, int], int] = {}
        """Until when we may hold what we were handed while we waited, by epoch and receipt."""
        self.refusal: HeadraceError | None = None
        """Why the node will not talk to us, if it said so."""

    # -- asking ----------------------------------------------------------------------------------------------------

    def call(self, ref: Any, command: AnyCommand, *, deadline_us: int | None) -> int:
        """Ask; the id by which the call can be cancelled."""
        if self.refusal is not None:
            raise self.refusal
        call_id = self._next_id
        self._next_id = call_id + 1
        waits = isinstance(command, Pop) and bool(command.wait_us or command.stream)
        number = 0
        if not waits and not isinstance(command, (*LOOKS, EndSession)):
            number = self.next_number
            self.next_number = number + 1
            self._numbered[number] = call_id
        self._pending[call_id] = Pending(ref, command, number, deadline_us, waits)
        if deadline_us is not None and (self._earliest_us is None or deadline_us < self._earliest_us):
            self._earliest_us = deadline_us
        self._outbox.append(call_id)
        return call_id

    def cancel(self, call_id: int) -> None:
        """Nobody waits for this call any more; what comes for it goes back."""
        pending = self._pending.get(call_id)
        if pending is None:
            return
        if pending.waits:
            self._forsake(call_id, pending)
        elif pending.sent:
            pending.ref = None
        else:
            self._forget(call_id)

    # -- messages --------------------------------------------------------------------------------------------------

    def hello(self) -> Hello:
        """The first message of a connection."""
        return Hello(VERSION, self.session, self._is_new, self._token)

    def flush(self) -> Calls | None:
        """What is to be said now, if we are connected and there is anything; as much as fits into a frame."""
        if self.welcome is None or not (self._outbox or self._cancels):
            return None
        answered = min(self._numbered, default=self.next_number)
        calls: list[Call] = []
        later: list[int] = []
        outbox = self._outbox
        room_bytes = self.welcome.limits.frame_bytes
        room_calls = self.welcome.calls_in_flight - len(self._under_way)
        for at, call_id in enumerate(outbox):
            pending = self._pending.get(call_id)
            if pending is None:
                continue
            if self._resume_id and pending.waits:
                later.append(call_id)  # what we were handed before goes first
                continue
            if len(outbox) > 1:
                room_bytes -= size_of(pending.command)
            if len(calls) == room_calls or (room_bytes < 0 and calls):
                later += outbox[at:]
                break
            pending.sent = True
            calls.append(Call(call_id, pending.number, answered, pending.command))
        self._under_way.update(call.id for call in calls)
        cancels, self._outbox, self._cancels = self._cancels, later, []
        return Calls(calls, cancels) if calls or cancels else None

    def on_welcome(self, welcome: Welcome) -> Told:
        """The node agrees to talk: say again what is unanswered."""
        if welcome.version != VERSION:
            raise PeerViolation(
                f"the node speaks version {welcome.version} and this client version {VERSION}: bring both to one"
            )
        self.welcome = welcome
        told: Told = []
        if not welcome.knows:
            told = self._fail_sent(
                OutcomeUnknown("the node does not know this session any more: whether it happened cannot be told")
            )
        elif not self._is_new:
            self._resume_id = self._next_id
            self._next_id += 1
            self._pending[self._resume_id] = Pending(None, self._resume(), 0, None, False)
            self._outbox.insert(0, self._resume_id)
        self._is_new = False
        return told

    def on_goodbye(self, goodbye: Goodbye, error: HeadraceError) -> Told:
        """The node will not talk to us: nobody need try again, unless it says that it cannot just now."""
        if isinstance(error, Unavailable):
            return []
        self.refusal = error
        unknown = OutcomeUnknown(f"it may have happened, and the node does not talk to us any more: {error}")
        sent = [call_id for call_id, pending in self._pending.items() if pending.sent and pending.number]
        return self._fail(sent, unknown) + self._fail(list(self._pending), error)

    def on_answers(self, answers: Iterable[Answer], now_us: int) -> Told:
        """Who is told what."""
        told: Told = []
        for answer in answers:
            outcome = answer.outcome
            if not (isinstance(outcome, PopDone) and outcome.more):
                self._under_way.discard(answer.id)
            pending = self._pending.get(answer.id)
            if pending is None:
                continue  # its deadline has passed
            if answer.id == self._resume_id:
                self._resume_id = 0
                self._forget(answer.id)
                if isinstance(outcome, PopDone):  # else what we were handed comes back when its leases end
                    told += self._resumed(outcome.batches, now_us)
                continue
            if isinstance(outcome, PopDone):
                if pending.waits:
                    self._hold(outcome, now_us)
                if pending.ref is None:
                    self._give_back(outcome.batches)
                elif outcome.more:
                    self._use_credit(pending, outcome)
            elif isinstance(outcome, Settled) and self._held:
                self._note_settled(pending.command, outcome, now_us)
            if not (isinstance(outcome, PopDone) and outcome.more):
                self._forget(answer.id)
            if pending.ref is not None:
                told.append((pending.ref, outcome))
        return told

    def on_lost(self) -> None:
        """The connection is gone: all that is unanswered is to be said again on the next one."""
        self.welcome = None
        self._under_way.clear()
        self.is_unheard = False
        if self._resume_id:
            self._forget(self._resume_id)
            self._resume_id = 0
        self._cancels.clear()
        for call_id, pending in list(self._pending.items()):
            if pending.ref is None and pending.waits:
                self._forget(call_id)
        self._outbox = sorted(self._pending)

    def on_time(self, now_us: int) -> Told:
        """Calls whose deadline has passed."""
        if self._earliest_us is None or now_us < self._earliest_us:
            return []
        late = [
            call_id
            for call_id, pending in self._pending.items()
            if pending.deadline_us is not None and pending.deadline_us <= now_us
        ]
        self.is_unheard = self.is_unheard or any(call_id in self._under_way for call_id in late)
        told = self._fail(late, None)
        deadlines = [pending.deadline_us for pending in self._pending.values() if pending.deadline_us is not None]
        self._earliest_us = min(deadlines, default=None)
        return told

    def next_deadline_us(self) -> int | None:
        """When to look at the clock; there may be nothing then."""
        return self._earliest_us

    def waiting(self) -> list[Any]:
        """Who has not been told anything final."""
        return [pending.ref for pending in self._pending.values() if pending.ref is not None]

    @property
    def has_news(self) -> bool:
        """Whether there is something to be said."""
        return bool(self._outbox or self._cancels)

    # -- pieces ----------------------------------------------------------------------------------------------------

    def _forget(self, call_id: int) -> None:
        pending = self._pending.pop(call_id)
        if pending.number:
            del self._numbered[pending.number]

    def _fail(self, call_ids: list[int], error: HeadraceError | None) -> Told:
        told: Told = []
        for call_id in call_ids:
            pending = self._pending[call_id]
            if pending.ref is not None:
                told.append((pending.ref, refusal(error or _late(pending))))
            if pending.waits:
                self._forsake(call_id, pending)
            else:
                self._forget(call_id)
        return told

    def _forsake(self, call_id: int, pending: Pending) -> None:
        """Nobody waits for this pop any more: have it ended, and until then give back what comes for it."""
        if call_id not in self._under_way:
            self._forget(call_id)
        elif pending.ref is not None:
            pending.ref = pending.deadline_us = None
            self._cancels.append(call_id)

    def _fail_sent(self, error: HeadraceError) -> Told:
        """The session begins anew: what was sent has no answer. Numbers go on, so that nothing old passes for new."""
        self._held.clear()
        return self._fail([i for i, p in self._pending.items() if p.sent and p.number], error)

    def _resume(self) -> Resume:
        by_epoch: dict[int, list[int]] = {}
        for epoch, counter in self._held:
            by_epoch.setdefault(epoch, []).append(counter)
        return Resume(list(by_epoch.items()))

    def _hold(self, outcome: PopDone, now_us: int) -> None:
        for batch in outcome.batches:
            until_us = now_us + 2 * batch.lease_us
            self._held.update(((batch.epoch, counter), until_us) for counter in batch.counters)
        if len(self._held) > HELD_SLACK:
            live = {receipt: until_us for receipt, until_us in self._held.items() if until_us > now_us}
            if len(live) < len(self._held) // 2:
                self._held = live

    def _note_settled(self, command: AnyCommand, outcome: Settled, now_us: int) -> None:
        """Receipts that are settled are forgotten; not those that are gone, for that may go with the node's power."""
        if isinstance(command, Commit | Abort):
            refused = dict(outcome.refused)
            for counter in command.counters:
                if counter not in refused:
                    self._held.pop((command.epoch, counter), None)
        elif isinstance(command, Extend):
            for counter in command.counters:
                receipt = command.epoch, counter
                if receipt in self._held:
                    self._held[receipt] = max(self._held[receipt], now_us + 2 * command.lease_us)

    def _use_credit(self, pending: Pending, outcome: PopDone) -> None:
        assert isinstance(pending.command, Pop)
        left = pending.command.count - sum(len(batch.counters) for batch in outcome.batches)
        pending.command = msgspec.structs.replace(pending.command, count=left)

    def _resumed(self, batches: list[Batch], now_us: int) -> Told:
        """What we had been handed and did not know of goes to those who wait; what nobody wants goes back."""
        told: Told = []
        unwanted: list[Batch] = []
        for rest in batches:
            while rest.counters:
                call_id = next((i for i, p in self._pending.items() if _wants(p, rest.queue)), None)
                if call_id is None:
                    unwanted.append(rest)
                    break
                pending = self._pending[call_id]
                assert isinstance(pending.command, Pop)
                batch, rest = _divided(rest, pending.command.count)
                more = pending.command.stream and len(batch.counters) < pending.command.count
                outcome = PopDone([batch], None, more)
                self._hold(outcome, now_us)
                if more:
                    self._use_credit(pending, outcome)
                else:
                    self._forget(call_id)
                told.append((pending.ref, outcome))
        self._give_back(unwanted)
        return told

    def _give_back(self, batches: list[Batch]) -> None:
        for batch in batches:
            unwanted = Abort(batch.queue, batch.epoch, batch.counters, 0, UNWANTED, cause=CLOSED)
            self.call(None, unwanted, deadline_us=None)


def size_of(command: AnyCommand) -> int:
    """About how many bytes a command has on the wire, rather more than fewer."""
    match command:
        case Add():
            return CALL_BYTES + _items_bytes(command.items)
        case Commit():
            added = sum(_items_bytes(items) for _, items in command.added)
            return CALL_BYTES + RECEIPT_BYTES * len(command.counters) + added
        case Abort() | Extend():
            return CALL_BYTES + RECEIPT_BYTES * len(command.counters)
        case Resume():
            return CALL_BYTES + RECEIPT_BYTES * sum(1 + len(counters) for _, counters in command.held)
        case _:
            return CALL_BYTES


def _items_bytes(items: list[bytes]) -> int:
    return sum(map(len, items)) + 5 * len(items)


def _wants(pending: Pending, queue: str) -> bool:
    command = pending.command
    return (
        pending.waits
        and pending.ref is not None
        and isinstance(command, Pop)
        and queue in command.queues
        and command.count > 0
    )


def _divided(batch: Batch, count: int) -> tuple[Batch, Batch]:
    """The first so many of a batch, and the rest."""
    first, rest = (
        msgspec.structs.replace(
            batch, counters=batch.counters[part], entries=batch.entries[part], attempts=batch.attempts[part]
        )
        for part in (slice(count), slice(count, None))
    )
    return first, rest


def _late(pending: Pending) -> HeadraceError:
    name = type(pending.command).__name__.lower()
    if not pending.sent:
        return Unavailable(f"{name}: no node could be reached in time; nothing was sent")
    if isinstance(pending.command, (*LOOKS, Extend)) or pending.waits:
        return Unavailable(f"{name}: no answer came in time")
    return OutcomeUnknown(f"{name}: no answer came in time; it may have happened")

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
        self._next_number = 1
        self._pending: dict[int, Pending] = {}
        self._numbered: dict[int, int] = {}
        self._outbox: list[int] = []
        self._cancels: list[int] = []
        self._resume_id = 0
        self._held: dict[int, int] = {}
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
            number = self._next_number
            self._next_number = number + 1
            self._numbered[number] = call_id
        self._pending[call_id] = Pending(ref, command, number, deadline_us, waits)
        self._outbox.append(call_id)
        return call_id

    def cancel(self, call_id: int) -> None:
        """Nobody waits for this call any more; what comes for it goes back."""
        pending = self._pending.get(call_id)
        if pending is None:
            return
        pending.ref = None
        if not pending.sent:
            self._forget(call_id)
        elif pending.waits:
            self._cancels.append(call_id)

    # -- messages --------------------------------------------------------------------------------------------------

    def hello(self) -> Hello:
        """The first message of a connection."""
        return Hello(VERSION, self.session, self._is_new, self._token)

    def flush(self) -> Calls | None:
        """What is to be said now, if we are connected and there is anything."""
        if self.welcome is None or not (self._outbox or self._cancels):
            return None
        answered = min(self._numbered, default=self._next_number)
        calls = []
        later = []
        for call_id in self._outbox:
            pending = self._pending.get(call_id)
            if pending is None:
                continue
            if self._resume_id and pending.waits:
                later.append(call_id)  # what we were handed before goes first
                continue
            pending.sent = True
            calls.append(Call(call_id, pending.number, answered, pending.command))
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
            self._pending[self._resume_id] = Pending(None, Resume(list(self._held)), 0, None, False)
            self._outbox.insert(0, self._resume_id)
        self._is_new = False
        return told

    def on_goodbye(self, goodbye: Goodbye, error: HeadraceError) -> Told:
        """The node will not talk to us: nobody need try again."""
        self.refusal = error
        return self._fail(list(self._pending), error)

    def on_answers(self, answers: Iterable[Answer], now_us: int) -> Told:
        """Who is told what."""
        told: Told = []
        for answer in answers:
            pending = self._pending.get(answer.id)
            if pending is None:
                continue  # its deadline has passed
            outcome = answer.outcome
            if answer.id == self._resume_id:
                self._resume_id = 0
                self._forget(answer.id)
                assert isinstance(outcome, PopDone)
                told += self._resumed(outcome.batches, now_us)
                continue
            if isinstance(outcome, PopDone):
                if pending.waits:
                    self._hold(outcome, now_us)
                if pending.ref is None:
                    self._give_back(outcome.batches)
                elif outcome.more:
                    self._use_credit(pending, outcome)
            elif isinstance(outcome, Settled):
                self._let_go(pending.command)
            if not (isinstance(outcome, PopDone) and outcome.more):
                self._forget(answer.id)
            if pending.ref is not None:
                told.append((pending.ref, outcome))
        return told

    def on_lost(self) -> None:
        """The connection is gone: all that is unanswered is to be said again on the next one."""
        self.welcome = None
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
        late = [
            call_id
            for call_id, pending in self._pending.items()
            if pending.deadline_us is not None and pending.deadline_us <= now_us
        ]
        return self._fail(late, None)

    def next_deadline_us(self) -> int | None:
        deadlines = [p.deadline_us for p in self._pending.values() if p.deadline_us is not None]
        return min(deadlines, default=None)

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
            self._forget(call_id)
            if pending.waits and pending.sent:
                self._cancels.append(call_id)
            if pending.ref is not None:
                told.append((pending.ref, refusal(error or _late(pending))))
        return told

    def _fail_sent(self, error: HeadraceError) -> Told:
        """A new session begins: what the old one had sent has no answer; the rest gets new numbers."""
        told = self._fail([i for i, p in self._pending.items() if p.sent and p.number], error)
        self._held.clear()
        self._numbered.clear()
        self._next_number = 1
        for call_id, pending in self._pending.items():
            if pending.number:
                pending.number = self._next_number
                self._next_number += 1
                self._numbered[pending.number] = call_id
        return told

    def _hold(self, outcome: PopDone, now_us: int) -> None:
        for batch in outcome.batches:
            self._held.update(dict.fromkeys(batch.counters, now_us + 2 * batch.lease_us))
        if len(self._held) > HELD_SLACK:
            live = {counter: until_us for counter, until_us in self._held.items() if until_us > now_us}
            if len(live) < len(self._held) // 2:
                self._held = live

    def _let_go(self, command: AnyCommand) -> None:
        if self._held and isinstance(command, Commit | Abort):
            for counter in command.counters:
                self._held.pop(counter, None)

    def _use_credit(self, pending: Pending, outcome: PopDone) -> None:
        assert isinstance(pending.command, Pop)
        left = pending.command.count - sum(len(batch.counters) for batch in outcome.batches)
        pending.command = msgspec.structs.replace(pending.command, count=left)

    def _resumed(self, batches: list[Batch], now_us: int) -> Told:
        """What we had been handed and did not know of goes to those who wait; what nobody wants goes back."""
        told: Told = []
        unwanted: list[Batch] = []
        for batch in batches:
            call_id = next((i for i, p in self._pending.items() if _wants(p, batch)), None)
            if call_id is None:
                unwanted.append(batch)
                continue
            pending = self._pending[call_id]
            assert isinstance(pending.command, Pop)
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


def _wants(pending: Pending, batch: Batch) -> bool:
    command = pending.command
    return (
        pending.waits
        and pending.ref is not None
        and isinstance(command, Pop)
        and batch.queue in command.queues
        and len(batch.counters) <= command.count
    )


def _late(pending: Pending) -> HeadraceError:
    name = type(pending.command).__name__.lower()
    if not pending.sent:
        return Unavailable(f"{name}: no node could be reached in time; nothing was sent")
    if isinstance(pending.command, (*LOOKS, Extend)) or pending.waits:
        return Unavailable(f"{name}: no answer came in time")
    return OutcomeUnknown(f"{name}: no answer came in time; it may have happened")

"""The node's side of a connection. Sans-I/O: messages in, requests and messages out.

Holds the client to the protocol: `Hello` first, a version we speak, an access token where one is needed, no more calls
in flight than allowed, and only what its access allows. What a violation costs is this connection, and nobody else's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from headrace.core.access import Access
from headrace.core.commands import AnyOutcome, DeadDone, PeekDone, PopDone, Request, StatsDone, refusal
from headrace.core.errors import HeadraceError, PeerViolation, Rejected
from headrace.core.limits import Limits
from headrace.core.messages import VERSION, Answer, Answers, Calls, Goodbye, Hello, Welcome
from headrace.protocols.sense import check_command

SESSION_BYTES: Final = 16
ANSWER_BYTES: Final = 1024
"""More than most answers have beside what they carry."""
BESIDE_ENTRY_BYTES: Final = 64
"""More than an answer has beside each entry."""


class Ref(msgspec.Struct, frozen=True, gc=False):
    """Where an answer goes: a door, and the id of the call there."""

    door: Any
    id: int

    def settle(self, outcome: AnyOutcome) -> None:
        self.door.deliver(self.id, outcome)

    def __hash__(self) -> int:
        return hash((id(self.door), self.id))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ref) and other.door is self.door and other.id == self.id


class Door:
    """One connection. `wake` is called when there is something to send that was not there before."""

    def __init__(
        self,
        *,
        node: str,
        limits: Limits,
        calls_in_flight: int,
        access_of: Callable[[str], Access],
        wake: Callable[[], None],
        deliver: Callable[[int, AnyOutcome], None] | None = None,
    ) -> None:
        """`deliver` brings an answer here, from wherever it is found; without one it is found where we are."""
        self.deliver = deliver or self.answer
        self.session = b""
        self.is_new = False
        self.calls: set[int] = set()
        """Calls that have not had their final answer."""
        self._node = node
        self._limits = limits
        self._most_calls = calls_in_flight
        self._access_of = access_of
        self._wake = wake
        self._access: Access | None = None
        self._token = ""
        self._answers: list[Answer] = []
        self._last_number = 0

    def on_hello(self, message: Hello) -> None:
        """Take the client in, or raise."""
        if self._access is not None:
            raise PeerViolation("hello was said twice")
        if message.version != VERSION:
            raise PeerViolation(
                f"the client speaks version {message.version} and this node version {VERSION}: bring both to one"
            )
        if len(message.session) != SESSION_BYTES:
            raise PeerViolation(f"a session has {SESSION_BYTES} bytes, not {len(message.session)}")
        self._access = self._access_of(message.token)
        self._token = message.token
        self.session, self.is_new = message.session, message.is_new

    def renew_access(self) -> None:
        """Ask again what the client's token allows; raises when that is nothing."""
        if self._access is not None:
            self._access = self._access_of(self._token)

    def welcome(self, *, knows: bool) -> Welcome:
        return Welcome(VERSION, self._node, self._limits, knows, self._most_calls)

    def on_calls(self, message: Calls) -> tuple[list[Request], list[Ref]]:
        """The requests that the calls come to, and the refs that are cancelled."""
        access = self._access
        if access is None:
            raise PeerViolation("a call came before hello")
        calls = self.calls
        if len(calls) + len(message.calls) > self._most_calls:
            raise PeerViolation(
                f"{len(calls) + len(message.calls):,} calls in flight are more than the {self._most_calls:,} allowed "
                "on one connection"
            )
        requests = []
        for call in message.calls:
            if call.id in calls or 0 < call.number <= self._last_number:
                continue  # said twice on one connection: the first is answered
            self._last_number = call.number or self._last_number
            calls.add(call.id)
            try:
                check_command(call.command, self._limits)
                if not access.is_full:
                    access.check(call.command)
            except Rejected as error:
                self.answer(call.id, refusal(error))
                continue
            requests.append(Request(Ref(self, call.id), call.command, self.session, call.number, call.answered))
        return requests, [Ref(self, call_id) for call_id in message.cancels if call_id in calls]

    def answer(self, call_id: int, outcome: AnyOutcome) -> None:
        """Say what became of a call."""
        if not (type(outcome) is PopDone and outcome.more):
            self.calls.discard(call_id)
        if not self._answers:
            self._wake()
        self._answers.append(Answer(call_id, outcome))

    def flush(self, most: int | None = None) -> Answers | None:
        """What is to be said now, if there is anything; the first answers, at most so many, and as fit into a frame."""
        waiting = self._answers
        if not waiting:
            return None
        count = 0
        room_bytes = self._limits.frame_bytes
        for answer in waiting if most is None else waiting[:most]:
            room_bytes -= size_of(answer.outcome)
            if room_bytes < 0 and count:
                break
            count += 1
        answers, self._answers = waiting[:count], waiting[count:]
        return Answers(answers)

    def refs(self) -> list[Ref]:
        """Who is not answered yet."""
        return [Ref(self, call_id) for call_id in sorted(self.calls)]


def size_of(outcome: AnyOutcome) -> int:
    """About how many bytes an outcome has on the wire, rather more than fewer."""
    match outcome:
        case PopDone():
            return ANSWER_BYTES + sum(_entries_bytes(batch.entries) for batch in outcome.batches)
        case PeekDone():
            return ANSWER_BYTES + _entries_bytes(outcome.entries)
        case DeadDone():
            return ANSWER_BYTES + sum(ANSWER_BYTES + len(item.entry) for item in outcome.items)
        case StatsDone():
            return ANSWER_BYTES * (1 + len(outcome.queues))
        case _:
            return ANSWER_BYTES


def _entries_bytes(entries: list[bytes]) -> int:
    return sum(map(len, entries)) + BESIDE_ENTRY_BYTES * len(entries)


def goodbye(error: HeadraceError) -> Goodbye:
    """Why the node hangs up."""
    return Goodbye(type(error).__name__, str(error))

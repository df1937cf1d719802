"""A caller and a door that are piped together in memory, with a node behind the door: a driver without a network."""

from __future__ import annotations

from typing import Any

from headrace.core.access import FULL, Access
from headrace.core.commands import (
    AnyCommand,
    AnyOutcome,
    CountDone,
    OpenSession,
    PopDone,
    Refused,
    error_of,
)
from headrace.core.messages import Answers, Calls, Welcome
from headrace.protocols.caller import Caller
from headrace.protocols.door import Door, Ref
from headrace.protocols.effects import turn
from headrace.wire.binary import HEAD_BYTES, from_client, from_node, pack
from tests.protocols.desk import Desk

SESSION = b"s" * 16
CALLS_IN_FLIGHT = 50


class PipedDesk(Desk):
    """A desk whose answers go to the doors that they are for."""

    def settle(self) -> None:
        """Let the node finish what it has begun."""
        self._turn()

    def _turn(self) -> None:
        turn(self.node, self.log, self.now_us, self.out)
        for ref, outcome in self.out.replies:
            if isinstance(ref, Ref):
                ref.settle(outcome)
            else:
                self.answers[ref] = outcome
        self.out.replies.clear()


class Piped:
    """One client, and the node that it is connected to now and then."""

    def __init__(self, desk: PipedDesk | None = None, *, session: bytes = SESSION, access: Access = FULL) -> None:
        self.desk = desk or PipedDesk()
        self.caller = Caller(session)
        self.access = access
        self.told: dict[Any, list[AnyOutcome]] = {}
        self.frames: list[Calls] = []
        """What the client has sent, frame by frame."""
        self.largest_answer = 0
        self.door: Door | None = None
        self.connect()

    # -- connections -------------------------------------------------------------------------------------------------

    def connect(self) -> None:
        """Say hello on a new connection, and be welcomed."""
        desk = self.desk
        self.door = Door(
            node="desk",
            limits=desk.limits,
            calls_in_flight=CALLS_IN_FLIGHT,
            access_of=lambda token: self.access,
            wake=lambda: None,
        )
        hello = from_client(pack(self.caller.hello())[HEAD_BYTES:])
        assert not isinstance(hello, Calls)
        self.door.on_hello(hello)
        ref = desk.send(OpenSession(), session=hello.session)
        desk.sync()
        opened = desk.answers[ref]
        assert isinstance(opened, CountDone)
        welcome = from_node(pack(self.door.welcome(knows=hello.is_new or opened.count > 0))[HEAD_BYTES:])
        assert isinstance(welcome, Welcome)
        self.tell(self.caller.on_welcome(welcome))

    def lose(self) -> None:
        """The connection breaks, and both sides know."""
        assert self.door is not None
        self.desk.node.cancel(self.door.refs())
        self.door = None
        self.caller.on_lost()

    def reconnect(self) -> None:
        self.lose()
        self.connect()
        self.talk()

    # -- talking -----------------------------------------------------------------------------------------------------

    def call(self, ref: str, command: AnyCommand, *, deadline_us: int | None = None) -> int:
        return self.caller.call(ref, command, deadline_us=deadline_us)

    def say(self) -> None:
        """Let the node hear what the client has to say; its answers wait at the door."""
        assert self.door is not None
        while (calls := self.caller.flush()) is not None:
            self.frames.append(calls)
            self.hear(calls)

    def hear(self, calls: Calls) -> None:
        """Let the node hear some calls."""
        assert self.door is not None
        desk = self.desk
        message = from_client(pack(calls)[HEAD_BYTES:])
        assert isinstance(message, Calls)
        requests, cancelled = self.door.on_calls(message)
        desk.node.handle(desk.now_us, requests, desk.out)
        for ref in desk.node.cancel(cancelled):
            desk.node.hold(ref, PopDone())
        desk.settle()

    def listen(self) -> None:
        """Let the client hear what waits at the door."""
        assert self.door is not None
        while (answers := self.door.flush()) is not None:
            frame = pack(answers)
            self.largest_answer = max(self.largest_answer, len(frame))
            message = from_node(frame[HEAD_BYTES:])
            assert isinstance(message, Answers)
            self.tell(self.caller.on_answers(message.answers, self.desk.now_us))

    def talk(self) -> None:
        """Let both sides say what they have to say."""
        for _ in range(3):
            self.say()
            self.listen()

    def ask(self, command: AnyCommand) -> Any:
        """The one answer to a command; a refusal is raised."""
        ref = f"ask {len(self.told)}"
        self.call(ref, command)
        self.talk()
        (outcome,) = self.told[ref]
        if isinstance(outcome, Refused):
            raise error_of(outcome)
        return outcome

    def tell(self, told: list[tuple[Any, AnyOutcome]]) -> None:
        for ref, outcome in told:
            self.told.setdefault(ref, []).append(outcome)

    def kinds(self, ref: str) -> list[str]:
        """Of which kinds the outcomes were that a caller was told."""
        return [outcome.kind if isinstance(outcome, Refused) else type(outcome).__name__ for outcome in self.told[ref]]

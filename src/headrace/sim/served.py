"""The binary door of a simulated process: what `headrace.server.binary` is to a live one.

The code that holds a connection to the protocol is the one that does so live. What comes at one instant is one batch;
what a process holds of its connections dies with it.
"""

from __future__ import annotations

from collections import Counter, deque
from typing import Final

from headrace.core.access import FULL
from headrace.core.commands import AnyOutcome, CountDone, EndSession, OpenSession, Refused, Request
from headrace.core.errors import HeadraceError, Unavailable
from headrace.core.limits import US, Limits
from headrace.core.messages import Calls, Hello
from headrace.protocols.door import Door, goodbye
from headrace.sim.checkers import verdict as v
from headrace.sim.checkers.calls import UNKNOWN
from headrace.sim.checkers.model import Report
from headrace.sim.network import NODE, Line
from headrace.sim.process import Process
from headrace.sim.world import World
from headrace.wire.binary import HELLO_BYTES, Splitter, from_client, pack

HELLO_US: Final = 10 * US
CALLS_IN_FLIGHT: Final = 1000


class Greeting:
    """Who waits for a session to be known; equal only to itself."""

    __slots__ = ("connection",)

    def __init__(self, connection: Connection | None) -> None:
        self.connection = connection


class Served:
    """All connections of one process after another."""

    def __init__(self, world: World, process: Process, limits: Limits, fired: Counter[str], report: Report) -> None:
        self.world = world
        self.process = process
        self.limits = limits
        self.fired = fired
        self._report = report
        self._ended: set[bytes] = set()
        self.connections: dict[int, Connection] = {}
        """By the number of their line, in the order in which they were made."""
        self._by_session: dict[bytes, Connection] = {}
        self._dirty: list[Connection] = []
        self._touches = 0

    def accept(self, connection: Connection, line: Line) -> None:
        """A client has connected."""
        connection.line = line
        self.connections[line.number] = connection
        self.world.after(HELLO_US, lambda: self.process.later(connection.on_hello_due))

    def on_up(self) -> None:
        """The process listens; and sees to it that no session is forgotten whose client is connected."""
        self._touches += 1
        self._touch(self._touches)

    def on_down(self) -> None:
        """Every connection goes with the process."""
        connections, self.connections = list(self.connections.values()), {}
        self._by_session.clear()
        self._dirty.clear()
        for connection in connections:
            connection.end()

    def on_answer(self, request: Request, outcome: AnyOutcome) -> None:
        """The process has an answer for one of the connections."""
        ref = request.ref
        if not isinstance(ref, Greeting):
            self._check_known(request, outcome)
            ref.settle(outcome)
        elif ref.connection is not None:
            ref.connection.on_opened(outcome)

    def _check_known(self, request: Request, outcome: AnyOutcome) -> None:
        """A session that was welcomed is known for as long as its client is connected and does not leave."""
        if isinstance(outcome, Refused) and outcome.kind == UNKNOWN and request.session not in self._ended:
            self._report(v.TOLD, f"a client that was welcomed is told of request {request.number}: {outcome.message}")

    def receive(self, request: Request) -> None:
        """A request comes in on one of the connections."""
        if isinstance(request.command, EndSession):
            self._ended.add(request.session)
        self.process.receive(request)

    def take_over(self, connection: Connection) -> None:
        """A client is back: what is left of its last connection ends, before anything is granted to that again."""
        older = self._by_session.get(connection.door.session)
        self._by_session[connection.door.session] = connection
        if older is not None and older is not connection:
            self.fired["taken_over"] += 1
            older.hang_up(None)

    def forget(self, connection: Connection) -> None:
        self.connections.pop(connection.number, None)
        if self._by_session.get(connection.door.session) is connection:
            del self._by_session[connection.door.session]
        self.process.cancel(connection.door.refs())

    def dirty(self, connection: Connection) -> None:
        """The connection has something to say once this instant's batch is decided."""
        if not self._dirty:
            self.world.after(0, self._flush)
        self._dirty.append(connection)

    def _flush(self) -> None:
        dirty, self._dirty = self._dirty, []
        for connection in dirty:
            connection.flush()

    def _touch(self, touches: int) -> None:
        if touches != self._touches:
            return
        for session in self._by_session:
            self.process.receive(Request(Greeting(None), OpenSession(), session))
        self.world.after(self.limits.session_silence_us // 4, lambda: self._touch(touches))


class Connection:
    """One client, as the node sees it."""

    line: Line

    def __init__(self, served: Served) -> None:
        self._served = served
        self._splitter = Splitter(HELLO_BYTES)
        self._is_open = True
        self._early: list[Calls] | None = []
        self._unread: deque[bytes] = deque()
        """What came while the process was paused."""
        self.is_refused = False
        self.door = Door(
            node="sim",
            limits=served.limits,
            calls_in_flight=CALLS_IN_FLIGHT,
            access_of=lambda token: FULL,
            wake=self._wake,
        )

    @property
    def number(self) -> int:
        return self.line.number

    @property
    def held_bytes(self) -> int:
        """How much of an unfinished frame is held."""
        return self._splitter.held_bytes

    # -- the network's

    def on_bytes(self, line: Line, data: bytes) -> None:
        process = self._served.process
        if not process.is_paused and not self._unread:
            self._take_in(data)
            return
        self._unread.append(data)
        process.later(self._take_in_unread)

    def on_closed(self, line: Line) -> None:
        self.end()

    # -- ours

    def flush(self) -> None:
        """Send what is to be said."""
        while self._is_open and (answers := self.door.flush()) is not None:
            self.line.send(NODE, pack(answers))

    def hang_up(self, error: HeadraceError | None) -> None:
        """Close the connection, with the reason."""
        if self._is_open:
            if error is not None:
                self.is_refused = True
                self._served.fired["refused"] += 1
                self.line.send(NODE, pack(goodbye(error)))
            self.end()

    def end(self) -> None:
        if self._is_open:
            self._is_open = False
            self.line.close(NODE)
            self._served.forget(self)

    def on_hello_due(self) -> None:
        if not self.door.session:
            self.hang_up(Unavailable("no hello came in time"))

    def on_opened(self, outcome: AnyOutcome) -> None:
        """The session is known from here on, if it was not before."""
        if not isinstance(outcome, CountDone):
            self.hang_up(Unavailable("the session could not be opened: try again"))
            return
        early, self._early = self._early, None
        if self._is_open:
            self.line.send(NODE, pack(self.door.welcome(knows=self.door.is_new or outcome.count > 0)))
            for message in early or ():
                self._guarded(message)

    def _take_in_unread(self) -> None:
        while self._unread:
            self._take_in(self._unread.popleft())

    def _take_in(self, data: bytes) -> None:
        if not self._is_open:
            return
        try:
            for payload in self._splitter.feed(data):
                message = from_client(payload)
                if isinstance(message, Hello):
                    self._on_hello(message)
                elif self._early is not None:
                    self._early.append(message)
                else:
                    self._on_calls(message)
        except HeadraceError as error:
            self.hang_up(error)

    def _on_hello(self, hello: Hello) -> None:
        served = self._served
        self.door.on_hello(hello)
        self._splitter.most_bytes = served.limits.frame_bytes
        served.take_over(self)
        served.process.receive(Request(Greeting(self), OpenSession(), hello.session))

    def _guarded(self, message: Calls) -> None:
        try:
            self._on_calls(message)
        except HeadraceError as error:
            self.hang_up(error)

    def _on_calls(self, message: Calls) -> None:
        requests, cancelled = self.door.on_calls(message)
        for request in requests:
            self._served.receive(request)
        self._served.process.cancel(cancelled)

    def _wake(self) -> None:
        self._served.dirty(self)

"""The binary door: many connections, one node, one event loop.

What the connections say between two turns of the loop is decided as one group: one append, and one sync where answers
wait for one. A sync is made in place as long as syncs are short, and in a thread otherwise. Each connection costs at
most its limits: an unfinished frame, the answers it does not read, the time until its hello.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import Callable
from time import monotonic
from typing import Any, Final, cast

from headrace.core.access import FULL, Access
from headrace.core.commands import AnyOutcome, CountDone, OpenSession, Request, refusal
from headrace.core.errors import HeadraceError, PeerViolation, Unavailable
from headrace.core.limits import US
from headrace.core.messages import Calls, Hello
from headrace.protocols.door import Door, Ref, goodbye
from headrace.runtime.address import keep_alive
from headrace.runtime.engine import Callback, Engine
from headrace.server.limits import ServerLimits
from headrace.wire.binary import HELLO_BYTES, Splitter, from_client, pack

TOUCHES: Final = 4
"""So often a session is touched in the time after which it would be forgotten."""
FIRST_PIECE: Final = 8
"""So many answers share a frame at first, then twice as many; after a frame of `LARGE_BYTES` it is others' turn."""
LARGE_BYTES: Final = 1 << 16
SHORT_SYNC_SECONDS: Final = 0.002
"""A sync up to this long costs less in place than the way to a thread and back."""


class BinaryDoor:
    """All connections of one node."""

    def __init__(self, engine: Engine, *, name: str, limits: ServerLimits, access_of: Callable[[str], Access]) -> None:
        self.engine = engine
        self.name = name
        self.limits = limits
        self.access_of = access_of
        self.loop = asyncio.get_running_loop()
        self.thread = threading.get_ident()
        self.connections: set[Connection] = set()
        self._by_session: dict[bytes, Connection] = {}
        self.refused = 0
        """Connections turned away since the start: too many, a wrong token, a broken protocol."""
        self.on_turn: Callable[[float, int], None] | None = None
        """Told of each turn that decided something: how long it took, and on how many requests."""
        self._requests: list[Request] = []
        self._cancelled: list[Ref] = []
        self._dirty: list[Connection] = []
        self._inbox: deque[tuple[Connection, int, AnyOutcome]] = deque()
        self._turn_is_due = False
        self._sync_seconds = 0.0
        self._touch_later()

    def protocol(self) -> Connection:
        """A new connection's protocol, for `loop.create_server`."""
        return Connection(self, self.access_of)

    def local_protocol(self) -> Connection:
        """As `protocol`, for the directory's own socket: who may open that may do everything."""
        return Connection(self, lambda token: FULL)

    def gather(self, requests: list[Request], cancelled: list[Ref]) -> None:
        """Decide on these with what else this turn of the loop brings."""
        self._requests += requests
        self._cancelled += cancelled
        self._turn_soon()

    def take_over(self, connection: Connection) -> None:
        """A client is back: what is left of its last connection ends, before anything is granted to that again."""
        session = connection.door.session
        older = self._by_session.get(session)
        self._by_session[session] = connection
        if older is not None:
            older.hang_up(None)

    def forget(self, connection: Connection) -> None:
        """The connection is over: nobody waits for its answers."""
        self.connections.discard(connection)
        if self._by_session.get(connection.door.session) is connection:
            del self._by_session[connection.door.session]
        refs = connection.door.refs()
        if refs:
            self.gather([], refs)

    def dirty(self, connection: Connection) -> None:
        """The connection has something to send at the end of this turn."""
        self._dirty.append(connection)
        self._turn_soon()

    def deliver(self, connection: Connection, call_id: int, outcome: AnyOutcome) -> None:
        """An answer, found on the loop's thread or on another."""
        if threading.get_ident() == self.thread:
            connection.door.answer(call_id, outcome)
            return
        was_empty = not self._inbox
        self._inbox.append((connection, call_id, outcome))
        if was_empty:
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody is left to tell
                self.loop.call_soon_threadsafe(self._empty_inbox)

    def renew_access(self) -> None:
        """Hang up on those whose access tokens are worth nothing any more."""
        for connection in list(self.connections):
            try:
                connection.door.renew_access()
            except HeadraceError as error:
                connection.hang_up(error)

    async def close(self) -> None:
        """Hang up on everybody, once what was asked is answered."""
        self._turn()
        for connection in list(self.connections):
            connection.hang_up(None)

    def _touch_later(self) -> None:
        self.loop.call_later(self.engine.limits.session_silence_us / US / TOUCHES, self._touch)

    def _touch(self) -> None:
        """See to it that no session is forgotten while its client is connected."""
        if self._by_session:
            nobody = Callback(lambda outcome: None)
            self.gather([Request(nobody, OpenSession(), session) for session in self._by_session], [])
        self._touch_later()

    def _empty_inbox(self) -> None:
        while self._inbox:
            connection, call_id, outcome = self._inbox.popleft()
            connection.door.answer(call_id, outcome)

    def _turn_soon(self) -> None:
        if not self._turn_is_due:
            self._turn_is_due = True
            self.loop.call_soon(self._turn)

    def _turn(self) -> None:
        self._turn_is_due = False
        if self._requests or self._cancelled:
            requests, self._requests = self._requests, []
            cancelled, self._cancelled = self._cancelled, []
            began = monotonic()
            try:
                must_sync = self.engine.decide_many(requests, cancelled)
            except HeadraceError as error:
                for request in requests:
                    cast(Ref | Callback, request.ref).settle(refusal(error))
            else:
                if must_sync:
                    self._sync()
            if self.on_turn is not None:
                self.on_turn(monotonic() - began, len(requests))
        dirty, self._dirty = self._dirty, []
        for connection in dirty:
            connection.flush()

    def _sync(self) -> None:
        """Sync for all whose answers wait for it."""
        if not self.engine.take_the_lead():
            return
        if self._sync_seconds > SHORT_SYNC_SECONDS:
            self.loop.create_task(self._sync_in_thread())
            return
        token = self.engine.begin_sync()
        if token is not None:
            began = monotonic()
            token.run()
            self._note_sync(monotonic() - began)
            self._end_sync(token)

    async def _sync_in_thread(self) -> None:
        token = self.engine.begin_sync()
        if token is not None:
            began = monotonic()
            await self.loop.run_in_executor(None, token.run)
            self._note_sync(monotonic() - began)
            self._end_sync(token)
            if self.engine.node.waits_for_safety:
                self._sync()

    def _end_sync(self, token: Any) -> None:
        with contextlib.suppress(HeadraceError):  # whoever waited has been told; the next call meets it
            self.engine.end_sync(token)

    def _note_sync(self, seconds: float) -> None:
        self._sync_seconds += (seconds - self._sync_seconds) / 8


class Connection(asyncio.Protocol):
    """One client."""

    def __init__(self, server: BinaryDoor, access_of: Callable[[str], Access]) -> None:
        self._server = server
        self._splitter = Splitter(HELLO_BYTES)
        self._transport: asyncio.Transport | None = None
        self._hello_timer: asyncio.TimerHandle | None = None
        self._early: list[Calls] | None = []
        """Calls that came before the session was known to be; None when there is no need to wait."""
        self._frames = 0
        self._frame_timer: asyncio.TimerHandle | None = None
        self._is_behind = False
        """Whether the client reads less than it is told."""
        self._reading_timer: asyncio.TimerHandle | None = None
        self.door = Door(
            node=server.name,
            limits=server.engine.limits,
            calls_in_flight=server.limits.calls_in_flight,
            access_of=access_of,
            wake=self._wake,
            deliver=self._deliver,
        )

    # -- asyncio's

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=self._server.limits.unread_bytes)
        keep_alive(transport.get_extra_info("socket"))
        if len(self._server.connections) >= self._server.limits.connections:
            self.hang_up(
                Unavailable(f"this node has {len(self._server.connections):,} connections, and takes no more just now")
            )
            return
        self._server.connections.add(self)
        self._hello_timer = self._server.loop.call_later(self._server.limits.hello_seconds, self._no_hello)

    def data_received(self, data: bytes) -> None:
        try:
            for payload in self._splitter.feed(data):
                self._frames += 1
                message = from_client(payload)
                if isinstance(message, Hello):
                    self._on_hello(message)
                elif self._early is not None and self.door.session:
                    self._early.append(message)
                else:
                    self._server.gather(*self.door.on_calls(message))
        except HeadraceError as error:
            self.hang_up(error)
        else:
            if self._frame_timer is None and self._splitter.held_bytes:
                self._watch_frame()

    def pause_writing(self) -> None:
        """The client does not read its answers: make no more, and take no more of its calls, until it does."""
        self._is_behind = True
        if self._transport is not None:
            self._transport.pause_reading()
            self._reading_timer = self._server.loop.call_later(self._server.limits.body_seconds, self._no_reading)

    def resume_writing(self) -> None:
        self._is_behind = False
        if self._reading_timer is not None:
            self._reading_timer.cancel()
        if self._transport is not None:
            self._transport.resume_reading()
            self._server.dirty(self)

    def connection_lost(self, error: Exception | None) -> None:
        self._forget()

    # -- ours

    def flush(self) -> None:
        """Send what is to be said, in pieces, as far as the client keeps up and others are not made to wait."""
        transport, piece = self._transport, FIRST_PIECE
        if transport is None or self._is_behind:
            return
        while (answers := self.door.flush(piece)) is not None:
            frame = pack(answers)
            transport.write(frame)
            if self._is_behind or transport.is_closing():
                return
            if len(frame) >= LARGE_BYTES:
                self._server.dirty(self)  # the rest in the next turn
                return
            piece *= 2

    def hang_up(self, error: HeadraceError | None) -> None:
        """Close the connection, with the reason."""
        transport = self._transport
        if transport is not None:
            if error is not None:
                self._server.refused += 1
                transport.write(pack(goodbye(error)))
            self._forget()
            transport.close()
            self._server.loop.call_later(self._server.limits.hello_seconds, transport.abort)

    def _on_hello(self, hello: Hello) -> None:
        self.door.on_hello(hello)
        if self._hello_timer is not None:
            self._hello_timer.cancel()
        self._splitter.most_bytes = self._server.engine.limits.frame_bytes
        if self._transport is not None:
            self._transport.pause_reading()  # until the session is open: what comes early is held in memory
        self._server.take_over(self)
        self._server.gather([Request(Callback(self._opened_soon), OpenSession(), hello.session)], [])

    def _opened_soon(self, outcome: AnyOutcome) -> None:
        """Called on whatever thread found the session to be safe."""
        with contextlib.suppress(RuntimeError):
            self._server.loop.call_soon_threadsafe(lambda: self._open(outcome))

    def _open(self, outcome: AnyOutcome) -> None:
        if not isinstance(outcome, CountDone):
            self.hang_up(Unavailable("the session could not be opened: try again"))
            return
        early, self._early = self._early, None
        if self._transport is None:
            return
        self._transport.write(pack(self.door.welcome(knows=self.door.is_new or outcome.count > 0)))
        self._transport.resume_reading()
        try:
            for message in early or ():
                self._server.gather(*self.door.on_calls(message))
        except HeadraceError as error:
            self.hang_up(error)

    def _no_hello(self) -> None:
        if self._early is not None:
            self.hang_up(Unavailable(f"no hello came within {self._server.limits.hello_seconds:g} s"))

    def _no_reading(self) -> None:
        seconds = self._server.limits.body_seconds
        self.hang_up(PeerViolation(f"the client did not read its answers within {seconds:g} s"))

    def _watch_frame(self) -> None:
        """An unfinished frame is held in memory: hang up if it is still the same one after `body_seconds`."""
        seconds = self._server.limits.body_seconds
        self._frame_timer = self._server.loop.call_later(seconds, self._look_at_frame, self._frames)

    def _look_at_frame(self, frames: int) -> None:
        self._frame_timer = None
        if self._transport is None or not self._splitter.held_bytes:
            return
        if frames == self._frames:
            seconds = self._server.limits.body_seconds
            self.hang_up(PeerViolation(f"a frame was not finished within {seconds:g} s"))
        else:
            self._watch_frame()

    def _wake(self) -> None:
        self._server.dirty(self)

    def _deliver(self, call_id: int, outcome: AnyOutcome) -> None:
        self._server.deliver(self, call_id, outcome)

    def _forget(self) -> None:
        for timer in (self._hello_timer, self._frame_timer, self._reading_timer):
            if timer is not None:
                timer.cancel()
        if self._transport is not None:
            self._transport = None
            self._server.forget(self)

"""The thread driver of a session over a network.

Callers share one connection. A call is sent by its caller; of those who wait for answers one reads for all, and hands
that on when it has its own. When the connection breaks, the reader makes a new one, with backoff, and the session says
again what is unanswered. A keeper thread renews leases, once there are any to renew.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import ssl
import struct
import threading
import weakref
from collections import deque
from time import monotonic_ns, sleep
from typing import Final

from headrace.core.commands import AnyCommand, AnyOutcome, EndSession, Refused, error_of, refusal
from headrace.core.errors import HeadraceError, PeerViolation, Unavailable
from headrace.core.limits import US, Limits
from headrace.core.messages import Answers, Goodbye, Hello, Welcome
from headrace.protocols.caller import Caller, Told
from headrace.protocols.consumer import Renewal
from headrace.runtime.address import Address, Redial, no_node
from headrace.runtime.clock import SystemClock
from headrace.wire.binary import HELLO_BYTES, Splitter, from_node, pack

CONNECT_SECONDS: Final = 5.0
LONGEST_WAIT_SECONDS: Final = 0.25
"""How long a reader waits before it looks at the clock again."""
LONGEST_WAIT: Final = struct.pack("ll", 0, round(LONGEST_WAIT_SECONDS * US))
RECEIVE_BYTES: Final = 1 << 18
SESSION_BYTES: Final = 16

_links: weakref.WeakSet[Link] = weakref.WeakSet()


class Ticket:
    """Who waits for an answer."""

    outcome: AnyOutcome | None = None
    gate: threading.Lock | None = None
    leads = False


class Link:
    """A session with one node, at the first of its addresses that answers."""

    def __init__(
        self, addresses: list[Address], *, tls: ssl.SSLContext | None, token: str, timeout_seconds: float
    ) -> None:
        self.clock = SystemClock()
        self.timeout_us = round(timeout_seconds * US)
        self._addresses = addresses
        self._tls = tls
        self._token = token
        self._caller = Caller(os.urandom(SESSION_BYTES), token=token)
        self._lock = threading.Lock()
        self._stream: socket.socket | None = None
        self._splitter = Splitter(HELLO_BYTES)
        self._poll = select.poll()
        self._blocks = False
        """Whether a read of the socket waits by itself, as it cannot through TLS."""
        self._unsent = bytearray()
        self._is_read = False
        self._sleepers: deque[Ticket] = deque()
        self._backoff = Redial(len(addresses))
        self._last_error = "nothing was tried"
        self._next_try_us = 0
        self._closed = False
        self._forked = False
        self._renewal = Renewal()
        self._keeper: threading.Thread | None = None
        self._bell = threading.Event()
        self._sleeps_until_us = 0
        """Until when the keeper sleeps, unless the bell is rung."""
        self._greet()
        _links.add(self)

    @property
    def session(self) -> bytes:
        """The session's name; who knows it may end it."""
        return self._caller.session

    @property
    def address(self) -> Address:
        """Where the node is, by the first of its addresses."""
        return self._addresses[0]

    @property
    def limits(self) -> Limits:
        welcome = self._caller.welcome
        return welcome.limits if welcome is not None else Limits()

    def ask(self, command: AnyCommand) -> AnyOutcome:
        """The answer to a command, by the deadline."""
        ticket = Ticket()
        with self._lock:
            self._check()
            wait_us = getattr(command, "wait_us", 0)
            deadline_us = None if wait_us < 0 else monotonic_ns() // 1000 + wait_us + self.timeout_us
            call_id = self._caller.call(ticket, command, deadline_us=deadline_us)
            self._send()
            self._enlist(ticket)
        try:
            while ticket.outcome is None:
                if ticket.leads:
                    self._read_for_all(ticket)
                elif (gate := ticket.gate) is not None:
                    gate.acquire()
        except BaseException:
            with self._lock:
                if ticket.leads:
                    self._hand_on()
                self._caller.cancel(call_id)
                self._send()
            raise
        return ticket.outcome

    def watch(self, queue: str, epoch: int, counter: int, lease_us: int) -> None:
        """Renew this lease for as long as this process lives, or until `unwatch`."""
        due_us = self._renewal.watch(queue, epoch, counter, lease_us, self.clock.now_us())
        if self._keeper is None:
            with self._lock:
                if self._keeper is None:
                    self._keeper = threading.Thread(target=self._keep, name="headrace-keeper", daemon=True)
                    self._keeper.start()
        if due_us < self._sleeps_until_us:
            self._bell.set()

    def unwatch(self, queue: str, epoch: int, counter: int) -> None:
        self._renewal.unwatch(queue, epoch, counter)

    def close(self) -> None:
        """End the session: what it still holds goes back to its queues."""
        if self._closed or self._forked:
            return
        with contextlib.suppress(HeadraceError):
            if self._stream is not None:
                self.ask(EndSession())
        self._closed = True
        self._bell.set()
        with self._lock:
            self._drop()
            closed = refusal(Unavailable("the handle was closed"))
            self._settle([(ticket, closed) for ticket in self._caller.waiting()])  # the one who reads among them
        _links.discard(self)

    # -- under the lock --------------------------------------------------------------------------------------------

    def _check(self) -> None:
        if self._forked:
            raise Unavailable("this handle was connected before a fork: connect anew in the child process")
        if self._closed:
            raise Unavailable("the handle is closed: connect again")

    def _send(self) -> None:
        """Send what can be sent at once; the reader sends the rest."""
        while (calls := self._caller.flush()) is not None:
            self._unsent += pack(calls)
        if not self._unsent or self._stream is None:
            return
        try:
            sent = self._stream.send(self._unsent, socket.MSG_DONTWAIT if self._blocks else 0)
            del self._unsent[:sent]
        except (BlockingIOError, ssl.SSLWantWriteError, ssl.SSLWantReadError):
            return
        except OSError as error:
            self._drop(error)

    def _enlist(self, ticket: Ticket) -> None:
        if not self._is_read:
            self._is_read = True
            ticket.leads = True
        else:
            ticket.gate = threading.Lock()
            ticket.gate.acquire()
            self._sleepers.append(ticket)

    def _hand_on(self) -> None:
        """Let another who waits read for all."""
        self._is_read = False
        while self._sleepers:
            ticket = self._sleepers.popleft()
            if ticket.outcome is None and ticket.gate is not None:
                self._is_read = True
                ticket.leads = True
                gate, ticket.gate = ticket.gate, None
                gate.release()
                return

    def _settle(self, told: Told) -> None:
        for ticket, outcome in told:
            ticket.outcome = outcome
            if ticket.gate is not None:
                ticket.gate.release()
                ticket.gate = None

    def _drop(self, error: Exception | None = None) -> None:
        """The connection is of no more use."""
        if self._stream is not None:
            with contextlib.suppress(OSError):
                socket.socket.shutdown(self._stream, socket.SHUT_RDWR)  # wakes the one who reads
            self._stream.close()
            self._stream = None
        if error is not None:
            self._last_error = str(error)
        self._unsent.clear()
        self._caller.on_lost()

    def _take_in(self, data: bytes) -> None:
        now_us = self.clock.now_us()
        try:
            for payload in self._splitter.feed(data):
                message = from_node(payload)
                if isinstance(message, Answers):
                    self._settle(self._caller.on_answers(message.answers, now_us))
                elif isinstance(message, Welcome):
                    self._splitter.most_bytes = message.limits.frame_bytes + HELLO_BYTES
                    self._backoff.reset()
                    self._settle(self._caller.on_welcome(message))
                elif isinstance(message, Goodbye):
                    error = error_of(Refused(message.kind, message.message))
                    self._settle(self._caller.on_goodbye(message, error))
        except PeerViolation as error:
            self._drop(error)

    def _is_welcome(self) -> bool:
        return self._caller.welcome is not None

    # -- by the one who reads --------------------------------------------------------------------------------------

    def _read_for_all(self, ticket: Ticket) -> None:
        while ticket.outcome is None:
            self._read_once()
        with self._lock:
            ticket.leads = False
            self._hand_on()

    def _read_once(self) -> None:
        """Take in what comes within a moment, or make a new connection; and look at the clock."""
        stream = self._stream
        data: bytes | None = None
        failure: Exception | None = None
        if stream is None:
            self._reconnect()
        else:
            try:
                data = self._receive(stream)
            except OSError as error:
                failure = error
            if data == b"":
                failure = ConnectionError("the node hung up")
        with self._lock:
            if stream is not None and stream is self._stream:
                if failure is not None:
                    self._drop(failure)
                elif data is not None:
                    self._take_in(data)
            self._settle(self._caller.on_time(self.clock.now_us()))
            if self._caller.is_unheard:
                self._drop(TimeoutError("the node did not answer in time"))
            elif self._caller.has_news:
                self._send()

    def _receive(self, stream: socket.socket) -> bytes | None:
        """What has come; None when nothing came in time."""
        if isinstance(stream, ssl.SSLSocket) and stream.pending():
            return stream.recv(RECEIVE_BYTES)
        patience = self._patience()
        if self._blocks and patience == LONGEST_WAIT_SECONDS and not self._unsent:
            try:
                return stream.recv(RECEIVE_BYTES)  # waits so long by itself: see `_reconnect`
            except BlockingIOError:
                return None
        poll = self._poll
        poll.register(stream, select.POLLIN | select.POLLOUT if self._unsent else select.POLLIN)
        events = poll.poll(patience * 1000)
        if not events:
            return None
        if events[0][1] & select.POLLOUT:
            with self._lock:
                self._send()
            if events[0][1] == select.POLLOUT:
                return None
        try:
            return stream.recv(RECEIVE_BYTES)
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return None

    def _patience(self) -> float:
        deadline_us = self._caller.next_deadline_us()
        if deadline_us is None:
            return LONGEST_WAIT_SECONDS
        return max(0.0, min((deadline_us - self.clock.now_us()) / US, LONGEST_WAIT_SECONDS))

    def _reconnect(self) -> None:
        """Try the addresses in turn, with a pause that grows from round to round."""
        pause = self._next_try_us - self.clock.now_us()
        if pause > 0:
            sleep(min(pause / US, self._patience()))
            if self._next_try_us > self.clock.now_us():
                return
        address = self._addresses[self._backoff.attempt()]
        self._next_try_us = self.clock.now_us() + round(self._backoff.pause_seconds() * US)
        try:
            stream = address.connect(CONNECT_SECONDS)
            if self._tls is not None:
                stream = self._tls.wrap_socket(stream, server_hostname=address.host)
            hello: Hello = self._caller.hello()
            stream.sendall(pack(hello))
            # One call to the system for each answer, not two: the socket itself waits, as long as a reader would.
            self._blocks = self._tls is None
            stream.setblocking(self._blocks)
            if self._blocks:
                stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, LONGEST_WAIT)
        except (OSError, ssl.SSLError) as error:
            self._last_error = f"{address}: {error}"
            return
        with self._lock:
            if self._closed:
                stream.close()
                return
            self._stream = stream
            self._poll = select.poll()
            self._splitter = Splitter(HELLO_BYTES)

    def _greet(self) -> None:
        """The first connection, so that a wrong address or token is known at once."""
        until_us = self.clock.now_us() + self.timeout_us
        while not self._is_welcome():
            self._read_once()
            refused = self._caller.refusal
            if refused is not None:
                self._drop()
                raise refused
            if self.clock.now_us() > until_us:
                self._drop()
                raise no_node(self._addresses, self._last_error)

    # -- the keeper ------------------------------------------------------------------------------------------------

    def _keep(self) -> None:
        while not self._closed:
            self._bell.clear()
            now_us = self.clock.now_us()
            self._sleeps_until_us = now_us + US
            next_us = self._renewal.next_us()
            if next_us is not None:
                self._sleeps_until_us = min(self._sleeps_until_us, next_us)
            self._bell.wait(max(0.0, (self._sleeps_until_us - now_us) / US))
            for extend in self._renewal.due(self.clock.now_us()):
                with contextlib.suppress(
                    HeadraceError
                ):  # closed; or the next one is soon; the lease's holder will hear
                    self.ask(extend)

    def abandon_in_child(self) -> None:
        """After a fork: the connection is the parent's."""
        self._forked = True
        self._lock = threading.Lock()
        if self._stream is not None:
            with contextlib.suppress(OSError):
                self._stream.close()


def _after_fork() -> None:
    for link in list(_links):
        link.abandon_in_child()


os.register_at_fork(after_in_child=_after_fork)

"""The asyncio driver of a session over a network; the other one is `runtime.link`.

What the tasks of one turn of the loop ask for shares a frame. The connection is made anew with backoff when it breaks.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import ssl
from typing import cast

from headrace.core.commands import AnyCommand, AnyOutcome, EndSession, Refused, error_of, refusal
from headrace.core.errors import HeadraceError, PeerViolation, Unavailable
from headrace.core.limits import US, Limits
from headrace.core.messages import Answers, Welcome
from headrace.protocols.caller import Caller, Told
from headrace.protocols.consumer import Renewal
from headrace.runtime.address import Address, Redial, keep_alive, no_node
from headrace.runtime.clock import SystemClock
from headrace.runtime.link import CONNECT_SECONDS, SESSION_BYTES
from headrace.wire.binary import HELLO_BYTES, Splitter, from_node, pack

TICK_SECONDS = 0.25
"""How often the deadlines of calls are looked at."""


class AsyncLink(asyncio.Protocol):
    """A session with one node, for the loop on which it was made."""

    def __init__(
        self, addresses: list[Address], *, tls: ssl.SSLContext | None, token: str, timeout_seconds: float
    ) -> None:
        self.clock = SystemClock()
        self._addresses = addresses
        self._tls = tls
        self._timeout_us = round(timeout_seconds * US)
        self._caller = Caller(os.urandom(SESSION_BYTES), token=token)
        self._backoff = Redial(len(addresses))
        self._renewal = Renewal()
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.WriteTransport | None = None
        self._splitter = Splitter(HELLO_BYTES)
        self._flush_is_due = False
        self._closed = False
        self._lost = asyncio.Event()
        self._welcomed = asyncio.Event()
        self._error = "nothing was tried"
        self._tasks = [self._loop.create_task(self._stay_connected()), self._loop.create_task(self._keep_time())]

    @property
    def session(self) -> bytes:
        """The session's name; who knows it may end it."""
        return self._caller.session

    @property
    def limits(self) -> Limits:
        welcome = self._caller.welcome
        return welcome.limits if welcome is not None else Limits()

    async def greet(self) -> None:
        """Wait for the first connection, so that a wrong address or token is known at once."""
        try:
            async with asyncio.timeout(self._timeout_us / US):
                await self._welcomed.wait()
        except TimeoutError:
            await self._stop()
            raise no_node(self._addresses, self._error) from None
        if self._caller.refusal is not None:
            await self._stop()
            raise self._caller.refusal

    async def ask(self, command: AnyCommand) -> AnyOutcome:
        """The answer to a command, by the deadline."""
        if self._closed:
            raise Unavailable("the handle is closed: connect again")
        wait_us = getattr(command, "wait_us", 0)
        deadline_us = None if wait_us < 0 else self.clock.now_us() + wait_us + self._timeout_us
        answered: asyncio.Future[AnyOutcome] = self._loop.create_future()
        call_id = self._caller.call(answered, command, deadline_us=deadline_us)
        self._flush_soon()
        try:
            return await answered
        except asyncio.CancelledError:
            self._caller.cancel(call_id)
            self._flush_soon()
            raise

    def watch(self, queue: str, epoch: int, counter: int, lease_us: int) -> None:
        """Renew this lease for as long as this loop turns, or until `unwatch`."""
        self._renewal.watch(queue, epoch, counter, lease_us, self.clock.now_us())

    def unwatch(self, queue: str, epoch: int, counter: int) -> None:
        self._renewal.unwatch(queue, epoch, counter)

    async def close(self) -> None:
        """End the session: what it still holds goes back to its queues."""
        if self._closed:
            return
        if self._caller.welcome is not None:
            with contextlib.suppress(HeadraceError):
                await self.ask(EndSession())
        await self._stop()

    # -- asyncio's

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.WriteTransport, transport)
        keep_alive(transport.get_extra_info("socket"))
        self._splitter = Splitter(HELLO_BYTES)
        self._transport.write(pack(self._caller.hello()))

    def data_received(self, data: bytes) -> None:
        now_us = self.clock.now_us()
        try:
            for payload in self._splitter.feed(data):
                message = from_node(payload)
                if isinstance(message, Answers):
                    self._tell(self._caller.on_answers(message.answers, now_us))
                elif isinstance(message, Welcome):
                    self._splitter.most_bytes = message.limits.frame_bytes + HELLO_BYTES
                    self._backoff.reset()
                    self._tell(self._caller.on_welcome(message))
                    self._welcomed.set()
                else:
                    error = error_of(Refused(message.kind, message.message))
                    self._tell(self._caller.on_goodbye(message, error))
                    self._welcomed.set()
        except PeerViolation as error:
            self._error = str(error)
            if self._transport is not None:
                self._transport.close()
        self._flush()

    def connection_lost(self, error: Exception | None) -> None:
        self._error = str(error or "the node hung up")
        self._transport = None
        self._caller.on_lost()
        self._lost.set()

    # -- ours

    def _flush_soon(self) -> None:
        if not self._flush_is_due:
            self._flush_is_due = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._flush_is_due = False
        while self._transport is not None and (calls := self._caller.flush()) is not None:
            self._transport.write(pack(calls))

    def _tell(self, told: Told) -> None:
        for answered, outcome in told:
            if not answered.done():
                answered.set_result(outcome)

    async def _stay_connected(self) -> None:
        while self._caller.refusal is None:
            address = self._addresses[self._backoff.attempt()]
            self._lost.clear()
            try:
                async with asyncio.timeout(CONNECT_SECONDS):
                    if address.path:
                        await self._loop.create_unix_connection(lambda: self, address.path)
                    else:
                        await self._loop.create_connection(lambda: self, address.host, address.port, ssl=self._tls)
            except (OSError, ssl.SSLError, TimeoutError) as error:
                self._error = f"{address}: {error}"
            else:
                await self._lost.wait()
            await asyncio.sleep(self._backoff.pause_seconds())

    async def _keep_time(self) -> None:
        while True:
            await asyncio.sleep(TICK_SECONDS)
            now_us = self.clock.now_us()
            self._tell(self._caller.on_time(now_us))
            if self._caller.is_unheard and self._transport is not None:
                self._transport.abort()
            is_connected = self._caller.welcome is not None
            for extend in self._renewal.due(now_us) if is_connected else ():  # what falls due meanwhile is due then
                with contextlib.suppress(HeadraceError):  # the next one is soon; the lease's holder will hear
                    self._caller.call(self._loop.create_future(), extend, deadline_us=now_us + self._timeout_us)
            self._flush_soon()

    async def _stop(self) -> None:
        self._closed = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._transport is not None:
            self._transport.close()
        self._caller.on_lost()
        closed = refusal(Unavailable("the handle was closed"))
        self._tell([(ref, closed) for ref in self._caller.waiting()])

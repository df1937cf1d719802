"""A session over the simulated network: what `headrace.runtime.link` is over a live one.

Connects, with a pause that grows, says hello, says again what is unanswered, and keeps the time of calls and of leases.
All it decides is decided by the code that does so live.
"""

from __future__ import annotations

from typing import Any, Final, Protocol

from headrace.core import commands as c
from headrace.core.errors import PeerViolation
from headrace.core.limits import US
from headrace.core.messages import Answers, Calls, Goodbye, Welcome
from headrace.protocols.caller import Caller, Told
from headrace.protocols.consumer import Renewal
from headrace.sim.network import CLIENT, Line
from headrace.sim.world import World
from headrace.wire.binary import HELLO_BYTES, Splitter, from_node, pack

FIRST_PAUSE_US: Final = 50_000
LONGEST_PAUSE_US: Final = 2 * US


class Owner(Protocol):
    """Who has the session."""

    def connect(self, remote: Remote) -> Line | None:
        """A new connection; None when nobody listens."""

    def on_sent(self, remote: Remote, calls: Calls) -> None: ...

    def on_told(self, remote: Remote, told: Told) -> None: ...


class Remote:
    """One session with the node."""

    def __init__(self, world: World, owner: Owner, session: bytes) -> None:
        self.world = world
        self.caller = Caller(session)
        self.renewal = Renewal()
        self.sends_twice = False
        """Whether its next frame of calls arrives twice, as from a peer with a fault."""
        self.is_over = False
        self._owner = owner
        self._line: Line | None = None
        self._splitter = Splitter(HELLO_BYTES)
        self._pause_us = FIRST_PAUSE_US
        self.away_until_us = 0
        self._flush_is_due = False
        self._unread: list[tuple[Line, bytes]] = []
        self._ender: int | None = None
        self._connect()

    # -- asking ------------------------------------------------------------------------------------------------------

    def call(self, ref: Any, command: c.AnyCommand, *, timeout_us: int) -> int:
        """Ask; the id by which the call can be cancelled."""
        wait_us = getattr(command, "wait_us", 0)
        deadline_us = None if wait_us < 0 else self.world.now_us + wait_us + timeout_us
        call_id = self.caller.call(ref, command, deadline_us=deadline_us)
        if deadline_us is not None:
            self.world.at(deadline_us, self._on_time)
        self._flush_soon()
        return call_id

    def cancel(self, call_id: int) -> None:
        self.caller.cancel(call_id)
        self._flush_soon()

    def watch(self, batch: c.Batch) -> None:
        """Renew these leases until they are settled."""
        for counter in batch.counters:
            due_us = self.renewal.watch(batch.queue, batch.epoch, counter, batch.lease_us, self.world.now_us)
            self.world.at(due_us, self._renew)

    def end(self, *, crashed: bool, timeout_us: int) -> None:
        """Say good-bye: what is held goes back."""
        if self._line is None or self.is_away or self.caller.refusal is not None:
            self.die()
            return
        self._ender = self.call(self, c.EndSession(crashed), timeout_us=timeout_us)

    def die(self) -> None:
        """Be gone, without a word."""
        self.is_over = True
        if self._line is not None:
            self._line.close(CLIENT)
            self._line = None

    # -- what happens to it ------------------------------------------------------------------------------------------

    def cut(self, *, silent: bool) -> None:
        """The connection breaks."""
        if self._line is not None:
            self._line.cut(silent=silent)

    def go_away(self, for_us: int, *, hangs_up: bool) -> None:
        """Read nothing and say nothing for a while; with `hangs_up`, come back on a new connection."""
        self.away_until_us = self.world.now_us + for_us
        if hangs_up and self._line is not None:
            self._line.close(CLIENT)
            self._lose()
        self.world.after(for_us, self._come_back)

    @property
    def is_away(self) -> bool:
        return self.world.now_us < self.away_until_us

    def _come_back(self) -> None:
        if self.is_over or self.is_away:
            return
        unread, self._unread = self._unread, []
        for line, data in unread:
            self.on_bytes(line, data)
        self._on_time()
        self._renew()
        self._flush_soon()

    # -- the network's -----------------------------------------------------------------------------------------------

    def on_bytes(self, line: Line, data: bytes) -> None:
        if line is not self._line:
            return
        if self.is_away:
            self._unread.append((line, data))
            return
        try:
            for payload in self._splitter.feed(data):
                self._on_message(from_node(payload))
        except PeerViolation:
            line.close(CLIENT)
            self._lose()
        self._flush()

    def on_closed(self, line: Line) -> None:
        if line is self._line:
            self._lose()

    def _on_message(self, message: Welcome | Goodbye | Answers) -> None:
        caller = self.caller
        if isinstance(message, Answers):
            self._tell(caller.on_answers(message.answers, self.world.now_us))
        elif isinstance(message, Welcome):
            self._splitter.most_bytes = message.limits.frame_bytes + HELLO_BYTES
            self._pause_us = FIRST_PAUSE_US
            self._tell(caller.on_welcome(message))
            self._renew()
        else:
            error = c.error_of(c.Refused(message.kind, message.message))
            self._tell(caller.on_goodbye(message, error))

    # -- pieces ------------------------------------------------------------------------------------------------------

    def _connect(self) -> None:
        if self.is_over or self._line is not None or self.caller.refusal is not None:
            return
        if not self.is_away:
            self._line = self._owner.connect(self)
        if self._line is None:
            self._connect_later()
            return
        self._splitter = Splitter(HELLO_BYTES)
        self._line.send(CLIENT, pack(self.caller.hello()))

    def _connect_later(self) -> None:
        wait_us = max(self._pause_us, self.away_until_us - self.world.now_us)
        self.world.after(wait_us, self._connect)
        self._pause_us = min(2 * self._pause_us, LONGEST_PAUSE_US)

    def _lose(self) -> None:
        self._line = None
        self._unread.clear()
        self.caller.on_lost()
        if self._ender is not None:
            self.die()  # it was leaving anyway: what it held goes back when its leases end
        else:
            self._connect_later()

    def _flush_soon(self) -> None:
        if not self._flush_is_due:
            self._flush_is_due = True
            self.world.after(0, self._flush)

    def _flush(self) -> None:
        self._flush_is_due = False
        if self._line is None or self.is_away or self.is_over:
            return
        while self._line is not None and (calls := self.caller.flush()) is not None:
            self._owner.on_sent(self, calls)
            frame = pack(calls)
            self._line.send(CLIENT, frame)
            if self.sends_twice:
                self.sends_twice = False
                self._line.send(CLIENT, frame)

    def _on_time(self) -> None:
        if not self.is_over and not self.is_away:
            self._tell(self.caller.on_time(self.world.now_us))
            self._flush_soon()

    def _renew(self) -> None:
        if self.caller.welcome is None or self.is_over or self.is_away or self._ender is not None:
            return
        for extend in self.renewal.due(self.world.now_us):
            self.call(None, extend, timeout_us=10 * US)
            self.world.after(extend.lease_us // 3, self._renew)

    def _tell(self, told: Told) -> None:
        if any(ref is self for ref, _ in told):
            self.die()
        else:
            self._owner.on_told(self, told)

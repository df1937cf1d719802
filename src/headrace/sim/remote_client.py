"""A client of the simulated process that reaches it over the network, by the session that live clients have.

It has the habits of `headrace.sim.client.Client`, but not its means: what is asked again, when, and under which number,
is decided by the code that does so live.
"""

from __future__ import annotations

from typing import Final, Protocol

from headrace.core import commands as c
from headrace.core.limits import US
from headrace.core.messages import Calls
from headrace.protocols.caller import Told
from headrace.sim import steps as s
from headrace.sim.checkers.calls import Asked, CallsChecker
from headrace.sim.client import FORMER_KEPT, Client
from headrace.sim.network import Line
from headrace.sim.remote import Remote
from headrace.sim.world import World

LEAVING_US: Final = 20 * US
RENEWED_US: Final = 2 * US
"""Shorter leases are let go: to renew them would cost most of a run."""


class Surroundings(Protocol):
    """What a client has to do with."""

    calls: CallsChecker

    def connect(self, remote: Remote) -> Line | None: ...

    def new_ref(self) -> int: ...

    def on_asked(self, request: c.Request) -> None: ...


class RemoteClient(Client):
    """One client after another in one place, each with a session of its own."""

    remote: Remote | None = None

    def __init__(self, index: int, world: World, surroundings: Surroundings, *, call_us: int, renews: bool) -> None:
        self._surroundings = surroundings
        self._call_us = call_us
        self._renews = renews
        self._call_ids: dict[int, int] = {}
        self.open: dict[int, c.AnyCommand] = {}
        """What is asked and not answered for good, by ref."""
        super().__init__(index, world, surroundings.on_asked, lambda client: surroundings.new_ref())

    def begin(self) -> None:
        """A new life: a new session that nobody knows yet, nothing held."""
        self._lives += 1
        self.session = b"client %02d %06d" % (self.index, self._lives)
        self._former = [*self._former, *self.held][-FORMER_KEPT:]
        self.held = []
        self._surroundings.calls.forget(self.open)
        self.open.clear()
        self._call_ids.clear()
        self.remote = Remote(self._world, self, self.session)

    # -- deeds -------------------------------------------------------------------------------------------------------

    def do(self, deed: s.Ask | s.Settle) -> None:
        """Ask for what a step says; a request that is to come twice comes in a frame that does."""
        command = deed.command if isinstance(deed, s.Ask) else self._settling(deed)
        if command is None:
            return
        self._current.sends_twice |= deed.copies > 1
        self._call(command)

    def leave(self, *, crashed: bool) -> None:
        """Say good-bye, and begin anew."""
        self._current.end(crashed=crashed, timeout_us=LEAVING_US)
        self.begin()

    def cut(self, *, silent: bool) -> None:
        """Its connection breaks."""
        self._current.cut(silent=silent)

    def go_away(self, for_us: int, *, hangs_up: bool) -> None:
        """Do nothing for a while."""
        self._current.go_away(for_us, hangs_up=hangs_up)

    def vanish(self) -> None:
        """Die without a word; another takes the place."""
        self._current.die()
        self.begin()

    def forsake(self, pick: int) -> None:
        """Wait no more for something that was asked."""
        if self.open:
            ref = sorted(self.open)[pick % len(self.open)]
            self._current.cancel(self._call_ids.pop(ref))
            del self.open[ref]
            self._surroundings.calls.forget((ref,))

    @property
    def unanswered(self) -> list[c.AnyCommand]:
        return list(self.open.values())

    # -- the session's -----------------------------------------------------------------------------------------------

    def connect(self, remote: Remote) -> Line | None:
        return self._surroundings.connect(remote)

    def on_sent(self, remote: Remote, calls: Calls) -> None:
        self._surroundings.calls.sent(remote.caller.session, calls)

    def on_told(self, remote: Remote, told: Told) -> None:
        for ref, outcome in told:
            if remote is not self.remote:
                continue
            self._world.tell(lambda ref=ref, outcome=outcome: f"{self.session.decode()} is told of {ref}: {outcome}")  # type: ignore[misc]
            self._surroundings.calls.told(ref, outcome, self._world.now_us, awake_us=remote.away_until_us)
            command = self.open.get(ref)
            if command is None:
                continue
            if not (isinstance(outcome, c.PopDone) and outcome.more):
                del self.open[ref], self._call_ids[ref]
            self._take(command, outcome)

    # -- pieces ------------------------------------------------------------------------------------------------------

    @property
    def _current(self) -> Remote:
        assert self.remote is not None
        return self.remote

    def _call(self, command: c.AnyCommand) -> None:
        remote, now_us = self._current, self._world.now_us
        if remote.caller.refusal is not None:
            self.vanish()
            remote = self._current
        ref = self._surroundings.new_ref()
        self.open[ref] = command
        number = remote.caller.next_number
        call_id = self._call_ids[ref] = remote.call(ref, command, timeout_us=self._call_us)
        number = number if remote.caller.next_number > number else 0
        self._surroundings.on_asked(c.Request(ref, command, self.session, number))
        wait_us = getattr(command, "wait_us", 0)
        deadline_us = None if wait_us < 0 else now_us + wait_us + self._call_us
        self._surroundings.calls.ask(ref, Asked(self.session, call_id, number, command, deadline_us))

    def _take(self, command: c.AnyCommand, outcome: c.AnyOutcome) -> None:
        super()._take(command, outcome)
        if not self._renews:
            return
        if isinstance(outcome, c.PopDone):
            for batch in outcome.batches:
                if batch.lease_us >= RENEWED_US:
                    self._current.watch(batch)
        elif isinstance(command, c.Commit | c.Abort):
            for counter in command.counters:
                self._current.renewal.unwatch(command.queue, command.epoch, counter)

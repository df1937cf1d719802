"""A client of the simulated process: a session, numbered requests, and every habit that makes a server's life hard.

It asks again whatever it was not answered: after a crash, after its connection broke, or when an answer was lost. It
sends requests twice, settles late, and keeps old receipts. What it may not do is what no honest client does: use a
number for two requests, or ask again for what it said it has the answer of.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from headrace.core import commands as c
from headrace.core.items import ENTRY_ID
from headrace.core.limits import US
from headrace.sim import steps as s
from headrace.sim.world import World

RETRY_US: Final = 3 * US
"""How long a client waits beyond a request's own wait before it asks again."""
FORMER_KEPT: Final = 12


@dataclass(slots=True)
class Pending:
    """A request that is not answered yet."""

    command: c.AnyCommand
    number: int
    copies: int
    lost_answers: int
    refs: list[int]


@dataclass(frozen=True, slots=True)
class Receipt:
    """A lease that a client was granted."""

    queue: str
    epoch: int
    counter: int
    item_id: bytes


class Client:
    """One client after another in one place."""

    def __init__(
        self,
        index: int,
        world: World,
        send: Callable[[c.Request], None],
        new_ref: Callable[[Client], int],
        *,
        is_inside: bool = False,
    ) -> None:
        self.index = index
        self.is_inside = is_inside
        """Whether it calls from within the process, as an embedded one's threads do: no session, no numbers."""
        self.held: list[Receipt] = []
        self.pending: dict[int, Pending] = {}
        """By the request's own count in this place; numbered or not."""
        self.session = b""
        self._world = world
        self._send = send
        self._new_ref = new_ref
        self._lives = 0
        self._count = 0
        self._next_number = 1
        self._is_known = False
        self._former: list[Receipt] = []
        self._is_connected = False
        self.begin()

    def begin(self) -> None:
        """A new life: a new session that nobody knows yet, nothing held."""
        self._lives += 1
        self.session = b"" if self.is_inside else b"client %d life %d" % (self.index, self._lives)
        self._former = [*self._former, *self.held][-FORMER_KEPT:]
        self.held = []
        self.pending.clear()
        self._next_number = 1
        self._is_known = self.is_inside
        if self._is_connected and not self._is_known:
            self._ask(c.OpenSession(), is_numbered=False)

    # -- connections -------------------------------------------------------------------------------------------------

    def on_up(self) -> None:
        """Connected: ask again whatever is open, the hello first."""
        self._is_connected = True
        if not self._is_known:
            self.pending = {n: p for n, p in self.pending.items() if type(p.command) is not c.OpenSession}
            self._ask(c.OpenSession(), is_numbered=False)
        else:
            self._ask_again()

    def on_down(self) -> None:
        """The connection is gone; what had no number may have happened or not, and is let go."""
        self._is_connected = False
        if self.is_inside:
            self.begin()
        self.pending = {n: p for n, p in self.pending.items() if p.number}
        for pending in self.pending.values():
            pending.refs.clear()

    @property
    def open_refs(self) -> list[int]:
        return [ref for pending in self.pending.values() for ref in pending.refs]

    @property
    def unanswered(self) -> list[c.AnyCommand]:
        """What it still waits for."""
        return [pending.command for pending in self.pending.values()]

    def _ask_again(self) -> None:
        for count, pending in list(self.pending.items()):
            if pending.number and not pending.refs:
                self._transmit(count, pending)

    # -- asking ------------------------------------------------------------------------------------------------------

    def do(self, deed: s.Ask | s.Settle) -> None:
        """Ask for what a step says."""
        if isinstance(deed, s.Ask):
            self._ask(deed.command, deed.is_numbered, deed.copies, deed.lost_answers)
            return
        command = self._settling(deed)
        if command is not None:
            self._ask(command, deed.is_numbered, deed.copies, deed.lost_answers)

    def leave(self, *, crashed: bool) -> None:
        """Say good-bye, and begin anew."""
        if self._is_known and self._is_connected and not self.is_inside:
            self._transmit_only(c.EndSession(crashed))
        self.begin()

    def _settling(self, deed: s.Settle) -> c.AnyCommand | None:
        receipts = self._former if deed.is_former else self.held
        if not receipts:
            return None
        first = receipts[deed.pick % len(receipts)]
        alike = [receipt for receipt in receipts if (receipt.queue, receipt.epoch) == (first.queue, first.epoch)]
        chosen = [first, *(receipt for receipt in alike if receipt != first)][: deed.count]
        counters = [receipt.counter for receipt in chosen]
        if deed.verb == "extend":
            return c.Extend(first.queue, first.epoch, counters, deed.lease_us)
        if deed.verb == "abort":
            return c.Abort(first.queue, first.epoch, counters, deed.delay_us, "as planned", deed.dead)
        return c.Commit(first.queue, first.epoch, counters, deed.added)

    def _ask(self, command: c.AnyCommand, is_numbered: bool = True, copies: int = 1, lost_answers: int = 0) -> None:
        number = 0
        if is_numbered and not self.is_inside:
            number = self._next_number
            self._next_number += 1
        elif not self._is_connected or not (self._is_known or type(command) is c.OpenSession):
            return
        self._count += 1
        pending = self.pending[self._count] = Pending(
            command, number, copies if number else 1, lost_answers if number else 0, []
        )
        if self._is_connected and (self._is_known or not number):
            self._transmit(self._count, pending)

    def _transmit(self, count: int, pending: Pending) -> None:
        """Send a request, so many times; and see whether an answer came."""
        answered = min((p.number for p in self.pending.values() if p.number), default=self._next_number)
        for _ in range(pending.copies):
            ref = self._new_ref(self)
            pending.refs.append(ref)
            self._send(c.Request(ref, pending.command, self.session, pending.number, answered if pending.number else 0))
        pending.copies = 1
        if pending.number and pending.lost_answers:
            life = self._lives
            self._world.after(RETRY_US, lambda: self._retry(life, count))

    def _transmit_only(self, command: c.AnyCommand) -> None:
        self._send(c.Request(self._new_ref(self), command, self.session))

    def _retry(self, life: int, count: int) -> None:
        """Nothing came back: ask once more."""
        pending = self.pending.get(count)
        if life == self._lives and pending is not None and self._is_connected:
            self._transmit(count, pending)

    # -- answers -----------------------------------------------------------------------------------------------------

    def on_answer(self, request: c.Request, outcome: c.AnyOutcome) -> bool:
        """An answer arrives, or is lost on its way; whether it arrived."""
        if request.session != self.session:
            return False
        count = next((n for n, p in self.pending.items() if request.ref in p.refs), None)
        if count is None:
            return False
        pending = self.pending[count]
        if pending.lost_answers and type(outcome) is not c.Refused:
            pending.lost_answers -= 1
            pending.refs.remove(request.ref)
            return False
        del self.pending[count]
        self._take(pending.command, outcome)
        return True

    def _take(self, command: c.AnyCommand, outcome: c.AnyOutcome) -> None:
        if isinstance(outcome, c.PopDone):
            held = set(self.held)
            for batch in outcome.batches:
                for counter, entry in zip(batch.counters, batch.entries, strict=True):
                    receipt = Receipt(batch.queue, batch.epoch, counter, entry[ENTRY_ID])
                    if receipt not in held:
                        self.held.append(receipt)
        elif isinstance(command, c.Commit | c.Abort) and not isinstance(outcome, c.Refused):
            gone = {(command.epoch, counter) for counter in command.counters}
            settled = [receipt for receipt in self.held if (receipt.epoch, receipt.counter) in gone]
            self.held = [receipt for receipt in self.held if receipt not in settled]
            self._former = [*self._former, *settled][-FORMER_KEPT:]
        elif isinstance(command, c.OpenSession) and not isinstance(outcome, c.Refused):
            self._is_known = True
            self._ask_again()

"""One queue on a common node, and the giving half of the hand-over.

An item that is handed over stays leased here until its receiver says that it is done; the lease outlives crashes with
the log. A receiver that is silent is asked; only one that stays silent loses the item, which goes back to its place in
line with the reason `handover_unknown`, and only then may it come out twice. Whoever waits is served first come first
served, by the node. What is on its way does not count as stored.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from headrace.core.commands import Abort, Add, AnyCommand, Commit, Declare, Pop, PopDone, Refused, Request, error_of
from headrace.core.limits import LONGEST_SECONDS
from headrace.core.ports import Log
from headrace.core.records import CLOSED
from headrace.protocols.effects import Effects, turn
from headrace.protocols.machines import messages as m
from headrace.protocols.machines.orders import Orders
from headrace.protocols.node import Node
from headrace.protocols.subqueue import Grant

QUEUE: Final = "items"
NOBODY: Final = "nobody"
HANDOVER_UNKNOWN: Final = "handover_unknown"
SETTINGS: Final = {
    "lease_seconds": float(LONGEST_SECONDS),  # the stock itself ends them
}


class Receiver(NamedTuple):
    """Who asks: an address, and the number of its request."""

    address: int
    number: int


@dataclass(frozen=True, slots=True)
class Asking:
    """How patiently a receiver is asked for what it was handed."""

    after_us: int
    tries: int


@dataclass(slots=True)
class _Open:
    """A hand-over that is not settled."""

    queue: str
    to: Receiver
    tries: int = 0


class Stock:
    """What one process stores."""

    def __init__(self, node: Node, log: Log, *, asking: Asking) -> None:
        self.node = node
        self._queues = [QUEUE]
        self._log = log
        self._asking = asking
        self._effects = Effects()
        self._open: dict[int, _Open] = {}
        self._due: deque[tuple[int, int]] = deque()
        """When to ask for which hand-over: always so long after it was last heard of, so first in first out."""
        self._waiting: dict[int, Receiver] = {}

    def begin(self, now_us: int, orders: Orders, *, outboxes: Sequence[str] = ()) -> None:
        """Take up what an earlier process left: its hand-overs are asked for, its waiting receivers are gone.

        `outboxes` are queues beside the one of items that are free: of those that are to go to one certain receiver.
        """
        self._queues += outboxes
        for queue in self._queues:
            if queue not in self.node.shard.queues:
                self._ask(now_us, Declare(queue, SETTINGS), None, orders)
        for queue, sub in self.node.shard.queues.items():
            for counter, (_, grant) in sub.leases.items():
                self._expect(now_us, queue, counter, _receiver(grant))

    @property
    def stored(self) -> int:
        """Items that are handed to nobody."""
        return self.node.shard.queues[QUEUE].queued

    @property
    def under_way(self) -> list[int]:
        """To whom items are handed over that are not settled."""
        return [entry.to.address for entry in self._open.values()]

    @property
    def waiting(self) -> int:
        """Requests that wait here."""
        return len(self._waiting)

    @property
    def waiting_addresses(self) -> list[int]:
        return list(self._waiting)

    @property
    def wake_us(self) -> int:
        return min(self._due[0][0], self.node.wake_us) if self._due else self.node.wake_us

    @property
    def entries(self) -> list[bytes]:
        """Items that are handed to nobody."""
        ready = self.node.shard.queues[QUEUE].ready
        return ready.peek(len(ready))

    @property
    def queues(self) -> list[str]:
        return list(self.node.shard.queues)

    def knows(self, now_us: int, key: str) -> bool:
        """Whether an item of this key came in before, whatever became of it; the log remembers."""
        wall_us = self.node.wall_us(now_us)
        return any(sub.key_holder(key, wall_us) is not None for sub in self.node.shard.queues.values())

    def add(self, now_us: int, item: bytes, orders: Orders, *, queue: str = QUEUE) -> None:
        """Store an item, or hand it to who waits longest."""
        self._ask(now_us, Add(queue, [item]), None, orders)

    def give(self, now_us: int, to: Receiver, orders: Orders, *, queue: str = QUEUE) -> None:
        """Hand an item over, or let the request wait for one; an address waits once."""
        self._waiting[to.address] = to
        self._ask(now_us, Pop([queue], wait_us=-1), to, orders)

    def take_back(self, now_us: int, address: int, orders: Orders) -> None:
        """Whoever was handed items under this address is gone: they are free again."""
        for counter, entry in list(self._open.items()):
            if entry.to.address == address:
                epoch = self.node.shard.epoch_of(counter) or 0
                self._take_back(now_us, epoch, counter, HANDOVER_UNKNOWN, orders)

    def free(self, now_us: int, outbox: str, orders: Orders) -> None:
        """What is in an outbox and handed to nobody joins the items that are free, in one step each."""
        while self.node.shard.queues[outbox].ready:
            (batch,) = self._pop_now(now_us, outbox).batches
            item = item_of(batch.entries[0])
            self._ask(now_us, Commit(outbox, batch.epoch, batch.counters, [(QUEUE, [item])]), None, orders)

    def _pop_now(self, now_us: int, queue: str) -> PopDone:
        self.node.handle(now_us, [Request(NOBODY, Pop([queue]))], self._effects)
        turn(self.node, self._log, now_us, self._effects)
        self._log.sync()
        self.node.on_safe(self._log.safe, self._effects)
        ((_, outcome),) = self._effects.replies
        self._effects.replies = []
        assert isinstance(outcome, PopDone)
        return outcome

    def leave(self, address: int) -> None:
        """Whatever this address waits for here, it waits no longer."""
        to = self._waiting.pop(address, None)
        if to is not None:
            self.node.cancel([to])

    def settle(self, now_us: int, sender: int, settled: m.Settled, orders: Orders) -> None:
        """A receiver says what became of what it was handed."""
        entry = self._open.get(settled.counter)
        if entry is not None and entry.to.address != sender:
            return
        if settled.state == m.DONE:
            # One that was given up and is still here is obeyed, and one that went to another is refused, by the node.
            self._open.pop(settled.counter, None)
            queue = entry.queue if entry is not None else QUEUE
            self._ask(now_us, Commit(queue, settled.epoch, [settled.counter]), None, orders)
            orders.send(sender, m.Known(settled.epoch, settled.counter))
        elif entry is None:
            pass
        elif settled.state == m.DECLINED:
            self._take_back(now_us, settled.epoch, settled.counter, "declined", orders)
        elif settled.state == m.FORGOTTEN:
            self._take_back(now_us, settled.epoch, settled.counter, HANDOVER_UNKNOWN, orders)
        elif settled.state == m.HOLDING:
            entry.tries = 0
        else:
            item, _ = self.node.shard.queues[entry.queue].leases[settled.counter]
            orders.send(sender, m.Handed(entry.to.number, settled.epoch, settled.counter, item))

    def on_wake(self, now_us: int, orders: Orders) -> None:
        """Ask for what nothing was heard of, and take back what was asked for often enough."""
        if self.node.wake_us <= now_us:
            self.node.on_wake(now_us, self.node.wall_us(now_us), self._effects)
            self._turn(now_us, orders)
            self.node.next_wake_us(now_us)
        self._inquire(now_us, orders)

    def _inquire(self, now_us: int, orders: Orders) -> None:
        while self._due and self._due[0][0] <= now_us:
            _, counter = self._due.popleft()
            entry = self._open.get(counter)
            if entry is None:
                continue
            epoch = self.node.shard.epoch_of(counter) or 0
            if entry.tries == self._asking.tries:
                self._take_back(now_us, epoch, counter, HANDOVER_UNKNOWN, orders)
                continue
            entry.tries += 1
            self._due.append((now_us + self._asking.after_us, counter))
            orders.send(entry.to.address, m.Inquiry(epoch, counter))

    # -- the node ----------------------------------------------------------------------------------------------------

    def _take_back(self, now_us: int, epoch: int, counter: int, reason: str, orders: Orders) -> None:
        queue = self._open.pop(counter).queue
        self._ask(now_us, Abort(queue, epoch, [counter], reason=reason, cause=CLOSED), None, orders)

    def _ask(self, now_us: int, command: AnyCommand, to: Receiver | None, orders: Orders) -> None:
        session = b"%d/%d" % to if to is not None else b""
        self.node.handle(now_us, [Request(to, command, session)], self._effects)
        self._turn(now_us, orders)

    def _turn(self, now_us: int, orders: Orders) -> None:
        """Carry out what the node decided; whoever is granted an item is sent it once that is safe."""
        log, effects = self._log, self._effects
        turn(self.node, log, now_us, effects)
        if log.safe < log.end:
            log.sync()
            self.node.on_safe(log.safe, effects)
        replies, effects.replies = effects.replies, []
        for to, outcome in replies:
            if isinstance(outcome, Refused):
                raise error_of(outcome)
            assert isinstance(outcome, PopDone)
            (batch,) = outcome.batches
            del self._waiting[to.address]
            self._expect(now_us, batch.queue, batch.counters[0], to)
            orders.send(to.address, m.Handed(to.number, batch.epoch, batch.counters[0], batch.entries[0]))

    def _expect(self, now_us: int, queue: str, counter: int, to: Receiver) -> None:
        self._open[counter] = _Open(queue, to)
        self._due.append((now_us + self._asking.after_us, counter))


def item_of(entry: bytes) -> bytes:
    """The item that an entry stands for, as it was encoded."""
    return entry[:8] + entry[24:]


def _receiver(grant: Grant) -> Receiver:
    """Whom a lease is for, as the log has it."""
    address, number = grant.session.split(b"/") if grant.session else (b"-1", b"-1")
    return Receiver(int(address), int(number))

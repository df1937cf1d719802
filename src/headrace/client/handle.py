"""The handle for threads: every verb, on a node in this process.

A handle may be shared by threads, which then share its syncs. It is closed by `with` or `close`, which gives back what
is still leased.
"""

from __future__ import annotations

import contextlib
import datetime as dt
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

from headrace.client.shapes import Dead, Held, Ids, Leases, Place, Queued, Receipt
from headrace.client.verbs import Bodies, Call, Verbs, added_id, popped, raised, settled
from headrace.core.commands import (
    Abort,
    AnyCommand,
    AnyOutcome,
    Batch,
    Commit,
    CountDone,
    EndSession,
    Purge,
    QueueStats,
)
from headrace.core.errors import Rejected
from headrace.core.items import Item, parse_id
from headrace.core.limits import check_queue_name

T = TypeVar("T")
UNSETTLED = "not settled before the next was taken"


class Engine(Protocol):
    """What a handle stands on."""

    def ask(self, command: AnyCommand) -> AnyOutcome: ...
    def watch(self, queue: str, epoch: int, counter: int, lease_us: int) -> None: ...
    def unwatch(self, queue: str, epoch: int, counter: int) -> None: ...
    def close(self) -> None: ...


class Lease(Held):
    """An item that is leased to us. As a context it is renewed, and then committed, or aborted on an exception."""

    _handle: Any = None

    def commit(self, add: Iterable[tuple[str, Item | bytes]] = ()) -> None:
        """The item is done; what it produced, (queue, item) pairs, is added in the same step."""
        self._handle.commit(self, add=add)

    def abort(self, *, delay: float = 0, reason: str = "", dead: bool = False) -> None:
        """Give the item back, to be handed out again after `delay` seconds; or not at all, if it is to be `dead`."""
        self._handle.abort(self, delay=delay, reason=reason, dead=dead)

    def extend(self, seconds: float) -> None:
        """Hold the item for so many seconds from now."""
        self._handle.extend(self, seconds)

    def __enter__(self) -> Self:
        self.watch()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._settled:
            return
        if error is None:
            self.commit()
            return
        with contextlib.suppress(Rejected):  # the lease is over already; the error matters more
            self.abort(reason=f"{type(error).__name__}: {error}")


class Headrace:
    """An open node. Made by `headrace.open`."""

    def __init__(self, engine: Engine, verbs: Verbs) -> None:
        self._engine = engine
        self._verbs = verbs

    @property
    def engine(self) -> Engine:
        """What the handle stands on."""
        return self._engine

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Give back what is leased, make everything safe, and let go. Waiting calls end with `Unavailable`."""
        self._engine.close()

    # -- in

    def add(
        self,
        queue: str,
        body: Item | bytes,
        *,
        priority: int = 0,
        key: str | None = None,
        headers: Mapping[str, str] | None = None,
        delay: float | None = None,
        not_before: dt.datetime | None = None,
        expires: float | None = None,
        id: str | None = None,
        wait: float | None = 0,
    ) -> str:
        """Add one item; its id, or that of the item that holds its `key` already.

        Lower `priority` is more urgent. `delay` and `expires` are seconds. A full queue is waited for up to `wait`
        seconds (None: for ever), then `Full` is raised.
        """
        if (
            type(body) is bytes
            and key is None
            and headers is None
            and delay is None
            and not_before is None
            and expires is None
            and id is None
        ):
            command = self._verbs.add_plain(queue, body, priority, wait)
        else:
            command = self._verbs.add(
                queue,
                body,
                priority=priority,
                key=key,
                headers=headers,
                delay=delay,
                not_before=not_before,
                expires=expires,
                id=id,
                wait=wait,
            )
        return added_id(command, self._engine.ask(command))

    def add_many(self, queue: str, items: Bodies, *, wait: float | None = 0) -> Ids:
        """Add items or bodies, all or none; their ids."""
        return self._ask(self._verbs.add_many(queue, items, wait=wait))

    # -- out

    def peek(self, queue: str, n: int = 1) -> list[Queued]:
        """The most urgent items, leased to nobody on that account."""
        return self._ask(self._verbs.peek(queue, n))

    def pop(
        self,
        queue: str | Sequence[str],
        n: int = 1,
        *,
        wait: float | None = 0,
        lease: float | None = None,
        at_least: int | None = None,
        name: str | None = None,
    ) -> Leases:
        """Lease up to `n` of the most urgent items of a queue, or of several.

        Waits up to `wait` seconds for a first one (None: for ever). `lease` is how long they are ours, in seconds.
        `at_least`: only items at least this urgent; if the top is not, the list is empty and its `top` says what is.
        `name`: a pop that is repeated under its name gives the same items.
        """
        command = self._verbs.pop(queue, n, wait=wait, lease=lease, at_least=at_least, name=name)
        return popped(self._engine.ask(command), self._leases)

    def take(
        self, queue: str | Sequence[str], *, wait: float | None = None, lease: float | None = None
    ) -> Iterator[Lease]:
        """Items one by one, renewed while you have them; for ever, or until none comes for `wait` seconds.

        Going on to the next with one unsettled aborts it.
        """
        while True:
            leases: list[Lease] = self.pop(queue, wait=wait, lease=lease)
            if not leases:
                return
            (item,) = leases
            item.watch()
            try:
                yield item
            finally:
                if not item._settled:
                    with contextlib.suppress(Rejected):
                        item.abort(reason=UNSETTLED)

    def commit(self, leases: Any, *, add: Iterable[tuple[str, Item | bytes]] = ()) -> None:
        """Settle one or many leases or receipts as done; with `add`, (queue, item) pairs, all or nothing.

        Those that were in time take effect even when others were not: `Gone` or `StaleLease` is raised at the end.
        """
        if type(leases) is Lease and not add:
            leases.settle()
            command = Commit(leases.queue, leases._epoch, [leases._counter])
            settled(self._engine.ask(command), "commit", 1)
        else:
            self._settle(leases, self._verbs.commit(leases, add))

    def abort(self, leases: Any, *, delay: float = 0, reason: str = "", dead: bool = False) -> None:
        """Give leased items back, after `delay` seconds, or straight to the dead."""
        self._settle(leases, self._verbs.abort(leases, delay=delay, reason=reason, dead=dead))

    def extend(self, leases: Any, seconds: float) -> None:
        """Hold leased items for so many seconds from now."""
        for call in self._verbs.extend(leases, seconds):
            self._ask(call)

    # -- tending

    def dead(self, queue: str, n: int = 100, *, after: int | None = None) -> list[Dead]:
        """Dead items in their order; a long list goes on `after` the `place` of the last one."""
        return self._ask(self._verbs.dead(queue, n, after))

    def revive(self, queue: str, ids: Iterable[str] | None = None) -> int:
        """Queue dead items again, their counts reset: those with these ids, or all. How many."""
        return self._ask(self._verbs.revive(queue, ids))

    def purge(self, queue: str, *, dead: bool = False, ids: Iterable[str] | None = None) -> int:
        """Throw away what is queued; or all the `dead`; or the dead with these `ids`. How many."""
        return self._ask(self._verbs.purge(queue, dead=dead, ids=ids))

    def declare(self, queue: str, **settings: Any) -> None:
        """Create a queue, or change its settings: those of `headrace.QueueSettings`."""
        self._ask(self._verbs.declare(queue, settings))

    def pause(self, queue: str) -> None:
        """Hand nothing out until `resume`; adds go on."""
        self.declare(queue, paused=True)

    def resume(self, queue: str) -> None:
        self.declare(queue, paused=False)

    def drop(self, queue: str) -> None:
        """Remove a queue with all that is in it; refused while items are leased."""
        self._ask(self._verbs.drop(queue))

    def queues(self) -> list[QueueStats]:
        """The figures of all queues."""
        return self._ask(self._verbs.queues())

    def stats(self, queue: str) -> QueueStats:
        """The figures of one queue."""
        return self._ask(self._verbs.stats(queue))

    def why(self, id: str) -> Place:
        """Where an item is, how many are ahead of it, since when, and what became of each attempt."""
        return self._ask(self._verbs.why(id))

    # -- pieces

    def _ask(self, call: Call[T]) -> T:
        command, read = call
        return read(self._engine.ask(command))

    def _settle(self, leases: Any, calls: list[Call[None]]) -> None:
        for lease in leases if isinstance(leases, list | tuple) else (leases,):
            if isinstance(lease, Held):
                lease.settle()
        failure = None
        for command, read in calls:
            try:
                read(self._engine.ask(command))
            except Rejected as error:
                failure = failure or error
        if failure is not None:
            raise failure

    def _leases(self, batch: Batch) -> list[Lease]:
        engine, queue, epoch, lease_us = self._engine, batch.queue, batch.epoch, batch.lease_us
        if len(batch.entries) == 1:
            entry, counter, attempt = batch.entries[0], batch.counters[0], batch.attempts[0]
            return [Lease(queue, entry, epoch, counter, attempt, lease_us, engine, False, False, self)]
        return [
            Lease(queue, entry, epoch, counter, attempt, lease_us, engine, False, False, self)
            for entry, counter, attempt in zip(batch.entries, batch.counters, batch.attempts, strict=True)
        ]


def hand_back(handle: Headrace, receipt: Receipt, cause: str, reason: str = "") -> None:
    """Give back what another process held: `cause` is that its worker crashed, or nothing that counts (`closed`)."""
    command = Abort(receipt.queue, receipt.epoch, [receipt.counter], 0, reason, cause=cause)  # type: ignore[arg-type]
    settled(handle._engine.ask(command), "abort", 1)


def end_session(handle: Headrace, session: bytes) -> None:
    """The process of this session is dead: what it still held goes back, and counts as nothing."""
    raised(handle._engine.ask(EndSession(session=session)))


def withdraw(handle: Headrace, queue: str, id: str) -> bool:
    """Take an item back that is still queued; whether it was."""
    outcome = raised(handle._engine.ask(Purge(check_queue_name(queue), queued=True, ids=[parse_id(id)])))
    assert isinstance(outcome, CountDone)
    return outcome.count > 0


def pop_detached(
    handle: Headrace,
    queues: Sequence[str],
    n: int,
    *,
    wait: float | None = 0,
    lease: float | None = None,
    at_least: int | None = None,
    name: str | None = None,
) -> Leases:
    """A pop for a process that ends before the work is done, such as `headrace pop`: only expiry ends these leases."""
    command = handle._verbs.pop(queues, n, wait=wait, lease=lease, at_least=at_least, name=name, detached=True)
    return popped(handle._engine.ask(command), handle._leases)

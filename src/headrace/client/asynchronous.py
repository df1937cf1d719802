"""The handle for asyncio: the verbs of `client.handle`, awaited. What each does is said there."""

from __future__ import annotations

import contextlib
import datetime as dt
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

from headrace.client.handle import UNSETTLED
from headrace.client.shapes import Dead, Held, Ids, Leases, Place, Queued
from headrace.client.verbs import Bodies, Call, Verbs, added_id, popped
from headrace.core.commands import AnyCommand, AnyOutcome, Batch, QueueStats
from headrace.core.errors import Rejected
from headrace.core.items import Item
from headrace.core.limits import Limits
from headrace.runtime.host import open_async_link, open_or_join_async
from headrace.runtime.ids import ids

T = TypeVar("T")


class Asked(Protocol):
    """What an asynchronous handle stands on."""

    async def ask(self, command: AnyCommand) -> AnyOutcome: ...
    def watch(self, queue: str, epoch: int, counter: int, lease_us: int) -> None: ...
    def unwatch(self, queue: str, epoch: int, counter: int) -> None: ...
    async def close(self) -> None: ...


class AsyncLease(Held):
    """An item that is leased to us. With `async with` it is renewed, and then committed, or aborted on an exception."""

    _handle: Any = None

    async def commit(self, add: Iterable[tuple[str, Item | bytes]] = ()) -> None:
        await self._handle.commit(self, add=add)

    async def abort(self, *, delay: float = 0, reason: str = "", dead: bool = False) -> None:
        await self._handle.abort(self, delay=delay, reason=reason, dead=dead)

    async def extend(self, seconds: float) -> None:
        await self._handle.extend(self, seconds)

    async def __aenter__(self) -> Self:
        self.watch()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._settled:
            return
        if error is None:
            await self.commit()
            return
        with contextlib.suppress(Rejected):  # the lease is over already; the error matters more
            await self.abort(reason=f"{type(error).__name__}: {error}")


class AsyncHeadrace:
    """An open node, for the loop on which it was opened. Made by `headrace.aopen`."""

    def __init__(self, engine: Asked, verbs: Verbs) -> None:
        self._engine = engine
        self._verbs = verbs

    @property
    def engine(self) -> Asked:
        """What the handle stands on."""
        return self._engine

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self._engine.close()

    # -- in

    async def add(
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
        return added_id(command, await self._engine.ask(command))

    async def add_many(self, queue: str, items: Bodies, *, wait: float | None = 0) -> Ids:
        return await self._ask(self._verbs.add_many(queue, items, wait=wait))

    # -- out

    async def peek(self, queue: str, n: int = 1) -> list[Queued]:
        return await self._ask(self._verbs.peek(queue, n))

    async def pop(
        self,
        queue: str | Sequence[str],
        n: int = 1,
        *,
        wait: float | None = 0,
        lease: float | None = None,
        at_least: int | None = None,
        name: str | None = None,
    ) -> Leases:
        command = self._verbs.pop(queue, n, wait=wait, lease=lease, at_least=at_least, name=name)
        return popped(await self._engine.ask(command), self._leases)

    async def take(
        self, queue: str | Sequence[str], *, wait: float | None = None, lease: float | None = None
    ) -> AsyncIterator[AsyncLease]:
        while True:
            leases: list[AsyncLease] = await self.pop(queue, wait=wait, lease=lease)
            if not leases:
                return
            (item,) = leases
            item.watch()
            try:
                yield item
            finally:
                if not item._settled:
                    with contextlib.suppress(Rejected):
                        await item.abort(reason=UNSETTLED)

    async def commit(self, leases: Any, *, add: Iterable[tuple[str, Item | bytes]] = ()) -> None:
        await self._settle(leases, self._verbs.commit(leases, add))

    async def abort(self, leases: Any, *, delay: float = 0, reason: str = "", dead: bool = False) -> None:
        await self._settle(leases, self._verbs.abort(leases, delay=delay, reason=reason, dead=dead))

    async def extend(self, leases: Any, seconds: float) -> None:
        for call in self._verbs.extend(leases, seconds):
            await self._ask(call)

    # -- tending

    async def dead(self, queue: str, n: int = 100, *, after: int | None = None) -> list[Dead]:
        return await self._ask(self._verbs.dead(queue, n, after))

    async def revive(self, queue: str, ids: Iterable[str] | None = None) -> int:
        return await self._ask(self._verbs.revive(queue, ids))

    async def purge(self, queue: str, *, dead: bool = False, ids: Iterable[str] | None = None) -> int:
        return await self._ask(self._verbs.purge(queue, dead=dead, ids=ids))

    async def declare(self, queue: str, **settings: Any) -> None:
        await self._ask(self._verbs.declare(queue, settings))

    async def pause(self, queue: str) -> None:
        await self.declare(queue, paused=True)

    async def resume(self, queue: str) -> None:
        await self.declare(queue, paused=False)

    async def drop(self, queue: str) -> None:
        await self._ask(self._verbs.drop(queue))

    async def queues(self) -> list[QueueStats]:
        return await self._ask(self._verbs.queues())

    async def stats(self, queue: str) -> QueueStats:
        return await self._ask(self._verbs.stats(queue))

    async def why(self, id: str) -> Place:
        return await self._ask(self._verbs.why(id))

    # -- pieces

    async def _ask(self, call: Call[T]) -> T:
        command, read = call
        return read(await self._engine.ask(command))

    async def _settle(self, leases: Any, calls: list[Call[None]]) -> None:
        for lease in leases if isinstance(leases, list | tuple) else (leases,):
            if isinstance(lease, Held):
                lease.settle()
        failure = None
        for call in calls:
            try:
                await self._ask(call)
            except Rejected as error:
                failure = failure or error
        if failure is not None:
            raise failure

    def _leases(self, batch: Batch) -> list[AsyncLease]:
        engine, queue, epoch, lease_us = self._engine, batch.queue, batch.epoch, batch.lease_us
        return [
            AsyncLease(queue, entry, epoch, counter, attempt, lease_us, engine, False, False, self)
            for entry, counter, attempt in zip(batch.entries, batch.counters, batch.attempts, strict=True)
        ]


class _Opening:
    """A handle to be: to `await`, or to enter with `async with`."""

    def __init__(self, opened: Callable[[], Awaitable[AsyncHeadrace]]) -> None:
        self._opened = opened
        self._handle: AsyncHeadrace | None = None

    def __await__(self) -> Generator[Any, None, AsyncHeadrace]:
        return self._opened().__await__()

    async def __aenter__(self) -> AsyncHeadrace:
        self._handle = await self._opened()
        return self._handle

    async def __aexit__(self, *exc: object) -> None:
        assert self._handle is not None
        await self._handle.close()


def aopen(path: str | os.PathLike[str], *, durability: str = "fsync", limits: Limits | None = None) -> _Opening:
    """Open the node in a directory for asyncio: `async with headrace.aopen("data") as hr:`, or `await` it.

    As `headrace.open`: the same directory, the same durability, the same verbs. Recovery runs in a thread.
    """

    async def opened() -> AsyncHeadrace:
        engine = await open_or_join_async(path, durability=durability, limits=limits)
        return AsyncHeadrace(engine, Verbs(engine.limits, engine.clock.wall_us, ids))

    return _Opening(opened)


def aconnect(url: str, *, token: str = "", ca: str | None = None, timeout: float = 30.0) -> _Opening:
    """Connect to a node for asyncio: `async with headrace.aconnect("headrace://host:port") as hr:`, or `await` it."""

    async def connected() -> AsyncHeadrace:
        link = open_async_link(url, token=token, ca=ca, timeout_seconds=timeout)
        await link.greet()
        return AsyncHeadrace(link, Verbs(link.limits, link.clock.wall_us, ids))

    return _Opening(connected)

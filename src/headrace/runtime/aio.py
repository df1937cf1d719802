"""The asyncio driver: the same engine, asked from an event loop, whose thread never waits for the disk.

Decisions are made on the loop's thread, under the engine's lock. What the tasks of one tick have asked for shares one
sync, which runs in the loop's pool of threads.
"""

from __future__ import annotations

import asyncio

from headrace.core.commands import AnyCommand, AnyOutcome
from headrace.runtime.engine import Callback, Engine


class AsyncEngine:
    """An engine as coroutines. Belongs to the loop on which it was made."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.limits = engine.limits
        self.clock = engine.clock
        self._loop = asyncio.get_running_loop()
        self._sync_is_due = False

    async def ask(self, command: AnyCommand) -> AnyOutcome:
        """The answer to a command; a cancelled wait gives back what it was granted."""
        answered = self._loop.create_future()
        ref = Callback(lambda outcome: self._wake(answered))
        if self.engine.submit(command, ref):
            self._sync_soon()
        try:
            while ref.outcome is None:
                await answered
        except asyncio.CancelledError:
            self.engine.forsake(ref)
            raise
        return ref.outcome

    def watch(self, queue: str, epoch: int, counter: int, lease_us: int) -> None:
        self.engine.watch(queue, epoch, counter, lease_us)

    def unwatch(self, queue: str, epoch: int, counter: int) -> None:
        self.engine.unwatch(queue, epoch, counter)

    async def close(self) -> None:
        await self._loop.run_in_executor(None, self.engine.close)

    def _wake(self, answered: asyncio.Future[None]) -> None:
        """Called under the engine's lock, on whatever thread found the answer."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(_resolve, answered)

    def _sync_soon(self) -> None:
        """Sync once the tasks of this tick have said what they have to say."""
        if not self._sync_is_due:
            self._sync_is_due = True
            self._loop.call_soon(self._begin_sync)

    def _begin_sync(self) -> None:
        self._sync_is_due = False
        self._loop.run_in_executor(None, self.engine.sync)


def _resolve(answered: asyncio.Future[None]) -> None:
    if not answered.done():
        answered.set_result(None)

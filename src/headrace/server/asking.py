"""How the REST doors ask the node: as coroutines, in the same turn of the loop as everybody else."""

from __future__ import annotations

import asyncio
import contextlib
import threading

from headrace.core.access import Access
from headrace.core.commands import AnyCommand, AnyOutcome, Refused, Request, error_of
from headrace.runtime.engine import Callback
from headrace.server.binary import BinaryDoor

REST_SESSION = b"headrace.rest\0\0\0"
"""Whose leases those of REST are: nobody's connection, so that only their expiry ends them."""


class Asker:
    """Commands in, outcomes out; a refusal is raised."""

    def __init__(self, door: BinaryDoor) -> None:
        self.door = door
        self.engine = door.engine
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()

    async def ask(self, command: AnyCommand, access: Access) -> AnyOutcome:
        """The answer to a command, if `access` allows it; a cancelled wait gives back what it was granted."""
        access.check(command)
        answered: asyncio.Future[None] = self._loop.create_future()
        ref = Callback(lambda outcome: self._wake(answered))
        self.door.gather([Request(ref, command, REST_SESSION)], [])
        try:
            await answered
        except asyncio.CancelledError:
            self.engine.forsake(ref)
            raise
        outcome = ref.outcome
        assert outcome is not None
        if isinstance(outcome, Refused):
            raise error_of(outcome)
        return outcome

    def _wake(self, answered: asyncio.Future[None]) -> None:
        """Called under the engine's lock, on whatever thread found the answer."""
        if threading.get_ident() == self._thread:
            _resolve(answered)
        else:
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody is left to tell
                self._loop.call_soon_threadsafe(_resolve, answered)


def _resolve(answered: asyncio.Future[None]) -> None:
    if not answered.done():
        answered.set_result(None)

"""The REST door in an app of the user's own: `app.mount("/queue", headrace.asgi(hr))`.

It shares the node of a handle that is open in this process, `headrace.open` or `headrace.aopen`, and lives in the event
loop of its first request. Who may come in, and by what host name, is the outer app's to say; with `token_of` tokens are
asked for as the served node does.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from headrace.core.access import FULL, Access
from headrace.core.errors import Invalid
from headrace.runtime.engine import Engine
from headrace.server.access import Tokens
from headrace.server.binary import BinaryDoor
from headrace.server.http import make_app
from headrace.server.limits import ServerLimits


class Mounted:
    """An ASGI app on the node of a handle."""

    def __init__(self, engine: Engine, access_of: Callable[[str], Access], limits: ServerLimits) -> None:
        self._engine = engine
        self._access_of = access_of
        self._limits = limits
        self._app: ASGIApp | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        if self._app is None:
            name = os.path.basename(self._engine.path or ":memory:")
            door = BinaryDoor(self._engine, name=name, limits=self._limits, access_of=self._access_of)
            self._app = make_app(door, self._access_of, limits=self._limits, hosts=None)
        await self._app(scope, receive, send)


def asgi(handle: Any, *, tokens: bool = False, limits: ServerLimits | None = None) -> Mounted:
    """The REST door of an open node as an ASGI app, to be mounted in one of your own.

    `tokens`: ask for the access tokens of the node's directory; otherwise whoever your app lets in may do everything.
    """
    engine = getattr(handle, "engine", None)
    engine = getattr(engine, "engine", engine)  # that of a handle for asyncio stands on one
    if not isinstance(engine, Engine):
        raise Invalid("asgi takes a handle of headrace.open or headrace.aopen whose node is in this process")
    if tokens and engine.path is None:
        raise Invalid("a node in memory has no access tokens: leave tokens out, or open a directory")
    access_of = Tokens(engine.path).access_of if tokens and engine.path is not None else _everything
    return Mounted(engine, access_of, limits or ServerLimits())


def _everything(token: str) -> Access:
    return FULL

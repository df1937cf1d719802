"""The REST door's outside: the ASGI app with its guards, and uvicorn in the node's loop."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
from collections.abc import Callable, Iterator
from typing import Any

import h11
import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from headrace.core.access import Access
from headrace.core.errors import Forbidden
from headrace.server import pq, rest
from headrace.server.asking import Asker
from headrace.server.binary import BinaryDoor
from headrace.server.limits import ServerLimits
from headrace.server.metrics import CONTENT_TYPE, Metrics
from headrace.server.openapi import document


def make_app(
    door: BinaryDoor, access_of_token: Callable[[str], Access], *, limits: ServerLimits, hosts: frozenset[str] | None
) -> ASGIApp:
    """The app. `hosts` are the names it may be called by; None when another app is in front of it and sees to that."""
    asker = Asker(door)
    metrics = Metrics(door)
    openapi = msgspec.json.encode(document())

    def access_of(request: Request) -> Access:
        return access_of_token(_token_of(request))

    async def healthz(request: Request) -> Response:
        return JSONResponse({"status": "up"})

    async def readyz(request: Request) -> Response:
        if door.engine.is_usable:
            return JSONResponse({"status": "ready"})
        return JSONResponse({"status": "not ready"}, 503)

    async def measured(request: Request) -> Response:
        try:
            access_of(request)
        except Forbidden as error:
            return rest.failure(error)
        return Response(metrics.text(), media_type=CONTENT_TYPE)

    async def described(request: Request) -> Response:
        return Response(openapi, media_type="application/json")

    app = Starlette(
        routes=[
            *rest.routes(asker, access_of),
            *pq.routes(asker, access_of),
            Route("/healthz", healthz),
            Route("/readyz", readyz),
            Route("/metrics", measured),
            Route("/openapi.json", described),
        ],
        exception_handlers={HTTPException: _http_failure},
    )
    app.state.body_bytes = door.engine.limits.frame_bytes
    return Guard(app, limits=limits, body_bytes=door.engine.limits.frame_bytes, hosts=hosts)


class Guard:
    """What is turned away before anything is read: requests from elsewhere, bodies too large or too slow."""

    def __init__(self, app: ASGIApp, *, limits: ServerLimits, body_bytes: int, hosts: frozenset[str] | None) -> None:
        self._app = app
        self._limits = limits
        self._body_bytes = body_bytes
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        refusal = self._refusal(headers)
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        received = 0
        is_complete = False

        async def bounded() -> Message:
            nonlocal received, is_complete
            if is_complete:
                return await receive()
            try:
                async with asyncio.timeout(self._limits.body_seconds):
                    message = await receive()
            except TimeoutError:
                raise rest.TooSlow(f"the body did not arrive within {self._limits.body_seconds:g} s") from None
            received += len(message.get("body", b""))
            is_complete = not message.get("more_body", False)
            if received > self._body_bytes:
                raise self._too_large()
            return message

        await self._app(scope, bounded, send)

    def _too_large(self) -> rest.TooLarge:
        return rest.TooLarge(f"the body is larger than the {self._body_bytes:,} bytes that are taken")

    def _refusal(self, headers: dict[bytes, str]) -> Response | None:
        host = _host_name(headers.get(b"host", ""))
        if self._hosts is not None and host not in self._hosts and not _is_address(host):
            return rest.failed(
                403, "Forbidden", f"this node is not called {host!r}: allow the name with --allow-host, or use another"
            )
        origin = headers.get(b"origin")
        if origin is not None and _host_name(origin.partition("://")[2]) != host:
            return rest.failed(403, "Forbidden", f"requests from pages of {origin!r} are not taken")
        if headers.get(b"sec-fetch-site", "none") not in ("none", "same-origin"):
            return rest.failed(403, "Forbidden", "requests from other pages are not taken")
        length = headers.get(b"content-length", "0")
        if length.isdecimal() and int(length[:20]) > self._body_bytes:
            return rest.failure(self._too_large())
        return None


class Server(uvicorn.Server):  # type: ignore[misc]
    """uvicorn, without its hold on the process's signals."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def make_server(app: ASGIApp, *, limits: ServerLimits, host: str, port: int, tls: tuple[str, str] | None) -> Server:
    """A server for the app, to be run by `serve` in the node's loop."""

    class Protocol(H11Protocol):  # type: ignore[misc]
        """Hangs up on whoever takes too long over a header, the rest of an answered body, or reading."""

        _timer: asyncio.TimerHandle | None = None
        _reading_timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._watch()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._watch()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            if self.conn.their_state is h11.SEND_BODY:
                self._watch()

        def pause_writing(self) -> None:
            super().pause_writing()
            self._reading_timer = self.loop.call_later(limits.body_seconds, self.transport.abort)

        def resume_writing(self) -> None:
            super().resume_writing()
            if self._reading_timer is not None:
                self._reading_timer.cancel()

        def connection_lost(self, exc: Exception | None) -> None:
            for timer in (self._timer, self._reading_timer):
                if timer is not None:
                    timer.cancel()
            super().connection_lost(exc)

        def _watch(self) -> None:
            """Start the clock when something is owed, stop it when nothing is."""
            if not self._is_owed():
                if self._timer is not None:
                    self._timer.cancel()
                    self._timer = None
            elif self._timer is None:
                self._timer = self.loop.call_later(limits.hello_seconds, self._give_up)

        def _is_owed(self) -> bool:
            theirs = self.conn.their_state
            return theirs is h11.IDLE or (theirs is h11.SEND_BODY and self.cycle.response_complete)

        def _give_up(self) -> None:
            self._timer = None
            if not self.transport.is_closing():
                self.transport.close()

    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        http=Protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        h11_max_incomplete_event_size=limits.header_bytes,
        limit_concurrency=limits.connections,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=5,
        ssl_certfile=tls[0] if tls else None,
        ssl_keyfile=tls[1] if tls else None,
    )
    return Server(config)


def _token_of(request: Request) -> str:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def _host_name(host: str) -> str:
    host = host.strip().lower()
    return host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]


def _is_address(host: str) -> bool:
    """A page of an attacker's reaches us by a name that he points here, never by a bare address."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


async def _http_failure(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        answer = rest.failed(405, "Invalid", f"{request.url.path} has no method {request.method}")
        answer.headers.update(error.headers or {})
        return answer
    return rest.failed(error.status_code, "Invalid", f"there is no path {request.url.path}; see /openapi.json")

"""A node and its doors in one event loop: what `headrace serve` runs."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import os
import socket
import ssl
from collections.abc import Callable
from typing import Any, Final

import msgspec

from headrace.core.errors import Invalid, Unavailable
from headrace.core.limits import Limits
from headrace.runtime.address import make_socket_folder, socket_path
from headrace.runtime.engine import Durability, Engine
from headrace.server.access import Tokens
from headrace.server.binary import BinaryDoor
from headrace.server.limits import ServerLimits

WATCH_SECONDS: Final = 0.25


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """How a directory is served."""

    at: str
    host: str = "127.0.0.1"
    port: int = 7420
    """The binary door; 0 lets the system choose."""
    rest_port: int | None = None
    """The REST door: one above the binary one unless told; 0 lets the system choose."""
    allow_hosts: tuple[str, ...] = ()
    """Names besides its own by which the REST door may be called."""
    durability: Durability = "fsync"
    certificate: str | None = None
    """The file of the TLS certificate and what leads up to it, in PEM."""
    private_key: str | None = None
    """The file of its key, in PEM."""
    limits: Limits = Limits()
    server_limits: ServerLimits = ServerLimits()


class Serving:
    """A node that is being served."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.tokens = Tokens(settings.at) if os.path.isdir(settings.at) else None
        self._check_bind()
        self.engine = Engine(settings.at, durability=settings.durability, limits=settings.limits, ends_leases=False)
        self.tokens = self.tokens or Tokens(settings.at)
        self._servers: list[asyncio.Server] = []
        self.binary: BinaryDoor | None = None
        self.port = 0
        self.rest_port = 0
        self._rest: Any = None
        self._tasks: list[asyncio.Task[None]] = []
        self._watcher: asyncio.Task[None] | None = None
        self.ended = asyncio.Event()
        """Set when the node is of no more use; or by whoever wants to stop."""

    async def start(self) -> None:
        """Open the doors."""
        settings, loop = self.settings, asyncio.get_running_loop()
        assert self.tokens is not None
        self.binary = BinaryDoor(
            self.engine,
            name=os.path.basename(os.path.abspath(settings.at)),
            limits=settings.server_limits,
            access_of=self.tokens.access_of,
        )
        try:
            server = await loop.create_server(
                self.binary.protocol, settings.host, settings.port, ssl=self._tls(), backlog=1024
            )
        except OSError as error:
            raise Unavailable(
                f"port {settings.port} of {settings.host} cannot be listened on: {_why(error)}; choose another"
            ) from error
        self._servers.append(server)
        self.port = server.sockets[0].getsockname()[1]
        await self._listen_locally(self.binary.local_protocol)
        await self._serve_rest(self.binary)
        self._watcher = loop.create_task(self._watch(self.binary))

    async def close(self) -> None:
        """Close the doors, then the node: what was acknowledged is safe."""
        if self._watcher is not None:
            self._watcher.cancel()
        for server in self._servers:
            server.close()
        if self._rest is not None:
            self._rest.should_exit = True
        await asyncio.gather(*self._tasks)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(socket_path(self.settings.at))
        if self.binary is not None:
            await self.binary.close()
        await asyncio.get_running_loop().run_in_executor(None, self.engine.close)

    async def _watch(self, door: BinaryDoor) -> None:
        """Hold who is connected to the tokens as they are now, and see whether the node has failed."""
        assert self.tokens is not None
        known = self.tokens.stamp()
        while not self.ended.is_set():
            await asyncio.sleep(WATCH_SECONDS)
            if known != (known := self.tokens.stamp()):
                door.renew_access()
            if not self.engine.is_usable:
                self.ended.set()

    async def _serve_rest(self, door: BinaryDoor) -> None:
        """REST needs more than the core install: without that the binary door stands alone."""
        settings = self.settings
        try:
            from headrace.server.http import make_app, make_server
        except ModuleNotFoundError as error:
            if settings.rest_port is not None:
                raise Unavailable(f"REST needs {error.name}: pip install 'headrace[server]'") from error
            return
        assert self.tokens is not None
        port = settings.rest_port
        if port is None:
            port = self.port + 1 if settings.port else 0
        try:
            listening = socket.create_server(
                (settings.host, port), family=socket.AF_INET6 if ":" in settings.host else socket.AF_INET, backlog=1024
            )
        except OSError as error:
            raise Unavailable(
                f"port {port} of {settings.host} cannot be listened on for REST: {_why(error)}; choose another"
            ) from error
        self.rest_port = listening.getsockname()[1]
        hosts = frozenset({"localhost", settings.host.lower(), *map(str.lower, settings.allow_hosts)})
        tls = (settings.certificate, settings.private_key) if settings.certificate and settings.private_key else None
        app = make_app(door, self.tokens.access_of, limits=settings.server_limits, hosts=hosts)
        self._rest = make_server(app, limits=settings.server_limits, host=settings.host, port=port, tls=tls)
        self._tasks.append(asyncio.get_running_loop().create_task(self._rest.serve(sockets=[listening])))

    async def _listen_locally(self, protocol: Callable[[], asyncio.Protocol]) -> None:
        """The directory's own socket, for whoever may read and write the directory as its owner does."""
        path = socket_path(self.settings.at)
        make_socket_folder(path)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)  # the directory is ours, so whoever listened there is gone
        mask = os.umask(0o177)
        try:
            server = await asyncio.get_running_loop().create_unix_server(protocol, path)
        finally:
            os.umask(mask)
        self._servers.append(server)

    def _check_bind(self) -> None:
        settings = self.settings
        if bool(settings.certificate) != bool(settings.private_key):
            raise Invalid("TLS needs both a certificate and its private key")
        if _is_loopback(settings.host):
            return
        has_token = self.tokens is not None and len(self.tokens) > 0
        missing = [
            *(() if settings.certificate else ("TLS (--certificate and --private-key)",)),
            *(() if has_token else (f"an access token (`headrace access issue --at {settings.at} …`)",)),
        ]
        if missing:
            raise Invalid(
                f"listening on {settings.host} opens this node to other machines, and needs {' and '.join(missing)}; "
                "or stay on 127.0.0.1"
            )

    def _tls(self) -> ssl.SSLContext | None:
        settings = self.settings
        if settings.certificate is None:
            return None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        try:
            context.load_cert_chain(settings.certificate, settings.private_key)
        except (OSError, ssl.SSLError) as error:
            raise Invalid(f"the certificate {settings.certificate!r} and its key cannot be used: {error}") from error
        return context


def _why(error: OSError) -> str:
    """The system's own words, without asyncio's around them."""
    if error.errno is None or isinstance(error, socket.gaierror):
        return str(error.strerror or error).lower()
    return os.strerror(error.errno).lower()


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False

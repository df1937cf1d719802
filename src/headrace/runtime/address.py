"""Where a node is: `headrace://host:port,host:port`, or the local socket of a directory."""

from __future__ import annotations

import hashlib
import os
import random
import socket
import ssl
import tempfile
from typing import Final, NamedTuple

from headrace.core.errors import Invalid, Unavailable

PORT: Final = 7420
SCHEME: Final = "headrace://"
TLS_SCHEME: Final = "headraces://"
SOCKET_NAME: Final = "serve.sock"
FIRST_PAUSE_SECONDS: Final = 0.05
LONGEST_PAUSE_SECONDS: Final = 2.0
KEEP_ALIVE: Final = {"TCP_KEEPIDLE": 15, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 3, "TCP_USER_TIMEOUT": 30_000}
"""In seconds, but for the last, which is in milliseconds."""
LONGEST_SOCKET_PATH: Final = 100
"""The kernel takes 107 bytes."""


class Address(NamedTuple):
    """One place to connect to: a host and port, or the path of a local socket."""

    host: str
    port: int
    path: str = ""

    def __str__(self) -> str:
        return self.path or (f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}")

    def connect(self, timeout_seconds: float) -> socket.socket:
        """A connected stream; OSError when there is none."""
        if self.path:
            stream = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                stream.settimeout(timeout_seconds)
                stream.connect(self.path)
            except OSError:
                stream.close()
                raise
            return stream
        stream = socket.create_connection((self.host, self.port), timeout_seconds)
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        keep_alive(stream)
        return stream


def keep_alive(stream: socket.socket) -> None:
    """Have the system find out, within about half a minute, that the other end is gone without a word."""
    if stream.family not in (socket.AF_INET, socket.AF_INET6):
        return
    stream.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in KEEP_ALIVE.items():
        if (option := getattr(socket, name, None)) is not None:  # not every system has all of them
            stream.setsockopt(socket.IPPROTO_TCP, option, value)


class Redial:
    """When and where to try next: the addresses in turn, with a pause that grows from round to round."""

    def __init__(self, addresses: int) -> None:
        self._addresses = addresses
        self._failures = 0

    def reset(self) -> None:
        """The node answered."""
        self._failures = 0

    def attempt(self) -> int:
        """Which address to try now; counts as a failure until the node answers."""
        self._failures += 1
        return (self._failures - 1) % self._addresses

    def pause_seconds(self) -> float:
        """How long to wait before the next attempt."""
        rounds = max(0, self._failures - 1) // self._addresses
        pause: float = min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2.0 ** min(rounds, 10))
        return pause * random.uniform(0.5, 1.0)


def no_node(addresses: list[Address], error: str) -> Unavailable:
    """Nobody answered."""
    where = ", ".join(map(str, addresses))
    return Unavailable(f"no node answers at {where} ({error}): is it up? `headrace serve --at DIR` starts one")


def parse_url(url: str) -> tuple[list[Address], bool]:
    """The addresses of a URL, and whether they are to be spoken to by TLS."""
    is_tls = url.startswith(TLS_SCHEME)
    if not is_tls and not url.startswith(SCHEME):
        raise Invalid(f"{url!r} is not an address: use {SCHEME}host:port, or {TLS_SCHEME}host:port for TLS")
    rest = url.split("://", 1)[1].rstrip("/")
    if "@" in rest:
        raise Invalid("an access token is no part of an address: pass it as token=…, or in HEADRACE_TOKEN")
    addresses = [_parse_one(part, url) for part in rest.split(",")]
    if len(set(addresses)) < len(addresses):
        raise Invalid(f"{url!r} names a node twice")
    return addresses, is_tls


def tls_context(ca: str | None) -> ssl.SSLContext:
    """How a client checks a node's certificate: by the system's authorities, or by those in the file `ca`."""
    try:
        context = ssl.create_default_context(cafile=ca)
    except (OSError, ssl.SSLError) as error:
        raise Invalid(f"the certificates in {ca!r} cannot be read: {error}") from error
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def socket_path(directory: str) -> str:
    """Where a node that serves `directory` listens locally: in it, or in the user's own folder if that is too long."""
    path = os.path.join(os.path.abspath(directory), SOCKET_NAME)
    if len(os.fsencode(path)) <= LONGEST_SOCKET_PATH:
        return path
    digest = hashlib.sha256(os.fsencode(os.path.realpath(directory))).hexdigest()[:24]
    return os.path.join(tempfile.gettempdir(), f"headrace-{os.getuid()}", f"{digest}.sock")


def make_socket_folder(path: str) -> None:
    """See to it that the folder of a local socket is there and nobody else's."""
    folder = os.path.dirname(path)
    if os.path.basename(path) == SOCKET_NAME:
        return
    os.makedirs(folder, mode=0o700, exist_ok=True)
    status = os.stat(folder, follow_symlinks=False)
    if status.st_uid != os.getuid() or status.st_mode & 0o077:
        raise Unavailable(f"the folder {folder} is not only yours: remove it, or serve a directory with a shorter path")


def _parse_one(text: str, url: str) -> Address:
    host, colon, port = text.rpartition(":")
    if not colon or text.endswith("]"):
        host, port = text, str(PORT)
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise Invalid(f"{text!r} in {url!r} is not host:port")
    return Address(host, int(port))

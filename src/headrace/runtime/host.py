"""The one place that chooses concrete classes: what a path, or later an address, stands for."""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, get_args

from headrace.core.errors import Invalid
from headrace.core.limits import Limits, check_seconds
from headrace.runtime.address import Address, parse_url, socket_path, tls_context
from headrace.runtime.aio import AsyncEngine
from headrace.runtime.alink import AsyncLink
from headrace.runtime.disk import SystemDisk, open_directory
from headrace.runtime.engine import Durability, Engine
from headrace.runtime.link import Link
from headrace.runtime.owner import DirectoryLock, InUse

MEMORY = ":memory:"


JOIN_SECONDS: Final = 30.0


def open_or_join(path: Any, *, durability: str, limits: Limits | None) -> Engine | Link:
    """A node in this process; or a session with the process that serves the directory."""
    try:
        return open_engine(path, durability=durability, limits=limits)
    except InUse:
        local = local_address(os.fspath(path))
        if local is None:
            raise
        return Link([local], tls=None, token="", timeout_seconds=JOIN_SECONDS)


def open_engine(path: Any, *, durability: str, limits: Limits | None) -> Engine:
    """A node in this process, on a directory or on nothing."""
    if durability not in get_args(Durability):
        raise Invalid(f"durability is one of {', '.join(get_args(Durability))}; it is {durability!r}")
    try:
        path = os.fspath(path)
    except TypeError:
        raise Invalid(f"a path is a string or a Path; it is {path!r}") from None
    if isinstance(path, bytes):
        path = os.fsdecode(path)
    if not path or "\0" in path:
        raise Invalid(f"{path!r} cannot be a directory's path")
    limits = Limits() if limits is None else limits
    if not isinstance(limits, Limits):
        raise Invalid(f"limits are headrace.Limits; they are {limits!r}")
    if path == MEMORY:
        return Engine(None, durability="memory", limits=limits, ends_leases=True)
    if durability == "memory":
        raise Invalid(f"durability 'memory' keeps nothing in {path!r}: open {MEMORY!r}, or choose 'os' or 'fsync'")
    return Engine(path, durability=durability, limits=limits, ends_leases=True)  # type: ignore[arg-type]


def local_address(directory: str) -> Address | None:
    """The local socket of the process that serves a directory, if one does."""
    path = socket_path(directory)
    return Address("", 0, path) if os.path.exists(path) else None


@contextmanager
def owned_disk(path: str) -> Iterator[SystemDisk]:
    """The files of a node that is not running, and cannot be started meanwhile."""
    lock = DirectoryLock(path)
    try:
        disk = open_directory(path)
        try:
            yield disk
        finally:
            disk.close()
    finally:
        lock.release()


async def open_or_join_async(path: Any, *, durability: str, limits: Limits | None) -> AsyncEngine | AsyncLink:
    """As `open_or_join`, for the running loop; recovery runs in a thread."""
    engine = await asyncio.to_thread(open_or_join, path, durability=durability, limits=limits)
    if isinstance(engine, Engine):
        return AsyncEngine(engine)
    address = engine.address
    await asyncio.to_thread(engine.close)
    link = AsyncLink([address], tls=None, token="", timeout_seconds=JOIN_SECONDS)
    await link.greet()
    return link


def open_link(url: Any, *, token: str, ca: str | None, timeout_seconds: float) -> Link:
    """A session with a node in another process, for threads."""
    addresses, tls = _reached(url, ca, timeout_seconds)
    return Link(addresses, tls=tls, token=token, timeout_seconds=timeout_seconds)


def open_async_link(url: Any, *, token: str, ca: str | None, timeout_seconds: float) -> AsyncLink:
    """A session with a node in another process, for the running loop."""
    addresses, tls = _reached(url, ca, timeout_seconds)
    return AsyncLink(addresses, tls=tls, token=token, timeout_seconds=timeout_seconds)


def _reached(url: Any, ca: str | None, timeout_seconds: float) -> tuple[list[Address], ssl.SSLContext | None]:
    if type(url) is not str:
        raise Invalid(f"an address is a string such as headrace://localhost; it is {url!r}")
    addresses, is_tls = parse_url(url)
    check_seconds("timeout", timeout_seconds, least=0.001)
    return addresses, tls_context(ca) if is_tls else None

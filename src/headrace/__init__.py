"""Headrace: a distributed work queue with no central broker to outgrow.

import headrace

with headrace.open("data") as hr:
    hr.add("thumbnails", b"cat.png", priority=3)
    for item in hr.take("thumbnails", wait=0):
        with item:
            print(item.body)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_ROOMS = {
    "headrace.core.items": "Item",
    "headrace.core.limits": "Limits QueueSettings",
    "headrace.core.errors": (
        "HeadraceError Rejected Invalid Full Paused Forbidden StaleLease Gone Unavailable OutcomeUnknown "
        "PeerViolation Damaged"
    ),
    "headrace.client.handle": "Headrace Lease",
    "headrace.client.shapes": "Receipt",
    "headrace.client.opening": "open",
    "headrace.client.connecting": "connect",
    "headrace.server.mounting": "asgi",
    "headrace.client.asynchronous": "AsyncHeadrace AsyncLease aconnect aopen",
    "headrace.work.app": "App",
    "headrace.work.tasks": "Backoff Task",
    "headrace.work.results": "Result",
    "headrace.work.failures": "SoftTimeout TaskFailed",
    "headrace.work.executor": "Executor",
}
_PUBLIC = {name: room for room, names in _ROOMS.items() for name in names.split()}

if TYPE_CHECKING:
    from headrace.client.asynchronous import AsyncHeadrace, AsyncLease, aconnect, aopen
    from headrace.client.connecting import connect
    from headrace.client.handle import Headrace, Lease
    from headrace.client.opening import open
    from headrace.client.shapes import Receipt
    from headrace.core.errors import (
        Damaged,
        Forbidden,
        Full,
        Gone,
        HeadraceError,
        Invalid,
        OutcomeUnknown,
        Paused,
        PeerViolation,
        Rejected,
        StaleLease,
        Unavailable,
    )
    from headrace.core.items import Item
    from headrace.core.limits import Limits, QueueSettings
    from headrace.server.mounting import asgi
    from headrace.work.app import App
    from headrace.work.executor import Executor
    from headrace.work.failures import SoftTimeout, TaskFailed
    from headrace.work.results import Result
    from headrace.work.tasks import Backoff, Task

__all__ = [
    "App",
    "AsyncHeadrace",
    "AsyncLease",
    "Backoff",
    "Damaged",
    "Executor",
    "Forbidden",
    "Full",
    "Gone",
    "Headrace",
    "HeadraceError",
    "Invalid",
    "Item",
    "Lease",
    "Limits",
    "OutcomeUnknown",
    "Paused",
    "PeerViolation",
    "QueueSettings",
    "Receipt",
    "Rejected",
    "Result",
    "SoftTimeout",
    "StaleLease",
    "Task",
    "TaskFailed",
    "Unavailable",
    "aconnect",
    "aopen",
    "asgi",
    "connect",
    "head_start",
    "open",
]


def head_start(seconds: float) -> int:
    """A priority that puts an item ahead of all that came up to `seconds` before it, from this machine's clock.

    In a queue that uses it throughout nothing starves: an older item always becomes the most urgent in the end.
    """
    import time

    from headrace.core.limits import LONGEST_SECONDS, check_seconds

    return time.time_ns() // 1000 - check_seconds("a head start", seconds, least=-LONGEST_SECONDS)


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        value = getattr(importlib.import_module(_PUBLIC[name]), name)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("headrace"):
            raise
        raise ImportError(f"headrace.{name} needs {error.name}: pip install 'headrace[server]'") from error
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_PUBLIC])

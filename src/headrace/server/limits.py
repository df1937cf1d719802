"""What the doors of a node take from the outside."""

from __future__ import annotations

import msgspec

from headrace.core.limits import MIB


class ServerLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The bounds of the doors, by name."""

    connections: int = 10_000
    """Binary connections at a time."""
    calls_in_flight: int = 10_000
    """Unanswered calls on one connection."""
    unread_bytes: int = 16 * MIB
    """Answers that wait for a client to read them before the node takes no more of its calls, and makes no more."""
    hello_seconds: float = 10.0
    """How long a connection may take to say who it is, and a request its header."""
    body_seconds: float = 60.0
    """How long a request, or a frame, may take to arrive, and `unread_bytes` to be read."""
    header_bytes: int = 32 << 10
    """The header of a REST request."""

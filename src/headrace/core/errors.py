"""Every error a caller can meet, and the one table that maps them to the outside.

    HeadraceError
    ├── Rejected          definite, and the caller's to mend: nothing happened
    │   ├── Invalid       the request makes no sense as it stands
    │   ├── Full          a capacity is reached
    │   ├── Paused        the queue is paused
    │   ├── Forbidden     the access token does not allow it
    │   ├── StaleLease    the item is leased to another by now
    │   └── Gone          what is named is no longer there
    ├── Unavailable       not sent, or not taken: safe to try again
    ├── OutcomeUnknown    it may have happened
    ├── PeerViolation     the other side broke the protocol: its connection is closed
    └── Damaged           the data on disk is not what was written

A message names the offender and the fix. Our own bugs are assertions, never one of these.
"""

from __future__ import annotations

from typing import NamedTuple


class HeadraceError(Exception):
    """The root of all errors that Headrace raises on purpose."""


class Rejected(HeadraceError):
    """Refused for a definite reason; nothing happened."""


class Invalid(Rejected, ValueError):
    """The request makes no sense as it stands."""


class Full(Rejected):
    """A capacity is reached: wait, raise it, or work some items off."""


class Paused(Rejected):
    """The queue is paused and hands nothing out."""


class Forbidden(Rejected):
    """The access token does not allow this."""


class StaleLease(Rejected):
    """The receipt is an old one and the item is leased to another by now."""


class Gone(Rejected):
    """The item, or whatever was named, is no longer there."""


class Unavailable(HeadraceError):
    """Not sent, or not taken; trying again is safe."""


class OutcomeUnknown(HeadraceError):
    """The request may or may not have taken effect."""


class PeerViolation(HeadraceError):
    """The other side broke the protocol."""


class Damaged(HeadraceError):
    """What is on disk is not what was written."""


class Outward(NamedTuple):
    """How an error shows itself beyond Python."""

    http_status: int
    exit_code: int


EXIT_FAILURE = 1
EXIT_USAGE = 2
EXIT_NOTHING = 3

OUTWARD: dict[type[HeadraceError], Outward] = {
    Invalid: Outward(400, EXIT_USAGE),
    Full: Outward(429, EXIT_FAILURE),
    Paused: Outward(423, EXIT_FAILURE),
    Forbidden: Outward(403, EXIT_FAILURE),
    StaleLease: Outward(409, EXIT_FAILURE),
    Gone: Outward(404, EXIT_NOTHING),
    Unavailable: Outward(503, EXIT_FAILURE),
    OutcomeUnknown: Outward(504, EXIT_FAILURE),
    PeerViolation: Outward(400, EXIT_FAILURE),
    Damaged: Outward(500, EXIT_FAILURE),
}


def outward(error: HeadraceError) -> Outward:
    """The HTTP status and the exit code of `error`, by its nearest class in the table."""
    for cls in type(error).__mro__:
        if cls in OUTWARD:
            return OUTWARD[cls]
    return Outward(500, EXIT_FAILURE)

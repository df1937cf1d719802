"""What a client and a node say to each other.

A client begins with `Hello` and is answered `Welcome`, or `Goodbye` with the reason. After that it sends `Calls` and is
sent `Answers`: several at a time, so that what was said in one tick shares a frame. Answers come in any order; those to
a stream are several, and all but the last say that there is more. Fields are only ever added at the end.
"""

from __future__ import annotations

from typing import Final

import msgspec

from headrace.core.commands import AnyCommand, AnyOutcome
from headrace.core.limits import Limits

VERSION: Final = 1


class Hello(msgspec.Struct, array_like=True, frozen=True, tag="headrace"):
    """Who calls: its version, its session, whether that is a new one, and its access token if it has one."""

    version: int
    session: bytes
    is_new: bool
    token: str = ""


class Welcome(msgspec.Struct, array_like=True, frozen=True, tag="welcome"):
    """The node agrees to talk: its version, its name, its limits, and whether it knows the session."""

    version: int
    node: str
    limits: Limits
    knows: bool = True
    calls_in_flight: int = 10_000
    """So many unanswered calls it takes on one connection."""


class Goodbye(msgspec.Struct, array_like=True, frozen=True, tag="goodbye"):
    """The node hangs up, and why; `kind` names an error of `core.errors`."""

    kind: str
    message: str


class Call(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """A command. `id` is the connection's own; `number` and `answered` are the session's."""

    id: int
    number: int
    answered: int
    command: AnyCommand


class Answer(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """What became of a call."""

    id: int
    outcome: AnyOutcome


class Calls(msgspec.Struct, array_like=True, frozen=True, gc=False, tag="calls"):
    """What a client says in one tick."""

    calls: list[Call]
    cancels: list[int] = []


class Answers(msgspec.Struct, array_like=True, frozen=True, gc=False, tag="answers"):
    """What a node says in one tick."""

    answers: list[Answer]


FromClient = Hello | Calls
FromNode = Welcome | Goodbye | Answers

"""The bodies of two kinds of items: the call of a task, and the reply to one.

Both are msgpack arrays that begin with their version. Fields are only ever added at the end. Nothing is ever unpickled.
"""

from __future__ import annotations

from typing import Final, TypeVar

import msgspec

from headrace.core.errors import Invalid
from headrace.work.failures import Failure

VERSION: Final = 1
T = TypeVar("T")


class Call(msgspec.Struct, frozen=True, array_like=True):
    """A task to be run with these arguments; `reply_to` is the queue that its result goes to, if anybody wants it."""

    version: int
    task: str
    arguments: msgspec.Raw
    reply_to: str = ""
    result_seconds: float = 0.0


class Reply(msgspec.Struct, frozen=True, array_like=True):
    """What became of the item `id`: the task's value, or its failure."""

    version: int
    id: str
    value: msgspec.Raw
    failure: Failure | None = None


NOTHING: Final = msgspec.Raw(msgspec.msgpack.encode(None))

encode = msgspec.msgpack.Encoder().encode
_calls = msgspec.msgpack.Decoder(Call)
_replies = msgspec.msgpack.Decoder(Reply)


def decode_call(body: bytes) -> Call:
    """The call that an item's body holds, or `Invalid`."""
    return _decoded(_calls, body)


def decode_reply(body: bytes) -> Reply:
    """The reply that an item's body holds, or `Invalid`."""
    return _decoded(_replies, body)


def _decoded(decoder: msgspec.msgpack.Decoder[T], body: bytes) -> T:
    try:
        message = decoder.decode(body)
    except msgspec.DecodeError as error:
        raise Invalid(f"the body of this item is not what a task's submit makes: {error}") from None
    version = message.version  # type: ignore[attr-defined]
    if version != VERSION:
        raise Invalid(f"the item was made by version {version} of tasks, and this is {VERSION}: bring both to one")
    return message

"""The frames of the binary door: `length 4 (big-endian) | MessagePack`.

What the messages are is in `core.messages`. Golden bytes are in the tests: a change of any of them is a new version.
"""

from __future__ import annotations

from struct import Struct as Layout
from typing import Final

import msgspec

from headrace.core.errors import PeerViolation
from headrace.core.messages import FromClient, FromNode

HELLO_BYTES: Final = 4096
"""What a frame may have before the other side has said who it is."""

_LENGTH = Layout(">I")
HEAD_BYTES: Final = _LENGTH.size


_encoder = msgspec.msgpack.Encoder()
_from_client: msgspec.msgpack.Decoder[FromClient] = msgspec.msgpack.Decoder(FromClient)
_from_node: msgspec.msgpack.Decoder[FromNode] = msgspec.msgpack.Decoder(FromNode)


def pack(message: FromClient | FromNode) -> bytes:
    """A message as a frame."""
    payload = _encoder.encode(message)
    return _LENGTH.pack(len(payload)) + payload


def from_client(payload: bytes | memoryview) -> FromClient:
    """What a client said; `PeerViolation` when it makes no sense."""
    try:
        return _from_client.decode(payload)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise PeerViolation(f"a frame of {len(payload):,} bytes cannot be read: {error}") from error


def from_node(payload: bytes | memoryview) -> FromNode:
    """What a node said; `PeerViolation` when it makes no sense."""
    try:
        return _from_node.decode(payload)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise PeerViolation(f"a frame of {len(payload):,} bytes cannot be read: {error}") from error


class Splitter:
    """Cuts what comes in from a connection into the payloads of frames."""

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        """The longest payload that is taken; raised once the other side is known."""
        self._rest = bytearray()
        self._wanted = HEAD_BYTES
        """How long `_rest` must be before a look at it is worth while."""

    @property
    def held_bytes(self) -> int:
        """How much of an unfinished frame is held."""
        return len(self._rest)

    def feed(self, data: bytes) -> list[bytes]:
        """The payloads that are complete now; `PeerViolation` for one that is too long."""
        if self._rest:
            self._rest += data
            if len(self._rest) < self._wanted:
                return []
            data = bytes(self._rest)
            self._rest.clear()
        at, end = 0, len(data)
        payloads = []
        self._wanted = HEAD_BYTES
        while end - at >= HEAD_BYTES:
            (length,) = _LENGTH.unpack_from(data, at)
            if length > self.most_bytes:
                raise PeerViolation(f"a frame of {length:,} bytes is more than the {self.most_bytes:,} that are taken")
            after = at + HEAD_BYTES + length
            if after > end:
                self._wanted = after - at
                break
            payloads.append(data[at + HEAD_BYTES : after])
            at = after
        self._rest += data[at:]
        return payloads

"""What one worker process is doing, in memory that it shares with its supervisor.

The process writes its session, and which attempts it has begun, one to a slot, and until when each may take. The
supervisor reads the deadlines while the process lives, and everything once it is dead, however it died: nothing is
sent, nothing is lost, and beginning a task costs no system call.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from multiprocessing.context import SpawnContext
from typing import Any, Final

import msgspec

from headrace.protocols.door import SESSION_BYTES
from headrace.work.attempts import Begun

_HEAD: Final = 1 + SESSION_BYTES
SLOT_BYTES: Final = 1024
"""A queue's name, a task's name and a reply queue fit in, at their longest."""
_SLOT: Final = struct.Struct("<QI")

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Begun).decode


class Board:
    """The slots of one process."""

    def __init__(self, memory: Any, slots: int) -> None:
        self._memory = memory
        self._view = memoryview(memory).cast("B")
        self._slots = slots

    @classmethod
    def blank(cls, context: SpawnContext, slots: int) -> Board:
        """A board that can be passed to a process of this context."""
        return cls(context.RawArray("B", _HEAD + slots * SLOT_BYTES), slots)

    def __reduce__(self) -> tuple[type[Board], tuple[Any, int]]:
        return Board, (self._memory, self._slots)

    # -- by the process

    def say_ready(self, session: bytes) -> None:
        """The process takes items from now on, in this session."""
        self._view[1:_HEAD] = session
        self._view[0] = 1

    def begin(self, slot: int, begun: Begun, deadline_ns: int) -> None:
        """An attempt begins, that may take until `deadline_ns` (0: for ever) of the monotonic clock."""
        at = _HEAD + slot * SLOT_BYTES
        story = _encode(begun)
        self._view[at + _SLOT.size : at + _SLOT.size + len(story)] = story
        _SLOT.pack_into(self._view, at, deadline_ns, len(story))

    def end(self, slot: int) -> None:
        """It is over."""
        _SLOT.pack_into(self._view, _HEAD + slot * SLOT_BYTES, 0, 0)

    # -- by the supervisor

    @property
    def is_ready(self) -> bool:
        return bool(self._view[0])

    def overdue(self, now_ns: int) -> list[int]:
        """The slots whose attempt has taken too long."""
        deadlines = ((slot, _SLOT.unpack_from(self._view, _HEAD + slot * SLOT_BYTES)[0]) for slot in range(self._slots))
        return [slot for slot, deadline_ns in deadlines if 0 < deadline_ns <= now_ns]

    @property
    def session(self) -> bytes:
        return self._view[1:_HEAD].tobytes()

    def running(self) -> Iterator[tuple[int, Begun]]:
        """What the process was at, by slot, once it is dead."""
        for slot in range(self._slots):
            at = _HEAD + slot * SLOT_BYTES
            _, length = _SLOT.unpack_from(self._view, at)
            if length:
                yield slot, _decode(self._view[at + _SLOT.size : at + _SLOT.size + length])

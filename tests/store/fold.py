"""A shard for the tests of the store: it remembers what it was told."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.core.ports import Disk
from headrace.core.records import Added, AnyRecord
from headrace.store.log import FileLog
from headrace.store.recovery import Recovered, recover

SEGMENT_BYTES = 2048


class Fold:
    """The records a recovery gave, in order; a snapshot of it is their texts."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.positions: list[int] = []
        self.is_settled = False

    def thaw(self, parts: Iterable[bytes]) -> None:
        self.bodies = [body for part in parts for body in part.split(b"\n") if body]

    def freeze(self, part_items: int = 3) -> list[bytes]:
        bodies = self.bodies
        return [b"\n".join(bodies[i : i + part_items]) for i in range(0, len(bodies), part_items)]

    def apply(self, position: int, record: AnyRecord) -> None:
        assert not self.is_settled
        self.positions.append(position)
        if isinstance(record, Added):
            self.bodies += record.items

    def settle(self) -> None:
        self.is_settled = True


def added(body: bytes) -> Added:
    return Added(0, b"", 0, 0, "q", 0, [body])


def opened(disk: Disk) -> tuple[FileLog, Recovered, Fold]:
    """A directory as it recovers."""
    fold = Fold()
    log, report = recover(disk, fold, segment_bytes=SEGMENT_BYTES)
    return log, report, fold

"""A node at a desk: a log in memory, a clock that is set by hand, one question at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core.commands import (
    Abort,
    Add,
    AnyCommand,
    AnyOutcome,
    Commit,
    Declare,
    Peek,
    Pop,
    PopDone,
    Refused,
    Request,
    error_of,
)
from headrace.core.items import Item, encode_item, entry_body
from headrace.core.limits import US, Limits
from headrace.core.records import AnyRecord
from headrace.protocols.effects import Effects, turn
from headrace.protocols.node import Node
from headrace.protocols.shard import Shard
from headrace.store.memory import MemoryLog

WALL_US = 1_800_000_000 * US


class KeptLog(MemoryLog):
    """Keeps the records, and is safe only when told, if it is told to be `slow`."""

    def __init__(self, *, slow: bool = False) -> None:
        super().__init__()
        self.records: list[AnyRecord] = []
        self.slow = slow
        self._safe = 0

    @property
    def safe(self) -> int:
        return self._safe if self.slow else self.end

    def append(self, records: Sequence[AnyRecord], *, from_reserve: bool = False) -> int:
        self.records += records
        return super().append(records)

    def sync(self) -> None:
        self._safe = self.end


class Desk:
    """One node and whoever talks to it."""

    def __init__(self, *, limits: Limits | None = None, slow: bool = False, ends_leases: bool = False) -> None:
        self.limits = limits or Limits()
        self.log = KeptLog(slow=slow)
        self.now_us = 1000 * US
        self.out = Effects()
        self.answers: dict[Any, AnyOutcome] = {}
        self.refs = 0
        self.ids = 0
        self.boots = 0
        self.ends_leases = ends_leases
        self.shard = Shard(limits=self.limits)
        self._start()

    def _start(self) -> None:
        self.boots += 1
        self.node = Node(self.shard, limits=self.limits, now_us=self.now_us, wall_us=WALL_US + self.now_us)
        epoch = self.boots * 7919
        self.node.claim(self.now_us, self.out, epoch=epoch, owner="test", ends_leases=self.ends_leases)
        self.log.sync()
        self._turn()
        self.sync()

    def _turn(self) -> None:
        turn(self.node, self.log, self.now_us, self.out)
        self.answers.update(self.out.replies)
        self.out.replies.clear()

    def sync(self) -> None:
        self.log.sync()
        self.node.on_safe(self.log.safe, self.out)
        self._turn()

    def reboot(self) -> None:
        """Stop without a word, and come back from the log."""
        self.shard = Shard(limits=self.limits, loading=True)
        for position, record in enumerate(self.log.records):
            self.shard.apply(position, record)
        self.shard.settle()
        self._start()

    def reboot_from_snapshot(self) -> None:
        """As `reboot`, from a snapshot instead of the log."""
        parts = list(self.shard.freeze())
        self.shard = Shard(limits=self.limits, loading=True)
        self.shard.thaw(parts)
        self.shard.settle()
        self._start()

    def send(self, command: AnyCommand, *, session: bytes = b"", number: int = 0, answered: int = 0) -> int:
        """Ask without waiting; the answer will be in `answers` under the returned ref."""
        self.refs += 1
        self.node.handle(self.now_us, [Request(self.refs, command, session, number, answered)], self.out)
        self._turn()
        return self.refs

    def ask(self, command: AnyCommand, *, session: bytes = b"", number: int = 0, answered: int = 0) -> Any:
        """The answer, which must be there at once; a refusal is raised."""
        outcome = self.answers[self.send(command, session=session, number=number, answered=answered)]
        if isinstance(outcome, Refused):
            raise error_of(outcome)
        return outcome

    def pass_time(self, seconds: float, *, stalled: bool = False) -> None:
        """Let time go by, waking the node whenever it asks to be woken, or only at the end when `stalled`."""
        end_us = self.now_us + round(seconds * US)
        while True:
            due_us = self.node.next_wake_us(self.now_us)
            if due_us > end_us:
                break
            self.now_us = end_us if stalled else max(self.now_us, due_us)
            self.node.on_wake(self.now_us, WALL_US + self.now_us, self.out, due_us=due_us)
            self._turn()
            if stalled:
                break
        self.now_us = end_us

    # -- short forms -----------------------------------------------------------------------------------------------

    def encode(self, *items: Item | bytes) -> list[bytes]:
        encoded = []
        for item in items:
            self.ids += 1
            item = item if isinstance(item, Item) else Item(item)
            encoded.append(encode_item(item, self.ids.to_bytes(16, "big"), WALL_US + self.now_us, self.limits))
        return encoded

    def add(self, *items: Item | bytes, queue: str = "q", wait: float = 0) -> Any:
        return self.ask(Add(queue, self.encode(*items), round(wait * US)))

    def pop(self, count: int = 1, *, queue: str = "q", **options: Any) -> PopDone:
        outcome = self.ask(Pop([queue], count, **options))
        assert isinstance(outcome, PopDone)
        return outcome

    def peek(self, count: int = 1, *, queue: str = "q") -> list[bytes]:
        return [entry_body(entry) for entry in self.ask(Peek(queue, count)).entries]

    def commit(self, done: PopDone, *, added: list[tuple[str, list[bytes]]] | None = None) -> Any:
        (batch,) = done.batches
        return self.ask(Commit(batch.queue, batch.epoch, batch.counters, added or []))

    def abort(self, done: PopDone, **options: Any) -> Any:
        (batch,) = done.batches
        return self.ask(Abort(batch.queue, batch.epoch, batch.counters, **options))

    def declare(self, queue: str = "q", **settings: Any) -> None:
        self.ask(Declare(queue, settings))


def bodies(done: PopDone) -> list[bytes]:
    """What was handed out."""
    return [entry_body(entry) for batch in done.batches for entry in batch.entries]


def attempts(done: PopDone) -> list[int]:
    return [n for batch in done.batches for n in batch.attempts]

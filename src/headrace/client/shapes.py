"""What a program is given back: leases, items looked at, the dead, and where an item is.

Views over the bytes that the node handed out; nothing is decoded before it is asked for.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Sequence
from typing import Any, overload

import msgspec

from headrace.core.commands import Attempt, DeadItem, Whereabouts
from headrace.core.errors import Invalid
from headrace.core.items import (
    ENTRY_ID,
    entry_added_us,
    entry_body,
    entry_extras,
    entry_priority,
    entry_seq,
    show_id,
)
from headrace.core.limits import PRIORITY_MAX, US, check_count, check_queue_name


def moment(wall_us: int) -> dt.datetime:
    """An instant as people see it."""
    return dt.datetime.fromtimestamp(wall_us / US, dt.UTC)


_RECEIPT = re.compile(r"([^/]+)/([0-9a-f]{1,16})-([0-9a-f]{1,16})")


class Receipt(msgspec.Struct, frozen=True):
    """What proves a lease. As text: `QUEUE/EPOCH-COUNTER`, the last two in hexadecimal."""

    queue: str
    epoch: int
    counter: int

    def __post_init__(self) -> None:
        check_queue_name(self.queue)
        check_count("the epoch of a receipt", self.epoch, least=0, most=PRIORITY_MAX)
        check_count("the counter of a receipt", self.counter, least=0, most=PRIORITY_MAX)

    def __str__(self) -> str:
        return f"{self.queue}/{self.epoch:x}-{self.counter:x}"

    @classmethod
    def parse(cls, text: object) -> Receipt:
        """The receipt that a text stands for, or `Invalid`."""
        match = _RECEIPT.fullmatch(text) if type(text) is str else None
        if match is not None:
            queue, epoch, counter = match.groups()
            return cls(queue, int(epoch, 16), int(counter, 16))
        raise Invalid(f"{text!r} is not a receipt: use the text that the pop gave, such as thumbnails/1f3c9a-2b")


class _View(msgspec.Struct):
    """An item as it stands in the queue."""

    queue: str
    _entry: bytes

    @property
    def id(self) -> str:
        return show_id(self._entry[ENTRY_ID])

    @property
    def body(self) -> bytes:
        return entry_body(self._entry)

    @property
    def priority(self) -> int:
        return entry_priority(self._entry)

    @property
    def headers(self) -> dict[str, str]:
        return entry_extras(self._entry).headers or {}

    @property
    def key(self) -> str | None:
        return entry_extras(self._entry).key

    @property
    def added(self) -> dt.datetime:
        """When the item was added."""
        return moment(entry_added_us(self._entry))


class Held(_View):
    """An item that is leased to us: what the leases for threads and for asyncio have in common."""

    _epoch: int
    _counter: int
    attempt: int
    """Which attempt at this item this is, from 1."""
    _lease_us: int
    _engine: Any
    _settled: bool = False
    _watched: bool = False

    @property
    def receipt(self) -> Receipt:
        return Receipt(self.queue, self._epoch, self._counter)

    def watch(self) -> None:
        """Have the lease renewed from now on."""
        self._watched = True
        self._engine.watch(self.queue, self._epoch, self._counter, self._lease_us)

    def settle(self) -> None:
        """The lease is over, as far as we are concerned."""
        self._settled = True
        if self._watched:
            self._engine.unwatch(self.queue, self._epoch, self._counter)

    def __repr__(self) -> str:
        return f"<Lease {self.id} of {self.queue!r}, priority {self.priority}, attempt {self.attempt}>"


class Queued(_View):
    """An item that was looked at, and is leased to nobody on that account."""

    def __repr__(self) -> str:
        return f"<Queued {self.id} in {self.queue!r}, priority {self.priority}>"


class Dead(_View):
    """An item that is handed out no more, until it is revived."""

    died: dt.datetime
    reason: str
    attempts: int

    @property
    def place(self) -> int:
        """Where a listing goes on: pass it as `after`."""
        return entry_seq(self._entry)

    def __repr__(self) -> str:
        return f"<Dead {self.id} in {self.queue!r}: {self.reason}>"


def dead_of(queue: str, item: DeadItem) -> Dead:
    return Dead(queue, item.entry, moment(item.died_us), item.reason, item.attempts)


class Tried(msgspec.Struct, frozen=True):
    """One attempt at an item: when it was leased, when and how that ended (None: not yet)."""

    leased: dt.datetime
    ended: dt.datetime | None
    reason: str


class Place(msgspec.Struct, frozen=True):
    """Where an item is.

    `state` is 'queued', 'delayed', 'held' (it would be dead, but there is no more room for the dead), 'leased', 'dead'
    or 'unknown'. `ahead` counts the items that will be handed out before it, `since` says how long it has been so.
    """

    id: str
    state: str
    queue: str
    priority: int
    ahead: int
    added: dt.datetime | None
    since: dt.datetime | None
    due: dt.datetime | None
    attempts: list[Tried]


def place_of(item_id: bytes, found: Whereabouts) -> Place:
    return Place(
        show_id(item_id),
        found.state,
        found.queue,
        found.priority,
        found.ahead,
        moment(found.added_us) if found.added_us else None,
        moment(found.since_us) if found.since_us else None,
        moment(found.due_us) if found.due_us else None,
        [_tried(attempt) for attempt in found.attempts],
    )


def _tried(attempt: Attempt) -> Tried:
    return Tried(moment(attempt.leased_us), moment(attempt.ended_us) if attempt.ended_us else None, attempt.reason)


class Ids(Sequence[str]):
    """The ids of added items, as text when they are looked at."""

    __slots__ = ("_raw",)

    def __init__(self, raw: list[bytes]) -> None:
        self._raw = raw

    def __len__(self) -> int:
        return len(self._raw)

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> Ids: ...
    def __getitem__(self, at: int | slice) -> str | Ids:
        return Ids(self._raw[at]) if isinstance(at, slice) else show_id(self._raw[at])

    def __iter__(self) -> Iterator[str]:
        return map(show_id, self._raw)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{len(self)} ids>"


class Leases(list[Any]):
    """What a pop handed out. `top` is the priority of the fresh top when a condition was not met."""

    top: int | None = None

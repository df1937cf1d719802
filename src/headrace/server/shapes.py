"""The JSON of the REST door. The same types check what comes in, shape what goes out, and make the OpenAPI document."""

from __future__ import annotations

import base64
import datetime as dt
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from headrace.core.commands import Attempt, Batch, DeadItem, QueueStats, Whereabouts
from headrace.core.errors import Invalid
from headrace.core.items import (
    ENTRY_ID,
    Item,
    entry_added_us,
    entry_body,
    entry_extras,
    entry_priority,
    show_id,
)
from headrace.core.limits import US

Priority = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1, description="Lower is more urgent.")]
Seconds = Annotated[float, Meta(ge=0, le=315_000_000)]
Wait = Annotated[float, Meta(ge=0, le=3600, description="How long to wait, in seconds.")]
Count = Annotated[int, Meta(ge=1, le=10_000)]
Uuid = Annotated[str, Meta(pattern="^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$")]
ReceiptText = Annotated[str, Meta(pattern="^[A-Za-z0-9][A-Za-z0-9._-]{0,199}/[0-9a-f]{1,16}-[0-9a-f]{1,16}$")]
LAST_SECOND = 253_402_300_799
"""The end of the year 9999."""
BASE64 = "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"
QueueName = Annotated[str, Meta(pattern="^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$")]


class Incoming(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """An item to add: its body as text or as base64; without either it is empty."""

    body: str | msgspec.UnsetType = msgspec.UNSET
    body_base64: Annotated[str, Meta(pattern=BASE64)] | msgspec.UnsetType = msgspec.UNSET
    priority: Priority = 0
    key: Annotated[str, Meta(min_length=1)] | None = None
    headers: dict[str, str] | None = None
    delay: Seconds | msgspec.UnsetType = msgspec.UNSET
    not_before: (
        Annotated[float, Meta(ge=0, le=LAST_SECOND, description="Seconds since 1970, UTC.")] | msgspec.UnsetType
    ) = msgspec.UNSET
    expires: Seconds | None = None
    id: Uuid | None = None

    def item(self) -> Item:
        return Item(
            self._body(),
            priority=self.priority,
            key=self.key,
            headers=self.headers,
            delay=None if self.delay is msgspec.UNSET else self.delay,
            not_before=(
                None if self.not_before is msgspec.UNSET else dt.datetime.fromtimestamp(self.not_before, dt.UTC)
            ),
            expires=self.expires,
            id=self.id,
        )

    def _body(self) -> bytes:
        if self.body_base64 is msgspec.UNSET:
            return b"" if self.body is msgspec.UNSET else self.body.encode()
        if self.body is not msgspec.UNSET:
            raise Invalid("an item has either body (text) or body_base64, not both")
        return base64.b64decode(self.body_base64)


class AddRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    items: Annotated[list[Incoming], Meta(min_length=1, max_length=10_000)]
    wait: Wait = 0


class AddResponse(msgspec.Struct, frozen=True):
    ids: list[str]
    """In the order of the items; of one whose key is held already, the id of its holder."""


class PopRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    n: Count = 1
    wait: Wait = 0
    lease: Annotated[float, Meta(ge=0.01, le=315_000_000)] | None = None
    at_least: Priority | None = None
    name: Annotated[str, Meta(min_length=1, max_length=200)] | None = None


class LeaseShape(msgspec.Struct, frozen=True, omit_defaults=True):
    receipt: str
    id: str
    queue: str
    priority: int
    attempt: int
    added: dt.datetime
    lease: float
    body: str | None = None
    body_base64: str | None = None
    headers: dict[str, str] | None = None
    key: str | None = None


class PopResponse(msgspec.Struct, frozen=True):
    leases: list[LeaseShape]
    top: int | None = None


class Added(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    queue: QueueName
    item: Incoming


class CommitRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    receipts: Annotated[list[ReceiptText], Meta(min_length=1, max_length=10_000)]
    add: Annotated[list[Added], Meta(max_length=10_000)] = []


class AbortRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    receipts: Annotated[list[ReceiptText], Meta(min_length=1, max_length=10_000)]
    delay: Seconds = 0
    reason: Annotated[str, Meta(max_length=500)] = ""
    dead: bool = False


class ExtendRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    receipts: Annotated[list[ReceiptText], Meta(min_length=1, max_length=10_000)]
    seconds: Annotated[float, Meta(ge=0.01, le=315_000_000)]


class Refusal(msgspec.Struct, frozen=True):
    receipt: str
    error: str


class SettledResponse(msgspec.Struct, frozen=True):
    """All receipts took effect but the refused ones."""

    refused: list[Refusal] = []


class QueuedShape(msgspec.Struct, frozen=True, omit_defaults=True):
    id: str
    priority: int
    added: dt.datetime
    body: str | None = None
    body_base64: str | None = None
    headers: dict[str, str] | None = None
    key: str | None = None


class PeekResponse(msgspec.Struct, frozen=True):
    items: list[QueuedShape]


class DeadShape(msgspec.Struct, frozen=True, omit_defaults=True):
    id: str
    priority: int
    added: dt.datetime
    died: dt.datetime
    reason: str
    attempts: int
    body: str | None = None
    body_base64: str | None = None


class DeadResponse(msgspec.Struct, frozen=True):
    items: list[DeadShape]


class IdsRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    ids: Annotated[list[Uuid], Meta(min_length=1, max_length=10_000)] | None = None


class PurgeRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    dead: bool = False
    ids: Annotated[list[Uuid], Meta(min_length=1, max_length=10_000)] | None = None


class CountResponse(msgspec.Struct, frozen=True):
    count: int


class StatsResponse(msgspec.Struct, frozen=True):
    queues: list[dict[str, Any]]


class AttemptShape(msgspec.Struct, frozen=True, omit_defaults=True):
    leased: dt.datetime
    ended: dt.datetime | None = None
    reason: str = ""


class PlaceResponse(msgspec.Struct, frozen=True):
    id: str
    state: str
    queue: str
    priority: int
    ahead: int
    added: dt.datetime | None
    since: dt.datetime | None
    due: dt.datetime | None
    attempts: list[AttemptShape]


class Empty(msgspec.Struct, frozen=True):
    """Done."""


class Failure(msgspec.Struct, frozen=True):
    """What went wrong: the kind of error, and a sentence that names the offender and the fix."""

    error: str
    message: str


def leases_of(batch: Batch) -> list[LeaseShape]:
    shapes = []
    for entry, counter, attempt in zip(batch.entries, batch.counters, batch.attempts, strict=True):
        extras = entry_extras(entry)
        text, encoded = _shown(entry_body(entry))
        shapes.append(
            LeaseShape(
                receipt=f"{batch.queue}/{batch.epoch:x}-{counter:x}",
                id=show_id(entry[ENTRY_ID]),
                queue=batch.queue,
                priority=entry_priority(entry),
                attempt=attempt,
                added=moment(entry_added_us(entry)),
                lease=batch.lease_us / US,
                body=text,
                body_base64=encoded,
                headers=extras.headers,
                key=extras.key,
            )
        )
    return shapes


def queued_of(entry: bytes) -> QueuedShape:
    extras = entry_extras(entry)
    text, encoded = _shown(entry_body(entry))
    return QueuedShape(
        id=show_id(entry[ENTRY_ID]),
        priority=entry_priority(entry),
        added=moment(entry_added_us(entry)),
        body=text,
        body_base64=encoded,
        headers=extras.headers,
        key=extras.key,
    )


def dead_of(item: DeadItem) -> DeadShape:
    text, encoded = _shown(entry_body(item.entry))
    return DeadShape(
        id=show_id(item.entry[ENTRY_ID]),
        priority=entry_priority(item.entry),
        added=moment(entry_added_us(item.entry)),
        died=moment(item.died_us),
        reason=item.reason,
        attempts=item.attempts,
        body=text,
        body_base64=encoded,
    )


def stats_of(stats: QueueStats) -> dict[str, Any]:
    shown = msgspec.to_builtins(stats)
    oldest_us = shown.pop("oldest_us")
    return {**shown, "oldest": moment(oldest_us).isoformat() if oldest_us else None}


def place_of(item_id: str, found: Whereabouts) -> PlaceResponse:
    return PlaceResponse(
        id=item_id,
        state=found.state,
        queue=found.queue,
        priority=found.priority,
        ahead=found.ahead,
        added=_moment_or_none(found.added_us),
        since=_moment_or_none(found.since_us),
        due=_moment_or_none(found.due_us),
        attempts=[_attempt(attempt) for attempt in found.attempts],
    )


def moment(wall_us: int) -> dt.datetime:
    return dt.datetime.fromtimestamp(wall_us / US, dt.UTC)


def _moment_or_none(wall_us: int) -> dt.datetime | None:
    return moment(wall_us) if wall_us else None


def _attempt(attempt: Attempt) -> AttemptShape:
    return AttemptShape(moment(attempt.leased_us), _moment_or_none(attempt.ended_us), attempt.reason)


def _shown(body: bytes) -> tuple[str | None, str | None]:
    """A body as text, or else as base64."""
    try:
        return body.decode(), None
    except UnicodeDecodeError:
        return None, base64.b64encode(body).decode()

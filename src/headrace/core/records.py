"""The facts that a shard's log holds. The state of a shard is their fold and nothing else.

Each record bears the wall-clock instant of its decision, `at_us`, and the numbered request that asked for it, if one
did: `session`, `number`, and `answered`, below which the client will not ask again. Encoded by msgspec as arrays with
the tag first, so that a field may be appended in a later version and never moved.
"""

from __future__ import annotations

from typing import Final

import msgspec

from headrace.core.limits import QueueSettings


class Record(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What all records have."""

    at_us: int
    session: bytes
    number: int
    answered: int


class Claimed(Record, frozen=True, tag=0, array_like=True, gc=False):
    """A process took the shard over: the first record of every boot, synced before anything is granted.

    `epoch` has random bits, so that a restored copy of a directory issues no receipt twice. `ends_leases`: an embedded
    process's own leases ended with it, and count as a crash of their worker.
    """

    epoch: int
    owner: str
    ends_leases: bool


class Added(Record, frozen=True, tag=1, array_like=True, gc=False):
    """Items joined a queue, in the places from `first_seq` on.

    `duplicates`: (index in the request, id of the item that holds the key already).
    """

    queue: str
    first_seq: int
    items: list[bytes]
    duplicates: list[tuple[int, bytes]] = []


class Leased(Record, frozen=True, tag=2, array_like=True, gc=False):
    """Items were handed out, under the receipts from `first` on. A named pop has a `name`."""

    queue: str
    first: int
    seqs: list[int]
    lease_us: int
    detached: bool = False
    name: str = ""
    more: bool = False


Refusals = list[tuple[int, str]]
"""Receipts of the same request that were not obeyed, and why: they are part of its answer."""


class Committed(Record, frozen=True, tag=3, array_like=True, gc=False):
    """Leased items are done, and what they produced joined its queues in the same step."""

    queue: str
    counters: list[int]
    added: list[tuple[str, int, list[bytes], list[tuple[int, bytes]]]] = []
    """As `Added`: queue, first place, items, duplicates."""
    refused: Refusals = []


class Returned(Record, frozen=True, tag=4, array_like=True, gc=False):
    """Leases ended without a commit. `reason` is one of `RETURN_REASONS`."""

    queue: str
    counters: list[int]
    reason: str
    note: str = ""
    due_us: int = 0
    dead: bool = False
    refused: Refusals = []


class Prolonged(Record, frozen=True, tag=5, array_like=True, gc=False):
    """Leases were given a longer period than they had; a renewal for the same period is not logged.

    A detached lease has its period from this record on; every extension of one is logged.
    """

    queue: str
    counters: list[int]
    lease_us: int
    refused: Refusals = []


class Expired(Record, frozen=True, tag=6, array_like=True, gc=False):
    """Queued items outlived their `expires`."""

    queue: str
    seqs: list[int]


class Revived(Record, frozen=True, tag=7, array_like=True, gc=False):
    """Dead items are queued again, their counts reset."""

    queue: str
    seqs: list[int]


class Purged(Record, frozen=True, tag=8, array_like=True, gc=False):
    """Items were thrown away, queued or dead."""

    queue: str
    queued_seqs: list[int]
    dead_seqs: list[int]


class Declared(Record, frozen=True, tag=9, array_like=True, gc=False):
    """A queue was created or its settings were set."""

    queue: str
    settings: QueueSettings


class Dropped(Record, frozen=True, tag=10, array_like=True, gc=False):
    """A queue is gone, with all that was in it."""

    queue: str


class SessionsEnded(Record, frozen=True, tag=11, array_like=True, gc=False):
    """Sessions were closed, or were silent for too long."""

    sessions: list[bytes]


class NamesEnded(Record, frozen=True, tag=12, array_like=True, gc=False):
    """Names of pops reached their limit: open ones give their items back, settled ones are forgotten."""

    queue: str
    names: list[str]


class ClockStepped(Record, frozen=True, tag=13, array_like=True, gc=False):
    """The wall clock was set, by so many microseconds."""

    by_us: int


class Quarantined(Record, frozen=True, tag=14, array_like=True, gc=False):
    """`repair` set damaged parts of the log aside; items that are missing since count here."""

    note: str


class SessionsOpened(Record, frozen=True, tag=15, array_like=True, gc=False):
    """Clients said hello for the first time."""

    sessions: list[bytes]


AnyRecord = (
    Claimed
    | Added
    | Leased
    | Committed
    | Returned
    | Prolonged
    | Expired
    | Revived
    | Purged
    | Declared
    | Dropped
    | SessionsEnded
    | NamesEnded
    | ClockStepped
    | Quarantined
    | SessionsOpened
)

ABORTED: Final = "aborted"
LEASE_EXPIRED: Final = "lease expired"
WORKER_CRASHED: Final = "worker crashed"
CLOSED: Final = "closed"
NAME_EXPIRED: Final = "name expired"
END_UNKNOWN: Final = "end unknown"
"""What ended the lease is missing since a repair."""

RETURN_REASONS: Final = (ABORTED, LEASE_EXPIRED, WORKER_CRASHED, CLOSED, NAME_EXPIRED)

_encoder = msgspec.msgpack.Encoder()
_decoder: msgspec.msgpack.Decoder[list[AnyRecord]] = msgspec.msgpack.Decoder(list[AnyRecord])

encode_records = _encoder.encode
"""Several records as one payload."""


def decode_records(payload: bytes | memoryview) -> list[AnyRecord]:
    """The records of a payload; `msgspec.DecodeError` when it is none."""
    return _decoder.decode(payload)

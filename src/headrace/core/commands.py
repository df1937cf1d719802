"""What a client asks of a node, and what it is answered: one verb on one queue each.

A request that changes state bears its session's number, so that a repeat is answered as the first was. `number` 0 is a
request that will not be repeated (peeks; calls within one process, which return exactly once).
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from headrace.core.errors import (
    Forbidden,
    Full,
    Gone,
    HeadraceError,
    Invalid,
    OutcomeUnknown,
    Paused,
    PeerViolation,
    StaleLease,
    Unavailable,
)
from headrace.core.limits import QueueSettings
from headrace.core.records import ABORTED


class Command(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The root of all commands."""


class Add(Command, frozen=True, tag=0, array_like=True, gc=False):
    """Add encoded items, all or none. Waits up to `wait_us` for room."""

    queue: str
    items: list[bytes]
    wait_us: int = 0


class Peek(Command, frozen=True, tag=1, array_like=True, gc=False):
    """The most urgent `count` that are due, none leased."""

    queue: str
    count: int = 1


class Pop(Command, frozen=True, tag=2, array_like=True, gc=False):
    """Lease up to `count` items from `queues`, by priority.

    `wait_us`: how long to wait for a first one; -1 is for ever. `lease_us` 0 is the queue's own. `at_least`: only items
    at least this urgent; a refusal carries the fresh top. `name`: a named pop. `detached`: a new boot does not end it.
    `stream`: `count` is credit, and items are handed out as they come until it is used up.
    """

    queues: list[str]
    count: int = 1
    wait_us: int = 0
    lease_us: int = 0
    at_least: int | None = None
    name: str = ""
    detached: bool = False
    stream: bool = False


class Commit(Command, frozen=True, tag=3, array_like=True, gc=False):
    """Settle leases as done; with `added` (queue, items), all or nothing, in the same step."""

    queue: str
    epoch: int
    counters: list[int]
    added: list[tuple[str, list[bytes]]] = []


class Abort(Command, frozen=True, tag=4, array_like=True, gc=False):
    """Give leases back: after `delay_us`, or straight to the dead.

    `cause` is what it counts as: a failure, a crash of the worker (said by who watched it die), or neither.
    """

    queue: str
    epoch: int
    counters: list[int]
    delay_us: int = 0
    reason: str = ""
    dead: bool = False
    cause: Literal["aborted", "worker crashed", "closed"] = ABORTED


class Extend(Command, frozen=True, tag=5, array_like=True, gc=False):
    """Give leases a full period of `lease_us` from now; 0 is the period they have."""

    queue: str
    epoch: int
    counters: list[int]
    lease_us: int = 0


class ListDead(Command, frozen=True, tag=6, array_like=True, gc=False):
    """Dead items in order, at most `count`, those whose place is after `after_seq`."""

    queue: str
    count: int = 100
    after_seq: int = -1


class Revive(Command, frozen=True, tag=7, array_like=True, gc=False):
    """Queue dead items again: those with these ids, or all when none is given."""

    queue: str
    ids: list[bytes] = []


class Purge(Command, frozen=True, tag=8, array_like=True, gc=False):
    """Throw items away: all that are queued, all the dead, or the dead with these ids.

    With ids and `queued` those of them that are queued still, and it is no error when some are not.
    """

    queue: str
    queued: bool = False
    dead: bool = False
    ids: list[bytes] = []


class Declare(Command, frozen=True, tag=9, array_like=True, gc=False):
    """Create a queue, or change the named settings of one."""

    queue: str
    settings: dict[str, Any] = {}


class Drop(Command, frozen=True, tag=10, array_like=True, gc=False):
    """Remove a queue with all that is in it; refused while items are leased."""

    queue: str


class ListQueues(Command, frozen=True, tag=11, array_like=True, gc=False):
    """The figures of every queue."""


class Describe(Command, frozen=True, tag=12, array_like=True, gc=False):
    """The figures of one queue."""

    queue: str


class Why(Command, frozen=True, tag=13, array_like=True, gc=False):
    """Where an item is, how many are ahead of it, since when, and what became of each attempt."""

    id: bytes


class EndSession(Command, frozen=True, tag=14, array_like=True, gc=False):
    """The client leaves: what it still holds goes back to its queues; `crashed` counts against the worker.

    `session` is another's, that died: who knows its name may end it.
    """

    crashed: bool = False
    session: bytes = b""


class OpenSession(Command, frozen=True, tag=15, array_like=True, gc=False):
    """The client is here: its numbered requests are known from now on. The count is 1 when they were before."""


class Resume(Command, frozen=True, tag=16, array_like=True, gc=False):
    """The client is back, and knows of these receipts: the others that it was handed unasked are handed out again."""

    held: list[tuple[int, list[int]]] = []
    """Receipts by epoch."""


AnyCommand = (
    Add
    | Peek
    | Pop
    | Commit
    | Abort
    | Extend
    | ListDead
    | Revive
    | Purge
    | Declare
    | Drop
    | ListQueues
    | Describe
    | Why
    | EndSession
    | OpenSession
    | Resume
)


class Request(msgspec.Struct, frozen=True, gc=False):
    """A command with where its answer goes (`ref`, which the node only hands back) and who asks."""

    ref: Any
    command: AnyCommand
    session: bytes = b""
    number: int = 0
    answered: int = 0


class Outcome(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The root of all answers."""


class AddDone(Outcome, frozen=True, tag=0, array_like=True, gc=False):
    """The items are in; `duplicates` are (index, id of the item that holds the key)."""

    duplicates: list[tuple[int, bytes]] = []


class Batch(Outcome, frozen=True, tag=1, array_like=True, gc=False):
    """Entries of one queue, handed out under `counters`, on their `attempts`-th time."""

    queue: str
    epoch: int
    counters: list[int]
    entries: list[bytes]
    attempts: list[int]
    lease_us: int


class PopDone(Outcome, frozen=True, tag=2, array_like=True, gc=False):
    """What was handed out, a batch a queue; empty when nothing was there in time. `more` of a stream is to come.

    `top` is the priority of the fresh top when `at_least` was not met.
    """

    batches: list[Batch] = []
    top: int | None = None
    more: bool = False


class PeekDone(Outcome, frozen=True, tag=3, array_like=True, gc=False):
    entries: list[bytes]


class Settled(Outcome, frozen=True, tag=4, array_like=True, gc=False):
    """What became of commit, abort or extend.

    `refused` are (counter, 'gone' | 'stale'); all others took effect. `duplicates` are those of the items added.
    """

    refused: list[tuple[int, str]] = []
    duplicates: list[list[tuple[int, bytes]]] = []


class DeadItem(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A dead item: its entry, when and why it died, its attempts."""

    entry: bytes
    died_us: int
    reason: str
    attempts: int


class DeadDone(Outcome, frozen=True, tag=5, array_like=True, gc=False):
    items: list[DeadItem]


class CountDone(Outcome, frozen=True, tag=6, array_like=True, gc=False):
    """How many items were touched."""

    count: int


class QueueStats(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of one queue. Delayed and held items are queued, and listed apart."""

    queue: str
    queued: int
    delayed: int
    held: int
    leased: int
    dead: int
    bytes: int
    oldest_us: int
    """The wall-clock instant at which the oldest queued item was added; 0 when there is none."""
    added: int
    committed: int
    expired: int
    purged: int
    moved_in: int
    moved_out: int
    quarantined: int
    deduplicated: int
    settings: QueueSettings


class StatsDone(Outcome, frozen=True, tag=7, array_like=True, gc=False):
    queues: list[QueueStats]


class Attempt(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One lease of an item and how it ended; `ended_us` 0 is not yet."""

    counter: int
    leased_us: int
    ended_us: int
    reason: str


class Whereabouts(Outcome, frozen=True, tag=8, array_like=True, gc=False):
    """Where an item is: 'queued', 'delayed', 'held', 'leased', 'dead' or 'unknown'."""

    state: str
    queue: str = ""
    priority: int = 0
    ahead: int = 0
    added_us: int = 0
    since_us: int = 0
    due_us: int = 0
    attempts: list[Attempt] = []


class Done(Outcome, frozen=True, tag=9, array_like=True, gc=False):
    """It is done, and there is nothing to say."""


class Refused(Outcome, frozen=True, tag=10, array_like=True, gc=False):
    """Nothing happened; `kind` names an error of `core.errors`."""

    kind: str
    message: str


AnyOutcome = (
    AddDone | Batch | PopDone | PeekDone | Settled | DeadDone | CountDone | StatsDone | Whereabouts | Done | Refused
)

_ERRORS: dict[str, type[HeadraceError]] = {
    cls.__name__: cls
    for cls in (
        Invalid,
        Full,
        Paused,
        Forbidden,
        StaleLease,
        Gone,
        Unavailable,
        OutcomeUnknown,
        PeerViolation,
    )
}


def refusal(error: HeadraceError) -> Refused:
    """An error as an outcome."""
    return Refused(type(error).__name__, str(error))


def error_of(refused: Refused) -> HeadraceError:
    """The error that an outcome stands for."""
    return _ERRORS.get(refused.kind, HeadraceError)(refused.message)

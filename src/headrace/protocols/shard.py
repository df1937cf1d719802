"""The state of a shard: the fold of its log.

`apply(position, record)` is the only thing that changes it, live, in recovery and in repair. What it returns is the
outcome that the record's request is answered with; numbered requests find it again in their session. `freeze` gives the
state as parts of bytes, as of the moment of the call, however late they are asked for; `thaw` takes them back.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import msgspec

from headrace.core.commands import AddDone, AnyOutcome, Batch, CountDone, DeadItem, Done, PopDone, Settled
from headrace.core.errors import Damaged
from headrace.core.items import entry_seq
from headrace.core.limits import Limits, QueueSettings
from headrace.core.records import (
    WORKER_CRASHED,
    Added,
    AnyRecord,
    Claimed,
    ClockStepped,
    Committed,
    Declared,
    Dropped,
    Expired,
    Leased,
    NamesEnded,
    Prolonged,
    Purged,
    Quarantined,
    Returned,
    Revived,
    SessionsEnded,
    SessionsOpened,
)
from headrace.protocols.session import Session
from headrace.protocols.subqueue import Grant, Named, Story, Subqueue, Totals

PART_BYTES: Final = 256 << 10
"""About the size of a part of a snapshot: small enough to go out between two commit groups."""
DONE: Final = Done()
ADDED: Final = AddDone()
SETTLED: Final = Settled()


class _Head(msgspec.Struct, tag="head", array_like=True):
    next_seq: int
    next_counter: int
    epochs: list[tuple[int, int]]
    dropped: Totals


class _Sessions(msgspec.Struct, tag="sessions", array_like=True):
    sessions: list[tuple[bytes, Session]]


class _Queue(msgspec.Struct, tag="queue", array_like=True):
    name: str
    settings: QueueSettings
    totals: Totals
    keys: dict[str, tuple[bytes, int]]
    names: dict[str, Named]


class _Entries(msgspec.Struct, tag="entries", array_like=True):
    queue: str
    entries: list[bytes]


class _Leases(msgspec.Struct, tag="leases", array_like=True):
    queue: str
    grants: list[Grant]
    leases: list[tuple[int, bytes, int]]


class _Dead(msgspec.Struct, tag="dead", array_like=True):
    queue: str
    dead: list[DeadItem]


class _Stories(msgspec.Struct, tag="stories", array_like=True):
    queue: str
    stories: list[Story]


_Part = _Head | _Sessions | _Queue | _Entries | _Leases | _Dead | _Stories
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_Part).decode


class Shard:
    """All subqueues and sessions that one log carries."""

    def __init__(self, *, limits: Limits, loading: bool = False) -> None:
        self.limits = limits
        self.queues: dict[str, Subqueue] = {}
        self.sessions: dict[bytes, Session] = {}
        self.next_seq = 0
        self.next_counter = 0
        self.epoch = 0
        self.epoch_first = 0
        """The first receipt of this epoch."""
        self.epochs: list[tuple[int, int]] = []
        self.dropped = Totals()
        """What the ledgers of queues that were dropped had counted."""
        self.loading = loading
        self.alarms: list[str] = []
        """Queues that were given something that time will change, since this was last emptied."""
        self._folds: dict[type, Callable[[Any], AnyOutcome]] = {
            Claimed: self._claimed,
            Returned: self._returned,
            Prolonged: self._prolonged,
            Expired: self._expired,
            Revived: self._revived,
            Purged: self._purged,
            Declared: self._declared,
            Dropped: self._dropped,
            SessionsOpened: self._sessions_opened,
            SessionsEnded: self._sessions_ended,
            NamesEnded: self._names_ended,
            ClockStepped: self._nothing,
            Quarantined: self._nothing,
        }

    def apply(self, position: int, record: AnyRecord) -> AnyOutcome:
        """Take in the next record; the outcome of its request."""
        kind = type(record)
        # The records of every cycle are folded by name: see `Node.decide`.
        if kind is Added:
            outcome = self._added(record)  # type: ignore[arg-type]
        elif kind is Leased:
            outcome = self._leased(record)  # type: ignore[arg-type]
        elif kind is Committed:
            outcome = self._committed(record)  # type: ignore[arg-type]
        else:
            outcome = self._folds[kind](record)
        if record.number:
            session = self.sessions.get(record.session)
            if session is None:
                session = self.sessions[record.session] = Session(record.at_us, outcomes={})
            session.note(record.number, record.answered, outcome, record.at_us)
        return outcome

    def settle(self) -> None:
        """Recovery is over: order what was loaded."""
        for sub in self.queues.values():
            sub.settle()
        self.loading = False

    def queue(self, name: str) -> Subqueue:
        """The subqueue of this name, made when it is new."""
        sub = self.queues.get(name)
        if sub is None:
            sub = self.queues[name] = self.unborn(name)
        return sub

    def unborn(self, name: str) -> Subqueue:
        """A subqueue as it would be if it were made."""
        return Subqueue(name, QueueSettings(), limits=self.limits, loading=self.loading, alarms=self.alarms)

    def epoch_of(self, counter: int) -> int | None:
        """The epoch in which this receipt was issued."""
        at = bisect_right(self.epochs, counter, key=_first_counter) - 1
        return self.epochs[at][1] if at >= 0 else None

    # -- one fold a record -----------------------------------------------------------------------------------------

    def _claimed(self, record: Claimed) -> AnyOutcome:
        self.epoch, self.epoch_first = record.epoch, self.next_counter
        oldest = min((c for sub in self.queues.values() for c in (*sub.leases, *sub.former)), default=self.next_counter)
        at = max(0, bisect_right(self.epochs, oldest, key=_first_counter) - 1)
        self.epochs = [*self.epochs[at:], (self.next_counter, record.epoch)]
        if record.ends_leases:
            for sub in self.queues.values():
                ended = [counter for counter, (_, grant) in sub.leases.items() if _ended_with_its_process(grant)]
                sub.on_returned(ended, WORKER_CRASHED, "", record.at_us)
        return DONE

    def _added(self, record: Added) -> AnyOutcome:
        self._join(record.queue, record.first_seq, record.items, record.duplicates, record.at_us)
        return AddDone(record.duplicates) if record.duplicates else ADDED

    def _join(
        self, queue: str, first_seq: int, items: list[bytes], duplicates: list[tuple[int, bytes]], at_us: int
    ) -> None:
        sub = self.queues.get(queue) or self.queue(queue)
        sub.on_added(items, first_seq, at_us)
        if duplicates:
            sub.totals.deduplicated += len(duplicates)
        end = first_seq + len(items)
        if end > self.next_seq:
            self.next_seq = end

    def _leased(self, record: Leased) -> AnyOutcome:
        sub = self.queues.get(record.queue) or self.queue(record.queue)
        first, count = record.first, len(record.seqs)
        grant = Grant(
            first, count, record.session, record.lease_us, record.detached, record.name, record.at_us, not record.number
        )
        entries, attempts = sub.on_leased(grant, record.seqs)
        end = first + count
        if end > self.next_counter:
            self.next_counter = end
        counters = [first] if count == 1 else list(range(first, end))
        if len(entries) < count:
            counters = [counter for counter in counters if counter in sub.leases]
        batch = Batch(record.queue, self.epoch, counters, entries, attempts, record.lease_us)
        return PopDone([batch], None, record.more)

    def _committed(self, record: Committed) -> AnyOutcome:
        sub = self.queues.get(record.queue) or self.queue(record.queue)
        sub.on_committed(record.counters, record.at_us)
        if not record.added and not record.refused:
            return SETTLED
        for queue, first_seq, items, duplicates in record.added:
            self._join(queue, first_seq, items, duplicates, record.at_us)
        return Settled(record.refused, [duplicates for *_, duplicates in record.added])

    def _returned(self, record: Returned) -> AnyOutcome:
        self.queue(record.queue).on_returned(
            record.counters, record.reason, record.note, record.at_us, due_us=record.due_us, dead=record.dead
        )
        return Settled(record.refused)

    def _prolonged(self, record: Prolonged) -> AnyOutcome:
        self.queue(record.queue).on_prolonged(record.counters, record.lease_us, record.at_us)
        return Settled(record.refused)

    def _expired(self, record: Expired) -> AnyOutcome:
        self.queue(record.queue).on_expired(record.seqs, record.at_us)
        return DONE

    def _revived(self, record: Revived) -> AnyOutcome:
        return CountDone(self.queue(record.queue).on_revived(record.seqs, record.at_us))

    def _purged(self, record: Purged) -> AnyOutcome:
        return CountDone(self.queue(record.queue).on_purged(record.queued_seqs, record.dead_seqs, record.at_us))

    def _declared(self, record: Declared) -> AnyOutcome:
        self.queue(record.queue).on_declared(record.settings, record.at_us)
        return DONE

    def _dropped(self, record: Dropped) -> AnyOutcome:
        sub = self.queue(record.queue)
        del self.queues[record.queue]
        totals = sub.totals
        totals.purged += sub.queued + len(sub.leases) + len(sub.dead)
        for field in Totals.__struct_fields__:
            setattr(self.dropped, field, getattr(self.dropped, field) + getattr(totals, field))
        return DONE

    def _sessions_opened(self, record: SessionsOpened) -> AnyOutcome:
        """Know these sessions from now on; the outcome says how many were known before."""
        known = 0
        for session in record.sessions:
            state = self.sessions.get(session)
            if state is None:
                self.sessions[session] = Session(record.at_us, outcomes={})
            else:
                known += 1
                state.seen_us = max(state.seen_us, record.at_us)
        return CountDone(known)

    def _sessions_ended(self, record: SessionsEnded) -> AnyOutcome:
        for session in record.sessions:
            self.sessions.pop(session, None)
        return DONE

    def _names_ended(self, record: NamesEnded) -> AnyOutcome:
        self.queue(record.queue).on_names_ended(record.names, record.at_us)
        return DONE

    def _nothing(self, record: AnyRecord) -> AnyOutcome:
        return DONE

    # -- snapshots -------------------------------------------------------------------------------------------------

    def freeze(self) -> Iterator[bytes]:
        """The state as of now, in parts that are encoded when they are asked for.

        What can change is copied before the first part is asked for; sealed runs are kept by reference.
        """
        small: list[bytes] = [
            _encode(_Head(self.next_seq, self.next_counter, self.epochs, self.dropped)),
            _encode(_Sessions(list(self.sessions.items()))),
        ]
        large: list[Callable[[], Iterator[bytes]]] = []
        for sub in self.queues.values():
            small.append(_encode(_Queue(sub.name, sub.settings, sub.totals, sub.keys, sub.names)))
            large += _frozen_parts(sub)

        def parts() -> Iterator[bytes]:
            yield from small
            for chunks in large:
                yield from chunks()

        return parts()

    def thaw(self, parts: Iterable[bytes]) -> None:
        """Take back what `freeze` gave."""
        for data in parts:
            try:
                part = _decode(data)
            except msgspec.DecodeError as error:
                raise Damaged(f"a part of the snapshot cannot be read: {error}") from error
            match part:
                case _Head():
                    self.next_seq, self.next_counter = part.next_seq, part.next_counter
                    self.epochs, self.dropped = part.epochs, part.dropped
                    self.epoch = self.epochs[-1][1] if self.epochs else 0
                case _Sessions():
                    self.sessions.update(part.sessions)
                case _Queue():
                    sub = self.queue(part.name)
                    sub.set(part.settings)
                    sub.totals = part.totals
                    sub.keys, sub.names = part.keys, part.names
                case _:
                    _thaw_items(self.queue(part.queue), part)


def _ended_with_its_process(grant: Grant) -> bool:
    """Whether who held this lease was in the process of the node itself, as one without a session is."""
    return not (grant.session or grant.detached or grant.name)


def _first_counter(pair: tuple[int, int]) -> int:
    return pair[0]


def _frozen_parts(sub: Subqueue) -> list[Callable[[], Iterator[bytes]]]:
    """The items of a subqueue, copied as far as they can change, encoded later."""
    name = sub.name
    gone = sub.ready.tombstones()
    ready, unordered = sub.ready.parts(), sub.unordered()
    leases = [(counter, *pair) for counter, pair in sub.leases.items()]
    dead = list(sub.dead.values())
    stories = [msgspec.structs.replace(story, former=story.former.copy()) for story in sub.stories.values()]

    def entries() -> Iterator[bytes]:
        for part in ready:
            for chunk in _chunks(part, len):
                if gone:
                    chunk = [entry for entry in chunk if entry_seq(entry) not in gone]
                yield _encode(_Entries(name, chunk))
        for chunk in _chunks(unordered, len):  # what left the ready ones for here has a tombstone among them
            yield _encode(_Entries(name, chunk))

    def leased() -> Iterator[bytes]:
        for chunk in _chunks(leases, lambda lease: len(lease[1])):
            grants = list({id(grant): grant for _, _, grant in chunk}.values())
            index = {id(grant): i for i, grant in enumerate(grants)}
            yield _encode(_Leases(name, grants, [(c, entry, index[id(grant)]) for c, entry, grant in chunk]))

    def buried() -> Iterator[bytes]:
        for chunk in _chunks(dead, lambda item: len(item.entry)):
            yield _encode(_Dead(name, chunk))

    def told() -> Iterator[bytes]:
        for chunk in _chunks(stories, lambda story: 1000 + len(story.entry)):
            yield _encode(_Stories(name, chunk))

    return [entries, leased, buried, told]


def _chunks(values: list[Any], size_of: Callable[[Any], int]) -> Iterator[list[Any]]:
    """Slices of about `PART_BYTES` each."""
    start = size_bytes = 0
    for at, value in enumerate(values):
        if size_bytes >= PART_BYTES:
            yield values[start:at]
            start, size_bytes = at, 0
        size_bytes += size_of(value)
    if start < len(values):
        yield values[start:]


def _thaw_items(sub: Subqueue, part: _Entries | _Leases | _Dead | _Stories) -> None:
    match part:
        case _Entries():
            assert sub.loading is not None
            sub.loading.put_all(part.entries)
            sub.count_in(part.entries)
        case _Leases():
            sub.leases.update((c, (entry, part.grants[i])) for c, entry, i in part.leases)
            sub.count_in([entry for _, entry, _ in part.leases])
        case _Dead():
            sub.dead.update((entry_seq(item.entry), item) for item in part.dead)
        case _Stories():
            for story in part.stories:
                seq = entry_seq(story.entry)
                sub.stories[seq] = story
                sub.former.update((attempt.counter, seq) for attempt in story.former)

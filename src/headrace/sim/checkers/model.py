"""The plain model: the same log, followed by the simplest code that could be right.

One object an item, one dictionary of them, nothing indexed, nothing reserved. It takes the records a group at a time
and says of each whether it was allowed: granted in order, committed by who held it, dead when it had to be. Where the
node keeps heaps, runs and tombstones the model looks through everything, so the two can hardly be wrong together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from headrace.core import records as r
from headrace.core.items import BIAS, ITEM_FLAGS, ITEM_HEAD, ITEM_ID, item_extras
from headrace.core.limits import US, Limits, QueueSettings
from headrace.sim.checkers.verdict import (
    CAPACITY,
    DUPLICATE,
    FENCING,
    KEYS,
    LEASES,
    LEDGER,
    NAMES,
    ORDER,
    REPEATS,
    UNEXPECTED,
)

QUEUED: Final = "queued"
LEASED: Final = "leased"
DEAD: Final = "dead"
COMMITTED: Final = "committed"
EXPIRED: Final = "expired"
PURGED: Final = "purged"
HERE: Final = (QUEUED, LEASED, DEAD)

Report = Callable[[str, str], None]


class Thing:
    """One item and what it has been through."""

    __slots__ = (
        "added_us", "at", "attempts", "counter", "crashes", "due_us", "encoded", "expires_us", "failures", "held",
        "id", "key", "name", "not_before_us", "priority", "queue", "seq", "state",
    )  # fmt: skip

    def __init__(self, queue: str, seq: int, encoded: bytes, added_us: int) -> None:
        self.queue = queue
        self.seq = seq
        self.encoded = encoded
        self.id = encoded[ITEM_ID]
        self.priority = int.from_bytes(encoded[:8], "big") - BIAS
        self.at = (self.priority, seq)
        self.added_us = added_us
        self.state = QUEUED
        self.held = False
        self.counter = -1
        """Its present or last receipt."""
        self.name = ""
        self.attempts = self.failures = self.crashes = 0
        self.key: str | None = None
        self.due_us = self.not_before_us = self.expires_us = 0
        if encoded[ITEM_FLAGS]:
            extras = item_extras(encoded)
            self.key, self.not_before_us, self.expires_us = extras.key, extras.due_us, extras.expires_us
            self.due_us = self.not_before_us

    def is_due(self, wall_us: int) -> bool:
        """Whether it may be handed out then."""
        return self.state == QUEUED and not self.held and self.due_us <= wall_us and not self.is_over(wall_us)

    def may_be_due(self, wall_us: int, latest_us: int) -> bool:
        """Whether it may be handed out by a node that has seen a later instant before its clock was set back."""
        is_ripe = self.due_us <= max(wall_us, latest_us)
        return self.state == QUEUED and not self.held and is_ripe and not self.is_over(wall_us)

    def is_over(self, wall_us: int) -> bool:
        """Whether its time has passed then."""
        return bool(self.expires_us) and self.expires_us <= wall_us


@dataclass(slots=True)
class Name:
    """A named pop: what it gave, and until when it stands."""

    counters: list[int]
    until_us: int


@dataclass(slots=True)
class Book:
    """One queue: its settings, its ledger, its keys and names."""

    settings: QueueSettings = field(default_factory=QueueSettings)
    totals: Counter[str] = field(default_factory=Counter)
    things: dict[int, Thing] = field(default_factory=dict)
    """What is queued, leased or dead, by place."""
    keys: dict[str, tuple[bytes, int]] = field(default_factory=dict)
    names: dict[str, Name] = field(default_factory=dict)

    def count(self, state: str) -> int:
        return sum(thing.state == state for thing in self.things.values())


class Model:
    """The fold of a log, with an opinion about each record."""

    def __init__(self, limits: Limits, report: Report) -> None:
        self.limits = limits
        self.report = report
        self.end = 0
        self.books: dict[str, Book] = {}
        self.dropped: Counter[str] = Counter()
        self.by_id: dict[bytes, Thing] = {}
        self.receipts: dict[int, Thing] = {}
        """The item of each receipt, settled ones too."""
        self.leases: dict[int, tuple[Thing, r.Leased]] = {}
        self.done: dict[tuple[bytes, int], int] = {}
        """The position of the first record of each numbered request."""
        self.sessions: set[bytes] = set()
        self.next_seq = 0
        self.latest_us = 0
        """The latest wall-clock instant that the node has seen: what was due then may be out, though the clock was set
        back since."""
        self.epochs: list[tuple[int, int]] = []
        """(first receipt, epoch)"""
        self._fresh: set[int] = set()
        self._group = 0
        self._changed: set[str] = set()
        """Queues whose settings, or whose dead, changed in this group: what else is in it was decided before."""
        self._folds: dict[type, Callable[[Any], None]] = {
            r.Claimed: self._claimed,
            r.Added: self._added,
            r.Leased: self._leased,
            r.Committed: self._committed,
            r.Returned: self._returned,
            r.Prolonged: self._prolonged,
            r.Expired: self._expired,
            r.Revived: self._revived,
            r.Purged: self._purged,
            r.Declared: self._declared,
            r.Dropped: self._dropped,
            r.NamesEnded: self._names_ended,
            r.SessionsOpened: lambda record: self.sessions.update(record.sessions),
            r.SessionsEnded: self._sessions_ended,
            r.ClockStepped: lambda record: None,
            r.Quarantined: lambda record: None,
        }

    def follow(self, position: int, records: Sequence[r.AnyRecord]) -> None:
        """Take in one group. What it queues itself need not be seen by its own grants: they were decided together."""
        self._fresh.clear()
        self._changed.clear()
        self._group = position
        for record in records:
            if record.number:
                self._note_number(record)
            self._folds[type(record)](record)
        self.end = position + len(records)

    def book(self, queue: str) -> Book:
        if queue not in self.books:
            self.books[queue] = Book()
        return self.books[queue]

    def due(self, queue: str, wall_us: int) -> list[Thing]:
        """What may be handed out of a queue then, most urgent first."""
        book = self.books.get(queue)
        if book is None:
            return []
        return sorted((thing for thing in book.things.values() if thing.is_due(wall_us)), key=_place)

    def epoch_of(self, counter: int) -> int:
        """The epoch in which a receipt was issued."""
        return next(epoch for first, epoch in reversed(self.epochs) if first <= counter)

    # -- requests ----------------------------------------------------------------------------------------------------

    def _note_number(self, record: r.AnyRecord) -> None:
        key = (record.session, record.number)
        earlier = self.done.setdefault(key, self._group)
        if earlier != self._group:
            self.report(REPEATS, f"request {record.number} of a session was carried out at {earlier} and {self._group}")
        self.sessions.add(record.session)

    def _sessions_ended(self, record: r.SessionsEnded) -> None:
        self.sessions.difference_update(record.sessions)

    # -- in ----------------------------------------------------------------------------------------------------------

    def _added(self, record: r.Added) -> None:
        if record.items and record.queue not in self._changed:
            self._check_capacity(record)
        self._join(record.queue, record.first_seq, record.items, record.duplicates, record.at_us)

    def _join(
        self, queue: str, first_seq: int, items: list[bytes], duplicates: list[tuple[int, bytes]], at_us: int
    ) -> None:
        book = self.book(queue)
        if items and first_seq < self.next_seq:
            self.report(ORDER, f"place {first_seq} in {queue} was given out before")
        self.next_seq = max(self.next_seq, first_seq + len(items))
        for seq, item in enumerate(items, first_seq):
            thing = Thing(queue, seq, item, at_us)
            if thing.id in self.by_id:
                self.report(REPEATS, f"item {show(thing.id)} was added twice")
            self.by_id[thing.id] = book.things[seq] = thing
            self._fresh.add(seq)
            if thing.key is not None:
                holder = book.keys.get(thing.key)
                held_us = book.settings.key_seconds * US if queue not in self._changed else 0
                if holder is not None and holder[1] + held_us > at_us:
                    self.report(KEYS, f"key {thing.key!r} of {queue} is held and was let in again")
                self._remember_key(book, thing.key, thing.id, at_us)
        for _, holder_id in duplicates:
            if holder_id not in self.by_id:
                self.report(KEYS, f"{queue} deduped against {show(holder_id)}, which was never added")
        book.totals["added"] += len(items)
        book.totals["deduplicated"] += len(duplicates)

    def _remember_key(self, book: Book, key: str, item_id: bytes, at_us: int) -> None:
        book.keys.pop(key, None)
        book.keys[key] = item_id, at_us
        horizon_us = at_us - book.settings.key_seconds * US
        while book.keys:
            oldest = next(iter(book.keys))
            if len(book.keys) <= book.settings.key_count and book.keys[oldest][1] > horizon_us:
                break
            del book.keys[oldest]

    def _check_capacity(self, record: r.Added) -> None:
        book = self.books.get(record.queue)
        if book is None:
            return
        settings = book.settings
        if settings.capacity_items is None and settings.capacity_bytes is None:
            return
        live = [thing.encoded for thing in book.things.values() if thing.state != DEAD]
        if settings.capacity_items is not None and len(live) + len(record.items) > settings.capacity_items:
            self.report(CAPACITY, f"{record.queue} took {len(record.items)} items in beside {len(live)}")
        if settings.capacity_bytes is not None and _size(live) + _size(record.items) > settings.capacity_bytes:
            self.report(CAPACITY, f"{record.queue} took {_size(record.items)} bytes in beside {_size(live)}")

    # -- out ---------------------------------------------------------------------------------------------------------

    def _leased(self, record: r.Leased) -> None:
        book = self.book(record.queue)
        granted = []
        for counter, seq in enumerate(record.seqs, record.first):
            thing = book.things.get(seq)
            if counter in self.receipts:
                self.report(FENCING, f"receipt {counter} was issued twice")
            if thing is None:
                self.report(UNEXPECTED, f"place {seq} of {record.queue} was handed out and is not there")
                continue
            if thing.state == LEASED:
                self.report(DUPLICATE, f"{show(thing.id)} was handed out while it was leased under {thing.counter}")
            elif not thing.may_be_due(record.at_us, self.latest_us):
                self.report(UNEXPECTED, f"{show(thing.id)} was handed out though it is {self.describe(thing)}")
            granted.append(thing)
        if granted:
            if book.settings.paused and record.queue not in self._changed:
                self.report(UNEXPECTED, f"{record.queue} is paused and handed something out")
            self._check_order(book, granted, record)
        for counter, thing in enumerate(granted, record.first):
            thing.state, thing.counter, thing.name = LEASED, counter, record.name
            thing.attempts += 1
            self.receipts[counter] = thing
            self.leases[counter] = thing, record
        if record.name:
            self._note_name(book, record)

    def _check_order(self, book: Book, granted: list[Thing], record: r.Leased) -> None:
        last = max(thing.at for thing in granted)
        taken = {thing.seq for thing in granted}
        for thing in book.things.values():
            if (
                thing.at < last
                and thing.seq not in taken
                and thing.is_due(record.at_us)
                and thing.seq not in self._fresh
            ):
                self.report(
                    ORDER, f"{show(thing.id)} at {thing.at} was due and {last} was handed out of {record.queue}"
                )
                return

    def _note_name(self, book: Book, record: r.Leased) -> None:
        if record.name in book.names:
            self.report(NAMES, f"the pop named {record.name!r} of {record.queue} was carried out again")
        counters = list(range(record.first, record.first + len(record.seqs)))
        book.names[record.name] = Name(counters, record.at_us + record.lease_us)
        if len(book.names) > self.limits.names:
            settled = [name for name, named in book.names.items() if not self.unsettled(named)]
            if settled:
                del book.names[settled[0]]

    def unsettled(self, named: Name) -> list[int]:
        """The receipts of a named pop that still hold something."""
        return [counter for counter in named.counters if counter in self.leases]

    def _committed(self, record: r.Committed) -> None:
        for counter in record.counters:
            thing = self.receipts.get(counter)
            if thing is None:
                self.report(FENCING, f"receipt {counter} was obeyed and never issued")
            elif counter != thing.counter:
                self.report(
                    FENCING, f"receipt {counter} of {show(thing.id)} was obeyed after {thing.counter} was issued"
                )
            elif thing.state not in HERE:
                self.report(FENCING, f"receipt {counter} was obeyed though {show(thing.id)} was {thing.state}")
            else:
                self.leases.pop(counter, None)
                was_dead = thing.state == DEAD
                self._leave(thing, COMMITTED)
                if was_dead:
                    self._bury_held(self.book(thing.queue))
        for queue, first_seq, items, duplicates in record.added:
            self._join(queue, first_seq, items, duplicates, record.at_us)

    def _returned(self, record: r.Returned) -> None:
        for counter in record.counters:
            lease = self.leases.pop(counter, None)
            if lease is None:
                self.report(FENCING, f"receipt {counter} was returned ({record.reason}) and holds nothing")
                continue
            thing, leased = lease
            if leased.name and record.reason == r.LEASE_EXPIRED:
                self.report(NAMES, f"the pop named {leased.name!r} was ended by a lease's time")
            self._give_back(thing, record.reason, due_us=record.due_us, dead=record.dead)

    def _give_back(self, thing: Thing, reason: str, *, due_us: int = 0, dead: bool = False) -> None:
        thing.state = QUEUED
        thing.due_us = due_us or thing.not_before_us
        self._fresh.add(thing.seq)
        thing.failures += reason in (r.ABORTED, r.LEASE_EXPIRED)
        thing.crashes += reason == r.WORKER_CRASHED
        settings = self.book(thing.queue).settings
        if dead or thing.failures >= settings.max_attempts or thing.crashes >= settings.max_crashes:
            self._die(thing)

    def _die(self, thing: Thing) -> None:
        """Dead, or held when there are too many dead already."""
        book = self.book(thing.queue)
        if book.count(DEAD) >= book.settings.dead_items:
            thing.held = True
        else:
            thing.state = DEAD

    def _bury_held(self, book: Book) -> None:
        for thing in sorted(book.things.values(), key=_seq):
            if thing.held and book.count(DEAD) < book.settings.dead_items:
                thing.held = False
                thing.state = DEAD

    def _leave(self, thing: Thing, state: str) -> None:
        thing.state = state
        thing.held = False
        book = self.book(thing.queue)
        book.totals[state] += 1
        book.things.pop(thing.seq, None)

    def _prolonged(self, record: r.Prolonged) -> None:
        for counter in record.counters:
            if counter not in self.leases:
                self.report(FENCING, f"receipt {counter} was extended and holds nothing")

    def _expired(self, record: r.Expired) -> None:
        book = self.book(record.queue)
        for seq in record.seqs:
            thing = book.things.get(seq)
            if thing is None or thing.state != QUEUED:
                self.report(UNEXPECTED, f"place {seq} of {record.queue} expired and is not queued")
            elif not thing.expires_us or thing.expires_us > record.at_us:
                self.report(LEASES, f"{show(thing.id)} expired before its time")
            elif book.settings.keep_expired:
                self._die(thing)
            else:
                self._leave(thing, EXPIRED)

    # -- tending -----------------------------------------------------------------------------------------------------

    def _revived(self, record: r.Revived) -> None:
        book = self.book(record.queue)
        for seq in record.seqs:
            thing = book.things.get(seq)
            if thing is not None and thing.state == DEAD:
                thing.state = QUEUED
                thing.attempts = thing.failures = thing.crashes = 0
                thing.expires_us = 0
                thing.due_us = thing.not_before_us
                thing.counter = -1
                self._fresh.add(seq)
        self._changed.add(record.queue)
        self._bury_held(book)

    def _purged(self, record: r.Purged) -> None:
        book = self.book(record.queue)
        for seqs, state in ((record.queued_seqs, QUEUED), (record.dead_seqs, DEAD)):
            for seq in seqs:
                thing = book.things.get(seq)
                if thing is not None and thing.state == state:
                    self._leave(thing, PURGED)
                elif thing is not None and thing.state != DEAD:  # one that was held may have found its place there
                    self.report(UNEXPECTED, f"{show(thing.id)} was purged as {state} and is {thing.state}")
        self._bury_held(book)

    def _declared(self, record: r.Declared) -> None:
        book = self.book(record.queue)
        book.settings = record.settings
        self._bury_held(book)
        self._changed.add(record.queue)

    def _dropped(self, record: r.Dropped) -> None:
        book = self.book(record.queue)
        for thing in list(book.things.values()):
            if thing.state == LEASED:
                self.report(LEDGER, f"{record.queue} was dropped while {show(thing.id)} was leased")
            self._leave(thing, PURGED)
        self.dropped += book.totals
        del self.books[record.queue]

    def _claimed(self, record: r.Claimed) -> None:
        self.epochs.append((max(self.receipts, default=-1) + 1, record.epoch))
        if record.ends_leases:
            for counter, (thing, leased) in list(self.leases.items()):
                if not (leased.session or leased.detached or leased.name):
                    del self.leases[counter]
                    self._give_back(thing, r.WORKER_CRASHED)

    def _names_ended(self, record: r.NamesEnded) -> None:
        book = self.book(record.queue)
        for name in record.names:
            named = book.names.pop(name, None)
            if named is None:
                continue
            if named.until_us > record.at_us:
                self.report(NAMES, f"the pop named {name!r} ended before its limit")
            open_counters = self.unsettled(named)
            if open_counters:
                for counter in open_counters:
                    thing, _ = self.leases.pop(counter)
                    self._give_back(thing, r.NAME_EXPIRED)
                book.names[name] = Name(named.counters, record.at_us + self.limits.name_us)

    def describe(self, thing: Thing) -> str:
        """An item's state, for a report."""
        if thing.held:
            return "held"
        if thing.state == QUEUED and thing.due_us:
            return f"queued, due at {thing.due_us}"
        if thing.state == QUEUED and thing.expires_us:
            return f"queued, to expire at {thing.expires_us}"
        return thing.state


def show(item_id: bytes) -> str:
    """An item's id, short: the ids of the simulator are small numbers."""
    return f"item {int.from_bytes(item_id, 'big')}"


def _place(thing: Thing) -> tuple[int, int]:
    return thing.at


def _seq(thing: Thing) -> int:
    return thing.seq


def _size(encoded: list[bytes]) -> int:
    """The bytes of bodies and extras."""
    return sum(map(len, encoded)) - ITEM_HEAD * len(encoded)

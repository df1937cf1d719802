"""One queue's part of a shard: its items, and how each record changes them.

The `on_…` methods are the fold: only they change what is durable, live and in recovery alike. `reserve…` and `release`
are the volatile overlay: what a decision has named stays queued, but is set aside until its record comes back. During
recovery nothing is ordered yet (`loading`); `settle` sorts once at the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from heapq import heappop, heappush
from itertools import repeat
from struct import unpack
from typing import Final

import msgspec

from headrace.core.commands import Attempt, DeadItem, QueueStats
from headrace.core.items import (
    ENTRY_FLAGS,
    ENTRY_HEAD,
    ENTRY_ID,
    ITEM_FLAGS,
    entries_of,
    entry_added_us,
    entry_extras,
    entry_of,
    entry_seq,
)
from headrace.core.limits import US, Limits, QueueSettings
from headrace.core.records import ABORTED, END_UNKNOWN, LEASE_EXPIRED, NAME_EXPIRED, WORKER_CRASHED
from headrace.protocols.loaded import Loaded
from headrace.protocols.ready import Ready

COUNTS_AS_FAILURE: Final = (ABORTED, LEASE_EXPIRED)


class Grant(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What one pop handed out: receipts from `first` on."""

    first: int
    count: int
    session: bytes
    lease_us: int
    detached: bool
    name: str
    at_us: int
    pushed: bool = False
    """Whether it answered a wait, so that no number stands for it: a client that comes back is told of it again."""


class Story(msgspec.Struct):
    """What an item that came back has been through. `former` leases are the last ones only."""

    entry: bytes
    leases: int = 0
    failures: int = 0
    crashes: int = 0
    leased: bool = False
    held: bool = False
    revived: bool = False
    """It had expired and was wanted all the same: it expires no more."""
    due_us: int = 0
    former: list[Attempt] = []


class Named(msgspec.Struct, array_like=True):
    """A named pop: its receipts, how many are unsettled, and until when the name is remembered."""

    first: int
    count: int
    unsettled: int
    until_us: int


class Totals(msgspec.Struct):
    """What the ledger counts, since the queue was created."""

    added: int = 0
    committed: int = 0
    expired: int = 0
    purged: int = 0
    moved_in: int = 0
    moved_out: int = 0
    quarantined: int = 0
    deduplicated: int = 0


def size_of(entries: Sequence[bytes]) -> int:
    """The bytes of bodies and extras."""
    if len(entries) == 1:
        return len(entries[0]) - ENTRY_HEAD
    return sum(map(len, entries)) - ENTRY_HEAD * len(entries)


def seqs_of(entries: list[bytes]) -> list[int]:
    """The places of entries."""
    return list(unpack(f">{len(entries)}Q", b"".join([entry[8:16] for entry in entries])))


class Subqueue:
    """The state of one queue on one shard."""

    def __init__(self, name: str, settings: QueueSettings, *, limits: Limits, loading: bool, alarms: list[str]) -> None:
        self.name = name
        self.set(settings)
        self.limits = limits
        self.totals = Totals()
        self.size_bytes = 0
        self.ready = Ready()
        self.held: dict[int, bytes] = {}
        self.leases: dict[int, tuple[bytes, Grant]] = {}
        self.dead: dict[int, DeadItem] = {}
        self.stories: dict[int, Story] = {}
        self.former: dict[int, int] = {}
        self.keys: dict[str, tuple[bytes, int]] = {}
        self.names: dict[str, Named] = {}
        self.mortal: dict[int, tuple[int, bytes]] = {}
        self.loading = Loaded() if loading else None
        self._alarms = alarms
        """Where this queue says that it holds something that time will change."""
        self._delayed: dict[int, tuple[int, bytes]] = {}
        self._due: list[tuple[int, int]] = []
        self._dying: list[tuple[int, int]] = []
        # the overlay
        self.reserved: dict[int, bytes] = {}
        self.settling: set[int] = set()
        self.stirred: set[int] = set()
        """Dead items that a decision has named: the next record settles what becomes of them."""
        self.pending_items = 0
        self.pending_bytes = 0

    def on_declared(self, settings: QueueSettings, at_us: int) -> None:
        """Take new settings; there may be room for more of the dead."""
        self.set(settings)
        self._bury_held(at_us)

    def set(self, settings: QueueSettings) -> None:
        """Take new settings; part of the fold."""
        self.settings = settings
        self.is_paused = settings.paused
        self.is_bounded = settings.capacity_items is not None or settings.capacity_bytes is not None
        self.lease_us = round(settings.lease_seconds * US)

    # -- figures ---------------------------------------------------------------------------------------------------

    @property
    def queued(self) -> int:
        if self.loading is not None:
            return len(self.loading)
        return len(self.ready) + len(self._delayed) + len(self.held) + len(self.reserved)

    @property
    def timed(self) -> bool:
        """Whether time alone may change what can be handed out."""
        return bool(self._due or self._dying or self.names)

    def stats(self) -> QueueStats:
        oldest = [entry[16:24] for _, entry in self._delayed.values()]
        oldest += [entry[16:24] for entry in self.held.values()]
        if ready_us := self.ready.oldest_us():
            oldest.append(ready_us.to_bytes(8, "big"))
        return QueueStats(
            queue=self.name,
            queued=self.queued,
            delayed=len(self._delayed),
            held=len(self.held),
            leased=len(self.leases),
            dead=len(self.dead),
            bytes=self.size_bytes,
            oldest_us=int.from_bytes(min(oldest), "big") if oldest else 0,
            settings=self.settings,
            **msgspec.structs.asdict(self.totals),
        )

    def unordered(self) -> list[bytes]:
        """The queued entries that are not among the ready ones."""
        return [
            *(entry for _, entry in self._delayed.values()),
            *self.held.values(),
            *self.reserved.values(),
            *(self.loading if self.loading is not None else ()),
        ]

    def count_in(self, entries: list[bytes]) -> None:
        """Count the size of entries that a snapshot held."""
        self.size_bytes += size_of(entries)

    # -- the overlay: what decisions have named --------------------------------------------------------------------

    def ripen(self, wall_us: int) -> None:
        """Move the delayed items that are due to the ready ones."""
        while self._due and self._due[0][0] <= wall_us:
            due_us, seq = heappop(self._due)
            held = self._delayed.get(seq)
            if held is not None and held[0] == due_us:
                del self._delayed[seq]
                self.ready.push(held[1])

    def next_due_us(self) -> int | None:
        """When the next delayed item is due."""
        while self._due:
            due_us, seq = self._due[0]
            if self._delayed.get(seq, (None,))[0] == due_us:
                return due_us
            heappop(self._due)
        return None

    def next_death_us(self) -> int | None:
        """When the next queued item expires."""
        while self._dying:
            expires_us, seq = self._dying[0]
            if seq in self.mortal:
                return expires_us
            heappop(self._dying)
        return None

    def next_name_end_us(self) -> int | None:
        """When the next named pop reaches its limit; names end in the order in which they began."""
        return next(iter(self.names.values())).until_us if self.names else None

    def ended_names(self, wall_us: int) -> list[str]:
        """The named pops whose limit has passed."""
        ended = []
        for name, named in self.names.items():
            if named.until_us > wall_us:
                break
            ended.append(name)
        return ended

    def reserve(self, count: int, bound: bytes | None = None) -> list[int]:
        """Set aside the most urgent ready entries, at most `count`, none at or above `bound`; their places."""
        entries = self.ready.take(count, bound)
        if len(entries) == 1 and not self.mortal:
            seq = entry_seq(entries[0])
            self.reserved[seq] = entries[0]
            return [seq]
        seqs = seqs_of(entries)
        self.reserved.update(zip(seqs, entries, strict=True))
        if self.mortal:
            for seq in seqs:
                self.mortal.pop(seq, None)
        return seqs

    def reserve_expired(self, wall_us: int) -> list[int]:
        """Set aside the queued items whose time has passed."""
        seqs = []
        while (expires_us := self.next_death_us()) is not None and expires_us <= wall_us:
            seq = heappop(self._dying)[1]
            self.reserve_one(seq, self.mortal[seq][1])
            seqs.append(seq)
        return seqs

    def reserve_all(self) -> list[int]:
        """Set aside everything that is queued."""
        entries = [*self.ready, *(entry for _, entry in self._delayed.values()), *self.held.values()]
        self.ready = Ready()
        self._delayed.clear()
        self.held.clear()
        self.mortal.clear()
        seqs = seqs_of(entries)
        self.reserved.update(zip(seqs, entries, strict=True))
        return seqs

    def reserve_one(self, seq: int, entry: bytes) -> None:
        """Set aside one queued item, wherever it is."""
        if seq in self._delayed:
            del self._delayed[seq]
        elif seq in self.held:
            del self.held[seq]
        else:
            self.ready.discard(seq)
        self.mortal.pop(seq, None)
        self.reserved[seq] = entry

    def stir(self, seqs: Iterable[int]) -> list[int]:
        """Name dead items in a decision, so that no other one is made about them."""
        named = list(seqs)
        self.stirred.update(named)
        return named

    def release(self, seqs: Iterable[int], wall_us: int) -> None:
        """Undo a reservation whose record was not written."""
        for seq in seqs:
            entry = self.reserved.pop(seq, None)
            if entry is not None:
                self._place(seq, entry, wall_us)

    def key_holder(self, key: str, wall_us: int) -> bytes | None:
        """The id of the item that was added with this key, within the window."""
        held = self.keys.get(key)
        if held is None or held[1] + self.settings.key_seconds * US <= wall_us:
            return None
        return held[0]

    def is_late(self, counter: int) -> bool:
        """Whether this receipt of a lease that ended is its item's last one, and the item queued or dead."""
        seq = self.former[counter]
        story = self.stories[seq]
        if story.leased or seq in self.reserved or seq in self.stirred:
            return False
        return story.former[-1].counter == counter

    def attempt_of(self, entry: bytes) -> int:
        """Which attempt the present lease of this item is."""
        story = self.stories.get(entry_seq(entry))
        return story.leases + 1 if story is not None else 1

    def queued_since_us(self, entry: bytes) -> int:
        """Since when this item has been queued this time."""
        story = self.stories.get(entry_seq(entry))
        return story.former[-1].ended_us if story is not None and story.former else entry_added_us(entry)

    def delayed(self) -> list[tuple[int, bytes]]:
        """The items that are not due, with when they will be."""
        return list(self._delayed.values())

    # -- the fold --------------------------------------------------------------------------------------------------

    def on_added(self, items: list[bytes], first_seq: int, at_us: int) -> None:
        if len(items) == 1 and not items[0][ITEM_FLAGS]:
            entry = entry_of(items[0], first_seq, at_us)
            self.totals.added += 1
            self.size_bytes += len(entry) - ENTRY_HEAD
            if self.loading is None:
                self.ready.push(entry)
            else:
                self.loading.put(first_seq, entry)
            return
        entries = entries_of(items, first_seq, at_us)
        self.totals.added += len(entries)
        self.size_bytes += size_of(entries)
        flagged = [entry for entry in entries if entry[ENTRY_FLAGS]]
        if self.loading is None and not flagged:
            self.ready.push_many(entries)
            return
        for entry in flagged:
            key = entry_extras(entry).key
            if key is not None:
                self._remember_key(key, entry[ENTRY_ID], at_us)
        if self.loading is not None:
            self.loading.put_all(entries)
        else:
            for seq, entry in enumerate(entries, first_seq):
                self._place(seq, entry, at_us)

    def on_leased(self, grant: Grant, seqs: list[int]) -> tuple[list[bytes], list[int]]:
        """The entries, in the order of their receipts, and which attempt each begins; fewer after a repair."""
        if grant.count == 1 and self.loading is None and not grant.name:
            entry = self.reserved.pop(seqs[0])
            self.leases[grant.first] = entry, grant
            return [entry], [self._begin_attempt(seqs[0]) if self.stories else 1]
        take = self.reserved.pop if self.loading is None else self._take_loaded
        found = [take(seq) for seq in seqs]
        entries = [entry for entry in found if entry is not None]
        counters: Iterable[int] = range(grant.first, grant.first + grant.count)
        if len(entries) < len(seqs):
            counters = [counter for counter, entry in zip(counters, found, strict=True) if entry is not None]
            seqs = [entry_seq(entry) for entry in entries]
        self.leases.update(zip(counters, zip(entries, repeat(grant)), strict=False))
        if grant.name:
            self._remember_name(grant, len(entries))
        if not self.stories:
            return entries, [1] * len(entries)
        return entries, [self._begin_attempt(seq) for seq in seqs]

    def on_committed(self, counters: list[int], at_us: int) -> None:
        """Remove the items."""
        if len(counters) == 1 and counters[0] in self.leases and not (self.names or self.stories):
            entry, _ = self.leases.pop(counters[0])
            self.settling.discard(counters[0])
            self.size_bytes -= len(entry) - ENTRY_HEAD
            self.totals.committed += 1
            return
        take = self.leases.pop
        settled = [take(counter, None) for counter in counters]
        if None in settled:
            late = [counter for counter, pair in zip(counters, settled, strict=True) if pair is None]
            entries = [pair[0] for pair in settled if pair is not None] + list(self._commit_late(late))
            self.stirred.clear()
            self._bury_held(at_us)
        else:
            entries = [pair[0] for pair in settled]  # type: ignore[index]
        if self.names:
            self._settle_names(pair[1].name for pair in settled if pair is not None)
        if self.stories:
            for entry in entries:
                self._forget(entry_seq(entry))
        if self.settling:
            self.settling.difference_update(counters)
        self.size_bytes -= size_of(entries)
        self.totals.committed += len(entries)

    def on_returned(
        self, counters: list[int], reason: str, note: str, at_us: int, *, due_us: int = 0, dead: bool = False
    ) -> None:
        for counter in counters:
            pair = self.leases.pop(counter, None)
            if pair is None:
                continue
            entry, grant = pair
            seq = entry_seq(entry)
            story = self.stories.get(seq)
            if story is None:
                story = self.stories[seq] = Story(entry, former=[])
            story.leased = False
            self._tell(story, seq, Attempt(counter, grant.at_us, at_us, f"{reason}: {note}" if note else reason))
            story.failures += reason in COUNTS_AS_FAILURE
            story.crashes += reason == WORKER_CRASHED
            story.due_us = due_us
            if grant.name:
                self._settle_names((grant.name,))
            settings = self.settings
            if dead or story.failures >= settings.max_attempts or story.crashes >= settings.max_crashes:
                self._die(seq, entry, story.former[-1].reason, at_us)
            else:
                self._place(seq, entry, at_us)
        self.settling.difference_update(counters)

    def on_prolonged(self, counters: list[int], lease_us: int, at_us: int) -> None:
        for counter in counters:
            pair = self.leases.get(counter)
            if pair is not None:
                entry, grant = pair
                held_us = at_us - grant.at_us if grant.detached else 0  # its period runs on over boots
                self.leases[counter] = entry, msgspec.structs.replace(grant, lease_us=held_us + lease_us)

    def on_expired(self, seqs: list[int], at_us: int) -> None:
        for seq in seqs:
            entry = self._take(seq)
            if entry is None:
                continue
            if self.settings.keep_expired:
                self._die(seq, entry, "expired", at_us)
            else:
                self._forget(seq)
                self.size_bytes -= size_of((entry,))
                self.totals.expired += 1

    def on_revived(self, seqs: list[int], at_us: int) -> int:
        count = 0
        for seq in seqs:
            dead = self.dead.pop(seq, None)
            if dead is None:
                continue
            count += 1
            self._forget(seq)
            if dead.entry[ENTRY_FLAGS]:
                self.stories[seq] = Story(dead.entry, revived=True, former=[])
            self.size_bytes += size_of((dead.entry,))
            self._place(seq, dead.entry, at_us)
        self._bury_held(at_us)
        self.stirred.clear()
        return count

    def on_purged(self, queued: list[int], dead: list[int], at_us: int) -> int:
        count = 0
        for seq in queued:
            entry = self._take(seq)
            if entry is not None:
                self.size_bytes -= size_of((entry,))
                self._forget(seq)
                count += 1
        for seq in dead:
            if self.dead.pop(seq, None) is not None:
                self._forget(seq)
                count += 1
        self._bury_held(at_us)
        self.stirred.clear()
        self.totals.purged += count
        return count

    def on_names_ended(self, names: list[str], at_us: int) -> None:
        """Forget the names that are settled; the others give back what they hold, and are kept as long again."""
        self._alarms.append(self.name)
        for name in names:
            named = self.names.get(name)
            if named is None:
                continue
            if not named.unsettled:
                del self.names[name]
                continue
            counters = [c for c in range(named.first, named.first + named.count) if c in self.leases]
            del self.names[name]
            self.names[name] = Named(named.first, named.count, named.unsettled, at_us + self.limits.name_us)
            self.on_returned(counters, NAME_EXPIRED, "", at_us)

    def settle(self) -> None:
        """Put what recovery loaded in order; what has a due time ripens when the clock is known."""
        assert self.loading is not None
        loaded, self.loading = self.loading, None
        special = {seq for seq, story in self.stories.items() if story.held or story.due_us}
        special.update(entry_seq(entry) for entry in loaded if entry[ENTRY_FLAGS])
        set_apart = [(seq, loaded.pop(seq)) for seq in sorted(special) if seq in loaded]
        entries = sorted(loaded)
        del loaded  # what its pages took is there for the runs then
        self.ready = Ready.of_sorted(entries)
        for seq, entry in set_apart:
            self._place(seq, entry, 0)

    # -- pieces of the fold ----------------------------------------------------------------------------------------

    def _take(self, seq: int) -> bytes | None:
        """The entry of a queued item that a record removes; None only after a repair left a gap."""
        if self.loading is not None:
            return self.loading.pop(seq) if seq in self.loading else None
        return self.reserved.pop(seq, None)

    def _take_loaded(self, seq: int) -> bytes | None:
        """The entry of an item that a record leases, while recovery loads.

        Where a repair left a gap its add may be missing, or what brought it back: it is leased then, or dead.
        """
        assert self.loading is not None
        if seq in self.loading:
            return self.loading.pop(seq)
        dead = self.dead.pop(seq, None)
        if dead is not None:
            self.size_bytes += size_of((dead.entry,))
            self._forget(seq)
            return dead.entry
        for counter, (entry, grant) in self.leases.items():
            if entry_seq(entry) == seq:
                self.on_returned([counter], END_UNKNOWN, "", grant.at_us)
                return self.loading.pop(seq) if seq in self.loading else None
        return None

    def _place(self, seq: int, entry: bytes, wall_us: int) -> None:
        """Queue an item: ready, delayed or held."""
        if self.loading is not None:
            self.loading.put(seq, entry)
            return
        story = self.stories.get(seq)
        if story is not None and story.held:
            self.held[seq] = entry
            return
        due_us = story.due_us if story is not None else 0
        if entry[ENTRY_FLAGS]:
            extras = entry_extras(entry)
            due_us = due_us or extras.due_us
            if extras.expires_us and not (story is not None and story.revived):
                self.mortal[seq] = extras.expires_us, entry
                heappush(self._dying, (extras.expires_us, seq))
                self._alarms.append(self.name)
        if due_us > wall_us:
            self._delayed[seq] = due_us, entry
            heappush(self._due, (due_us, seq))
            self._alarms.append(self.name)
        else:
            self.ready.push(entry)

    def _die(self, seq: int, entry: bytes, reason: str, at_us: int) -> None:
        if len(self.dead) >= self.settings.dead_items:
            story = self.stories.setdefault(seq, Story(entry, former=[]))
            story.held = True
            self._place(seq, entry, at_us)
            return
        story_or_none = self.stories.get(seq)
        attempts = story_or_none.leases if story_or_none is not None else 0
        self.dead[seq] = DeadItem(entry, at_us, reason, attempts)
        self.size_bytes -= size_of((entry,))

    def _bury_held(self, at_us: int) -> None:
        """Let held items die as far as there is room for them."""
        for seq in self._held_seqs():
            if len(self.dead) >= self.settings.dead_items:
                return
            entry = self.held.pop(seq, None)
            if entry is None:  # recovery holds all that is queued in one place, and a decision may have set it aside
                entry = self._take(seq)
            if entry is not None:
                story = self.stories[seq]
                story.held = False
                self._die(seq, entry, story.former[-1].reason if story.former else "expired", at_us)

    def _held_seqs(self) -> list[int]:
        if self.loading is not None:
            return sorted(seq for seq, story in self.stories.items() if story.held and seq in self.loading)
        set_aside = [seq for seq in self.reserved if (story := self.stories.get(seq)) is not None and story.held]
        return sorted([*self.held, *set_aside])

    def _tell(self, story: Story, seq: int, attempt: Attempt) -> None:
        story.leases += 1
        story.former.append(attempt)
        self.former[attempt.counter] = seq
        if len(story.former) > self.limits.story_length:
            self.former.pop(story.former.pop(0).counter, None)

    def _forget(self, seq: int) -> None:
        story = self.stories.pop(seq, None)
        if story is not None:
            for attempt in story.former:
                self.former.pop(attempt.counter, None)

    def _begin_attempt(self, seq: int) -> int:
        story = self.stories.get(seq)
        if story is None:
            return 1
        story.leased = True
        story.due_us = 0
        return story.leases + 1

    def _remember_name(self, grant: Grant, unsettled: int) -> None:
        names = self.names
        self._alarms.append(self.name)
        former = names.get(grant.name)
        if former is not None and former.unsettled:  # only after a repair left a gap where it ended
            ended = [c for c in range(former.first, former.first + former.count) if c in self.leases]
            self.on_returned(ended, NAME_EXPIRED, "", grant.at_us)
        names[grant.name] = Named(grant.first, grant.count, unsettled, grant.at_us + grant.lease_us)
        if len(names) > self.limits.names:
            settled = next((name for name, named in names.items() if not named.unsettled), None)
            if settled is not None:
                del names[settled]

    def _commit_late(self, counters: list[int]) -> Iterator[bytes]:
        for counter in counters:
            seq = self.former.get(counter)
            if seq is None:
                continue
            dead = self.dead.pop(seq, None)
            if dead is not None:
                self.size_bytes += size_of((dead.entry,))
                yield dead.entry
                continue
            entry = self._take(seq)
            if entry is not None:
                yield entry

    def _settle_names(self, names: Iterable[str]) -> None:
        for name in names:
            named = self.names.get(name) if name else None
            if named is not None:
                named.unsettled -= 1

    def _remember_key(self, key: str, item_id: bytes, at_us: int) -> None:
        keys = self.keys
        keys.pop(key, None)
        keys[key] = item_id, at_us
        horizon_us = at_us - self.settings.key_seconds * US
        while keys:
            oldest = next(iter(keys))
            if len(keys) <= self.settings.key_count and keys[oldest][1] > horizon_us:
                return
            del keys[oldest]

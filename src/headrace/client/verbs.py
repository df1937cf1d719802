"""The verbs, said once for every handle: arguments in, a command and how to read its answer out."""

from __future__ import annotations

import datetime as dt
import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from headrace.client.shapes import Dead, Held, Ids, Leases, Place, Queued, Receipt, dead_of, place_of
from headrace.core.commands import (
    Abort,
    Add,
    AddDone,
    AnyCommand,
    AnyOutcome,
    Batch,
    Commit,
    CountDone,
    DeadDone,
    Declare,
    Describe,
    Drop,
    Extend,
    ListDead,
    ListQueues,
    Peek,
    PeekDone,
    Pop,
    PopDone,
    Purge,
    QueueStats,
    Refused,
    Revive,
    Settled,
    StatsDone,
    Whereabouts,
    Why,
    error_of,
)
from headrace.core.errors import Gone, Invalid, StaleLease
from headrace.core.items import ITEM_ID, Item, encode_bodies, encode_item, encode_plain, parse_id, show_id
from headrace.core.limits import (
    PRIORITY_MAX,
    PRIORITY_MIN,
    SHORTEST_LEASE_SECONDS,
    Limits,
    check_count,
    check_queue_name,
    check_seconds,
    check_text,
)

T = TypeVar("T")
Call = tuple[AnyCommand, Callable[[AnyOutcome], T]]
Bodies = Iterable[Item | bytes]


class IdMaker(Protocol):
    """Makes the ids of new items."""

    def one(self) -> bytes: ...
    def take(self, count: int) -> list[bytes]: ...


FOR_EVER_US = -1
_NO_OPTIONS = (None,) * 6


def raised(outcome: AnyOutcome) -> AnyOutcome:
    """The outcome, unless it is a refusal, which is raised."""
    if type(outcome) is Refused:
        raise error_of(outcome)
    return outcome


class Verbs:
    """Makes commands, for a handle that knows the limits, the time and how to make ids."""

    def __init__(self, limits: Limits, wall_us: Callable[[], int], ids: IdMaker) -> None:
        self.limits = limits
        self._wall_us = wall_us
        self._ids = ids

    def add(
        self,
        queue: str,
        body: Item | bytes,
        *,
        priority: int,
        key: str | None,
        headers: Mapping[str, str] | None,
        delay: float | None,
        not_before: dt.datetime | None,
        expires: float | None,
        id: str | None,
        wait: float | None,
    ) -> Add:
        check_queue_name(queue)
        if isinstance(body, Item):
            if (key, headers, delay, not_before, expires, id) != _NO_OPTIONS:
                raise Invalid("give the options in the Item, or beside a body, not both")
            if priority != 0:
                raise Invalid("give the priority in the Item, not beside it")
            item = body
        else:
            item = Item(
                body,
                priority=priority,
                key=key,
                headers=headers,
                delay=delay,
                not_before=not_before,
                expires=expires,
                id=id,
            )
        encoded = encode_item(item, self._ids.one(), self._wall_us(), self.limits)
        return Add(queue, [encoded], _wait_us(wait))

    def add_plain(self, queue: str, body: bytes, priority: int, wait: float | None) -> Add:
        """The short way for a body without options."""
        check_queue_name(queue)
        return Add(queue, [encode_plain(body, priority, self._ids.one(), self.limits)], _wait_us(wait))

    def add_many(self, queue: str, items: Bodies, *, wait: float | None) -> Call[Ids]:
        check_queue_name(queue)
        encoded = self.encode(items)
        return Add(queue, encoded, _wait_us(wait)), lambda outcome: _ids(encoded, outcome)

    def encode(self, items: Bodies) -> list[bytes]:
        """The encodings of items; the message of an `Invalid` names which one it is."""
        if isinstance(items, bytes | str | Item):
            raise Invalid("add_many takes several items: put the one into a list, or use add")
        items = _listed("add_many takes a list of items or bodies", items)
        ids = self._ids.take(len(items))
        limits = self.limits
        if set(map(type, items)) == {bytes} and max(map(len, items)) <= limits.body_bytes:
            encoded = encode_bodies(items, ids)
        else:
            encoded = self._encode_each(items, ids)
        size_bytes = sum(map(len, encoded))
        if size_bytes > limits.frame_bytes - 4096:
            raise Invalid(
                f"{len(items)} items with {size_bytes:,} bytes are more than the {limits.frame_bytes:,} of one "
                "request: add them in smaller batches"
            )
        return encoded

    def _encode_each(self, items: list[Item | bytes], ids: list[bytes]) -> list[bytes]:
        wall_us, limits = self._wall_us(), self.limits
        encoded: list[bytes] = []
        try:
            for item, item_id in zip(items, ids, strict=True):
                encoded.append(
                    encode_item(item, item_id, wall_us, limits)
                    if isinstance(item, Item)
                    else encode_plain(item, 0, item_id, limits)
                )
        except Invalid as error:
            raise Invalid(f"item {len(encoded)}: {error}") from None
        return encoded

    def peek(self, queue: str, n: int) -> Call[list[Queued]]:
        command = Peek(check_queue_name(queue), check_count("n", n))

        def read(outcome: AnyOutcome) -> list[Queued]:
            outcome = raised(outcome)
            assert isinstance(outcome, PeekDone)
            return [Queued(queue, entry) for entry in outcome.entries]

        return command, read

    def pop(
        self,
        queue: str | Sequence[str],
        n: int,
        *,
        wait: float | None,
        lease: float | None,
        at_least: int | None,
        name: str | None,
        detached: bool = False,
    ) -> Pop:
        queues = queue if isinstance(queue, str) else tuple(_queue_names(queue))
        try:
            return pop_command(queues, n, wait, lease, at_least, name, detached)
        except TypeError:  # not hashable, so none of them is what it should be
            raise Invalid("queue is a name or a list of names, and the options of a pop are numbers or text") from None

    def commit(self, leases: Any, add: Iterable[tuple[str, Item | bytes]]) -> list[Call[None]]:
        groups = _by_queue(leases)
        added = self._added(add) if add != () else []
        if added and len(groups) != 1:
            raise Invalid("commit with add settles leases of one queue: they and the new items are one step")
        return [
            (Commit(queue, epoch, counters, added), lambda outcome: settled(outcome, "commit", _total(groups)))
            for queue, epoch, counters in groups
        ]

    def abort(self, leases: Any, *, delay: float, reason: str, dead: bool) -> list[Call[None]]:
        delay_us = check_seconds("delay", delay)
        check_text("reason", reason)
        if type(dead) is not bool:
            raise Invalid(f"dead is True or False; it is {dead!r}")
        groups = _by_queue(leases)
        return [
            (
                Abort(queue, epoch, counters, delay_us, reason, dead),
                lambda outcome: settled(outcome, "abort", _total(groups)),
            )
            for queue, epoch, counters in groups
        ]

    def extend(self, leases: Any, seconds: float) -> list[Call[None]]:
        lease_us = check_seconds("seconds", seconds, least=SHORTEST_LEASE_SECONDS)
        groups = _by_queue(leases)
        return [
            (Extend(queue, epoch, counters, lease_us), lambda outcome: settled(outcome, "extend", _total(groups)))
            for queue, epoch, counters in groups
        ]

    def dead(self, queue: str, n: int, after: int | None) -> Call[list[Dead]]:
        if after is not None and (type(after) is not int or after < 0):
            raise Invalid(f"after is the place of a dead item, a whole number; it is {after!r}")
        command = ListDead(check_queue_name(queue), check_count("n", n), -1 if after is None else after)

        def read(outcome: AnyOutcome) -> list[Dead]:
            outcome = raised(outcome)
            assert isinstance(outcome, DeadDone)
            return [dead_of(queue, item) for item in outcome.items]

        return command, read

    def revive(self, queue: str, ids: Iterable[str] | None) -> Call[int]:
        return Revive(check_queue_name(queue), _raw_ids(ids)), _count

    def purge(self, queue: str, *, dead: bool, ids: Iterable[str] | None) -> Call[int]:
        raw = _raw_ids(ids)
        return Purge(check_queue_name(queue), not dead and not raw, dead and not raw, raw), _count

    def declare(self, queue: str, settings: Mapping[str, Any]) -> Call[None]:
        return Declare(check_queue_name(queue), dict(settings)), _done

    def drop(self, queue: str) -> Call[None]:
        return Drop(check_queue_name(queue)), _done

    def queues(self) -> Call[list[QueueStats]]:
        return ListQueues(), _stats

    def stats(self, queue: str) -> Call[QueueStats]:
        return Describe(check_queue_name(queue)), lambda outcome: _stats(outcome)[0]

    def why(self, id: str) -> Call[Place]:
        raw = parse_id(id)

        def read(outcome: AnyOutcome) -> Place:
            outcome = raised(outcome)
            assert isinstance(outcome, Whereabouts)
            return place_of(raw, outcome)

        return Why(raw), read

    def _added(self, add: Iterable[tuple[str, Item | bytes]]) -> list[tuple[str, list[bytes]]]:
        by_queue: dict[str, list[Item | bytes]] = {}
        for pair in _listed("add is a list of (queue, item) pairs", add):
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise Invalid(f"add is a list of (queue, item) pairs; {pair!r} is none")
            by_queue.setdefault(check_queue_name(pair[0]), []).append(pair[1])
        return [(queue, self.encode(items)) for queue, items in by_queue.items()]


@functools.lru_cache(maxsize=1024, typed=True)
def pop_command(
    queue: str | tuple[str, ...],
    n: int,
    wait: float | None,
    lease: float | None,
    at_least: int | None,
    name: str | None,
    detached: bool,
) -> Pop:
    """The command, checked; the same few are asked for over and over."""
    queues = [check_queue_name(queue)] if isinstance(queue, str) else list(queue)
    if at_least is not None and (type(at_least) is not int or not PRIORITY_MIN <= at_least <= PRIORITY_MAX):
        raise Invalid(f"at_least must be a priority, a whole number from -2**63 to 2**63-1; it is {at_least!r}")
    if name is not None and not 0 < len(check_text("the name of a pop", name)) <= 200:
        raise Invalid(f"the name of a pop is a string of 1 to 200 characters; it is {name!r}")
    lease_us = 0 if lease is None else check_seconds("lease", lease, least=SHORTEST_LEASE_SECONDS)
    return Pop(queues, check_count("n", n), _wait_us(wait), lease_us, at_least, name or "", detached)


def _wait_us(wait: float | None) -> int:
    if wait == 0 and type(wait) is not bool:
        return 0
    return FOR_EVER_US if wait is None else check_seconds("wait", wait)


def _listed(what: str, values: Any) -> list[Any]:
    """The values of an iterable that is no text."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise Invalid(f"{what}; it is {values!r}")
    return list(values)


def _queue_names(queues: Sequence[str]) -> list[str]:
    if not isinstance(queues, list | tuple):
        raise Invalid(f"queue is a name or a list of names; it is {queues!r}")
    names = [check_queue_name(queue) for queue in queues]
    if not names:
        raise Invalid("no queue was named")
    if len(set(names)) < len(names):
        raise Invalid(f"a queue is named twice: {max(names, key=names.count)!r}")
    return names


def _line(lease: Any) -> bytes:
    entry: bytes = lease._entry
    return entry[:16]


def added_id(command: Add, outcome: AnyOutcome) -> str:
    """The id of the one item that was added, or of the one that holds its key."""
    outcome = raised(outcome)
    assert type(outcome) is AddDone
    return show_id(outcome.duplicates[0][1] if outcome.duplicates else command.items[0][ITEM_ID])


def popped(outcome: AnyOutcome, lease_of: Callable[[Batch], list[Any]]) -> Leases:
    """The leases that a pop came to, the most urgent first."""
    outcome = raised(outcome)
    assert type(outcome) is PopDone
    if len(outcome.batches) == 1:
        leases = Leases(lease_of(outcome.batches[0]))
    else:
        leases = Leases(lease for batch in outcome.batches for lease in lease_of(batch))
        leases.sort(key=_line)
    if outcome.top is not None:
        leases.top = outcome.top
    return leases


def _ids(encoded: list[bytes], outcome: AnyOutcome) -> Ids:
    outcome = raised(outcome)
    assert isinstance(outcome, AddDone)
    ids = [item[8:24] for item in encoded]
    for index, holder in outcome.duplicates:
        ids[index] = holder
    return Ids(ids)


Groups = list[tuple[str, int, list[int]]]
"""Receipts as the commands take them: queue, epoch, counters."""


def _by_queue(leases: Any) -> Groups:
    """Leases or receipts, grouped."""
    if isinstance(leases, Held):
        return [(leases.queue, leases._epoch, [leases._counter])]
    if isinstance(leases, str | Receipt):
        leases = (leases,)
    if not isinstance(leases, list | tuple):  # a generator could be looked through only once
        raise Invalid(f"settle a lease, its receipt, or a list of those; not {leases!r}")
    groups: dict[tuple[str, int], list[int]] = {}
    for lease in leases:
        if isinstance(lease, Held):
            groups.setdefault((lease.queue, lease._epoch), []).append(lease._counter)
            continue
        receipt = lease if isinstance(lease, Receipt) else Receipt.parse(lease)
        groups.setdefault((receipt.queue, receipt.epoch), []).append(receipt.counter)
    if not groups:
        raise Invalid("no lease was given")
    return [(queue, epoch, counters) for (queue, epoch), counters in groups.items()]


def _total(groups: Groups) -> int:
    return sum(len(counters) for _, _, counters in groups)


def settled(outcome: AnyOutcome, verb: str, total: int) -> None:
    """Raise what kept leases, of so many in `total`, from being settled."""
    outcome = raised(outcome)
    assert isinstance(outcome, Settled)
    if not outcome.refused:
        return
    counter, kind = outcome.refused[0]
    count = len(outcome.refused)
    which = "it" if total == 1 else f"{count} of {total} leases (the first is {counter:x}); the others took effect"
    if kind == "stale":
        raise StaleLease(
            f"{verb} came too late for {which}: the lease is over, and the item queued or leased to another"
        )
    raise Gone(f"{verb} came too late for {which}: the item is no longer here")


def _raw_ids(ids: Iterable[str] | None) -> list[bytes]:
    if ids is None:
        return []
    raw = [parse_id(id) for id in ([ids] if isinstance(ids, str) else _listed("ids is a list of ids", ids))]
    if not raw:
        raise Invalid("no id was given; leave ids out to mean all")
    return raw


def _count(outcome: AnyOutcome) -> int:
    outcome = raised(outcome)
    assert isinstance(outcome, CountDone)
    return outcome.count


def _done(outcome: AnyOutcome) -> None:
    raised(outcome)


def _stats(outcome: AnyOutcome) -> list[QueueStats]:
    outcome = raised(outcome)
    assert isinstance(outcome, StatsDone)
    return outcome.queues

"""What a shard makes of a log in which a repair left a gap: any records may be missing, and the rest still folds."""

from __future__ import annotations

import contextlib
import random

import pytest

from headrace.core.commands import Abort, Commit, Declare, Drop, Extend, Pop, Purge, Revive
from headrace.core.errors import HeadraceError
from headrace.core.items import ENTRY_HEAD, Item, entry_seq
from headrace.core.limits import US, Limits
from headrace.core.records import Added, Committed, Leased
from headrace.protocols.shard import Shard
from headrace.protocols.subqueue import Subqueue
from tests.protocols.desk import Desk

QUEUES = ("a", "b")


def busy_desk(draws: random.Random) -> Desk:
    """A node that has done some of everything."""
    desk = Desk(limits=Limits(story_length=3))
    for queue in QUEUES:
        desk.declare(queue, max_attempts=3, dead_items=2, keep_expired=draws.random() < 0.5)
    held: list[tuple[str, int, list[int]]] = []
    for number in range(draws.randrange(20, 120)):
        queue = draws.choice(QUEUES)
        with contextlib.suppress(HeadraceError):  # a refusal leaves no record
            deed(desk, draws, queue, held, number)
        if draws.random() < 0.2:
            desk.pass_time(draws.choice((0.5, 30, 61)))
    return desk


def deed(desk: Desk, draws: random.Random, queue: str, held: list[tuple[str, int, list[int]]], number: int) -> None:
    what = draws.randrange(14)
    if what < 4:
        items = [
            Item(
                b"x" * draws.randrange(9),
                priority=draws.randrange(3),
                key=draws.choice((None, None, "k", f"k{number}")),
                expires=draws.choice((None, None, 20)),
                delay=draws.choice((None, None, 5)),
            )
            for _ in range(draws.randrange(1, 4))
        ]
        desk.add(*items, queue=queue)
    elif what < 8:
        name = draws.choice(("", "", "n", f"n{number}"))
        for batch in desk.ask(Pop([queue], draws.randrange(1, 4), name=name, lease_us=60 * US)).batches:
            held.append((queue, batch.epoch, batch.counters))
    elif what == 8:
        desk.ask(Revive(queue))
    elif what == 9 and draws.random() < 0.3:
        desk.ask(Purge(queue, queued=draws.random() < 0.5, dead=True))
    elif what == 9 and draws.random() < 0.3:
        desk.ask(Drop(queue))
    elif what == 9:
        desk.ask(Declare(queue, {"dead_items": draws.randrange(1, 4)}))
    elif held:
        lease = held.pop(draws.randrange(len(held)))
        if what == 10:
            desk.ask(Extend(*lease, 90 * US))
            held.append(lease)
        elif what == 11:
            desk.ask(Abort(*lease, delay_us=draws.choice((0, US)), dead=draws.random() < 0.3))
        else:
            desk.ask(Commit(*lease, [(draws.choice(QUEUES), desk.encode(b"y"))] if draws.random() < 0.3 else []))


def live_bytes(sub: Subqueue) -> int:
    """What the queue should say it holds: everything in it that is not dead."""
    queued = [*sub.unordered(), *(entry for part in sub.ready.parts() for entry in part)]
    gone = sub.ready.tombstones()
    entries = [entry for entry in queued if entry_seq(entry) not in gone] + [entry for entry, _ in sub.leases.values()]
    return sum(len(entry) - ENTRY_HEAD for entry in entries)


@pytest.mark.parametrize("seed", range(200))
def test_the_records_that_are_left_fold_and_what_they_hold_can_be_worked_off(seed: int) -> None:
    draws = random.Random(seed)
    desk = busy_desk(draws)
    records = desk.log.records
    first = draws.randrange(len(records))
    missing = draws.randrange(1, max(2, len(records) // 3))
    desk.log.records = records[:first] + records[first + missing :]
    desk.reboot()
    for sub in desk.shard.queues.values():
        assert sub.size_bytes == live_bytes(sub)
    desk.reboot_from_snapshot()
    desk.pass_time(3 * 86_400)  # no lease, no name and no delay lasts so long
    for queue in list(desk.shard.queues):
        while (done := desk.pop(100, queue=queue)).batches:
            desk.commit(done)
        stats = desk.shard.queues[queue].stats()
        assert (stats.queued - stats.held, stats.leased) == (0, 0)
        assert stats.added == stats.committed + stats.expired + stats.purged + stats.queued + stats.dead


@pytest.mark.parametrize("seed", range(100))
def test_a_commit_that_is_left_with_all_leases_of_its_item_holds(seed: int) -> None:
    draws = random.Random(seed)
    desk = busy_desk(draws)
    lost = [record for record in desk.log.records if type(record) not in (Added, Committed, Leased)]
    missing = {id(record) for record in draws.sample(lost, len(lost) // 2)}
    committed_seqs = set()
    counters: dict[tuple[str, int], int] = {}
    for record in desk.log.records:
        if type(record) is Leased:
            counters.update(((record.queue, record.first + i), seq) for i, seq in enumerate(record.seqs))
        elif type(record) is Committed:
            committed_seqs.update(counters[record.queue, counter] for counter in record.counters)
    shard = Shard(limits=desk.limits, loading=True)
    for position, record in enumerate(record for record in desk.log.records if id(record) not in missing):
        shard.apply(position, record)
    shard.settle()
    for sub in shard.queues.values():
        left = {entry_seq(entry) for entry in [*sub.unordered(), *(e for part in sub.ready.parts() for e in part)]}
        left |= {entry_seq(entry) for entry, _ in sub.leases.values()} | set(sub.dead)
        assert not left & committed_seqs

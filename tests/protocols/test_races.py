"""What is decided in one batch, or falls between a decision and its record: found by the simulator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from headrace.core.commands import Add, AnyCommand, Commit, Drop, Extend, Pop, Purge, Refused, Request, Revive
from headrace.core.errors import Gone
from headrace.core.items import Item, entry_body
from headrace.core.limits import US, Limits
from headrace.core.ports import DiskFull
from headrace.core.records import Added, AnyRecord, Expired, Leased, NamesEnded, Returned
from headrace.protocols.effects import Effects, turn
from tests.protocols.desk import Desk, bodies


class FullLog:
    """Refuses what it is told to, as a full disk does."""

    def __init__(self, desk: Desk, *, reserve: bool) -> None:
        self._log = desk.log
        self._reserve = reserve

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)

    def append(self, records: Sequence[AnyRecord], *, from_reserve: bool = False) -> int:
        if from_reserve and self._reserve:
            return self._log.append(records)
        raise DiskFull("there is no room")


def together(desk: Desk, *commands: AnyCommand) -> list[Any]:
    """The answers to requests that come in one batch."""
    refs = [("batch", i) for i in range(len(commands))]
    desk.node.handle(
        desk.now_us, [Request(ref, command) for ref, command in zip(refs, commands, strict=True)], desk.out
    )
    desk._turn()
    return [desk.answers.get(ref) for ref in refs]


def dead_item(desk: Desk) -> Any:
    """A dead item, and the grant that it died under."""
    desk.add(b"a")
    done = desk.pop()
    desk.abort(done, dead=True)
    return done.batches[0]


def test_two_pops_of_one_name_in_one_batch_are_one_pop() -> None:
    desk = Desk()
    desk.add(b"a", b"b")
    first, second = together(desk, Pop(["q"], name="n"), Pop(["q"], name="n"))
    assert first == second
    assert bodies(first) == [b"a"]
    assert sum(isinstance(record, Leased) for record in desk.log.records) == 1


def test_pops_of_one_name_that_wait_are_served_with_the_same_items() -> None:
    desk = Desk()
    first, second = (desk.send(Pop(["q"], wait_us=-1, name="n")) for _ in range(2))
    desk.add(b"a", b"b")
    assert desk.answers[first] == desk.answers[second]
    assert bodies(desk.answers[first]) == [b"a"]


def test_a_named_pop_reaches_its_limit_once() -> None:
    desk = Desk(limits=Limits(name_us=10 * US))
    desk.add(b"a", Item(b"b", delay=5), Item(b"c", expires=7))
    desk.pop(name="n")
    desk.pass_time(10.5)
    assert sum(isinstance(record, NamesEnded) for record in desk.log.records) == 1
    with pytest.raises(Gone):
        desk.pop(name="n")


def test_extending_the_items_of_a_named_pop_gives_them_no_other_limit() -> None:
    desk = Desk()
    desk.add(b"a")
    (batch,) = desk.pop(name="n").batches
    desk.ask(Extend("q", batch.epoch, batch.counters, 5 * US))
    desk.pass_time(60)
    assert not any(isinstance(record, Returned) for record in desk.log.records)


def test_a_receipt_that_was_extended_expires_once() -> None:
    desk = Desk()
    desk.add(b"a", b"b")
    (batch,) = desk.pop(2, lease_us=10 * US).batches
    desk.ask(Extend("q", batch.epoch, batch.counters, 0))
    desk.pass_time(30, stalled=True)
    desk.pass_time(60)
    returned = [record for record in desk.log.records if isinstance(record, Returned)]
    assert [record.counters for record in returned] == [batch.counters]


def test_a_pop_that_names_a_queue_twice_is_a_pop_of_that_queue() -> None:
    desk = Desk()
    desk.add(b"a", b"b")
    assert bodies(desk.ask(Pop(["q", "q"], 5))) == [b"a", b"b"]


def test_a_late_commit_loses_against_a_revival_decided_with_it() -> None:
    desk = Desk()
    batch = dead_item(desk)
    _, committed = together(desk, Revive("q"), Commit("q", batch.epoch, batch.counters))
    assert committed.refused
    assert desk.peek() == [b"a"]


def test_a_purge_spares_what_a_late_commit_removes() -> None:
    desk = Desk()
    batch = dead_item(desk)
    committed, _ = together(desk, Commit("q", batch.epoch, batch.counters), Purge("q", dead=True))
    assert committed.refused == []
    assert desk.shard.queues["q"].totals.committed == 1
    assert desk.shard.queues["q"].totals.purged == 0


def test_a_late_commit_finds_nothing_in_a_queue_dropped_with_it() -> None:
    desk = Desk()
    batch = dead_item(desk)
    _, committed = together(desk, Drop("q"), Commit("q", batch.epoch, batch.counters))
    assert committed.refused
    assert "q" not in desk.shard.queues


def test_an_add_that_waits_for_room_goes_in_when_its_queue_is_dropped() -> None:
    desk = Desk()
    desk.declare(capacity_items=1)
    desk.add(b"a")
    waiting = desk.send(Add("q", desk.encode(b"b"), 5 * US))
    desk.ask(Drop("q"))
    assert not isinstance(desk.answers[waiting], Refused)
    assert desk.peek(5) == [b"b"]
    desk.pass_time(10)


def test_a_duplicate_is_said_only_once_its_holder_is_safe() -> None:
    desk = Desk(slow=True)
    refs = [desk.send(Add("q", desk.encode(Item(b"a", key="k")))) for _ in range(2)]
    assert not desk.answers.keys() & set(refs)
    desk.sync()
    assert desk.answers.keys() >= set(refs)


def test_a_step_is_refused_whole_when_what_it_was_deduped_against_found_no_room() -> None:
    desk = Desk()
    desk.add(b"a")
    (batch,) = desk.pop().batches
    one, two = desk.encode(Item(b"x", key="k"), Item(b"y", key="k"))
    commands = [Add("q", [one]), Commit("q", batch.epoch, batch.counters, [("q", [two])])]
    desk.node.handle(desk.now_us, [Request(i, command) for i, command in enumerate(commands)], desk.out)
    turn(desk.node, FullLog(desk, reserve=True), desk.now_us, desk.out)  # type: ignore[arg-type]
    assert [type(outcome) for _, outcome in desk.out.replies] == [Refused, Refused]
    assert desk.ask(Commit("q", batch.epoch, batch.counters)).refused == []


@pytest.mark.parametrize(
    ("item", "command", "record"),
    [
        (Item(b"a"), Pop(["q"], lease_us=5 * US), Returned),
        (Item(b"a", expires=5), None, Expired),
        (Item(b"a"), Pop(["q"], name="n"), NamesEnded),
    ],
)
def test_what_time_asks_for_is_tried_again_when_there_was_no_room(
    item: Item, command: AnyCommand | None, record: type[AnyRecord]
) -> None:
    desk = Desk(limits=Limits(name_us=5 * US))
    desk.add(item)
    if command is not None:
        desk.ask(command)
    desk.now_us += 6 * US
    desk.node.on_wake(desk.now_us, desk.node.wall_us(desk.now_us), desk.out)
    turn(desk.node, FullLog(desk, reserve=False), desk.now_us, desk.out)  # type: ignore[arg-type]
    assert not any(isinstance(written, record) for written in desk.log.records)
    desk.pass_time(2)
    assert sum(isinstance(written, record) for written in desk.log.records) == 1


def test_a_queue_that_could_not_be_dropped_still_hands_its_items_out() -> None:
    desk = Desk()
    desk.add(b"a")
    desk.node.handle(desk.now_us, [Request(0, Drop("q"))], desk.out)
    turn(desk.node, FullLog(desk, reserve=False), desk.now_us, desk.out)  # type: ignore[arg-type]
    assert bodies(desk.pop()) == [b"a"]


def test_a_log_without_room_for_the_claim_cannot_be_taken_over() -> None:
    desk = Desk()
    desk.node.claimed = False
    out = Effects()
    desk.node.claim(desk.now_us, out, epoch=1, owner="test", ends_leases=False)
    with pytest.raises(DiskFull):
        turn(desk.node, FullLog(desk, reserve=False), desk.now_us, out)  # type: ignore[arg-type]


def test_an_item_that_is_held_after_it_expired_is_in_the_snapshot() -> None:
    desk = Desk()
    desk.declare(keep_expired=True, dead_items=1)
    desk.add(Item(b"a", expires=1, priority=5), Item(b"b", expires=1, priority=6), b"c")
    desk.pass_time(2)
    assert desk.shard.queues["q"].held
    desk.reboot_from_snapshot()
    assert [entry_body(entry) for entry in desk.shard.queues["q"].held.values()] == [b"b"]
    assert sum(isinstance(record, Added) for record in desk.log.records) == 1


def test_a_pop_that_waits_is_served_once_a_decision_that_found_no_room_is_taken_back() -> None:
    desk = Desk()
    desk.add(b"a")
    taken, waiting = Pop(["q"]), Pop(["q"], wait_us=-1)
    desk.node.handle(desk.now_us, [Request(0, taken), Request(1, waiting)], desk.out)
    turn(desk.node, FullLog(desk, reserve=False), desk.now_us, desk.out)  # type: ignore[arg-type]
    desk.pass_time(2)
    assert bodies(desk.answers[1]) == [b"a"]


def held_items(desk: Desk) -> Any:
    """One dead item, two that are held for want of room among the dead; and the grant that the first died under."""
    desk.declare(dead_items=1)
    desk.add(b"a", b"b", b"c")
    done = desk.pop(3)
    desk.abort(done, dead=True)
    assert len(desk.shard.queues["q"].held) == 2
    return done.batches[0]


def test_a_late_commit_of_a_dead_item_makes_room_for_one_that_is_held() -> None:
    desk = Desk()
    batch = held_items(desk)
    desk.ask(Commit("q", batch.epoch, batch.counters[:1]))
    assert len(desk.shard.queues["q"].dead) == 1
    assert len(desk.shard.queues["q"].held) == 1


def test_held_items_die_when_more_may_be_dead() -> None:
    desk = Desk()
    held_items(desk)
    desk.declare(dead_items=10)
    assert len(desk.shard.queues["q"].dead) == 3


def test_a_purge_decided_with_a_revival_leaves_the_same_live_and_recovered() -> None:
    desk = Desk()
    held_items(desk)
    together(desk, Revive("q"), Purge("q", queued=True))
    live = desk.shard.queues["q"].stats()
    desk.reboot()
    assert desk.shard.queues["q"].stats() == live

import pytest

from headrace.core.commands import Add, Extend, OpenSession, Pop, Resume
from headrace.core.errors import Full, Gone, OutcomeUnknown
from headrace.core.items import Item
from headrace.core.limits import US
from headrace.core.records import Leased
from tests.protocols.desk import Desk, attempts, bodies


def test_items_come_by_priority_and_then_first_come_first_served() -> None:
    desk = Desk()
    desk.add(b"a", Item(b"b", priority=-5), b"c", Item(b"d", priority=-5))
    assert desk.peek(9) == [b"b", b"d", b"a", b"c"]
    assert bodies(desk.pop(9)) == [b"b", b"d", b"a", b"c"]
    assert bodies(desk.pop()) == []


def test_a_commit_is_the_end_of_an_item() -> None:
    desk = Desk()
    desk.add(b"a")
    desk.commit(desk.pop())
    desk.reboot()
    assert bodies(desk.pop()) == []


def test_an_expired_lease_returns_the_item_to_its_place() -> None:
    desk = Desk()
    desk.add(b"a", b"b")
    desk.pop()
    desk.pass_time(59)
    assert bodies(desk.pop()) == [b"b"]
    desk.pass_time(2)
    done = desk.pop()
    assert bodies(done) == [b"a"]
    assert attempts(done) == [2]


def test_an_add_that_is_deduped_needs_no_room() -> None:
    desk = Desk()
    desk.declare(capacity_items=1)
    desk.add(Item(b"a", key="k"))
    assert [at for at, _ in desk.add(Item(b"a", key="k")).duplicates] == [0]
    assert [at for at, _ in desk.add(Item(b"a", key="k"), Item(b"b", key="k")).duplicates] == [0, 1]
    with pytest.raises(Full):
        desk.add(Item(b"a", key="k"), b"b")
    with pytest.raises(Full):
        desk.add(Item(b"b", key="l"))


def test_a_lease_of_less_than_a_tick_ends_in_time() -> None:
    desk = Desk()
    desk.add(b"a")
    desk.node.next_wake_us(desk.now_us)
    desk.pop(lease_us=200_000)
    assert desk.node.wake_us == desk.now_us + 200_000


def test_a_receipt_is_stale_once_its_item_is_leased_to_another() -> None:
    desk = Desk()
    desk.add(b"a")
    first = desk.pop()
    desk.abort(first)
    second = desk.pop()
    assert desk.commit(first).refused == [(first.batches[0].counters[0], "stale")]
    assert desk.commit(second).refused == []


def test_a_late_commit_is_obeyed_while_the_item_is_queued() -> None:
    desk = Desk()
    desk.add(b"a")
    first = desk.pop()
    desk.abort(first)
    assert desk.commit(first).refused == []
    assert bodies(desk.pop()) == []


def test_a_named_pop_returns_the_same_items_until_they_are_settled() -> None:
    desk = Desk()
    desk.add(b"a", b"b")
    first = desk.pop(name="n")
    desk.pass_time(3600)
    assert desk.pop(name="n") == first
    assert sum(isinstance(record, Leased) for record in desk.log.records) == 1
    desk.commit(first)
    with pytest.raises(Gone):
        desk.pop(name="n")


def test_boots_neither_end_a_detached_lease_nor_make_it_longer() -> None:
    desk = Desk(ends_leases=True)
    desk.add(b"a")
    desk.pop(detached=True)
    for _ in range(2):
        desk.pass_time(25)
        desk.reboot()
        assert bodies(desk.pop()) == []
    desk.pass_time(11)
    assert attempts(desk.pop()) == [2]


def test_an_extension_of_a_detached_lease_outlives_boots() -> None:
    desk = Desk(ends_leases=True)
    desk.add(b"a")
    (batch,) = desk.pop(detached=True).batches
    desk.pass_time(50)
    desk.ask(Extend("q", batch.epoch, batch.counters, 60 * US))
    desk.pass_time(50)
    desk.reboot()
    assert bodies(desk.pop()) == []
    desk.pass_time(11)
    assert attempts(desk.pop()) == [2]


def test_an_add_that_is_only_a_duplicate_is_answered_when_the_first_is_safe_and_counted() -> None:
    desk = Desk(slow=True)
    first = desk.send(Add("q", desk.encode(Item(b"a", key="k"))))
    second = desk.send(Add("q", desk.encode(Item(b"b", key="k"))))
    assert desk.answers == {}
    desk.sync()
    assert len(desk.answers[second].duplicates) == 1
    assert desk.answers[first].duplicates == []
    assert desk.shard.queues["q"].totals.deduplicated == 1


def test_a_key_may_come_again_once_its_window_is_over() -> None:
    desk = Desk()
    desk.declare(key_seconds=10)
    for _ in range(2):
        desk.add(Item(b"a", key="k"))
    desk.pass_time(11)
    assert desk.add(Item(b"b", key="k")).duplicates == []


def test_a_stream_hands_items_out_as_they_come_until_its_credit_is_used() -> None:
    desk = Desk()
    desk.add(b"a")
    ref = desk.send(Pop(["q"], 3, -1, stream=True), session=b"s" * 16)
    first = desk.answers.pop(ref)
    assert (bodies(first), first.more) == ([b"a"], True)
    desk.add(b"b")
    second = desk.answers.pop(ref)
    assert (bodies(second), second.more) == ([b"b"], True)
    desk.add(b"c", b"d")
    third = desk.answers.pop(ref)
    assert (bodies(third), third.more) == ([b"c"], False)
    assert desk.peek() == [b"d"]


def test_a_client_that_is_back_is_told_of_what_it_was_handed_and_does_not_know() -> None:
    desk = Desk()
    session = b"s" * 16
    ref = desk.send(Pop(["q"], 9, -1, stream=True), session=session)
    desk.add(b"a", b"b")
    (batch,) = desk.answers.pop(ref).batches
    known = [(batch.epoch, batch.counters[:1])]
    desk.reboot()
    told = desk.ask(Resume(known), session=session)
    assert bodies(told) == [b"b"]
    assert bodies(desk.ask(Resume([]), session=b"t" * 16)) == []


def test_no_request_is_carried_out_for_a_session_that_nobody_knows() -> None:
    """A first one neither: it may be a late copy from a session that has ended."""
    desk = Desk()
    with pytest.raises(OutcomeUnknown, match="not known here"):
        desk.ask(Add("q", desk.encode(b"a")), session=b"s" * 16, number=1)
    assert desk.peek() == []
    assert desk.ask(OpenSession(), session=b"s" * 16).count == 0
    desk.ask(Add("q", desk.encode(b"b")), session=b"s" * 16, number=1)
    assert desk.ask(OpenSession(), session=b"s" * 16).count == 1
    assert desk.peek() == [b"b"]

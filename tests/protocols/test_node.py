from headrace.core.items import Item
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

"""The node's side of a connection: what it holds a client to."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.core import commands as c
from headrace.core.access import Access, Scope
from headrace.core.commands import AnyCommand, OpenSession, PopDone, Refused
from headrace.core.errors import Forbidden, PeerViolation
from headrace.core.items import Item
from headrace.core.limits import Limits
from headrace.core.messages import VERSION, Call, Calls, Hello
from headrace.protocols.door import Door, goodbye
from tests.protocols.piped import CALLS_IN_FLIGHT, SESSION, Piped, PipedDesk

ID = bytes(16)
PLAIN = bytes(24) + b"\0body"


def door_for(access: Access) -> Door:
    return Door(node="hub", limits=Limits(), calls_in_flight=4, access_of=lambda token: access, wake=lambda: None)


def opened(*scopes: str) -> Door:
    door = door_for(Access([Scope.parse(text) for text in scopes or ("admin",)]))
    door.on_hello(Hello(VERSION, SESSION, is_new=True))
    return door


def calls(*commands: AnyCommand) -> Calls:
    return Calls([Call(i, 0, 1, command) for i, command in enumerate(commands, 1)])


def answers(door: Door) -> list[Any]:
    said = door.flush()
    return [answer.outcome for answer in said.answers] if said is not None else []


# -- hello -----------------------------------------------------------------------------------------------------------


def test_a_client_of_another_version_is_told_to_bring_both_to_one() -> None:
    with pytest.raises(PeerViolation, match="bring both to one"):
        door_for(Access([])).on_hello(Hello(VERSION + 1, SESSION, is_new=True))


@pytest.mark.parametrize("session", [b"", b"short", bytes(17)])
def test_a_session_has_sixteen_bytes(session: bytes) -> None:
    with pytest.raises(PeerViolation, match="a session has 16 bytes"):
        door_for(Access([])).on_hello(Hello(VERSION, session, is_new=True))


def test_hello_is_said_once() -> None:
    door = opened()
    with pytest.raises(PeerViolation, match="twice"):
        door.on_hello(Hello(VERSION, SESSION, is_new=True))


def test_a_call_before_hello_is_a_violation() -> None:
    with pytest.raises(PeerViolation, match="before hello"):
        door_for(Access([])).on_calls(calls(c.Peek("q")))


def test_a_client_whose_token_is_not_known_has_said_no_hello() -> None:
    def access_of(token: str) -> Access:
        raise Forbidden("the access token is not known")

    door = Door(node="hub", limits=Limits(), calls_in_flight=4, access_of=access_of, wake=lambda: None)
    with pytest.raises(Forbidden):
        door.on_hello(Hello(VERSION, SESSION, is_new=True, token="wrong"))
    with pytest.raises(PeerViolation, match="before hello"):
        door.on_calls(calls(c.Peek("q")))
    assert goodbye(Forbidden("no")).kind == "Forbidden"


def test_the_welcome_says_what_the_node_takes() -> None:
    welcome = opened().welcome(knows=False)
    assert (welcome.version, welcome.node, welcome.knows, welcome.calls_in_flight) == (VERSION, "hub", False, 4)


# -- calls -----------------------------------------------------------------------------------------------------------


def test_more_calls_than_may_be_in_flight_are_a_violation() -> None:
    door = opened()
    waits = c.Pop(["q"], 1, -1)
    requests, _ = door.on_calls(calls(waits, waits, waits))
    with pytest.raises(PeerViolation, match="5 calls in flight are more than the 4"):
        door.on_calls(Calls([Call(8, 0, 1, waits), Call(9, 0, 1, waits)]))
    door.answer(1, PopDone())
    assert len(door.on_calls(Calls([Call(8, 0, 1, waits), Call(9, 0, 1, waits)]))[0]) == 2
    assert len(requests) == 3


def test_a_stream_is_in_flight_until_its_last_answer() -> None:
    door = opened()
    door.on_calls(calls(c.Pop(["q"], 2, -1, stream=True)))
    door.answer(1, PopDone([], None, more=True))
    assert [ref.id for ref in door.refs()] == [1]
    door.answer(1, PopDone())
    assert door.refs() == []


def test_a_frame_that_comes_twice_is_carried_out_once() -> None:
    door = opened()
    frame = Calls([Call(1, 1, 1, c.Add("q", [PLAIN])), Call(2, 0, 1, c.Pop(["q"], 1, -1))])
    assert len(door.on_calls(frame)[0]) == 2
    assert door.on_calls(frame)[0] == []
    door.answer(1, c.AddDone())
    assert door.on_calls(Calls(frame.calls[:1]))[0] == []


def test_what_was_refused_is_not_done_by_a_second_copy_of_the_call() -> None:
    piped = Piped()
    piped.desk.declare(capacity_items=1)
    piped.desk.add(b"a")
    piped.call("add", c.Add("q", piped.desk.encode(b"b")))
    frame = piped.caller.flush()
    assert frame is not None
    piped.hear(frame)
    piped.listen()
    assert piped.kinds("add") == ["Full"]
    piped.desk.commit(piped.desk.pop())
    piped.hear(frame)
    piped.listen()
    assert piped.desk.peek() == []
    assert piped.kinds("add") == ["Full"]


def test_only_what_is_still_open_can_be_cancelled() -> None:
    door = opened()
    door.on_calls(calls(c.Pop(["q"], 1, -1)))
    _, cancelled = door.on_calls(Calls([], [1, 7]))
    assert [ref.id for ref in cancelled] == [1]


def test_a_pop_that_is_cancelled_with_the_frame_it_came_in_is_answered_and_leaves() -> None:
    piped = Piped()
    piped.hear(Calls([Call(1, 0, 1, c.Pop(["q"], 1, -1))], [1]))
    assert piped.door is not None
    assert answers(piped.door) == [PopDone()]
    assert piped.door.refs() == []
    assert piped.desk.node.all_refs() == []


def test_what_waits_for_a_connection_that_is_gone_is_handed_nothing() -> None:
    piped = Piped()
    for count in (1, 5):
        piped.call(f"pop {count}", c.Pop(["q"], count, -1, stream=count > 1))
    piped.talk()
    piped.lose()
    piped.desk.add(b"a")
    assert piped.desk.peek() == [b"a"]


def test_flushed_answers_are_said_once_and_wake_the_driver_once() -> None:
    woken = []
    door = Door(
        node="hub",
        limits=Limits(),
        calls_in_flight=CALLS_IN_FLIGHT,
        access_of=lambda token: Access([Scope("admin")]),
        wake=lambda: woken.append(1),
    )
    door.on_hello(Hello(VERSION, SESSION, is_new=True))
    door.answer(1, PopDone())
    door.answer(2, PopDone())
    assert len(woken) == 1
    assert answers(door) == [PopDone(), PopDone()]
    assert door.flush() is None


# -- what a token allows ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "scope"),
    [
        (c.Add("q", []), "add:q"),
        (c.Peek("q"), "pop:q"),
        (c.Pop(["q"]), "pop:q"),
        (c.Commit("q", 1, []), "commit:q"),
        (c.Abort("q", 1, []), "commit:q"),
        (c.Extend("q", 1, []), "commit:q"),
        (c.Purge("q"), "admin:q"),
        (c.Declare("q"), "admin:q"),
        (c.Drop("q"), "admin:q"),
        (c.ListQueues(), "admin"),
    ],
)
def test_a_command_needs_its_scope(command: AnyCommand, scope: str) -> None:
    door = opened(scope)
    assert len(door.on_calls(calls(command))[0]) == 1
    other = opened("pop:other" if not scope.startswith("pop") else "add:*")
    assert other.on_calls(calls(command))[0] == []
    (refused,) = answers(other)
    assert (refused.kind, "does not allow" in refused.message) == ("Forbidden", True)


def test_what_belongs_to_the_session_needs_no_scope() -> None:
    door = opened("add:q")
    assert len(door.on_calls(calls(OpenSession(), c.Resume(), c.EndSession()))[0]) == 3


# -- commands that make no sense -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "offender"),
    [
        (c.Add("a b", []), "cannot be a queue's name"),
        (c.Add("q", [b"short"]), "not encoded as this version"),
        (c.Add("q", [PLAIN, b""]), "not encoded as this version"),
        (c.Add("q", [bytes(24) + b"\x02"]), "not encoded as this version"),
        (c.Add("q", [bytes(24) + b"\x01"]), "cut short"),
        (c.Add("q", [bytes(24) + b"\x01\xff\xff"]), "cut short"),
        (c.Add("q", [bytes(24) + b"\x01\x00\x01\xc1"]), "extras cannot be read"),
        (c.Add("q", [bytes(25 + 101)]), "101 bytes, more than the limit of 100"),
        (c.Add("q", [], -2), "wait_us"),
        (c.Pop([""]), "cannot be a queue's name"),
        (c.Pop(["q"], 0), "count must be"),
        (c.Pop(["q"], 1 << 40), "count must be"),
        (c.Pop(["q"], 1, 1 << 62), "wait_us"),
        (c.Pop(["q"], lease_us=-1), "lease_us"),
        (c.Pop(["q"], at_least=1 << 63), "at_least"),
        (c.Pop(["q"], name="n" * 201), "at most 200 characters; it has 201"),
        (c.Commit("q", 1, [-1]), "a receipt"),
        (c.Commit("q", 1, [1], [("q", [b"x"])]), "not encoded"),
        (c.Abort("q", 1, [1 << 63]), "a receipt"),
        (c.Abort("q", 1, [1], delay_us=1 << 62), "delay_us"),
        (c.Extend("q", 1, [1], -5), "lease_us"),
        (c.Peek("q", 0), "count must be"),
        (c.ListDead("q", -1), "count must be"),
        (c.Declare("../q"), "cannot be a queue's name"),
        (c.Revive("q", [b"x"]), "16 bytes, not 1"),
        (c.Purge("q", ids=[b""]), "16 bytes, not 0"),
        (c.Why(bytes(17)), "16 bytes, not 17"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name_and_harms_nobody(command: AnyCommand, offender: str) -> None:
    piped = Piped(PipedDesk(limits=Limits(body_bytes=100)))
    piped.call("good", c.Add("q", piped.desk.encode(b"a")))
    piped.call("bad", command)
    piped.talk()
    (refused,) = piped.told["bad"]
    assert isinstance(refused, Refused)
    assert refused.kind == "Invalid"
    assert offender in refused.message
    assert piped.kinds("good") == ["AddDone"]


def test_items_of_every_shape_that_makes_sense_are_taken() -> None:
    piped = Piped()
    items = piped.desk.encode(b"", b"plain", Item(b"body", key="k"), Item(b"body", delay=1.0, headers={"a": "b"}))
    assert piped.ask(c.Add("q", items)) == c.AddDone()

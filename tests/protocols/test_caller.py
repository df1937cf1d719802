"""The client's side of a session, piped to a node in memory."""

from __future__ import annotations

import msgspec
import pytest

from headrace.core.commands import (
    Abort,
    Add,
    Batch,
    Commit,
    Describe,
    EndSession,
    Extend,
    Peek,
    Pop,
    PopDone,
    Refused,
    Resume,
    Settled,
    error_of,
    refusal,
)
from headrace.core.errors import Forbidden, OutcomeUnknown, PeerViolation, Unavailable
from headrace.core.items import Item
from headrace.core.limits import US, Limits
from headrace.core.messages import VERSION, Answer, Goodbye, Welcome
from headrace.protocols.caller import Caller
from tests.protocols.desk import bodies
from tests.protocols.piped import CALLS_IN_FLIGHT, Piped, PipedDesk


def stream(count: int = 1, *queues: str) -> Pop:
    return Pop(list(queues) or ["q"], count, -1, stream=True)


def handed(piped: Piped, ref: str) -> list[list[bytes]]:
    return [bodies(outcome) for outcome in piped.told.get(ref, []) if isinstance(outcome, PopDone)]


# -- repeats ---------------------------------------------------------------------------------------------------------


def test_a_call_whose_answer_was_lost_is_carried_out_once_and_told_once() -> None:
    piped = Piped()
    piped.call("add", Add("q", piped.desk.encode(b"a")))
    piped.say()  # the node has done it, and its answer is lost
    assert "add" not in piped.told
    piped.reconnect()
    assert piped.kinds("add") == ["AddDone"]
    assert piped.desk.peek(9) == [b"a"]


def test_a_commit_that_was_lost_with_its_connection_is_carried_out_once() -> None:
    piped = Piped()
    piped.desk.add(b"a")
    batch = piped.ask(Pop(["q"])).batches[0]
    piped.call("commit", Commit(batch.queue, batch.epoch, batch.counters, [("r", piped.desk.encode(b"b"))]))
    piped.lose()  # before it was sent
    piped.connect()
    piped.say()
    piped.reconnect()
    assert piped.kinds("commit") == ["Settled"]
    assert piped.desk.peek(9, queue="r") == [b"b"]


def test_what_is_told_is_told_once_though_its_answer_comes_twice() -> None:
    piped = Piped()
    call_id = piped.call("look", Peek("q"))
    piped.talk()
    assert piped.caller.on_answers([Answer(call_id, PopDone())], 0) == []


def test_numbers_below_those_answered_are_reported_so() -> None:
    piped = Piped()
    for body in (b"a", b"b", b"c"):
        piped.ask(Add("q", piped.desk.encode(body)))
    assert [(call.number, call.answered) for frame in piped.frames for call in frame.calls] == [(1, 1), (2, 2), (3, 3)]


# -- deadlines -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "sent", "kind"),
    [
        (Add("q", []), False, "Unavailable"),
        (Add("q", []), True, "OutcomeUnknown"),
        (Commit("q", 1, [1]), True, "OutcomeUnknown"),
        (Pop(["q"]), True, "OutcomeUnknown"),
        (Pop(["q"], 1, 5), True, "Unavailable"),
        (Peek("q"), True, "Unavailable"),
        (Extend("q", 1, [1]), True, "Unavailable"),
    ],
)
def test_a_deadline_says_what_is_known(command: Add | Commit | Pop | Peek | Extend, sent: bool, kind: str) -> None:
    piped = Piped()
    piped.call("late", command, deadline_us=100)
    if sent:
        piped.caller.flush()
    assert piped.caller.next_deadline_us() == 100
    assert piped.caller.on_time(99) == []
    piped.tell(piped.caller.on_time(100))
    assert piped.kinds("late") == [kind]
    assert piped.caller.on_time(101) == []


def test_what_is_granted_to_a_pop_after_its_deadline_goes_back() -> None:
    piped = Piped()
    piped.call("late", Pop(["q"], 1, 60 * US), deadline_us=piped.desk.now_us)
    piped.say()
    piped.desk.add(b"a")
    piped.tell(piped.caller.on_time(piped.desk.now_us))
    piped.listen()  # the grant was under way
    assert piped.kinds("late") == ["Unavailable"]
    piped.talk()
    assert piped.desk.peek() == [b"a"]


def test_a_pop_that_nobody_waits_for_leaves_nothing_behind() -> None:
    piped = Piped()
    for _ in range(2 * CALLS_IN_FLIGHT):
        call_id = piped.call("idle", stream(3))
        piped.talk()
        piped.caller.cancel(call_id)
        piped.talk()
    assert piped.door is not None
    assert piped.door.calls == set()
    assert piped.caller.waiting() == []
    piped.desk.add(b"a")
    assert piped.desk.peek() == [b"a"]
    assert "idle" not in piped.told


def test_a_stream_that_is_cancelled_gives_back_all_that_it_was_granted() -> None:
    piped = Piped(PipedDesk(slow=True))
    call_id = piped.call("stream", stream(3))
    piped.say()
    piped.desk.send(Add("q", piped.desk.encode(b"a")))  # granted, and the grant waits for the add to be safe
    piped.caller.cancel(call_id)
    piped.say()
    for _ in range(3):
        piped.desk.sync()
        piped.talk()
    assert "stream" not in piped.told
    assert piped.desk.peek() == [b"a"]


# -- sessions that end -----------------------------------------------------------------------------------------------


def test_a_session_that_was_forgotten_begins_anew_and_what_was_sent_is_unknown() -> None:
    piped = Piped()
    piped.ask(Add("q", piped.desk.encode(b"a")))
    piped.call("sent", Add("q", piped.desk.encode(b"b")))
    piped.caller.flush()  # and lost on its way
    piped.call("unsent", Add("q", piped.desk.encode(b"c")))
    piped.call("look", Describe("q"))
    piped.lose()
    piped.desk.send(EndSession(), session=piped.caller.session)
    piped.connect()
    piped.talk()
    assert piped.kinds("sent") == ["OutcomeUnknown"]
    assert piped.kinds("unsent") == ["AddDone"]
    assert piped.kinds("look") == ["StatsDone"]
    assert piped.desk.peek(9) == [b"a", b"c"]


def test_every_call_of_a_session_that_began_anew_is_carried_out() -> None:
    piped = Piped()
    piped.desk.send(EndSession(), session=piped.caller.session)
    piped.reconnect()
    assert piped.ask(Pop(["q"])) == PopDone()  # leaves no record
    for body in (b"a", b"b"):
        piped.ask(Add("q", piped.desk.encode(body)))
    assert piped.desk.peek(9) == [b"a", b"b"]


def test_a_session_is_kept_while_its_client_says_so_and_forgotten_after_it_is_silent() -> None:
    desk = PipedDesk(limits=Limits(session_silence_us=3600 * US))
    piped = Piped(desk)
    for _ in range(10):
        desk.pass_time(1800)
        piped.lose()
        piped.connect()
        assert piped.told == {}
    piped.ask(Add("q", desk.encode(b"a")))
    piped.call("sent", Add("q", desk.encode(b"b")))
    piped.caller.flush()
    piped.lose()
    desk.pass_time(3 * 3600)
    piped.connect()
    assert piped.kinds("sent") == ["OutcomeUnknown"]


# -- goodbyes --------------------------------------------------------------------------------------------------------


def test_a_node_that_will_not_talk_leaves_unknown_what_it_was_sent() -> None:
    piped = Piped()
    piped.call("sent", Add("q", piped.desk.encode(b"a")))
    piped.caller.flush()
    piped.lose()
    piped.call("unsent", Add("q", piped.desk.encode(b"b")))
    piped.call("look", Peek("q"))
    error = Forbidden("the access token is not known")
    piped.tell(piped.caller.on_goodbye(Goodbye("Forbidden", str(error)), error))
    assert piped.kinds("sent") == ["OutcomeUnknown"]
    assert piped.kinds("unsent") == piped.kinds("look") == ["Forbidden"]
    with pytest.raises(Forbidden):
        piped.call("more", Peek("q"))


def test_a_node_that_cannot_talk_just_now_is_asked_again() -> None:
    piped = Piped()
    piped.call("add", Add("q", piped.desk.encode(b"a")))
    piped.lose()
    error = Unavailable("this node has 10 connections, and takes no more just now")
    assert piped.caller.on_goodbye(Goodbye("Unavailable", str(error)), error) == []
    piped.caller.on_lost()
    piped.connect()
    piped.talk()
    assert piped.kinds("add") == ["AddDone"]


def test_a_node_of_another_version_is_a_violation() -> None:
    with pytest.raises(PeerViolation, match="bring both to one"):
        Caller(b"s" * 16).on_welcome(Welcome(VERSION + 1, "hub", Limits()))


# -- streams and coming back -----------------------------------------------------------------------------------------


def test_a_stream_that_was_broken_off_is_handed_the_rest_of_its_credit() -> None:
    piped = Piped()
    piped.call("stream", stream(3))
    piped.talk()
    piped.desk.add(b"a")
    piped.listen()
    piped.desk.add(b"b")
    piped.reconnect()
    piped.desk.add(b"c", b"d")
    piped.listen()
    assert handed(piped, "stream") == [[b"a"], [b"b"], [b"c"]]
    assert piped.desk.peek(9) == [b"d"]


def test_a_stream_over_several_queues_uses_its_credit_once() -> None:
    piped = Piped()
    piped.desk.add(b"a", queue="p")
    piped.desk.add(b"b", queue="q")
    piped.call("stream", stream(3, "p", "q"))
    piped.talk()
    piped.desk.add(b"c", b"d", queue="p")
    piped.listen()
    assert sorted(handed(piped, "stream")) == [[b"a", b"b"], [b"c"]]
    assert [outcome.more for outcome in piped.told["stream"] if isinstance(outcome, PopDone)] == [True, False]
    assert piped.desk.peek(9, queue="p") == [b"d"]


def test_what_was_lost_is_divided_among_those_who_wait() -> None:
    piped = Piped()
    for ref in ("one", "two"):
        piped.call(ref, Pop(["q"], 1, -1))
    piped.talk()
    piped.desk.add(b"a", b"b", b"c")
    piped.reconnect()
    assert handed(piped, "one") == [[b"a"]]
    assert handed(piped, "two") == [[b"b"]]
    assert piped.desk.peek(9) == [b"c"]


def test_what_was_lost_and_nobody_wants_any_more_goes_back() -> None:
    piped = Piped()
    call_id = piped.call("pop", Pop(["q"], 1, -1))
    piped.talk()
    piped.desk.add(b"a")
    piped.lose()
    piped.caller.cancel(call_id)
    piped.connect()
    piped.talk()
    assert piped.desk.peek() == [b"a"]
    assert "pop" not in piped.told


def test_what_is_held_is_not_handed_out_again_and_what_is_settled_is_forgotten() -> None:
    piped = Piped()
    piped.call("stream", stream(9))
    piped.talk()
    piped.desk.add(b"a", b"b")
    piped.listen()
    (batch,) = [batch for outcome in piped.told["stream"] if isinstance(outcome, PopDone) for batch in outcome.batches]
    piped.ask(Commit("q", batch.epoch, batch.counters[:1]))
    piped.reconnect()
    (resume,) = [call.command for frame in piped.frames for call in frame.calls if isinstance(call.command, Resume)]
    assert resume == Resume([(batch.epoch, batch.counters[1:])])
    assert handed(piped, "stream") == [[b"a", b"b"]]


def test_an_old_receipt_of_the_same_count_does_not_stand_for_a_new_one() -> None:
    """After a power cut a count may be issued again, under another epoch."""
    piped = Piped()
    piped.call("stream", stream(9))
    piped.talk()
    piped.desk.add(b"a")
    piped.listen()
    batch = piped.told["stream"][0].batches[0]  # type: ignore[union-attr]
    piped.ask(Abort("q", batch.epoch + 1, batch.counters))  # refused: it is of another epoch
    piped.reconnect()
    assert handed(piped, "stream") == [[b"a"]]


def test_a_receipt_that_is_called_gone_is_still_known() -> None:
    """What made it so may not be safe yet, and be gone itself with the node's power."""
    piped = Piped()
    piped.call("stream", stream(9))
    piped.talk()
    piped.desk.add(b"a")
    piped.listen()
    batch = piped.told["stream"][0].batches[0]  # type: ignore[union-attr]
    records = len(piped.desk.log.records)
    piped.call("first", Commit("q", batch.epoch, batch.counters))
    piped.say()
    piped.lose()  # the answer is lost
    piped.connect()
    piped.call("again", Commit("q", batch.epoch, batch.counters))
    calls = piped.caller.flush()
    assert calls is not None
    again = next(call for call in calls.calls if call.number == 2)
    piped.caller.on_answers([Answer(again.id, Settled([(batch.counters[0], "gone")]))], 0)
    del piped.desk.log.records[records:]  # the power fails before the first one is safe
    piped.desk.reboot()
    piped.reconnect()
    assert piped.kinds("first") == ["Settled"]
    assert handed(piped, "stream") == [[b"a"]]


def test_leases_of_two_epochs_come_back_as_two_batches() -> None:
    piped = Piped()
    piped.call("stream", stream(9))
    piped.talk()
    piped.desk.add(b"a")
    piped.desk.reboot()
    piped.lose()
    piped.connect()
    piped.caller.cancel(piped.call("stream 2", stream(9)))
    piped.desk.send(stream(9), session=piped.caller.session)
    piped.desk.add(b"b")
    piped.talk()
    assert sorted(handed(piped, "stream")) == [[b"a"], [b"b"]]
    epochs = {batch.epoch: batch for outcome in piped.told["stream"] for batch in outcome.batches}  # type: ignore[union-attr]
    assert len(epochs) == 2
    for batch in epochs.values():
        assert piped.ask(Commit("q", batch.epoch, batch.counters)).refused == []


def test_a_refused_resume_leaves_those_who_wait_waiting() -> None:
    piped = Piped()
    piped.call("stream", stream(1))
    piped.talk()
    piped.lose()
    piped.connect()
    calls = piped.caller.flush()
    assert calls is not None
    assert isinstance(calls.calls[0].command, Resume)
    refused = Answer(calls.calls[0].id, refusal(OutcomeUnknown("the disk failed")))
    assert piped.caller.on_answers([refused], 0) == []
    piped.talk()
    piped.desk.add(b"a")
    piped.listen()
    assert handed(piped, "stream") == [[b"a"]]


def test_renewed_leases_stay_known_however_many_are_held() -> None:
    caller = Caller(b"s" * 16)
    caller.on_welcome(Welcome(VERSION, "hub", Limits()))
    pop_id = caller.call("pop", stream(5000), deadline_us=None)
    caller.flush()
    lease_us = 60 * US
    caller.on_answers([Answer(pop_id, PopDone([_batch(range(1500), lease_us)], None, more=True))], 0)
    extend_id = caller.call("extend", Extend("q", 7, list(range(1500)), lease_us), deadline_us=None)
    caller.flush()
    caller.on_answers([Answer(extend_id, Settled())], 100 * US)
    caller.on_answers([Answer(pop_id, PopDone([_batch(range(1500, 1501), lease_us)], None, more=True))], 150 * US)
    caller.on_lost()
    caller.on_welcome(Welcome(VERSION, "hub", Limits()))
    calls = caller.flush()
    assert calls is not None
    assert calls.calls[0].command == Resume([(7, list(range(1501)))])


def _batch(counters: range, lease_us: int) -> Batch:
    return Batch("q", 7, list(counters), [b""] * len(counters), [1] * len(counters), lease_us)


# -- frames ----------------------------------------------------------------------------------------------------------


def test_what_is_said_fits_into_frames() -> None:
    limits = Limits(frame_bytes=40_000, body_bytes=9_000)
    piped = Piped(PipedDesk(limits=limits))
    piped.lose()
    for i in range(9):
        piped.call(f"add {i}", Add("q", piped.desk.encode(bytes(9_000))))
    piped.connect()
    piped.talk()
    sizes = [len(msgspec.msgpack.encode(frame)) for frame in piped.frames]
    assert len(sizes) > 2
    assert max(sizes) <= limits.frame_bytes
    assert all(piped.kinds(f"add {i}") == ["AddDone"] for i in range(9))


def test_no_more_calls_are_under_way_than_the_node_takes() -> None:
    piped = Piped()
    refs = [f"add {i}" for i in range(3 * CALLS_IN_FLIGHT)]
    for ref in refs:
        piped.call(ref, Add("q", piped.desk.encode(ref.encode())))
    for _ in range(5):
        calls = piped.caller.flush()
        if calls is not None:
            assert len(calls.calls) <= CALLS_IN_FLIGHT
            piped.hear(calls)
        piped.listen()
    assert [piped.kinds(ref) for ref in refs] == [["AddDone"]] * len(refs)


def test_a_refusal_is_told_as_the_error_that_it_is() -> None:
    piped = Piped()
    with pytest.raises(Exception, match="no queue 'nowhere'"):
        piped.ask(Describe("nowhere"))
    (outcome,) = piped.told["ask 0"]
    assert isinstance(outcome, Refused)
    assert type(error_of(outcome)).__name__ == "Gone"


# -- large answers ---------------------------------------------------------------------------------------------------


def large() -> PipedDesk:
    desk = PipedDesk(limits=Limits(frame_bytes=40_000, body_bytes=9_000))
    for letter in b"abcdefghi":
        desk.add(bytes([letter]) * 9_000)
    return desk


def letters(outcomes: list[list[bytes]]) -> list[bytes]:
    return [b"".join(body[:1] for body in batch) for batch in outcomes]


def test_a_pop_is_handed_what_fits_into_a_frame_and_the_rest_stays() -> None:
    piped = Piped(large())
    piped.call("pop", Pop(["q"], 9))
    piped.talk()
    assert letters(handed(piped, "pop")) == [b"abcd"]
    assert piped.largest_answer <= 40_000
    assert len(piped.desk.peek(9)) == 5


def test_a_pop_from_several_queues_is_handed_the_most_urgent_that_fit() -> None:
    desk = large()
    desk.add(Item(b"z" * 9_000, priority=-1), queue="r")
    piped = Piped(desk)
    piped.call("pop", Pop(["q", "r"], 9))
    piped.talk()
    assert sorted(b"".join(letters(handed(piped, "pop")))) == sorted(b"zabc")
    assert piped.largest_answer <= 40_000


def test_a_stream_is_handed_all_its_credit_in_frames() -> None:
    piped = Piped(large())
    piped.call("stream", stream(8))
    piped.talk()
    assert letters(handed(piped, "stream")) == [b"abcd", b"efgh"]
    assert piped.largest_answer <= 40_000
    piped.call("stream 2", stream(5))
    piped.talk()
    assert letters(handed(piped, "stream 2")) == [b"i"]
    piped.desk.add(b"j")
    piped.talk()
    assert letters(handed(piped, "stream 2")) == [b"i", b"j"]


def test_many_large_answers_come_in_several_frames() -> None:
    piped = Piped(large())
    for i in range(9):
        piped.call(f"pop {i}", Pop(["q"], 1))
    piped.talk()
    assert [letters(handed(piped, f"pop {i}")) for i in range(9)] == [[bytes([letter])] for letter in b"abcdefghi"]
    assert piped.largest_answer <= 40_000


def test_a_look_shows_what_fits_into_a_frame() -> None:
    piped = Piped(large())
    assert len(piped.ask(Peek("q", 9)).entries) == 4
    assert piped.largest_answer <= 40_000

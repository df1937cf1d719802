"""The short way for one request comes to the same as the long one."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.core.commands import Abort, Add, Commit, Declare, Extend, Peek, Pop, PopDone, Purge, Request, Revive
from headrace.core.items import Item
from headrace.protocols.effects import ask, turn
from tests.protocols.desk import Desk

STEPS = st.lists(
    st.tuples(
        st.sampled_from(["add", "keyed", "delayed", "pop", "pop2", "commit", "step", "abort", "dead", "extend", "peek"])
        | st.sampled_from(["purge", "revive", "declare", "full"]),
        st.integers(0, 5),
    ),
    max_size=40,
)


def command_of(desk: Desk, verb: str, number: int, held: list[Any]) -> Any:
    batch = held[number % len(held)] if held else None
    receipts = (batch.queue, batch.epoch, batch.counters) if batch else ("q", 1, [number])
    return {
        "add": lambda: Add("q", desk.encode(*[Item(b"a", priority=number)] * (number + 1))),
        "keyed": lambda: Add("q", desk.encode(Item(b"k", key=str(number)))),
        "delayed": lambda: Add("q", desk.encode(Item(b"d", delay=number))),
        "pop": lambda: Pop(["q"], number + 1),
        "pop2": lambda: Pop(["q", "r"], number + 1),
        "commit": lambda: Commit(*receipts),
        "step": lambda: Commit(*receipts, [("r", desk.encode(b"r"))]),
        "abort": lambda: Abort(*receipts, number * 1_000_000, "why"),
        "dead": lambda: Abort(*receipts, dead=True),
        "extend": lambda: Extend(*receipts, 90_000_000),
        "peek": lambda: Peek("q", number + 1),
        "purge": lambda: Purge("q", True),
        "revive": lambda: Revive("q"),
        "declare": lambda: Declare("q", {"paused": number == 0}),
        "full": lambda: Declare("q", {"capacity_items": 3 * number or None}),
    }[verb]()


@given(steps=STEPS, slow=st.booleans())
@settings(max_examples=150, deadline=None)
def test_one_request_by_itself_comes_to_what_it_comes_to_among_many(steps: Any, slow: bool) -> None:
    short, long = Desk(slow=slow), Desk(slow=slow)
    held: list[Any] = []
    for ref, (verb, number) in enumerate(steps):
        command = command_of(short, verb, number, held)
        long.ids = short.ids
        request = Request(ref, command)
        outcome = ask(short.node, short.log, short.now_us, request, short.out)
        if outcome is not None:
            short.out.replies.append((ref, outcome))
        long.node.handle(long.now_us, [request], long.out)
        turn(long.node, long.log, long.now_us, long.out)
        for desk in (short, long):
            desk.sync()
        assert short.answers == long.answers
        if isinstance(short.answers.get(ref), PopDone):
            held += short.answers[ref].batches  # type: ignore[union-attr]
        short.pass_time(number)
        long.pass_time(number)
    assert list(short.shard.freeze()) == list(long.shard.freeze())

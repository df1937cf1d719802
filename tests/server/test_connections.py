"""What a live node does with connections that come, go, and come back, by a client that speaks the protocol by hand."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import headrace
from headrace.core.commands import Add, AnyCommand, Pop, PopDone, Refused
from headrace.core.messages import VERSION, Answers, Call, Calls, FromNode, Goodbye, Hello, Welcome
from headrace.wire.binary import Splitter, from_node, pack
from tests.server.serve import served

SESSION = b"s" * 16
ITEM = bytes(24) + b"\0body"


class Peer:
    """One connection, frame by frame."""

    def __init__(self, port: int) -> None:
        self.stream = socket.create_connection(("127.0.0.1", port), timeout=10)
        self._splitter = Splitter(1 << 24)
        self._ready: list[FromNode] = []

    def say(self, *commands: AnyCommand, first_id: int = 1, numbered: bool = True) -> None:
        calls = [Call(i, i if numbered else 0, 1, command) for i, command in enumerate(commands, first_id)]
        self.stream.sendall(pack(Calls(calls)))

    def hello(self, *, is_new: bool = True) -> FromNode:
        self.stream.sendall(pack(Hello(VERSION, SESSION, is_new)))
        said = self.hear()
        assert said is not None
        return said

    def hear(self) -> FromNode | None:
        """The next message; None when the node has hung up."""
        while not self._ready:
            try:
                data = self.stream.recv(1 << 16)
            except ConnectionResetError:  # it did not even read what we had said
                return None
            if not data:
                return None
            self._ready = [from_node(payload) for payload in self._splitter.feed(data)]
        return self._ready.pop(0)

    def answers(self, count: int) -> dict[int, object]:
        found: dict[int, object] = {}
        while len(found) < count:
            said = self.hear()
            assert isinstance(said, Answers)
            found.update((answer.id, answer.outcome) for answer in said.answers)
        return found


@contextmanager
def peer(port: int) -> Iterator[Peer]:
    one = Peer(port)
    with one.stream:
        yield one


def test_an_item_that_is_none_is_refused_and_nobody_else_notices(tmp_path: Path) -> None:
    with served(tmp_path) as node, headrace.connect(f"headrace://127.0.0.1:{node.port}") as hr, peer(node.port) as bad:
        bad.hello()
        bad.say(Add("q", [b"x"]), Add("q", [bytes(24) + b"\x01\x00\x01\xc1"]), Pop(["q"], -1))
        for outcome in bad.answers(3).values():
            assert isinstance(outcome, Refused)
            assert outcome.kind == "Invalid"
        hr.add("q", b"a")
        assert [lease.body for lease in hr.pop("q")] == [b"a"]


def test_a_client_that_is_back_ends_its_last_connection_and_is_handed_what_comes(tmp_path: Path) -> None:
    with served(tmp_path) as node, peer(node.port) as old, peer(node.port) as new:
        old.hello()
        old.say(Pop(["q"], 1, -1), numbered=False)  # and the network between falls silent
        welcome = new.hello(is_new=False)
        assert isinstance(welcome, Welcome)
        assert welcome.knows
        assert old.hear() is None
        new.say(Pop(["q"], 1, -1), numbered=False)
        new.say(Add("q", [ITEM]), first_id=2)
        found = new.answers(2)
        granted = found[1]
        assert isinstance(granted, PopDone)
        assert [entry[40:] for batch in granted.batches for entry in batch.entries] == [b"\0body"]


def test_a_session_that_nobody_knows_is_opened_and_its_client_told(tmp_path: Path) -> None:
    with served(tmp_path) as node, peer(node.port) as back:
        welcome = back.hello(is_new=False)
        assert isinstance(welcome, Welcome)
        assert not welcome.knows
        back.say(Pop(["q"]), Add("q", [ITEM]), first_id=7)
        assert [type(outcome).__name__ for _, outcome in sorted(back.answers(2).items())] == ["PopDone", "AddDone"]


def test_a_pop_whose_connection_ends_at_once_takes_nothing(tmp_path: Path) -> None:
    with served(tmp_path) as node, headrace.connect(f"headrace://127.0.0.1:{node.port}") as hr:
        with peer(node.port) as gone:
            gone.hello()
            gone.say(Pop(["q"], 1, -1), numbered=False)
        with peer(node.port) as another:
            another.stream.sendall(pack(Hello(VERSION, b"t" * 16, is_new=True)))
            assert isinstance(another.hear(), Welcome)
        hr.add("q", b"a")
        assert [lease.body for lease in hr.pop("q", wait=10)] == [b"a"]


@pytest.mark.parametrize(
    "frame",
    [
        b"\xff\xff\xff\xff",
        (5).to_bytes(4, "big") + b"\xc1\xc1\xc1\xc1\xc1",
        pack(Hello(VERSION + 1, SESSION, is_new=True)),
    ],
    ids=["too long", "no message", "another version"],
)
def test_a_peer_that_breaks_the_protocol_is_told_why_and_hung_up_on(tmp_path: Path, frame: bytes) -> None:
    with served(tmp_path) as node, peer(node.port) as bad:
        bad.stream.sendall(frame)
        said = bad.hear()
        assert isinstance(said, Goodbye)
        assert said.kind == "PeerViolation"
        assert bad.hear() is None

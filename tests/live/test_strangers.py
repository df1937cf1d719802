"""Garbage, slowness and crowds at the doors of a node: each costs its own connection, and nobody else notices."""

import contextlib
import http.client
import random
import re
import resource
import struct
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import headrace
from headrace.core.commands import Add, Commit, Peek, Pop
from headrace.core.items import Item, encode_item
from headrace.core.limits import MIB, Limits
from headrace.core.messages import Call, Calls, Goodbye
from headrace.runtime.ids import ids
from headrace.server.access import Tokens
from headrace.wire.binary import pack
from tests.live.conversation import PATIENCE_SECONDS, Neighbour, dial, hello, said, told
from tests.live.ledger import is_balanced
from tests.live.node import Node

EXAMPLES = settings(max_examples=60, deadline=None, database=None, suppress_health_check=list(HealthCheck))
HELLO_SECONDS = 0.3
CROWD = 2000
LOG_FILES = 4
"""So many files the log may open and close meanwhile; strangers came by the hundred."""
GROWTH_BYTES = 96 * MIB
"""Loose: what a node may grow by while it is talked to and settles down."""


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """One node for all strangers, with little patience; at the end it has nothing left of them."""
    at = tmp_path_factory.mktemp("strangers")
    limits = {"hello_seconds": HELLO_SECONDS, "body_seconds": 0.3, "unread_bytes": 2 * MIB}
    with Node(at, **limits) as node, Neighbour(node.url) as neighbour:
        settle(neighbour, node)
        descriptors, resident_bytes = node.descriptors(), node.resident_bytes()
        yield node
        settle(neighbour, node, most_descriptors=descriptors + LOG_FILES)
        assert node.resident_bytes() < resident_bytes + GROWTH_BYTES
        with headrace.connect(node.url) as hr:
            assert all(is_balanced(stats) for stats in hr.queues())


def settle(neighbour: Neighbour, node: Node, *, most_descriptors: int = 10**9) -> None:
    """Let the neighbour work until the node has let go of connections; bounded by the neighbour's cycles."""
    for _ in range(3000):
        before = neighbour.cycles
        while neighbour.cycles < before + 10:
            neighbour.stats()
        if node.descriptors() <= most_descriptors:
            return
    raise AssertionError(f"{node.descriptors()} descriptors are open, {most_descriptors} would be right")


# -- the binary door ---------------------------------------------------------------------------------------------------

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text() | st.binary(max_size=40),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=3),
)
TAGS = st.sampled_from(["headrace", "calls", "welcome", "answers", "goodbye", "", 0, None])
NEARLY = st.tuples(TAGS, VALUES, VALUES, VALUES).map(msgspec.msgpack.encode)
CALLS = st.builds(
    lambda number, tag, values: msgspec.msgpack.encode(["calls", [[number, 1, 1, [tag, *values]]]]),
    st.integers(0, 5),
    st.integers(-2, 40),
    st.lists(VALUES, max_size=8),
)


def framed(payload: bytes) -> bytes:
    return struct.pack(">I", len(payload)) + payload


@EXAMPLES
@given(data=st.binary(max_size=300))
def test_bytes_that_are_no_frames(node: Node, data: bytes) -> None:
    with dial(node.port) as stream:
        said(stream, data)


@EXAMPLES
@given(payload=st.binary(max_size=100) | NEARLY | CALLS, is_greeted=st.booleans(), number=st.integers(1, 2**127))
def test_frames_that_make_no_sense_are_answered_with_the_reason_or_a_refusal(
    node: Node, payload: bytes, is_greeted: bool, number: int
) -> None:
    with dial(node.port) as stream:
        stream.sendall((hello(number) if is_greeted else b"") + framed(payload) + b"\xff\xff\xff\xff")
        heard = told(stream)  # the oversized frame ends it, if nothing before did
    reason = goodbye_in(heard)
    assert reason.kind == "PeerViolation"
    assert reason.message


def goodbye_in(heard: bytes) -> Goodbye:
    """The last frame that was said, which must be whole and a goodbye."""
    last = b""
    while heard:
        (length,) = struct.unpack_from(">I", heard)
        last, heard = heard[4 : 4 + length], heard[4 + length :]
        assert len(last) == length
    return msgspec.msgpack.decode(last, type=Goodbye)


def test_a_fuzzer_of_bytes_on_a_true_conversation(node: Node) -> None:
    draw = random.Random(7)
    for seed in range(150):
        item = encode_item(Item(b"fuzz"), ids.one(), 1, Limits())
        commands = [Add("fuzz", [item]), Pop(["fuzz"], 1, 0), Peek("fuzz", 1), Commit("fuzz", 1, [draw.randrange(5)])]
        calls = [Call(n, n if n in (1, 4) else 0, 1, command) for n, command in enumerate(commands, 1)]
        talk = bytearray(hello((seed << 64) + 99) + pack(Calls(calls)))
        for _ in range(draw.randrange(1, 6)):
            at = draw.randrange(1, len(talk))
            match draw.randrange(4):
                case 0:
                    talk[at] ^= 1 << draw.randrange(8)
                case 1:
                    del talk[at : at + draw.randrange(1, 9)]
                case 2:
                    talk[at:at] = draw.randbytes(draw.randrange(1, 9))
                case _:
                    talk[at : at + 4] = draw.choice((b"\x00\x00\x00\x00", b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff"))
        with dial(node.port) as stream:
            said(stream, bytes(talk))


@pytest.mark.parametrize("length", [4097, 17 << 20, (1 << 32) - 1])
def test_a_frame_too_long_is_refused_by_its_head_alone(node: Node, length: int) -> None:
    before = node.resident_bytes()
    with dial(node.port) as stream:
        stream.sendall(struct.pack(">I", length))
        assert f"a frame of {length:,} bytes" in goodbye_in(told(stream)).message
    assert node.resident_bytes() < before + 8 * MIB


def test_who_says_nothing_or_not_enough_is_hung_up_on(node: Node) -> None:
    for beginning in (b"", b"\x00\x00", hello(5)[:-1]):
        with dial(node.port) as stream:
            stream.sendall(beginning)
            assert "no hello came within 0.3 s" in goodbye_in(told(stream)).message


def test_a_frame_that_is_never_finished_is_not_held(node: Node) -> None:
    with dial(node.port) as stream:
        stream.sendall(hello(6))
        assert stream.recv(1 << 16)  # welcome: now frames may be large
        stream.sendall(struct.pack(">I", 10 * MIB) + bytes(MIB))
        assert "a frame was not finished within 0.3 s" in goodbye_in(told(stream)).message


def test_calls_before_a_hello_are_a_violation(node: Node) -> None:
    with dial(node.port) as stream:
        stream.sendall(pack(Calls([Call(1, 0, 1, Peek("q", 1))])))
        assert "before hello" in goodbye_in(told(stream)).message


def test_a_client_that_does_not_read_is_hung_up_on_and_holds_no_memory(node: Node) -> None:
    with headrace.connect(node.url) as hr:
        hr.add_many("large", [bytes(MIB // 2)] * 8)
    before = node.resident_bytes()
    for number in range(4):
        with dial(node.port) as stream:
            stream.settimeout(PATIENCE_SECONDS)
            stream.sendall(hello(1000 + number))
            with contextlib.suppress(ConnectionError):
                for call in range(1, 2000):
                    stream.sendall(pack(Calls([Call(call, 0, 1, Peek("large", 8))])))
    assert node.resident_bytes() < before + GROWTH_BYTES


# -- the REST door -----------------------------------------------------------------------------------------------------

STATUS = re.compile(rb"HTTP/1\.1 (\d{3}) ")


def is_never_our_fault(heard: bytes) -> bool:
    return all(int(status) < 500 for status in STATUS.findall(heard))


@EXAMPLES
@given(data=st.binary(min_size=1, max_size=300))
def test_bytes_that_are_no_request(node: Node, data: bytes) -> None:
    with dial(node.rest_port) as stream:
        assert is_never_our_fault(said(stream, data + b"\r\n\r\n"))


@EXAMPLES
@given(
    method=st.sampled_from(["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "TRACE", "BREW"]),
    path=st.sampled_from(["items", "pop", "commit", "abort", "extend", "dead", "revive", "purge", "nothing", ""]),
    room=st.sampled_from(["/v1/queues/q/", "/v1/queues/%00/", "/v1/queues//", "/pq/q/", "/pq/%ff/", "/"]),
    query=st.text("&=%;?n012345.-aé", max_size=20).map(lambda text: text.encode("ascii", "ignore").decode()),
    kind=st.sampled_from(["application/json", "application/octet-stream", "text/plain", "", "application/json; é"]),
    body=st.binary(max_size=100) | VALUES.map(lambda value: repr(value).encode()) | NEARLY,
)
def test_requests_that_make_no_sense(
    node: Node, method: str, path: str, room: str, query: str, kind: str, body: bytes
) -> None:
    head = f"{method} {room}{path}?{query} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: {kind}\r\n"
    with dial(node.rest_port) as stream:
        stream.sendall(head.encode("latin-1") + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        heard = told(stream)
    assert STATUS.match(heard)
    assert is_never_our_fault(heard)


@pytest.mark.parametrize(
    "beginning",
    [
        b"",
        b"GET /heal",
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
    ],
)
def test_a_slow_header_is_cut(node: Node, beginning: bytes) -> None:
    with dial(node.rest_port) as stream:
        stream.sendall(beginning)
        told(stream)


def test_a_slow_second_header_is_cut_too(node: Node) -> None:
    with dial(node.rest_port) as stream:
        stream.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert stream.recv(1 << 16).startswith(b"HTTP/1.1 200 ")
        stream.sendall(b"GET /healthz HTTP/1.1\r\nHost: loc")
        told(stream)


@pytest.mark.parametrize("kind", [b"application/json", b"application/octet-stream"])
@pytest.mark.parametrize(
    "length", [b"Content-Length: 100\r\n\r\nabc", b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"]
)
def test_a_slow_body_is_cut(node: Node, kind: bytes, length: bytes) -> None:
    with dial(node.rest_port) as stream:
        stream.sendall(
            b"POST /v1/queues/q/items HTTP/1.1\r\nHost: localhost\r\nContent-Type: " + kind + b"\r\n" + length
        )
        heard = told(stream)
    assert heard.startswith((b"HTTP/1.1 408 ", b"HTTP/1.1 413 ")), heard[:200]


def test_a_long_header_is_refused(node: Node) -> None:
    with dial(node.rest_port) as stream:
        with contextlib.suppress(ConnectionError):
            stream.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Long: " + b"x" * MIB)
        heard = told(stream)
    assert heard == b"" or heard.startswith(b"HTTP/1.1 4")


# -- crowds and tokens -------------------------------------------------------------------------------------------------


def test_two_thousand_idle_connections_and_service_goes_on(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < CROWD + 500:
        pytest.skip(f"no more than {hard} files may be open here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, CROWD + 500), hard))
    streams = []
    try:
        with Node(tmp_path) as node, Neighbour(node.url) as neighbour:
            for number in range(CROWD):
                stream = dial(node.port)
                streams.append(stream)
                stream.sendall(hello(number))
            for stream in streams:
                assert stream.recv(4)  # welcome
            before = neighbour.cycles
            while neighbour.cycles < before + 100:
                assert neighbour.stats().dead == 0
            assert node.descriptors() > CROWD
    finally:
        for stream in streams:
            stream.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_wrong_and_a_revoked_token_get_in_at_neither_door(tmp_path: Path) -> None:
    tokens = Tokens(str(tmp_path))
    good, doomed = tokens.issue("good", ["admin:*"]), tokens.issue("doomed", ["admin:*"])
    with Node(tmp_path) as node, headrace.connect(node.url, token=good) as hr:
        with headrace.connect(node.url, token=doomed) as other:
            other.add("q", b"a")
        assert rest_status(node, doomed) == 200
        tokens.revoke("doomed")
        for token, says in ((doomed, "revoked"), ("hr_wrong", "not known"), ("", "wants an access token")):
            with pytest.raises(headrace.Forbidden, match=says):
                headrace.connect(node.url, token=token)
            assert rest_status(node, token) == 403
        assert hr.stats("q").queued == 1


def rest_status(node: Node, token: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", node.rest_port, timeout=PATIENCE_SECONDS)
    try:
        connection.request("GET", "/v1/queues/q/items", headers={"Authorization": f"Bearer {token}"})
        return connection.getresponse().status
    finally:
        connection.close()

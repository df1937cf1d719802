"""The frames of the binary door: their bytes, and what becomes of bytes that are none."""

from __future__ import annotations

import contextlib
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.core.errors import PeerViolation
from headrace.core.messages import FromClient, FromNode
from headrace.wire.binary import HEAD_BYTES, Splitter, from_client, from_node, pack
from tests.wire.messages import FROM_NODE, TO_NODE

GOLDEN = [bytes.fromhex(line) for line in (Path(__file__).parent / "golden.hex").read_text().split()]
ALL: list[FromClient | FromNode] = [*TO_NODE, *FROM_NODE]
MOST_BYTES = 1 << 16


def framed(payload: bytes) -> bytes:
    return len(payload).to_bytes(4, "big") + payload


def test_every_message_has_its_golden_bytes() -> None:
    assert [pack(message).hex() for message in ALL] == [golden.hex() for golden in GOLDEN]


def test_golden_bytes_are_read_as_the_messages_they_are() -> None:
    payloads = [golden[HEAD_BYTES:] for golden in GOLDEN]
    assert [from_client(payload) for payload in payloads[: len(TO_NODE)]] == list(TO_NODE)
    assert [from_node(payload) for payload in payloads[len(TO_NODE) :]] == list(FROM_NODE)


def test_a_field_that_a_later_version_adds_is_passed_over() -> None:
    fields = msgspec.msgpack.decode(pack(TO_NODE[0])[HEAD_BYTES:])
    assert from_client(msgspec.msgpack.encode([*fields, "later"])) == TO_NODE[0]


def test_what_a_node_says_is_not_taken_from_a_client() -> None:
    with pytest.raises(PeerViolation, match="cannot be read"):
        from_client(pack(FROM_NODE[0])[HEAD_BYTES:])


@given(st.lists(st.binary(max_size=300), max_size=20), st.data())
def test_payloads_come_out_whole_however_the_bytes_are_cut(payloads: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(map(framed, payloads))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=30)))
    splitter = Splitter(MOST_BYTES)
    found = []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        found += splitter.feed(stream[start:end])
    assert found == payloads
    assert splitter.held_bytes == 0


@given(st.lists(st.binary(max_size=50), min_size=1, max_size=5), st.integers(0, 60))
def test_what_is_held_is_the_unfinished_frame(payloads: list[bytes], missing: int) -> None:
    stream = b"".join(map(framed, payloads))
    cut = max(0, len(stream) - missing)
    splitter = Splitter(MOST_BYTES)
    done = splitter.feed(stream[:cut])
    assert done == payloads[: len(done)]
    assert splitter.held_bytes == cut - len(b"".join(map(framed, done)))


@given(st.integers(1, 1 << 32).map(lambda n: n - 1), st.integers(0, 1000), st.binary(max_size=40))
def test_a_frame_is_refused_for_its_length_before_it_has_come(length: int, most_bytes: int, begun: bytes) -> None:
    splitter = Splitter(most_bytes)
    stream = length.to_bytes(4, "big") + begun[:length]
    if length <= most_bytes:
        splitter.feed(stream)
    else:
        with pytest.raises(PeerViolation, match="more than"):
            splitter.feed(stream)


def test_a_length_that_comes_in_pieces_is_refused_as_soon_as_it_is_there() -> None:
    splitter = Splitter(100)
    assert splitter.feed(b"\x00\x00") == []
    assert splitter.feed(b"\x00") == []
    with pytest.raises(PeerViolation, match="101 bytes is more than the 100"):
        splitter.feed(b"\x65")


@given(st.binary(max_size=200))
def test_garbage_is_a_violation_and_never_anything_else(payload: bytes) -> None:
    for read in (from_client, from_node):
        with contextlib.suppress(PeerViolation):
            pack(read(payload))


@given(st.sampled_from(GOLDEN), st.data())
def test_a_bent_message_is_a_message_or_a_violation(golden: bytes, data: st.DataObject) -> None:
    payload = bytearray(golden[HEAD_BYTES:])
    for _ in range(data.draw(st.integers(1, 4))):
        payload[data.draw(st.integers(0, len(payload) - 1))] = data.draw(st.integers(0, 255))
    for read in (from_client, from_node):
        with contextlib.suppress(PeerViolation):
            pack(read(bytes(payload)))


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"\xc1",
        b"\xdd\xff\xff\xff\xff",  # an array of four thousand million elements
        b"\xc6\xff\xff\xff\xffx",  # bytes that are not there
        b"\x93\xa5calls\xdd\x7f\xff\xff\xff\x90",
        b"\x94\xa8headrace\x01\xc4\x10" + bytes(16) + b"\xc2\xa1\xff",  # text that is none
        b"\x93\xa5calls\x91\x94\x01\x01\x01\x93\x0a\xa1q" + b"\x91" * 100_000 + b"\x90",  # settings, very deep
        b"\x91" * 100_000,
    ],
    ids=["nothing", "no opcode", "long array", "long bytes", "long calls", "bad text", "deep settings", "deep"],
)
def test_what_costs_a_reader_its_memory_or_its_stack_is_a_violation(payload: bytes) -> None:
    with pytest.raises(PeerViolation):
        from_client(payload)

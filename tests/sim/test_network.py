"""The network in virtual time: what arrives is the beginning of what was sent, whatever happens."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.core.limits import US
from headrace.sim.network import CLEAR, CLIENT, NODE, Line, Network, Weather
from headrace.sim.world import World

SILENCE_US = 60 * US


class Ear:
    """One side of a connection, that only listens."""

    def __init__(self) -> None:
        self.heard = b""
        self.closed = 0

    def on_bytes(self, line: Line, data: bytes) -> None:
        assert not self.closed
        self.heard += data

    def on_closed(self, line: Line) -> None:
        self.closed += 1


def connected(weather: Weather, seed: int = 0) -> tuple[World, Line, Ear, Ear]:
    world = World(f"network/{seed}")
    client, node = Ear(), Ear()
    return world, Network(world, weather, Counter()).connect(client, node), client, node


@given(st.lists(st.binary(max_size=200), max_size=20), st.integers(0, 1000))
def test_bytes_arrive_whole_and_in_order_however_late_and_in_pieces(sends: list[bytes], seed: int) -> None:
    world, line, client, node = connected(Weather(late=0.3, pieces=0.7), seed)
    for data in sends:
        line.send(CLIENT, data)
        line.send(NODE, data[::-1])
        world.run(world.now_us + 1000)
    world.run(world.now_us + SILENCE_US)
    assert node.heard == b"".join(sends)
    assert client.heard == b"".join(data[::-1] for data in sends)
    assert (client.closed, node.closed) == (0, 0)


@given(st.integers(0, 1000))
def test_a_connection_that_is_cut_brings_a_beginning_and_both_sides_hear_of_it_once(seed: int) -> None:
    world, line, client, node = connected(Weather(late=0.1, pieces=0.5, cut=0.2, silent=0.5), seed)
    sent = {CLIENT: b"", NODE: b""}
    for i in range(40):
        for side, ear in ((CLIENT, client), (NODE, node)):
            if not ear.closed:
                sent[side] += bytes([i]) * 20
                line.send(side, bytes([i]) * 20)
        world.run(world.now_us + 20_000)
    world.run(world.now_us + SILENCE_US)
    assert sent[CLIENT].startswith(node.heard)
    assert sent[NODE].startswith(client.heard)
    assert (client.closed, node.closed) == (1, 1)


def test_a_silent_end_leaves_one_side_talking_to_nobody() -> None:
    gaps = []
    for seed in range(20):
        world, line, client, node = connected(CLEAR, seed)
        line.cut(silent=True)
        heard_us: dict[str, int] = {}
        while len(heard_us) < 2:
            world.run(world.now_us + 100_000)
            for name, ear in (("client", client), ("node", node)):
                if ear.closed:
                    heard_us.setdefault(name, world.now_us)
        gaps.append(abs(heard_us["client"] - heard_us["node"]))
    assert max(gaps) > 10 * US


@pytest.mark.parametrize("side", [CLIENT, NODE])
def test_who_hangs_up_hears_no_more_and_the_other_hears_all_that_was_said_before(side: int) -> None:
    world, line, *ears = connected(Weather(late=1.0))
    line.send(1 - side, b"too late")
    line.send(side, b"good-bye")
    line.close(side)
    line.send(side, b"more")
    world.run(world.now_us + SILENCE_US)
    assert ears[side].heard == b""
    assert ears[1 - side].heard == b"good-bye"
    assert (ears[side].closed, ears[1 - side].closed) == (0, 1)

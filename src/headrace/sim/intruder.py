"""A peer that breaks the protocol, in every way that can be thought of: its connection must end, and nothing else.

One that keeps to the protocol and asks for what makes no sense is refused, call by call.
"""

from __future__ import annotations

from random import Random
from typing import Final, Protocol

from headrace.core import commands as c
from headrace.core.messages import VERSION, Answers, Call, Calls, Hello
from headrace.sim import steps as s
from headrace.sim.checkers import verdict as v
from headrace.sim.checkers.model import Report
from headrace.sim.network import CLIENT, Line
from headrace.sim.world import World
from headrace.wire.binary import Splitter, from_node, pack

ABSURD: Final = ("broken_item", "absurd")
"""Kinds that keep to the protocol."""


class Door(Protocol):
    """Where intruders get in."""

    def connect(self, remote: Intruder) -> Line | None: ...


class Intruder:
    """One such peer, on one connection."""

    def __init__(self, world: World, door: Door, deed: s.Intrude) -> None:
        self.kind = deed.kind
        self._world = world
        self._rng = Random(deed.seed)
        self._is_over = self._was_obeyed = False
        self._splitter = Splitter(1 << 30)
        self._line = door.connect(self)
        if self._line is None:
            self._is_over = True
            return
        self._session = self._rng.randbytes(16)
        for frame in getattr(self, f"_{deed.kind}")():
            self._line.send(CLIENT, frame)

    def on_bytes(self, line: Line, data: bytes) -> None:
        for payload in self._splitter.feed(data):
            message = from_node(payload)
            if self.kind in ABSURD and isinstance(message, Answers):
                self._was_obeyed |= any(not isinstance(answer.outcome, c.Refused) for answer in message.answers)
                self._is_over = True
                line.close(CLIENT)

    def on_closed(self, line: Line) -> None:
        self._is_over = True

    def check(self, report: Report) -> None:
        """The run is over: is its connection?"""
        if self._was_obeyed:
            report(v.PROTOCOL, f"a peer asked for {self.kind} and was obeyed")
        elif not self._is_over:
            report(v.PROTOCOL, f"a peer that sent {self.kind} kept its connection")

    # -- what it sends -----------------------------------------------------------------------------------------------

    def _hello(self) -> bytes:
        return pack(Hello(VERSION, self._session, True))

    def _calls(self, *commands: c.AnyCommand) -> bytes:
        return pack(Calls([Call(i, i, 1, command) for i, command in enumerate(commands, 1)]))

    def _garbage(self) -> list[bytes]:
        """Bytes of no meaning in a frame of the right length, after a hello or instead of one."""
        body = self._rng.randbytes(self._rng.randint(0, 60))
        return [*self._maybe_hello(), len(body).to_bytes(4, "big") + body]

    def _oversize(self) -> list[bytes]:
        """A frame that says to be larger than anything that is taken."""
        return [
            *self._maybe_hello(),
            self._rng.choice((1 << 25, 1 << 31, (1 << 32) - 1)).to_bytes(4, "big"),
            b"x" * 2000,
        ]

    def _bent(self) -> list[bytes]:
        """Good calls with a byte of them bent, and then a second hello: whatever they came to, that is a breach."""
        frame = bytearray(self._calls(c.Peek("a"), c.Describe("a"), c.Why(bytes(16))))
        frame[self._rng.randrange(4, len(frame))] ^= 1 << self._rng.randrange(8)
        return [self._hello(), bytes(frame), self._hello()]

    def _early(self) -> list[bytes]:
        """Calls before any hello."""
        return [self._calls(c.Purge("a", queued=True))]

    def _broken_item(self) -> list[bytes]:
        """An item that is no item, and others that claim what they do not have."""
        items = [
            b"",
            b"short",
            bytes(24) + b"\x02rest",
            bytes(24) + b"\x01\xff\xffcut",
            bytes(24) + b"\x01\x00\x02\xc1\xc1",
        ]
        return [self._hello(), self._calls(c.Add("a", [self._rng.choice(items)]))]

    def _absurd(self) -> list[bytes]:
        """Commands that cannot be meant."""
        commands: tuple[c.AnyCommand, ...] = (
            c.Pop(["a"], -5), c.Pop(["a"], 0), c.Pop([""], 1), c.Pop([]), c.Pop(["a"], 1, -7), c.Pop(["a"], 1, 1 << 62),
            c.Pop(["a"], 1, lease_us=-1), c.Pop(["a"], 1, lease_us=1 << 62), c.Pop(["a"], name="n" * 5000),
            c.Peek("a", -1), c.ListDead("a", 0), c.Add("a b", []), c.Declare("../a"), c.Declare("a", {"colour": 1}),
            c.Declare("a", {"lease_seconds": -1.0}), c.Declare("a", {"capacity_items": 1 << 63}),
            c.Extend("a", 1, [-1], 5), c.Extend("a", 1, [1], 1 << 62), c.Abort("a", 1, [1 << 63], 1),
            c.Abort("a", 1, [1], -5), c.Commit("a", 1, [5], [("?", [])]), c.Revive("a", [b"x"]), c.Why(b""),
        )  # fmt: skip
        return [self._hello(), self._calls(*self._rng.sample(commands, 4))]

    def _flood(self) -> list[bytes]:
        """More calls than may be in flight."""
        waits = [Call(i, 0, 1, c.Pop(["nowhere"], 1, -1)) for i in range(1, 1200)]
        return [self._hello(), pack(Calls(waits))]

    def _mute(self) -> list[bytes]:
        """Nothing at all, or half a hello."""
        return [self._hello()[: self._rng.choice((0, 3, 10))]]

    def _maybe_hello(self) -> list[bytes]:
        return [self._hello()] if self._rng.random() < 0.7 else []

"""A network in virtual time: connections that carry real bytes, late, in pieces, until they break.

Within a connection bytes are what TCP makes of them: in order, each once, up to some byte at which it ends. All that
goes wrong goes wrong around that: pieces of any size, each as late as it likes; an end at any byte; one direction that
falls silent before the other; one side that hears of the end long before the other, so that what was sent on an old
connection arrives after a new one was made.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Final, Protocol

from headrace.core.limits import US
from headrace.sim.world import World

CLIENT: Final = 0
NODE: Final = 1


@dataclass(frozen=True, slots=True)
class Weather:
    """How a network treats those who use it. Rates are by send."""

    delay_us: int = 300
    """The mean time that bytes are under way."""
    late: float = 0.0
    """How often they take up to seconds."""
    pieces: float = 0.1
    """How often they arrive in pieces."""
    cut: float = 0.0
    """How often the connection ends within them."""
    silent: float = 0.3
    """How many ends are heard of by one side long before the other, or by neither for a while."""


CLEAR: Final = Weather()


class End(Protocol):
    """One side of a connection."""

    def on_bytes(self, line: Line, data: bytes) -> None: ...

    def on_closed(self, line: Line) -> None:
        """The connection is over, as far as this side can know."""


class Line:
    """One connection. `ends` are the client and the node."""

    def __init__(self, network: Network, ends: tuple[End, End], number: int) -> None:
        self._network = network
        self._ends = ends
        self.number = number
        self._is_open = [True, True]
        """Which sides think that it is open."""
        self._is_deaf = [False, False]
        """Which sides are sent nothing any more that arrives."""
        self._due_us = [0, 0]
        """When the last that is under way to each side arrives."""

    def send(self, side: int, data: bytes) -> None:
        """Bytes set out from one side to the other."""
        if self._is_open[side] and not self._is_deaf[1 - side]:
            self._network.carry(self, side, data)

    def close(self, side: int) -> None:
        """One side hangs up; the other hears of it after what was sent before."""
        if self._is_open[side]:
            self._is_open[side] = False
            self._network.world.at(self._arrival_us(1 - side), lambda: self._lose(1 - side))

    def cut(self, *, silent: bool, lost_to: int | None = None) -> None:
        """The connection ends where it is: both sides hear of it, but hardly at the same time if `silent`.

        `lost_to` is the side that bytes did not reach: no later ones will.
        """
        network, rng = self._network, self._network.rng
        network.fired["cut"] += 1
        network.world.tell(lambda: f"connection {self.number} ends" + (", silently" if silent else ""))
        deaf = rng.randrange(3) if silent else 2
        for side in (CLIENT, NODE):
            self._is_deaf[side] |= deaf in (side, 2) or side == lost_to
            after_us = round(rng.uniform(0.1, 40) * US) if silent and rng.random() < 0.6 else rng.randint(0, 2_000)
            network.world.after(after_us, lambda side=side: self._lose(side))  # type: ignore[misc]
        if silent:
            network.fired["half_open"] += 1

    def put(self, side: int, data: bytes, delay_us: int) -> None:
        """Let bytes arrive at a side, after all that set out before."""
        self._due_us[side] = at_us = max(self._due_us[side], self._network.world.now_us + delay_us)
        self._network.world.at(at_us, lambda: self._arrive(side, data))

    def _arrival_us(self, side: int) -> int:
        return max(self._due_us[side], self._network.world.now_us + self._network.weather.delay_us)

    def _arrive(self, side: int, data: bytes) -> None:
        if self._is_open[side]:
            self._ends[side].on_bytes(self, data)

    def _lose(self, side: int) -> None:
        if self._is_open[side]:
            self._is_open[side] = False
            self._ends[side].on_closed(self)


class Network:
    """All connections between clients and the node."""

    def __init__(self, world: World, weather: Weather, fired: Counter[str]) -> None:
        self.world = world
        self.weather = weather
        self.rng = world.stream("network")
        self.fired = fired
        self._lines = 0

    def connect(self, client: End, node: End) -> Line:
        """A new connection."""
        self._lines += 1
        return Line(self, (client, node), self._lines)

    def carry(self, line: Line, side: int, data: bytes) -> None:
        """Take bytes over, in what weather there is."""
        rng, weather = self.rng, self.weather
        if rng.random() < weather.cut:
            kept = rng.randint(0, len(data))
            if kept:
                line.put(1 - side, data[:kept], weather.delay_us)
            line.cut(silent=rng.random() < weather.silent, lost_to=1 - side)
            return
        at = 0
        while rng.random() < weather.pieces and at < len(data):
            after = rng.randint(at, min(len(data), at + 9)) if rng.random() < 0.5 else rng.randint(at, len(data))
            line.put(1 - side, data[at:after], self._delay_us())
            at = after
        if at < len(data):
            line.put(1 - side, data[at:], self._delay_us())

    def _delay_us(self) -> int:
        rng, weather = self.rng, self.weather
        if rng.random() < weather.late:
            self.fired["late"] += 1
            return round(rng.uniform(0.01, 6) * US)
        return round(rng.uniform(0.2, 1.8) * weather.delay_us)

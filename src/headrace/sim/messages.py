"""Messages between processes in virtual time: each by itself, really encoded, and treated badly.

Unlike a connection (`sim/network`) nothing is promised: a message takes its own time, so others overtake it; it may be
lost, come twice, or come very late; two processes may be cut off from each other, and one that is down hears nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from headrace.protocols.machines import messages as m
from headrace.sim.world import World


@dataclass(frozen=True, slots=True)
class Carriage:
    """How long a message is under way, in the mean."""

    mean_us: int
    is_exponential: bool = True


@dataclass(frozen=True, slots=True)
class Trouble:
    """What befalls messages, in shares of all of them."""

    lost: float = 0.0
    doubled: float = 0.0
    late: float = 0.0
    late_us: int = 0
    """How much later a late one is, at most."""


NO_TROUBLE: Final = Trouble()


class Post:
    """Carries messages between addresses."""

    def __init__(self, world: World, carriage: Carriage, fired: Counter[str]) -> None:
        self.trouble = NO_TROUBLE
        self.sent: Counter[str] = Counter()
        """Messages by kind, as `kind_of` names them."""
        self.watchers: list[Callable[[int, int, m.AnyMessage], None]] = []
        """Each hears of every message that is sent, before anything befalls it."""
        self._world = world
        self._carriage = carriage
        self._fired = fired
        self._times = world.stream("message times")
        self._chance = world.stream("messages")
        self._doors: dict[int, Callable[[int, m.AnyMessage], object]] = {}
        self._cuts: dict[tuple[int, int], int] = {}

    def open(self, address: int, deliver: Callable[[int, m.AnyMessage], object]) -> None:
        """From now on messages for this address are delivered so."""
        self._doors[address] = deliver

    def close(self, address: int) -> None:
        self._doors.pop(address, None)

    def cut(self, one: int, other: int, for_us: int) -> None:
        """Nothing passes between the two for a while, in either direction."""
        self._cuts[min(one, other), max(one, other)] = self._world.now_us + for_us

    def mend(self) -> None:
        """All trouble is over."""
        self.trouble = NO_TROUBLE
        self._cuts.clear()

    def send(self, sender: int, to: int, message: m.AnyMessage) -> None:
        """A message sets out."""
        kind = kind_of(message)
        self.sent[kind] += 1
        for watch in self.watchers:
            watch(sender, to, message)
        data = m.encode(message)
        trouble, chance = self.trouble, self._chance
        if self._cuts.get((min(sender, to), max(sender, to)), 0) > self._world.now_us:
            self._befall("cut", kind, sender, to)
            return
        if chance.random() < trouble.lost:
            self._befall("lost", kind, sender, to)
            return
        copies = 1
        if chance.random() < trouble.doubled:
            self._befall("doubled", kind, sender, to)
            copies = 2
        for _ in range(copies):
            under_way_us = self._under_way_us()
            if chance.random() < trouble.late:
                self._befall("late", kind, sender, to)
                under_way_us += round(chance.random() * trouble.late_us)
            self._world.after(under_way_us, lambda: self._arrive(sender, to, data))

    def _befall(self, what: str, kind: str, sender: int, to: int) -> None:
        self._fired[f"{what}_{kind}"] += 1
        self._world.tell(lambda: f"fault: {kind} from {sender} to {to} {what}")

    def _under_way_us(self) -> int:
        mean_us = self._carriage.mean_us
        return round(self._times.expovariate(1 / mean_us)) if self._carriage.is_exponential else mean_us

    def _arrive(self, sender: int, to: int, data: bytes) -> None:
        deliver = self._doors.get(to)
        if deliver is None:
            self._fired["nobody_there"] += 1
            return
        self._world.note(data)
        message = m.decode(data)
        self._world.tell(lambda: f"{to} hears from {sender}: {message}")
        deliver(sender, message)


def kind_of(message: m.AnyMessage) -> str:
    """What a message is called where messages are counted; the words are the kernels'."""
    if isinstance(message, m.Probe):
        if message.hops == 1:
            return "request"
        return "forward" if message.hops <= len(message.route) else "wait"
    if isinstance(message, m.Handed):
        return "put" if message.number == m.PUT else "object"
    return "request" if isinstance(message, m.Look) else type(message).__name__.lower()

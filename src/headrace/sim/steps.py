"""What a workload is made of: deeds of clients and faults, each at its instant.

A plan is nothing but a list of steps. What a step does depends on nothing that another step drew, so that any part of a
plan is a plan, and a failing one can be made smaller by leaving steps out.
"""

from __future__ import annotations

import msgspec

from headrace.core.commands import AnyCommand
from headrace.core.limits import Limits
from headrace.sim.disk import DiskFaults
from headrace.sim.network import Weather
from headrace.sim.process import Pace


class Deed(msgspec.Struct, frozen=True, tag=True):
    """The root of all deeds."""


class Ask(Deed, frozen=True):
    """A client asks for something that was settled when the workload was made."""

    command: AnyCommand
    is_numbered: bool = True
    copies: int = 1
    """The request arrives so many times."""
    lost_answers: int = 0
    """So many answers are lost on their way; the client asks again."""


class Settle(Deed, frozen=True):
    """A client settles what it holds, or what it held once."""

    verb: str
    """'commit', 'abort' or 'extend'."""
    pick: int
    """Which of its leases, counted round."""
    count: int = 1
    is_former: bool = False
    """Receipts that it has settled already, or that it lost with a connection."""
    added: list[tuple[str, list[bytes]]] = []
    delay_us: int = 0
    lease_us: int = 0
    dead: bool = False
    is_numbered: bool = True
    copies: int = 1
    lost_answers: int = 0


class Leave(Deed, frozen=True):
    """A client says good-bye and comes back as a new one."""

    crashed: bool = False


class Vanish(Deed, frozen=True):
    """A client dies without a word, and another takes its place."""


class Disconnect(Deed, frozen=True):
    """A client's connection breaks; it connects again and asks again."""


class Cut(Deed, frozen=True):
    """A client's connection breaks; `silent`, and one side hears of it long before the other."""

    silent: bool


class Away(Deed, frozen=True):
    """A client does nothing for a while, as under SIGSTOP; `hangs_up`, and it comes back on a new connection."""

    for_us: int
    hangs_up: bool


class Forsake(Deed, frozen=True):
    """A client waits no more for something that it asked."""

    pick: int


class Intrude(Deed, frozen=True):
    """A peer connects that breaks the protocol."""

    kind: str
    seed: int


class Kill(Deed, frozen=True):
    """The process dies at once, with the power or without."""

    power: bool


class CrashAt(Deed, frozen=True):
    """The process dies at a fault point of the disk to come, and then in its recoveries."""

    points: int
    power: bool
    again: list[int] = []
    tear_at: int | None = None
    """After how many bytes a write at that point is torn; None draws it."""


class Stop(Deed, frozen=True):
    """The process is stopped in order and started again."""


class Pause(Deed, frozen=True):
    """The process does nothing for a while."""

    for_us: int


class StepClock(Deed, frozen=True):
    """The wall clock is set."""

    by_us: int


class FailDisk(Deed, frozen=True):
    """The disk fails now and then, for a while."""

    faults: DiskFaults
    for_us: int


class FillDisk(Deed, frozen=True):
    """All but so many bytes of the disk are taken, for a while."""

    free_bytes: int
    for_us: int


class Flip(Deed, frozen=True):
    """A bit of a file turns over while the process is down, and is turned back once the damage was found."""

    file: str
    """'log' or 'snapshot'."""
    pick: int
    """Which bit, counted round over what is known to be on the disk."""
    power: bool


class Step(msgspec.Struct, frozen=True):
    """One deed at its instant; `who` is a client, or -1 for a fault."""

    at_us: int
    who: int
    deed: Deed


class Plan(msgspec.Struct, frozen=True):
    """A whole run: how the process is set up, and what is done to it."""

    scenario: str
    seed: int
    limits: Limits
    pace: Pace
    clients: int
    queues: list[str]
    steps: list[Step]
    disk_bytes: int = 1 << 40
    weather: Weather | None = None
    """What the network is like; None is no network at all."""
    call_us: int = 0
    """How long a remote client waits for an answer, beyond the request's own wait."""
    renewing: int = 0
    """So many of the remote clients renew what they hold."""

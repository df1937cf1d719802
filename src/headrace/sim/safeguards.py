"""Each safeguard of node and store, how to take it away, and the invariant that must break without it.

A simulator that finds nothing proves little unless it would have found something. So each safeguard is taken away in
turn, here and nowhere else, by putting something simpler in the place of what keeps it; and the checkers must then
object, by the name of the invariant that the safeguard guards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from headrace.core.errors import Unavailable
from headrace.core.ports import DiskFailed, DiskFull, Log
from headrace.protocols import caller, door
from headrace.protocols.caller import Caller
from headrace.protocols.deadlines import Deadlines
from headrace.protocols.effects import Effects
from headrace.protocols.machines import hands
from headrace.protocols.machines.hands import Hands
from headrace.protocols.machines.orders import Orders
from headrace.protocols.machines.stochastic import Consumer
from headrace.protocols.machines.stock import Stock
from headrace.protocols.node import Node
from headrace.protocols.ready import Ready
from headrace.protocols.session import Session
from headrace.protocols.subqueue import Subqueue
from headrace.protocols.verbs import adding
from headrace.sim import process
from headrace.sim.checkers import verdict as v
from headrace.sim.disk import SimDisk
from headrace.sim.process import Process
from headrace.sim.scenarios import carry_out, plan_of
from headrace.sim.served import Served
from headrace.store.log import SyncToken
from headrace.store.recovery import Recovery
from headrace.store.snapshot import SnapshotWriter
from headrace.wire.binary import Splitter

SEEDS: Final = range(400)
"""Where a safeguard's absence must have shown."""

_decode = msgspec.msgpack.Decoder().decode
_encode = msgspec.msgpack.Encoder().encode


class _Replaced:
    """An attribute of a class or module that is something else for a while."""

    def __init__(self, owner: Any, name: str, stand_in: Callable[..., Any]) -> None:
        self._owner, self._name, self._stand_in = owner, name, stand_in

    def __enter__(self) -> None:
        self._original = getattr(self._owner, self._name)
        setattr(self._owner, self._name, self._stand_in)

    def __exit__(self, *exc_info: object) -> None:
        setattr(self._owner, self._name, self._original)


@dataclass(frozen=True, slots=True)
class Safeguard:
    """One safeguard, by what happens without it."""

    name: str
    invariant: str
    scenario: str
    """Where its absence shows soonest."""
    stand_ins: Callable[[], Sequence[_Replaced]]
    """What stands in for it."""

    @contextmanager
    def off(self) -> Iterator[None]:
        """Without the safeguard."""
        with ExitStack() as stack:
            for replaced in self.stand_ins():
                stack.enter_context(replaced)
            yield


def caught_at(safeguard: Safeguard, seeds: range = SEEDS) -> int | None:
    """The first seed at which the right invariant breaks without the safeguard."""
    with safeguard.off():
        for seed in seeds:
            if carry_out(plan_of(safeguard.scenario, seed)).verdict.counts[safeguard.invariant]:
                return seed
    return None


# -- what stands in for each -----------------------------------------------------------------------------------------


def _acknowledge_early() -> Sequence[_Replaced]:
    on_safe = Node.on_safe

    def early(self: Node, position: int, out: Effects) -> None:
        on_safe(self, self._end, out)

    return [_Replaced(Node, "on_safe", early)]


def _forget(kind: str, at: int | None = None) -> Callable[[], Sequence[_Replaced]]:
    """Leave a kind of part out of snapshots; or, with `at`, empty one field of it."""

    def stand_ins() -> Sequence[_Replaced]:
        put = SnapshotWriter.put

        def forgetful(self: SnapshotWriter, part: bytes) -> None:
            fields = _decode(part)
            if fields[0] == kind:
                if at is None:
                    return
                fields[at] = type(fields[at])()
                part = _encode(fields)
            put(self, part)

        return [_Replaced(SnapshotWriter, "put", forgetful)]

    return stand_ins


def _obey_stale() -> Sequence[_Replaced]:
    return [_Replaced(Subqueue, "is_late", lambda self, counter: True)]


def _reuse_epochs() -> Sequence[_Replaced]:
    return [_Replaced(Process, "new_epoch", lambda self: 1)]


def _count_stalls() -> Sequence[_Replaced]:
    on_wake = Node.on_wake

    def unaware(self: Node, now_us: int, wall_us: int, out: Effects, *, due_us: int | None = None) -> None:
        on_wake(self, now_us, wall_us, out)

    return [_Replaced(Node, "on_wake", unaware)]


def _skip_name_syncs() -> Sequence[_Replaced]:
    return [_Replaced(SimDisk, "sync_names", lambda self: None)]


def _cut_damage() -> Sequence[_Replaced]:
    return [_Replaced(Recovery, "_damage", lambda self, chain: [])]


def _go_on_where_it_was_cut() -> Sequence[_Replaced]:
    return [_Replaced(Recovery, "_seal", lambda self, file, offset: file)]


def _grant_unsafe() -> Sequence[_Replaced]:
    return [_Replaced(Node, "_has_unsafe", lambda self, outcome: False)]


def _drop_tombstones() -> Sequence[_Replaced]:
    def discard(self: Ready, seq: int) -> None:
        self._size -= 1

    return [_Replaced(Ready, "discard", discard)]


def _drop_tombstones_of_snapshots() -> Sequence[_Replaced]:
    return [_Replaced(Ready, "tombstones", lambda self: set())]


def _apply_early() -> Sequence[_Replaced]:
    def turn(node: Node, log: Log, now_us: int, out: Effects) -> None:
        while out.records:
            records, refs = out.records, out.refs
            out.records, out.refs = [], []
            node.on_appended(now_us, log.end, records, refs, out)
            try:
                log.append(records)
            except DiskFull:
                continue
        node.on_safe(log.safe, out)

    return [_Replaced(process, "turn", turn)]


def _trust_failed_syncs() -> Sequence[_Replaced]:
    def run(self: SyncToken) -> None:
        for file in (*self.rolled, *([self.last] if self.last is not None else [])):
            try:
                file.sync()
            except DiskFailed:
                continue

    return [_Replaced(SyncToken, "run", run)]


def _keep_without_rewriting() -> Sequence[_Replaced]:
    return [_Replaced(Recovery, "_rewrite", lambda self, number, file: None)]


def _forget_recovered_periods() -> Sequence[_Replaced]:
    settle = Node._settle_recovered

    def forgetful(self: Node, now_us: int) -> None:
        settle(self, now_us)
        self.deadlines = Deadlines()

    return [_Replaced(Node, "_settle_recovered", forgetful)]


def _let_everything_in() -> Sequence[_Replaced]:
    return [_Replaced(adding, "_has_room", lambda sub, items: True)]


def _carry_repeats_out() -> Sequence[_Replaced]:
    return [_Replaced(Node, "_is_first", lambda self, request, out: True)]


def _trust_every_snapshot() -> Sequence[_Replaced]:
    finish = SnapshotWriter.finish

    def finish_and_trim(self: SnapshotWriter) -> int:
        finish(self)
        return self.position

    return [_Replaced(SnapshotWriter, "finish", finish_and_trim)]


def _forget_outcomes() -> Sequence[_Replaced]:
    return [_Replaced(Session, "note", lambda self, number, answered, outcome, at_us: None)]


def _use_no_credit() -> Sequence[_Replaced]:
    return [_Replaced(Caller, "_use_credit", lambda self, pending, outcome: None)]


def _take_any_length() -> Sequence[_Replaced]:
    feed = Splitter.feed

    def trusting(self: Splitter, data: bytes) -> list[bytes]:
        self.most_bytes = 1 << 32
        return feed(self, data)

    return [_Replaced(Splitter, "feed", trusting)]


def _take_any_command() -> Sequence[_Replaced]:
    return [_Replaced(door, "check_command", lambda command, limits: None)]


def _forget_the_connected() -> Sequence[_Replaced]:
    return [_Replaced(Served, "_touch", lambda self, touches: None)]


def _promise_that_nothing_happened() -> Sequence[_Replaced]:
    return [_Replaced(caller, "_late", lambda pending: Unavailable("no answer came in time"))]


def _forget_what_was_done() -> Sequence[_Replaced]:
    finish = Hands.finish

    def forgetful(self: Hands, orders: Orders) -> None:
        finish(self, orders)
        self._done.clear()

    return [_Replaced(Hands, "finish", forgetful)]


def _wait_for_ever() -> Sequence[_Replaced]:
    def patient(self: Consumer, now_us: int, orders: Orders) -> None:
        self.wake_us = None

    return [_Replaced(Consumer, "on_wake", patient)]


def _ask_nobody() -> Sequence[_Replaced]:
    return [_Replaced(Stock, "_inquire", lambda self, now_us, orders: self._due.clear())]


def _take_everything() -> Sequence[_Replaced]:
    return [_Replaced(hands, "accept", lambda wanted, offered, taken: True)]


def _forget_who_came() -> Sequence[_Replaced]:
    return [_Replaced(Stock, "knows", lambda self, now_us, key: False)]


SAFEGUARDS: Final = (
    Safeguard("acknowledge only after the sync", v.LOST, "crashes", _acknowledge_early),
    Safeguard("a snapshot holds what is leased", v.LOST, "crashes", _forget("leases")),
    Safeguard("a snapshot holds what is dead", v.LOST, "leases", _forget("dead")),
    Safeguard("a snapshot holds the sessions", v.REPEATS, "requests", _forget("sessions")),
    Safeguard("a snapshot holds the attempts", v.ATTEMPTS, "leases", _forget("stories")),
    Safeguard("a snapshot holds the keys", v.KEYS, "requests", _forget("queue", 4)),
    Safeguard("a snapshot holds the names of pops", v.NAMES, "requests", _forget("queue", 5)),
    Safeguard("a snapshot leaves out what has a tombstone", v.UNEXPECTED, "leases", _drop_tombstones_of_snapshots),
    Safeguard("an older snapshot can take the place of a damaged one", v.RECOVERY, "damage", _trust_every_snapshot),
    Safeguard("stale leases are refused", v.FENCING, "leases", _obey_stale),
    Safeguard("an epoch is never used again", v.FENCING, "crashes", _reuse_epochs),
    Safeguard("our own stalls expire nobody", v.LEASES, "time", _count_stalls),
    Safeguard("recovered leases have a period", v.LIVENESS, "leases", _forget_recovered_periods),
    Safeguard("the directory is synced", v.LOST, "crashes", _skip_name_syncs),
    Safeguard("damage is not cut as a tail is", v.LOST, "damage", _cut_damage),
    Safeguard(
        "a cut segment is sealed, so that no stale frame revives", v.UNEXPECTED, "recoveries", _go_on_where_it_was_cut
    ),
    Safeguard("a failed sync is fatal", v.RECOVERY, "disk", _trust_failed_syncs),
    Safeguard("what no mark covers is written again", v.RECOVERY, "disk", _keep_without_rewriting),
    Safeguard("a grant waits for its item's add to be safe", v.UNEXPECTED, "crashes", _grant_unsafe),
    Safeguard("what leaves the middle of a run has a tombstone", v.UNEXPECTED, "leases", _drop_tombstones),
    Safeguard("records are applied once written", v.UNEXPECTED, "disk", _apply_early),
    Safeguard("a repeat is answered and not carried out", v.REPEATS, "requests", _carry_repeats_out),
    Safeguard("a queue takes in what it may hold", v.CAPACITY, "storm", _let_everything_in),
    Safeguard("a session keeps its outcomes", v.REPEATS, "resets", _forget_outcomes),
    Safeguard("stale leases are refused after a reconnect", v.FENCING, "returning", _obey_stale),
    Safeguard("what a stream was handed uses up its credit", v.CREDIT, "consumers", _use_no_credit),
    Safeguard("a frame is no longer than may be", v.PROTOCOL, "intruders", _take_any_length),
    Safeguard("a command makes sense by itself", v.MACHINE, "intruders", _take_any_command),
    Safeguard("the session of a client that is connected is kept", v.TOLD, "returning", _forget_the_connected),
    Safeguard("what may have happened is not called undone", v.TOLD, "outages", _promise_that_nothing_happened),
    Safeguard("a receiver remembers what it has done", v.DUPLICATE, "stochastic", _forget_what_was_done),
    Safeguard("a consumer that hears nothing asks again", v.LIVENESS, "stochastic", _wait_for_ever),
    Safeguard("who handed an item over asks what became of it", v.LIVENESS, "stochastic", _ask_nobody),
    Safeguard("a consumer takes what it asked for last, once", v.LOST, "stochastic", _take_everything),
    Safeguard("a site takes an item over a link once", v.DUPLICATE, "networked", _forget_who_came),
)

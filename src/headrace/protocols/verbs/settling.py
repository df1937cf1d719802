"""The verbs `commit`, `abort` and `extend`: what becomes of a lease; and what a client still holds when it leaves.

A receipt is obeyed while its lease lasts; and late, while the item is queued or dead and was leased to nobody since.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.core.commands import Abort, Commit, EndSession, Extend, Request, Settled
from headrace.core.errors import Gone, StaleLease
from headrace.core.records import CLOSED, WORKER_CRASHED, Committed, Prolonged, Returned, SessionsEnded
from headrace.protocols.effects import Effects
from headrace.protocols.subqueue import Subqueue
from headrace.protocols.verbs import adding

if TYPE_CHECKING:
    from headrace.protocols.node import Node

FUTURE = 1 << 64
"""A receipt that no epoch has issued."""
GONE = "gone"
STALE = "stale"


def commit(node: Node, now_us: int, request: Request, out: Effects) -> Committed | None:
    """Settle leases as done, and add what they produced, in one record."""
    command = request.command
    assert type(command) is Commit
    sub, good, refused = _sort(node, command.queue, command.epoch, command.counters)
    if good and not refused and not command.added:
        return Committed(node.wall_us(now_us), request.session, request.number, request.answered, command.queue, good)
    late: list[int] = []
    if refused and sub is not None:
        late, refused = _late(node, sub, command.epoch, refused)
    if command.added and refused:
        _release(sub, good + late, node.wall_us(now_us))
        counter, kind = refused[0]
        raise _error(kind, f"nothing was committed and nothing added: receipt {counter}")
    if sub is None or not (good or late):
        node.reply(request.ref, Settled(refused), out)
        return None
    wall_us = node.wall_us(now_us)
    added = [(queue, *adding.reserve(node, queue, items, wall_us)) for queue, items in command.added]
    return Committed(
        wall_us, request.session, request.number, request.answered, command.queue, good + late, added, refused
    )


def abort(node: Node, now_us: int, request: Request, out: Effects) -> Returned | None:
    """Give leases back, after a delay or at once, or to the dead."""
    command = request.command
    assert isinstance(command, Abort)
    _, good, refused = _sort(node, command.queue, command.epoch, command.counters)
    if not good:
        node.reply(request.ref, Settled(refused), out)
        return None
    wall_us = node.wall_us(now_us)
    return Returned(
        wall_us,
        request.session,
        request.number,
        request.answered,
        command.queue,
        good,
        command.cause,
        command.reason[: node.limits.reason_chars],
        wall_us + command.delay_us if command.delay_us else 0,
        command.dead,
        refused,
    )


def extend(node: Node, now_us: int, request: Request, out: Effects) -> Prolonged | None:
    """Begin the period of leases anew; a longer one than they had is worth a record, and any of a detached lease."""
    command = request.command
    assert isinstance(command, Extend)
    sub, good, refused = _sort(node, command.queue, command.epoch, command.counters)
    if sub is not None:
        sub.settling.difference_update(good)
        longer = []
        for counter in good:
            grant = sub.leases[counter][1]
            if grant.name:
                continue  # it has its own limit, and no period
            lease_us = command.lease_us or grant.lease_us
            node.deadlines.prolong(now_us - node.stalled_us + lease_us, [counter], sub.name)
            if lease_us > grant.lease_us or (grant.detached and command.lease_us):
                longer.append(counter)
        if longer:
            return Prolonged(
                node.wall_us(now_us),
                request.session,
                request.number,
                request.answered,
                sub.name,
                longer,
                command.lease_us,
                refused,
            )
    node.reply(request.ref, Settled(refused), out)
    return None


def end_session(node: Node, now_us: int, request: Request, out: Effects) -> None:
    """A client leaves: its leases go back, and its outcomes are forgotten."""
    command = request.command
    assert isinstance(command, EndSession)
    wall_us = node.wall_us(now_us)
    session = command.session or request.session
    reason = WORKER_CRASHED if command.crashed else CLOSED
    for sub in node.shard.queues.values():
        held = [
            counter
            for counter, (_, grant) in sub.leases.items()
            if grant.session == session and not (grant.detached or grant.name) and counter not in sub.settling
        ]
        if held:
            sub.settling.update(held)
            out.stage(Returned(wall_us, b"", 0, 0, sub.name, held, reason))
    out.stage(SessionsEnded(wall_us, b"", 0, 0, [session]), request.ref)


def _sort(
    node: Node, queue: str, epoch: int, counters: list[int]
) -> tuple[Subqueue | None, list[int], list[tuple[int, str]]]:
    """Which receipts hold a lease, set aside as being settled; and the others."""
    sub = node.shard.queues.get(queue)
    if sub is None:
        return None, [], [(counter, GONE) for counter in counters]
    leases, settling = sub.leases, sub.settling
    shard = node.shard
    if len(counters) > 1 and epoch == shard.epoch and min(counters) >= shard.epoch_first:
        named = set(counters)
        if len(named) == len(counters) and leases.keys() >= named and settling.isdisjoint(named):
            settling |= named
            return sub, counters, []
    good: list[int] = []
    refused: list[tuple[int, str]] = []
    first_known = shard.epoch_first if epoch == shard.epoch else FUTURE
    for counter in counters:
        if (
            counter in leases
            and counter not in settling
            and (counter >= first_known or shard.epoch_of(counter) == epoch)
        ):
            good.append(counter)
            settling.add(counter)
        else:
            refused.append((counter, STALE if counter in sub.former else GONE))
    return sub, good, refused


def _late(
    node: Node, sub: Subqueue, epoch: int, refused: list[tuple[int, str]]
) -> tuple[list[int], list[tuple[int, str]]]:
    """Which of the receipts that hold nothing are late but still to be obeyed, and why the rest is not."""
    late: list[int] = []
    rest: list[tuple[int, str]] = []
    for counter, _ in refused:
        seq = sub.former.get(counter) if node.shard.epoch_of(counter) == epoch else None
        if seq is None:
            rest.append((counter, GONE))
        elif not sub.is_late(counter):
            rest.append((counter, STALE))
        else:
            if seq in sub.dead:
                sub.stir((seq,))
            else:
                sub.reserve_one(seq, sub.stories[seq].entry)
            late.append(counter)
    return late, rest


def _release(sub: Subqueue | None, counters: list[int], wall_us: int) -> None:
    if sub is not None:
        sub.settling.difference_update(counters)
        seqs = [sub.former[counter] for counter in counters if counter in sub.former]
        sub.stirred.difference_update(seqs)
        sub.release(seqs, wall_us)


def _error(kind: str, what: str) -> StaleLease | Gone:
    if kind == STALE:
        return StaleLease(f"{what} is an old one: the item is leased to another by now")
    return Gone(f"{what} names an item that is no longer here")

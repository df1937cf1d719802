"""The verbs `peek` and `pop`: the most urgent first, over one queue or several; waiting; conditions; names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

import msgspec

from headrace.core.commands import Batch, Peek, PeekDone, Pop, PopDone, Request, Resume
from headrace.core.errors import Gone, Invalid, Paused, Unavailable
from headrace.core.items import BIAS, entry_priority
from headrace.core.limits import Limits
from headrace.core.records import Expired, Leased
from headrace.protocols.effects import Effects
from headrace.protocols.subqueue import Subqueue

FOR_EVER_US: Final = -1
BESIDE_ENTRY_BYTES: Final = 64
"""More than an answer has beside each entry."""

if TYPE_CHECKING:
    from headrace.protocols.node import Node


def peek(node: Node, now_us: int, request: Request, out: Effects) -> None:
    """Show the most urgent items that are due; none is leased."""
    command = request.command
    assert isinstance(command, Peek)
    sub = node.shard.queues.get(command.queue)
    if sub is None:
        node.reply(request.ref, PeekDone([]), out)
        return
    freshen(node, now_us, sub, out)
    entries = sub.ready.peek(command.count)
    if request.session:
        entries = entries[: fitting_count(entries, node.limits)]
    node.reply(request.ref, PeekDone(entries), out)


def pop(node: Node, now_us: int, request: Request, out: Effects) -> Leased | None:
    """Lease items, or wait for some, or say that there are none."""
    command = request.command
    assert type(command) is Pop
    if len(command.queues) != 1:
        _check_several(command)
    if command.stream and (command.name or command.at_least is not None or request.number):
        raise Invalid("a stream of items has no name, no condition and no number")
    if not node.claimed:
        raise Unavailable("the node is still taking its log over: try again")
    if command.name and _again(node, request, command):
        return None
    record = _try(node, now_us, request, command, out)
    if record is not None:
        return record
    queues = node.shard.queues
    if command.wait_us:
        node.park(node.pops, request, command.queues, command.wait_us, now_us)
    elif all(queue in queues and queues[queue].settings.paused for queue in command.queues):
        raise Paused(f"queue {command.queues[0]!r} is paused: resume it, or wait")
    else:
        give_up(node, now_us, request, out)
    return None


def _check_several(command: Pop) -> None:
    if not command.queues:
        raise Invalid("a pop names a queue, or several")
    if command.name or command.at_least is not None:
        raise Invalid("a named or conditional pop names one queue")


def serve(node: Node, now_us: int, queue: str, out: Effects) -> None:
    """Hand out to those who wait for this queue, longest first, as far as there is something."""
    if not node.claimed:
        return
    sub = node.shard.queues[queue]
    for parked in node.pops.of(queue):
        if not sub.ready:
            return
        command = parked.request.command
        assert isinstance(command, Pop)
        if command.name and _repeats(node, parked.request, command, out):
            node.pops.leave(parked.request.ref)
            continue
        record = _try(node, now_us, parked.request, command, out)
        if record is not None:
            if not record.more:
                node.pops.leave(parked.request.ref)
            out.stage(record, parked.request.ref)


def resume(node: Node, now_us: int, request: Request, out: Effects) -> None:
    """Tell a client that is back of the leases it was handed while it waited and does not know of."""
    command = request.command
    assert isinstance(command, Resume)
    known = {(epoch, counter) for epoch, counters in command.held for counter in counters}
    batches = []
    for sub in node.shard.queues.values():
        alike: dict[tuple[int | None, int], list[int]] = {}
        for counter, (_, grant) in sub.leases.items():
            if grant.session == request.session and grant.pushed and not grant.name:
                epoch = node.shard.epoch_of(counter)
                if (epoch, counter) not in known:
                    alike.setdefault((epoch, grant.lease_us), []).append(counter)
        for (_, lease_us), counters in alike.items():
            batches.append(_batch(node, sub, counters, lease_us))
    node.hold(request.ref, PopDone(batches))


def give_up(node: Node, now_us: int, request: Request, out: Effects) -> None:
    """There was nothing in time. A named pop remembers that; a conditional one says what the top is."""
    command = request.command
    assert isinstance(command, Pop)
    if command.name and _repeats(node, request, command, out):
        return
    sub = node.shard.queues.get(command.queues[0])
    if command.name:
        sub = sub or node.shard.unborn(command.queues[0])
        out.stage(_leased(node, now_us, request, command, sub, []), request.ref)
        return
    top = sub.ready.top() if sub is not None and command.at_least is not None else None
    node.reply(request.ref, PopDone([], None if top is None else entry_priority(top)), out)


def freshen(node: Node, now_us: int, sub: Subqueue, out: Effects) -> None:
    """Ripen what is due, and drop what has expired, so that neither late timers nor early pops show."""
    wall_us = node.wall_us(now_us)
    sub.ripen(wall_us)
    if sub.mortal:
        expired = sub.reserve_expired(wall_us)
        if expired:
            out.stage(Expired(wall_us, b"", 0, 0, sub.name, expired))


def _try(node: Node, now_us: int, request: Request, command: Pop, out: Effects) -> Leased | None:
    """Decide on a grant, if there is anything to grant; with several queues all but the last part is staged here."""
    if len(command.queues) == 1:
        only = _open_queue(node, now_us, command.queues[0], out)
        if only is None:
            return None
        seqs = only.reserve(command.count, None if command.at_least is None else _bound(command.at_least))
        if not seqs:
            return None
        if request.session and only.size_bytes > node.limits.frame_bytes:
            return _in_frames(node, now_us, request, command, [(only, seqs)], out)
        left = command.count - len(seqs) if command.stream else 0
        return _leased(node, now_us, request, command, only, seqs, left=left)
    subs = [
        sub
        for queue in dict.fromkeys(command.queues)
        if (sub := _open_queue(node, now_us, queue, out)) is not None and sub.ready
    ]
    if not subs:
        return None
    taken = _merge(subs, command.count)
    if request.session and sum(sub.size_bytes for sub in subs) > node.limits.frame_bytes:
        return _in_frames(node, now_us, request, command, taken, out)
    *firsts, (sub, seqs) = taken
    for earlier, earlier_seqs in firsts:
        out.stage(_leased(node, now_us, request, command, earlier, earlier_seqs), request.ref, more=True)
    left = command.count - sum(len(part) for _, part in taken) if command.stream else 0
    return _leased(node, now_us, request, command, sub, seqs, left=left)


def _in_frames(
    node: Node, now_us: int, request: Request, command: Pop, taken: list[tuple[Subqueue, list[int]]], out: Effects
) -> Leased:
    """Grant what was taken as far as it fits into the frame of one answer; to a stream, in as many answers as it takes.

    What a pop is not handed for that goes back: the most urgent are handed out.
    """
    by_urgency = sorted((sub.reserved[seq], sub.name, seq) for sub, seqs in taken for seq in seqs)
    fitting = fitting_count([entry for entry, *_ in by_urgency], node.limits)
    subs = {sub.name: sub for sub, _ in taken}
    if not command.stream:
        for _, name, seq in by_urgency[fitting:]:
            subs[name].release([seq], node.wall_us(now_us))
        del by_urgency[fitting:]
    left = command.count
    while True:
        parts: dict[str, list[int]] = {}
        for _, name, seq in by_urgency[:fitting]:
            parts.setdefault(name, []).append(seq)
        del by_urgency[:fitting]
        *firsts, last = parts
        for name in firsts:
            out.stage(_leased(node, now_us, request, command, subs[name], parts[name]), request.ref, more=True)
        left -= sum(map(len, parts.values()))
        node.pops.leave(request.ref)  # where the answer before this one has left it
        record = _leased(node, now_us, request, command, subs[last], parts[last], left=left if command.stream else 0)
        if not by_urgency:
            return record
        out.stage(record, request.ref)
        fitting = fitting_count([entry for entry, *_ in by_urgency], node.limits)


def fitting_count(entries: Iterable[bytes], limits: Limits) -> int:
    """How many of these fit into the frame of one answer; one always does."""
    room_bytes = limits.frame_bytes
    count = 0
    for entry in entries:
        room_bytes -= len(entry) + BESIDE_ENTRY_BYTES
        if room_bytes < 0 and count:
            break
        count += 1
    return count


def _open_queue(node: Node, now_us: int, queue: str, out: Effects) -> Subqueue | None:
    """The queue, if items may be popped from it, those that are due among them."""
    sub = node.shard.queues.get(queue)
    if sub is None or sub.is_paused:
        return None
    if sub.timed:
        freshen(node, now_us, sub, out)
    return sub


def _bound(at_least: int) -> bytes | None:
    """The first entry, in byte order, that is less urgent than `at_least`; None when nothing can be."""
    above = at_least + BIAS + 1
    return None if above >> 64 else above.to_bytes(8, "big")


def _merge(subs: list[Subqueue], count: int) -> list[tuple[Subqueue, list[int]]]:
    """The places of the most urgent entries over several queues, by queue."""
    taken: dict[str, list[int]] = {}
    while count > 0:
        tops = sorted((top, i) for i, sub in enumerate(subs) if (top := sub.ready.top()) is not None)
        if not tops:
            break
        sub = subs[tops[0][1]]
        seqs = sub.reserve(count, tops[1][0] if len(tops) > 1 else None)
        taken.setdefault(sub.name, []).extend(seqs)
        count -= len(seqs)
    return [(sub, taken[sub.name]) for sub in subs if sub.name in taken]


def _leased(
    node: Node, now_us: int, request: Request, command: Pop, sub: Subqueue, seqs: list[int], *, left: int = 0
) -> Leased:
    """The record of a grant; a stream with credit left waits on with that."""
    if command.name:
        lease_us = node.limits.name_us
        node.naming[sub.name, command.name] = []
    else:
        lease_us = command.lease_us or sub.lease_us
    if left:
        node.pops.leave(request.ref)
        rest = msgspec.structs.replace(request, command=msgspec.structs.replace(command, count=left))
        node.park(node.pops, rest, command.queues, command.wait_us or FOR_EVER_US, now_us)
    return Leased(
        node.wall_us(now_us),
        request.session,
        request.number,
        request.answered,
        sub.name,
        node.take_counters(len(seqs)),
        seqs,
        lease_us,
        command.detached,
        command.name,
        left > 0,
    )


def _repeats(node: Node, request: Request, command: Pop, out: Effects) -> bool:
    """`_again` for a pop that waited: its name may have become known meanwhile, and been settled."""
    try:
        return _again(node, request, command)
    except Gone as error:
        node.refuse(request.ref, error, out)
        return True


def _again(node: Node, request: Request, command: Pop) -> bool:
    """Answer a named pop whose name is known: with the same items, as far as they are unsettled."""
    queue = command.queues[0]
    decided = node.naming.get((queue, command.name))
    if decided is not None:
        decided.append(request.ref)
        return True
    sub = node.shard.queues.get(queue)
    named = sub.names.get(command.name) if sub is not None else None
    if sub is None or named is None:
        return False
    if named.count and not named.unsettled:
        raise Gone(f"the pop named {command.name!r} is settled: its items were committed, or its limit has passed")
    counters = [c for c in range(named.first, named.first + named.count) if c in sub.leases]
    node.hold(request.ref, PopDone([_batch(node, sub, counters, node.limits.name_us)] if counters else []))
    return True


def _batch(node: Node, sub: Subqueue, counters: list[int], lease_us: int) -> Batch:
    """Leases of one epoch as they were handed out."""
    entries = [sub.leases[counter][0] for counter in counters]
    attempts = [sub.attempt_of(entry) for entry in entries]
    return Batch(sub.name, node.shard.epoch_of(counters[0]) or 0, counters, entries, attempts, lease_us)

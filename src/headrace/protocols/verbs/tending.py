"""The verbs that tend queues: settings, the dead, purge, drop, figures, and where an item is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from headrace.core.commands import (
    Attempt,
    CountDone,
    DeadDone,
    Declare,
    Describe,
    Drop,
    ListDead,
    Purge,
    Request,
    Revive,
    StatsDone,
    Whereabouts,
    Why,
)
from headrace.core.errors import Gone, Invalid, Unavailable
from headrace.core.items import ENTRY_ID, entry_added_us, entry_extras, entry_priority, entry_seq, show_id
from headrace.core.limits import QueueSettings
from headrace.core.names import nearest
from headrace.core.records import Declared, Dropped, Purged, Revived, SessionsOpened
from headrace.protocols.effects import Effects
from headrace.protocols.subqueue import Subqueue
from headrace.protocols.verbs.popping import fitting_count

if TYPE_CHECKING:
    from headrace.protocols.node import Node


def open_session(node: Node, now_us: int, request: Request, out: Effects) -> None:
    out.stage(SessionsOpened(node.wall_us(now_us), b"", 0, 0, [request.session]), request.ref)


def list_dead(node: Node, now_us: int, request: Request, out: Effects) -> None:
    command = request.command
    assert isinstance(command, ListDead)
    sub = node.shard.queues.get(command.queue)
    dead = sub.dead if sub is not None else {}
    seqs = sorted(seq for seq in dead if seq > command.after_seq)[: command.count]
    if request.session:
        seqs = seqs[: fitting_count((dead[seq].entry for seq in seqs), node.limits)]
    node.reply(request.ref, DeadDone([dead[seq] for seq in seqs]), out)


def revive(node: Node, now_us: int, request: Request, out: Effects) -> None:
    command = request.command
    assert isinstance(command, Revive)
    sub = _known(node, command.queue)
    seqs = sub.stir(_dead_seqs(sub, command.ids) if command.ids else sorted(sub.dead.keys() - sub.stirred))
    if not seqs:
        node.reply(request.ref, CountDone(0), out)
        return
    out.stage(
        Revived(node.wall_us(now_us), request.session, request.number, request.answered, sub.name, seqs), request.ref
    )


def purge(node: Node, now_us: int, request: Request, out: Effects) -> None:
    command = request.command
    assert isinstance(command, Purge)
    sub = _known(node, command.queue)
    dead: list[int] = []
    if command.ids and not command.queued:
        dead = _dead_seqs(sub, command.ids)
    elif command.dead:
        dead = sorted(sub.dead.keys() - sub.stirred)
    sub.stir(dead)
    queued = _queued_seqs(sub, command.ids) if command.queued else []
    if not dead and not queued:
        node.reply(request.ref, CountDone(0), out)
        return
    record = Purged(node.wall_us(now_us), request.session, request.number, request.answered, sub.name, queued, dead)
    out.stage(record, request.ref)


def declare(node: Node, now_us: int, request: Request, out: Effects) -> None:
    """Create a queue, or change some of its settings and keep the others."""
    command = request.command
    assert isinstance(command, Declare)
    sub = node.shard.queues.get(command.queue)
    settings = _changed(sub.settings if sub is not None else QueueSettings(), command.settings)
    record = Declared(node.wall_us(now_us), request.session, request.number, request.answered, command.queue, settings)
    out.stage(record, request.ref)


def drop(node: Node, now_us: int, request: Request, out: Effects) -> None:
    """Remove a queue with all that is in it; not under the hands of those who hold its items."""
    command = request.command
    assert isinstance(command, Drop)
    sub = _known(node, command.queue)
    if sub.leases or sub.reserved or sub.settling:
        raise Unavailable(
            f"{len(sub.leases) or len(sub.reserved)} items of queue {sub.name!r} are leased: pause it, wait until "
            "they are settled, and drop it then"
        )
    sub.reserve_all()
    sub.stir(sub.dead)
    out.stage(Dropped(node.wall_us(now_us), request.session, request.number, request.answered, sub.name), request.ref)


def list_queues(node: Node, now_us: int, request: Request, out: Effects) -> None:
    wall_us = node.wall_us(now_us)
    queues = []
    for name in sorted(node.shard.queues):
        sub = node.shard.queues[name]
        sub.ripen(wall_us)
        queues.append(sub.stats())
    node.reply(request.ref, StatsDone(queues), out)


def describe(node: Node, now_us: int, request: Request, out: Effects) -> None:
    command = request.command
    assert isinstance(command, Describe)
    sub = _known(node, command.queue)
    sub.ripen(node.wall_us(now_us))
    node.reply(request.ref, StatsDone([sub.stats()]), out)


def why(node: Node, now_us: int, request: Request, out: Effects) -> None:
    """Find an item by its id: a scan, of the few that are leased first, since it is their workers who ask often."""
    command = request.command
    assert isinstance(command, Why)
    subs = [node.shard.queues[name] for name in sorted(node.shard.queues)]
    for find in (_find_leased, _find):
        for sub in subs:
            sub.ripen(node.wall_us(now_us))
            found = find(sub, command.id)
            if found is not None:
                node.reply(request.ref, found, out)
                return
    node.reply(request.ref, Whereabouts("unknown"), out)


def _find_leased(sub: Subqueue, item_id: bytes) -> Whereabouts | None:
    for counter, (entry, grant) in sub.leases.items():
        if entry[ENTRY_ID] == item_id:
            now = Attempt(counter, grant.at_us, 0, "")
            return _place(sub, "leased", entry, since_us=grant.at_us, attempts=[now])
    return None


def _find(sub: Subqueue, item_id: bytes) -> Whereabouts | None:
    for dead in sub.dead.values():
        if dead.entry[ENTRY_ID] == item_id:
            return _place(sub, "dead", dead.entry, since_us=dead.died_us)
    for state, entries in (("held", sub.held.values()), ("queued", sub.ready)):
        for entry in entries:
            if entry[ENTRY_ID] == item_id:
                ahead = sub.ready.ahead_of(entry)
                return _place(sub, state, entry, since_us=sub.queued_since_us(entry), ahead=ahead)
    for due_us, entry in sub.delayed():
        if entry[ENTRY_ID] == item_id:
            return _place(sub, "delayed", entry, since_us=sub.queued_since_us(entry), due_us=due_us)
    return None


def _place(
    sub: Subqueue,
    state: str,
    entry: bytes,
    *,
    since_us: int,
    ahead: int = 0,
    due_us: int = 0,
    attempts: list[Attempt] | None = None,
) -> Whereabouts:
    story = sub.stories.get(entry_seq(entry))
    return Whereabouts(
        state,
        sub.name,
        entry_priority(entry),
        ahead,
        entry_added_us(entry),
        since_us,
        due_us or entry_extras(entry).due_us,
        [*(story.former if story is not None else ()), *(attempts or ())],
    )


def _known(node: Node, queue: str) -> Subqueue:
    sub = node.shard.queues.get(queue)
    if sub is None:
        raise Gone(f"there is no queue {queue!r}.{nearest(queue, node.shard.queues)}")
    return sub


def _queued_seqs(sub: Subqueue, ids: list[bytes]) -> list[int]:
    """Set aside what is queued, or those with these ids."""
    if not ids:
        return sub.reserve_all()
    wanted = set(ids)
    delayed = [entry for _, entry in sub.delayed()]
    found = [entry for entry in (*sub.ready, *delayed, *sub.held.values()) if entry[ENTRY_ID] in wanted]
    for entry in found:
        sub.reserve_one(entry_seq(entry), entry)
    return [entry_seq(entry) for entry in found]


def _dead_seqs(sub: Subqueue, ids: list[bytes]) -> list[int]:
    wanted = set(ids)
    seqs = [seq for seq, dead in sub.dead.items() if dead.entry[ENTRY_ID] in wanted and seq not in sub.stirred]
    missing = wanted - {sub.dead[seq].entry[ENTRY_ID] for seq in seqs}
    if missing:
        raise Gone(f"queue {sub.name!r} has no dead item {show_id(min(missing))}")
    return sorted(seqs)


def _changed(settings: QueueSettings, changes: dict[str, object]) -> QueueSettings:
    for name in changes:
        if name not in QueueSettings.__struct_fields__:
            raise Invalid(f"a queue has no setting {name!r}.{nearest(name, QueueSettings.__struct_fields__)}")
    try:
        return msgspec.convert({**msgspec.structs.asdict(settings), **changes}, QueueSettings)
    except msgspec.ValidationError as error:
        raise Invalid(f"the settings make no sense: {error}") from error

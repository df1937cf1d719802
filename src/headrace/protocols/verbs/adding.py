"""The verb `add`: dedupe by key, capacity, waiting for room."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING

from headrace.core.commands import Add, AddDone, Request
from headrace.core.errors import Full
from headrace.core.items import ITEM_FLAGS, ITEM_HEAD, ITEM_ID, item_extras
from headrace.core.records import Added
from headrace.protocols.effects import Effects
from headrace.protocols.subqueue import Subqueue

if TYPE_CHECKING:
    from headrace.protocols.node import Node

Duplicates = list[tuple[int, bytes]]
_flags_of = itemgetter(ITEM_FLAGS)


def add(node: Node, now_us: int, request: Request, out: Effects) -> Added | None:
    """Add all items or none; wait for room if there is to be some."""
    command = request.command
    assert type(command) is Add
    items = command.items
    sub = node.shard.queues.get(command.queue)
    if items and not any(map(_flags_of, items)) and (sub is None or not sub.is_bounded):
        wall_us, first_seq = node.wall_us(now_us), node.take_seqs(len(items))
        return Added(wall_us, request.session, request.number, request.answered, command.queue, first_seq, items)
    if sub is not None and sub.is_bounded:
        fresh = _fresh(node, sub, items, node.wall_us(now_us))
        if _too_large(sub, fresh):
            raise Full(
                f"{len(fresh)} items with {_size(fresh):,} bytes are more than queue {sub.name!r} "
                f"may ever hold ({_capacity(sub)}): add fewer at a time, or raise its capacity"
            )
        if fresh and (node.adds.waits(sub.name) or not _has_room(sub, fresh)):
            if command.wait_us:
                node.park(node.adds, request, [command.queue], command.wait_us, now_us)
                return None
            raise Full(f"queue {sub.name!r} is full ({_capacity(sub)}): wait, work it off, or raise its capacity")
    if not items and not request.number:
        node.reply(request.ref, AddDone(), out)
        return None
    return _decide(node, now_us, request, command)


def serve(node: Node, now_us: int, queue: str, out: Effects) -> None:
    """Let the adds in that waited for room, in their order, as far as there is some."""
    while (parked := node.adds.first(queue)) is not None:
        command = parked.request.command
        assert isinstance(command, Add)
        sub = node.shard.queues.get(queue)
        if sub is not None and not _has_room(sub, _fresh(node, sub, command.items, node.wall_us(now_us))):
            return
        node.adds.leave(parked.request.ref)
        out.stage(_decide(node, now_us, parked.request, command), parked.request.ref)


def give_up(node: Node, request: Request, out: Effects) -> None:
    """The wait for room is over."""
    command = request.command
    assert isinstance(command, Add)
    sub = node.shard.queues[command.queue]
    node.refuse(request.ref, Full(f"queue {sub.name!r} stayed full ({_capacity(sub)}) for as long as was waited"), out)


def reserve(node: Node, queue: str, items: list[bytes], wall_us: int) -> tuple[int, list[bytes], Duplicates]:
    """Give new items their places and their keys: (first place, the items that are new, the duplicates)."""
    sub = node.shard.queues.get(queue)
    duplicates: Duplicates = []
    if any(map(_flags_of, items)):
        fresh = []
        for i, item in enumerate(items):
            key = item_extras(item).key
            holder = None
            if key is not None:
                holder = node.pending_keys.get((queue, key)) or (sub and sub.key_holder(key, wall_us))
                node.pending_keys[queue, key] = holder or item[ITEM_ID]
            if holder:
                duplicates.append((i, holder))
            else:
                fresh.append(item)
        items = fresh
    if sub is not None and sub.is_bounded:
        sub.pending_items += len(items)
        sub.pending_bytes += _size(items)
    return node.take_seqs(len(items)), items, duplicates


def unreserve(node: Node, queue: str, items: list[bytes], duplicates: Duplicates) -> None:
    """The items are in, or will not be: let go of what was set aside for them."""
    sub = node.shard.queues.get(queue)
    if sub is not None and sub.pending_items:
        sub.pending_items = max(0, sub.pending_items - len(items))
        sub.pending_bytes = max(0, sub.pending_bytes - _size(items))
    if node.pending_keys:
        ids = {item[ITEM_ID] for item in items} | {holder for _, holder in duplicates}
        node.pending_keys = {
            at: holder for at, holder in node.pending_keys.items() if at[0] != queue or holder not in ids
        }


def _decide(node: Node, now_us: int, request: Request, command: Add) -> Added:
    """A record in any case: that all are duplicates may be said only once what holds their keys is safe."""
    wall_us = node.wall_us(now_us)
    first_seq, items, duplicates = reserve(node, command.queue, command.items, wall_us)
    return Added(
        wall_us, request.session, request.number, request.answered, command.queue, first_seq, items, duplicates
    )


def _fresh(node: Node, sub: Subqueue, items: list[bytes], wall_us: int) -> list[bytes]:
    """Those that are not deduped against what is there, and so need room."""
    if not any(map(_flags_of, items)):
        return items
    keys = [item_extras(item).key for item in items]
    return [
        item
        for item, key in zip(items, keys, strict=True)
        if key is None or not (node.pending_keys.get((sub.name, key)) or sub.key_holder(key, wall_us))
    ]


def _size(items: list[bytes]) -> int:
    """The bytes of bodies and extras."""
    return sum(map(len, items)) - ITEM_HEAD * len(items)


def _too_large(sub: Subqueue, items: list[bytes]) -> bool:
    settings = sub.settings
    return (settings.capacity_items is not None and len(items) > settings.capacity_items) or (
        settings.capacity_bytes is not None and _size(items) > settings.capacity_bytes
    )


def _has_room(sub: Subqueue, items: list[bytes]) -> bool:
    settings = sub.settings
    live_items = sub.queued + len(sub.leases) + sub.pending_items
    if settings.capacity_items is not None and live_items + len(items) > settings.capacity_items:
        return False
    live_bytes = sub.size_bytes + sub.pending_bytes
    return settings.capacity_bytes is None or live_bytes + _size(items) <= settings.capacity_bytes


def _capacity(sub: Subqueue) -> str:
    settings = sub.settings
    parts = []
    if settings.capacity_items is not None:
        parts.append(f"{settings.capacity_items:,} items")
    if settings.capacity_bytes is not None:
        parts.append(f"{settings.capacity_bytes:,} bytes")
    return " and ".join(parts)

"""Whether a command that came from elsewhere makes sense by itself: the same bounds that our own clients keep.

The node takes commands at their word, so whatever lets strangers in asks here first. `Invalid` names the offender.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import itemgetter
from typing import Any, Final

from headrace.core import commands as c
from headrace.core.errors import Invalid
from headrace.core.items import ITEM_FLAGS, ITEM_HEAD, check_encoded
from headrace.core.limits import COUNT_MAX, PRIORITY_MAX, PRIORITY_MIN, Limits, check_count, check_queue_name

FOR_EVER_US: Final = -1
NAME_CHARS: Final = 200
_BYTES_OF_ID: Final = 16
_RECEIPT_MAX: Final = (1 << 63) - 1
_flags_of = itemgetter(ITEM_FLAGS)


def check_command(command: c.AnyCommand, limits: Limits) -> None:
    """`Invalid` when the command makes no sense within the limits."""
    check = _CHECKS.get(type(command))
    if check is not None:
        check(command, limits)


def _add(command: c.Add, limits: Limits) -> None:
    check_queue_name(command.queue)
    _items(command.items, limits)
    _wait(command.wait_us)


def _pop(command: c.Pop, limits: Limits) -> None:
    for queue in command.queues:
        check_queue_name(queue)
    check_count("count", command.count)
    _wait(command.wait_us)
    _span("lease_us", command.lease_us)
    if command.at_least is not None and not PRIORITY_MIN <= command.at_least <= PRIORITY_MAX:
        raise Invalid(f"at_least is a priority, from -2**63 to 2**63-1; it is {command.at_least}")
    if len(command.name) > NAME_CHARS:
        raise Invalid(f"the name of a pop has at most {NAME_CHARS} characters; it has {len(command.name):,}")


def _commit(command: c.Commit, limits: Limits) -> None:
    _receipts(command)
    for queue, items in command.added:
        check_queue_name(queue)
        _items(items, limits)


def _abort(command: c.Abort, limits: Limits) -> None:
    _receipts(command)
    _span("delay_us", command.delay_us)


def _extend(command: c.Extend, limits: Limits) -> None:
    _receipts(command)
    _span("lease_us", command.lease_us)


def _looked_at(command: c.Peek | c.ListDead, limits: Limits) -> None:
    check_queue_name(command.queue)
    check_count("count", command.count)


def _queue(command: c.Declare, limits: Limits) -> None:
    check_queue_name(command.queue)


def _of_ids(command: c.Revive | c.Purge, limits: Limits) -> None:
    check_queue_name(command.queue)
    for item_id in command.ids:
        _id(item_id)


def _why(command: c.Why, limits: Limits) -> None:
    _id(command.id)


_CHECKS: Final[dict[type, Callable[[Any, Limits], None]]] = {
    c.Add: _add,
    c.Pop: _pop,
    c.Commit: _commit,
    c.Abort: _abort,
    c.Extend: _extend,
    c.Peek: _looked_at,
    c.ListDead: _looked_at,
    c.Declare: _queue,
    c.Revive: _of_ids,
    c.Purge: _of_ids,
    c.Why: _why,
}


def _items(items: list[bytes], limits: Limits) -> None:
    if not items:
        return
    sizes = list(map(len, items))
    is_plain = min(sizes) >= ITEM_HEAD and max(sizes) - ITEM_HEAD <= limits.body_bytes
    if not is_plain or any(map(_flags_of, items)):
        for item in items:
            check_encoded(item, limits)


def _receipts(command: c.Commit | c.Abort | c.Extend) -> None:
    check_queue_name(command.queue)
    counters: Iterable[int] = command.counters
    if command.counters and not 0 <= min(counters) <= max(counters) <= _RECEIPT_MAX:
        raise Invalid("a receipt is a whole number from 0 to 2**63-1")


def _wait(wait_us: int) -> None:
    if not FOR_EVER_US <= wait_us <= COUNT_MAX:
        raise Invalid(f"wait_us is from 0 to {COUNT_MAX:,}, or -1 for ever; it is {wait_us}")


def _span(name: str, span_us: int) -> None:
    if not 0 <= span_us <= COUNT_MAX:
        raise Invalid(f"{name} is from 0 to {COUNT_MAX:,}; it is {span_us}")


def _id(item_id: bytes) -> None:
    if len(item_id) != _BYTES_OF_ID:
        raise Invalid(f"an item's id has {_BYTES_OF_ID} bytes, not {len(item_id)}")

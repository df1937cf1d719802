"""What a node asks of its driver, in the order of its decisions; and the turn that carries it out on a log.

`records` are to be appended, as one group; `refs` say for each who waits for its outcome, and whether more records of
the same request follow. `replies` can go out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.core.commands import AnyOutcome, Request, refusal
from headrace.core.errors import HeadraceError
from headrace.core.ports import DiskFull, Log
from headrace.core.records import AnyRecord

if TYPE_CHECKING:
    from headrace.protocols.node import Node


class Effects:
    """One turn's effects."""

    __slots__ = ("records", "refs", "replies")

    def __init__(self) -> None:
        self.records: list[AnyRecord] = []
        self.refs: list[tuple[Any, bool]] = []
        self.replies: list[tuple[Any, AnyOutcome]] = []

    def stage(self, record: AnyRecord, ref: Any = None, *, more: bool = False) -> None:
        """Ask for `record` to be appended; its outcome answers `ref`."""
        self.records.append(record)
        self.refs.append((ref, more))


def turn(node: Node, log: Log, now_us: int, out: Effects) -> None:
    """Append what was decided and apply it, until nothing more follows from it.

    `DiskFull` goes through when the log cannot even be taken over; and `DiskFailed`: what the log holds is unknown
    then, and the node with it.
    """
    while out.records:
        records, refs = out.records, out.refs
        out.records, out.refs = [], []
        try:
            position = log.append(records)
        except DiskFull:
            records, refs = node.on_disk_full(now_us, records, refs, out)
            try:
                position = log.append(records, from_reserve=True) if records else log.end
            except DiskFull:
                if not node.claimed:
                    raise  # there is no room even to take the log over
                node.on_reserve_full(now_us, records, refs, out)
                continue
        node.on_appended(now_us, position, records, refs, out)
    node.on_safe(log.safe, out)


def ask(node: Node, log: Log, now_us: int, request: Request, out: Effects) -> AnyOutcome | None:
    """One unnumbered request by itself: `handle` and `turn` without the machinery for many.

    The outcome, if it can be told at once; else it is in `out`, or held, or the request is parked.
    """
    try:
        record = node.decide(now_us, request, out)
    except HeadraceError as error:
        return refusal(error)
    if record is None or out.records:
        if record is not None:
            out.stage(record, request.ref)
        turn(node, log, now_us, out)
        return None
    try:
        position = log.append((record,))
    except DiskFull:
        out.stage(record, request.ref)
        turn(node, log, now_us, out)
        return None
    outcome = node.apply(now_us, position, record)
    waits = not node.safe_when_written and node.must_wait(record, outcome)
    if waits:
        node.hold(request.ref, outcome)
    if node.pops.parked or node.adds.parked:
        node.after(now_us, record, out)
        turn(node, log, now_us, out)
    return None if waits else outcome

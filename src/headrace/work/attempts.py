"""One attempt at a task: what was begun, and what becomes of its item when it ends. Pure, but for the last function.

A success commits the item and sends the reply in one step. A failure gives the item back with a pause, until its
retries are used up: then it is dead first, and the reply says so after that, so that no reply says what is not.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from headrace.client.handle import Headrace, Lease
from headrace.client.shapes import Held, Place, Receipt
from headrace.core.errors import Forbidden, Invalid
from headrace.core.items import Item
from headrace.core.records import ABORTED, LEASE_EXPIRED
from headrace.work.failures import Failure
from headrace.work.messages import NOTHING, VERSION, Call, Reply, decode_call, encode
from headrace.work.parameters import UNENCODABLE
from headrace.work.tasks import Backoff, Task

if TYPE_CHECKING:
    from headrace.work.app import App

UNKNOWN_TASK = Backoff(1, 60)
"""How soon an item is tried again whose task is not known here: a newer worker may be on its way."""

NO_CALL = Call(VERSION, "", NOTHING)


class Begun(msgspec.Struct, frozen=True, array_like=True):
    """What is known of an attempt outside of the process that makes it."""

    queue: str
    epoch: int
    counter: int
    id: str
    task: str
    attempt: int
    reply_to: str
    result_seconds: float

    @property
    def receipt(self) -> Receipt:
        return Receipt(self.queue, self.epoch, self.counter)


class Job(NamedTuple):
    """A task with the arguments of one call."""

    task: Task[..., Any]
    args: list[Any]
    kwargs: dict[str, Any]


class Verdict(NamedTuple):
    """What becomes of the item: done, or tried again after `delay`, or dead; and what its caller is told."""

    done: bool = False
    dead: bool = False
    delay: float = 0.0
    reason: str = ""
    reply: list[tuple[str, Item]] = []  # noqa: RUF012


def begin(lease: Held) -> Begun:
    """What is begun with this lease. An item that no submit made has no task, and fails when that is looked for."""
    try:
        call = decode_call(lease.body)
    except Invalid:
        call = NO_CALL
    receipt = lease.receipt
    return Begun(
        receipt.queue,
        receipt.epoch,
        receipt.counter,
        lease.id,
        call.task,
        lease.attempt,
        call.reply_to,
        call.result_seconds,
    )


def job_of(app: App, lease: Held) -> Job:
    """The task and the arguments, or `Invalid`."""
    call = decode_call(lease.body)
    task = app.tasks.get(call.task)
    if task is None:
        raise Invalid(f"no task {call.task!r} is known to this worker: bring its code to that of the caller")
    return Job(task, *task.parameters.decode(call.arguments))


def succeeded(begun: Begun, value: Any) -> Verdict:
    """The task returned."""
    if not begun.reply_to:
        return Verdict(done=True)
    try:
        encoded = encode(value)
    except UNENCODABLE as error:
        return unsendable(begun, error)
    return Verdict(done=True, reply=_reply(begun, None, msgspec.Raw(encoded)))


def unsendable(begun: Begun, error: Exception) -> Verdict:
    """The task returned what cannot be sent: trying again would not help."""
    failure = Failure(type(error).__name__, f"the result of task {begun.task!r} cannot be sent: {error}")
    return Verdict(dead=True, reason=_line(failure), reply=_reply(begun, failure))


def failed(begun: Begun, task: Task[..., Any] | None, failure: Failure, *, earlier: int) -> Verdict:
    """The task raised, or could not even be called, after so many `earlier` failures."""
    reason = _line(failure)
    if task is None:
        return Verdict(delay=UNKNOWN_TASK.seconds(earlier + 1), reason=reason)
    if earlier < task.retries:
        return Verdict(delay=task.backoff.seconds(earlier + 1), reason=reason)
    return Verdict(dead=True, reason=reason, reply=_reply(begun, failure))


def may_be_last(begun: Begun, task: Task[..., Any] | None) -> bool:
    """Whether a failure of this attempt may be the last: then it is worth asking how the earlier ones ended."""
    return task is not None and 0 < task.retries < begun.attempt


def failures_before(begun: Begun, place: Place | None) -> int:
    """How many attempts have failed: those that were handed back, or whose worker crashed, count for nothing."""
    counted = (ABORTED, LEASE_EXPIRED)
    others = (
        [tried for tried in place.attempts if tried.ended and not tried.reason.startswith(counted)] if place else []
    )
    return begun.attempt - 1 - len(others)


def verdict_on(handle: Headrace, begun: Begun, task: Task[..., Any] | None, failure: Failure) -> Verdict:
    """As `failed`, with the item's story where that matters."""
    place = None
    if may_be_last(begun, task):
        with contextlib.suppress(Forbidden):  # the access token does not allow to ask; each attempt counts then
            place = handle.why(begun.id)
    return failed(begun, task, failure, earlier=failures_before(begun, place))


def carry_out(handle: Headrace, lease: Lease | Receipt, verdict: Verdict) -> None:
    """Settle the item as the verdict says; `Rejected` when the lease is over."""
    if verdict.done:
        handle.commit(lease, add=verdict.reply)
        return
    handle.abort(lease, delay=verdict.delay, reason=verdict.reason, dead=verdict.dead)
    for queue, item in verdict.reply:
        handle.add(queue, item)


def _reply(begun: Begun, failure: Failure | None, value: msgspec.Raw = NOTHING) -> list[tuple[str, Item]]:
    if not begun.reply_to:
        return []
    body = encode(Reply(VERSION, begun.id, value, failure))
    return [(begun.reply_to, Item(body, expires=begun.result_seconds))]


def reply_of_failure(begun: Begun, failure: Failure) -> list[tuple[str, Item]]:
    """What the caller is told of an item that died of its workers' crashes."""
    return _reply(begun, failure)


def _line(failure: Failure) -> str:
    """A failure as the reason in the item's story."""
    return str(failure)[:400]

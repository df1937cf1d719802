"""Results: what a caller holds after submit, and the one thread that takes the replies of an app.

A reply is added by the worker's commit to a queue of this process alone, and lives there as long as the result was to.
The thread starts when a result is first asked for. An item that nobody is left to answer for (its workers crashed, it
was purged, it expired) is found out by whoever waits, by asking where it is, ever more rarely.
"""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from concurrent.futures import Future, InvalidStateError
from time import monotonic
from typing import Any, Final, Generic, TypeVar

from headrace.client.handle import Headrace, withdraw
from headrace.client.shapes import Place
from headrace.core.errors import Forbidden, HeadraceError, Invalid, OutcomeUnknown, Unavailable
from headrace.core.limits import check_seconds
from headrace.work.failures import Failure, TaskFailed
from headrace.work.messages import decode_reply
from headrace.work.tasks import Task

R = TypeVar("R")

REPLIES_AT_ONCE: Final = 15
"""So many of the largest fit into one answer."""
PAUSE_SECONDS: Final = 0.5
FIRST_LOOK_SECONDS: Final = 1.0
LONGEST_LOOK_SECONDS: Final = 60.0


class Promise(Future[Any]):
    """The future of one item."""

    def __init__(self, replies: Replies, task: Task[..., Any], id: str) -> None:
        super().__init__()
        self.replies = replies
        self.task = task
        self.id = id

    def cancel(self) -> bool:
        """Take the item back if no worker has it; whether it is cancelled."""
        if self.done():
            return self.cancelled()
        try:
            if not withdraw(self.replies.handle, self.task.queue, self.id):
                return False
        except Forbidden:  # the access token does not allow it
            return False
        if super().cancel():
            self.set_running_or_notify_cancel()
        return True

    def settle(self, value: Any, error: Exception | None = None) -> None:
        """Set what became of it, unless that was known."""
        with contextlib.suppress(InvalidStateError):
            if error is None:
                self.set_result(value)
            else:
                self.set_exception(error)

    def fail(self, failure: Failure) -> None:
        self.settle(None, TaskFailed(self.task.name, self.id, failure))


class Replies:
    """The reply queue of one process on one node, and the promises that wait for it."""

    def __init__(self, handle: Headrace) -> None:
        self.handle = handle
        self.queue = f"replies.{os.urandom(12).hex()}"
        self._promises: weakref.WeakValueDictionary[str, Promise] = weakref.WeakValueDictionary()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closing = threading.Event()
        self.is_used = False
        """Whether a reply was ever asked for."""

    def expect(self, task: Task[..., Any], id: str) -> Promise:
        """A promise for an item that is about to be added."""
        self.is_used = True
        promise = self._promises[id] = Promise(self, task, id)
        return promise

    def promised(self, id: str) -> Promise | None:
        """The promise of an item that was added before."""
        return self._promises.get(id)

    def start(self) -> None:
        """Take replies from now on."""
        with self._lock:
            if self._thread is None and not self._closing.is_set():
                self._thread = threading.Thread(target=self._take, name="headrace-replies", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Nobody waits any more: the queue goes, with what is in it."""
        self._closing.set()
        if self.is_used:
            with contextlib.suppress(HeadraceError):  # not allowed, or not reachable: what is in it expires
                self.handle.drop(self.queue)

    def _take(self) -> None:
        while not self._closing.is_set():
            try:
                leases = self.handle.pop(self.queue, REPLIES_AT_ONCE, wait=None)
                for lease in leases:
                    self._tell(lease.body)
                if leases:
                    self.handle.commit(leases)
            except (Unavailable, OutcomeUnknown):  # the node is away, or we are closing
                self._closing.wait(PAUSE_SECONDS)
            except HeadraceError as error:
                for promise in list(self._promises.values()):
                    promise.settle(None, error)
                return

    def _tell(self, body: bytes) -> None:
        try:
            reply = decode_reply(body)
        except Invalid:
            return  # somebody else wrote here
        promise = self._promises.get(reply.id)
        if promise is None:
            return  # nobody holds that result any more
        if reply.failure is not None:
            promise.fail(reply.failure)
            return
        try:
            promise.settle(promise.task.parameters.decode_result(reply.value))
        except Invalid as error:
            promise.settle(None, error)


class Result(Generic[R]):
    """What will become of a submitted task."""

    def __init__(self, handle: Headrace | None, task: Task[..., R], id: str, promise: Promise | Future[Any] | None):
        self._handle = handle
        self._task = task
        self._promise = promise
        self.id = id
        """The id of its item."""

    @property
    def future(self) -> Future[R]:
        """As a `concurrent.futures.Future`, to wait for several, or with `asyncio.wrap_future`."""
        if self._promise is None:
            raise Invalid(
                f"nobody is told the result of {self._task.name!r} ({self.id}): it was submitted without one "
                "(result_ttl=0), or its key is that of an item which another process submitted"
            )
        if isinstance(self._promise, Promise):
            self._promise.replies.start()
        return self._promise

    def result(self, timeout: float | None = None) -> R:
        """The value that the task returned; `TaskFailed` when it failed for good, `TimeoutError` when none came."""
        future = self.future
        if timeout is not None:
            check_seconds("timeout", timeout)
        until = None if timeout is None else monotonic() + timeout
        look = Look(self)
        while True:
            left = look.pause_seconds if until is None else min(look.pause_seconds, until - monotonic())
            try:
                return future.result(max(0.0, left))
            except TimeoutError:
                if future.done():
                    continue
            if until is not None and monotonic() >= until:
                raise TimeoutError(f"no result of {self._task.name!r} in {timeout:g} s: {look.say()}")
            look.again()

    def done(self) -> bool:
        """Whether the task has returned, failed for good or been cancelled."""
        return self.future.done()

    def cancel(self) -> bool:
        """Take the item back if no worker has it yet; whether it will not run."""
        return self.future.cancel()

    def why(self) -> Place:
        """Where its item is, and what became of each attempt."""
        if self._handle is None:
            raise Invalid("a task that ran inline has no item")
        return self._handle.why(self.id)

    def __repr__(self) -> str:
        return f"<Result {self.id} of {self._task.name!r}>"


class Look:
    """Looks at where an item is, for one who waits for its result, each time after a longer pause."""

    def __init__(self, result: Result[Any]) -> None:
        self._result = result
        self._ends_seen = 0
        self.pause_seconds = FIRST_LOOK_SECONDS

    def again(self) -> None:
        """Fail the result when the item is seen to be gone or dead twice: its reply would have come in between."""
        place = self._place()
        if place is None or place.state not in ("dead", "unknown"):
            self._ends_seen = 0
            self.pause_seconds = min(LONGEST_LOOK_SECONDS, 2 * self.pause_seconds)
            return
        self._ends_seen += 1
        self.pause_seconds = FIRST_LOOK_SECONDS
        promise = self._result._promise
        if self._ends_seen > 1 and isinstance(promise, Promise):
            promise.fail(_end(place))

    def say(self) -> str:
        """Where the item is, in words."""
        place = self._place()
        if place is None:
            return "where its item is could not be asked"
        if place.state == "unknown":
            return "its item is no longer there"
        ahead = f", {place.ahead:,} ahead of it" if place.state == "queued" else ""
        tried = f", tried {len(place.attempts)} times" if len(place.attempts) > 1 else ""
        return f"its item {place.id} is {place.state} in {place.queue!r}{ahead}{tried}"

    def _place(self) -> Place | None:
        try:
            return self._result.why()
        except HeadraceError:
            return None


def _end(place: Place) -> Failure:
    if place.state == "unknown":
        return Failure("Gone", "its item was purged, or expired, or its result outlived its time to live")
    story = "\n".join(f"{tried.leased:%Y-%m-%d %H:%M:%S} {tried.reason}" for tried in place.attempts)
    return Failure("Died", f"its item is dead after {len(place.attempts)} attempts: {place.attempts[-1].reason}", story)

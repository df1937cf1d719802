"""One worker process: takes items from queues, runs their tasks, and settles them.

Plain tasks run in threads, each of which takes an item when it has none; `async def` tasks in a loop, which takes as
many as it has room for. Nothing is taken ahead. Told to stop, it takes nothing more, finishes what it has, and ends;
its supervisor sees to the rest.
"""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import multiprocessing.connection
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from time import monotonic_ns
from typing import Any, Final

from headrace.client.handle import Lease
from headrace.core.errors import Forbidden, HeadraceError, Invalid, PeerViolation, Rejected
from headrace.work.app import App
from headrace.work.attempts import Begun, Verdict, begin, carry_out, failed, job_of, succeeded, unsendable, verdict_on
from headrace.work.board import Board
from headrace.work.failures import TIMED_OUT, Failure, SoftTimeout, failure_of
from headrace.work.loading import load_app
from headrace.work.soft import Alarm, Watchman
from headrace.work.tasks import Task

log = logging.getLogger("headrace.work")

POLL_SECONDS: Final = 1.0
"""How long a pop waits before it is asked whether to stop."""
TICK_SECONDS: Final = 0.05
PAUSE_SECONDS: Final = 1.0
"""After a pop that failed."""
NS: Final = 1_000_000_000
ASYNC_GRACE_SECONDS: Final = 1.0
"""How long after its timeout, at which it is cancelled, an async task that blocks its loop is killed."""
MOST_AT_ONCE: Final = 15
"""So many of the largest items fit into one answer."""
SETTLERS: Final = 8
REFUSED: Final = 77
"""The exit code of a process that the node refuses."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a worker process is to do."""

    app: str
    queues: tuple[str, ...]
    """Of plain tasks."""
    async_queues: tuple[str, ...]
    threads: int
    async_tasks: int
    token: str = ""
    log_level: str = "INFO"

    @property
    def slots(self) -> int:
        """How many attempts can be under way."""
        return self.plain_slots + (self.async_tasks if self.async_queues else 0)

    @property
    def plain_slots(self) -> int:
        return self.threads if self.queues else 0


class Stop:
    """Whether to stop; a plain flag, since a signal handler sets it."""

    def __init__(self) -> None:
        self.asked = False

    def ask(self, *_: object) -> None:
        self.asked = True


def main(plan: Plan, board: Board) -> None:
    """The process, from its beginning to its end."""
    stop = Stop()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends it to all: it is the supervisor's to pass on
    signal.signal(signal.SIGTERM, stop.ask)
    configure_log(plan.log_level)
    _stop_with_parent(stop)
    with load_app(plan.app, token=plan.token) as app:
        Worker(app, plan, board, stop).run()


def configure_log(level: str) -> None:
    """What happens goes to standard error, a line each."""
    logging.basicConfig(level=level, format="%(asctime)s %(levelname)s %(process)d %(message)s")


def timed_out(task: Task[..., Any]) -> Failure:
    """What is said of an attempt that took longer than its task's timeout."""
    return Failure(TIMED_OUT, f"it took longer than its timeout of {task.timeout:g} s")


def tell(begun: Begun, failure: Failure, verdict: Verdict) -> None:
    """Log a failure: in a line when the item is tried again, with its traceback when it is dead."""
    if verdict.dead:
        log.error("task %r (%s) has failed for good: %s\n%s", begun.task, begun.id, failure, failure.traceback)
    else:
        log.warning(
            "task %r (%s) failed, and is tried again in %.1f s: %s", begun.task, begun.id, verdict.delay, failure
        )


def _stop_with_parent(stop: Stop) -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        multiprocessing.connection.wait([parent.sentinel])
        stop.ask()

    threading.Thread(target=watch, name="headrace-parent", daemon=True).start()


class Worker:
    """The threads and the loop of one process."""

    def __init__(self, app: App, plan: Plan, board: Board, stop: Stop) -> None:
        self._app = app
        self._handle = app.handle
        self._plan = plan
        self._board = board
        self._stop = stop
        self._refusal: HeadraceError | None = None
        self._soft: Alarm | Watchman = Watchman()

    def run(self) -> None:
        """Work until we are to stop and nothing is left."""
        plan = self._plan
        serving: list[Callable[[], None]] = [lambda: asyncio.run(self._serve_async())] if plan.async_queues else []
        in_main = plan.plain_slots == 1 and threading.current_thread() is threading.main_thread()
        if in_main:
            self._soft = Alarm()
        else:
            serving += [lambda slot=slot: self._serve(slot) for slot in range(plan.plain_slots)]  # type: ignore[misc]
        threads = [threading.Thread(target=serve) for serve in serving]
        for thread in threads:
            thread.start()
        link = self._app.link
        self._board.say_ready(link.session if link is not None else b"")
        if in_main:
            self._serve(0)
        while any(thread.is_alive() for thread in threads):
            if isinstance(self._soft, Watchman):
                self._soft.look()
            time.sleep(TICK_SECONDS)
        if self._refusal is not None:
            log.error("the node refuses to hand anything out: %s", self._refusal)
            raise SystemExit(REFUSED)

    # -- plain tasks

    def _serve(self, slot: int) -> None:
        try:
            while not self._stop.asked:
                for lease in self._take(self._plan.queues, 1):
                    self._attempt(slot, lease)
        finally:
            self._stop.ask()  # when one of us fails all do, and the process is replaced

    def _attempt(self, slot: int, lease: Lease) -> None:
        lease.watch()
        begun = begin(lease)
        try:
            task, args, kwargs = job_of(self._app, lease)
            self._board.begin(slot, begun, _deadline_ns(task.timeout))
            try:
                with self._soft.within(task.soft_timeout):
                    value = task.function(*args, **kwargs)
            finally:
                self._board.end(slot)
        except BaseException as error:  # a task may raise anything, SystemExit too
            self._on_failed(begun, lease, failure_of(error))
        else:
            self._settle(begun, lease, succeeded(begun, value))

    # -- async tasks

    async def _serve_async(self) -> None:
        """Take what there is room for, and run it on this loop; what waits for the node does so in threads."""
        loop = asyncio.get_running_loop()
        first = self._plan.plain_slots
        free = list(range(first, self._plan.slots))
        running: set[asyncio.Task[None]] = set()
        with ThreadPoolExecutor(SETTLERS + 1, thread_name_prefix="headrace-settler") as threads:
            try:
                while not self._stop.asked:
                    if not free:
                        await asyncio.wait(running, timeout=POLL_SECONDS, return_when=asyncio.FIRST_COMPLETED)
                        continue
                    room = min(len(free), MOST_AT_ONCE)
                    for lease in await loop.run_in_executor(threads, self._take, self._plan.async_queues, room):
                        slot = free.pop()
                        attempt = loop.create_task(self._attempt_async(slot, lease, threads))
                        running.add(attempt)
                        attempt.add_done_callback(running.discard)
                        attempt.add_done_callback(lambda _, slot=slot: free.append(slot))  # type: ignore[misc]
                while running:
                    await asyncio.wait(running)
            finally:
                self._stop.ask()

    async def _attempt_async(self, slot: int, lease: Lease, threads: ThreadPoolExecutor) -> None:
        loop = asyncio.get_running_loop()
        lease.watch()
        begun = begin(lease)
        try:
            value = await self._run_async(slot, begun, lease)
        except BaseException as error:
            failure = error.failure if isinstance(error, _TimedOutError) else failure_of(error)
            await loop.run_in_executor(threads, self._on_failed, begun, lease, failure)
        else:
            await loop.run_in_executor(threads, self._settle, begun, lease, succeeded(begun, value))

    async def _run_async(self, slot: int, begun: Begun, lease: Lease) -> Any:
        task, args, kwargs = job_of(self._app, lease)
        self._board.begin(slot, begun, _deadline_ns(task.timeout, grace=ASYNC_GRACE_SECONDS))
        limit = asyncio.timeout(task.soft_timeout or task.timeout)
        try:
            async with limit:
                return await task.function(*args, **kwargs)
        except TimeoutError:
            if not limit.expired():
                raise  # the task's own
            if task.soft_timeout is not None:
                raise SoftTimeout from None
            raise _TimedOutError(timed_out(task)) from None
        finally:
            self._board.end(slot)

    # -- both

    def _take(self, queues: tuple[str, ...], count: int) -> list[Lease]:
        """Up to `count` items, or none in a while."""
        try:
            return self._handle.pop(queues, count, wait=POLL_SECONDS)
        except (Forbidden, PeerViolation) as error:
            self._refusal = error
            self._stop.ask()
        except HeadraceError as error:
            log.warning("nothing could be taken: %s", error)
            time.sleep(PAUSE_SECONDS)
        return []

    def _on_failed(self, begun: Begun, lease: Lease, failure: Failure) -> None:
        task = self._app.tasks.get(begun.task)
        try:
            verdict = verdict_on(self._handle, begun, task, failure)
        except HeadraceError:  # its story cannot be asked for now: each attempt counts
            verdict = failed(begun, task, failure, earlier=begun.attempt - 1)
        tell(begun, failure, verdict)
        self._settle(begun, lease, verdict)

    def _settle(self, begun: Begun, lease: Lease, verdict: Verdict) -> None:
        try:
            try:
                carry_out(self._handle, lease, verdict)
            except Invalid as error:
                carry_out(self._handle, lease, unsendable(begun, error))
        except Rejected as error:
            log.warning("task %r (%s) was not settled: %s", begun.task, begun.id, error)
        except HeadraceError as error:
            log.error("task %r (%s) could not be settled: %s", begun.task, begun.id, error)


class _TimedOutError(Exception):
    """An async task was cancelled at its timeout."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(str(failure))
        self.failure = failure


def _deadline_ns(timeout: float | None, *, grace: float = 0.0) -> int:
    return 0 if timeout is None else monotonic_ns() + round((timeout + grace) * NS)

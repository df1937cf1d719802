"""The parent of worker processes: starts them, keeps their number, kills what takes too long, and speaks for the dead.

A process that died by itself has crashed with what it was running: those items are given back as crashes of their
worker, which the queue counts apart and, after a few, sets the item aside for. What was only in its hands, and what ran
beside a task that we killed it for, goes back and counts as nothing.
"""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import multiprocessing.connection
import signal
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from time import monotonic, monotonic_ns
from typing import Final

from headrace.client.handle import end_session, hand_back
from headrace.core.errors import Forbidden, Gone, HeadraceError, Invalid, Rejected
from headrace.core.limits import QueueSettings
from headrace.core.records import CLOSED, WORKER_CRASHED
from headrace.work import failures
from headrace.work.app import App
from headrace.work.attempts import Begun, carry_out, reply_of_failure, verdict_on
from headrace.work.board import Board
from headrace.work.failures import Failure
from headrace.work.process import REFUSED, Plan, main, tell, timed_out

log = logging.getLogger("headrace.work")

TICK_SECONDS: Final = 0.1
AGAIN_SECONDS: Final = 2.0
"""After so long a dead session is ended once more: the node may have read what its process sent after the first."""
FIRST_PAUSE_SECONDS: Final = 0.5
LONGEST_PAUSE_SECONDS: Final = 10.0
"""Before the next start, when a process died before it was ready, or was refused."""


class Child:
    """One worker process."""

    def __init__(self, plan: Plan) -> None:
        context = multiprocessing.get_context("spawn")
        self.board = Board.blank(context, plan.slots)
        self.process = context.Process(target=main, args=(plan, self.board), name="headrace-worker")
        self.overdue_ns = 0
        """When we killed it for an attempt that took too long."""
        self.is_killed = False
        self.process.start()

    def kill(self) -> None:
        self.is_killed = True
        self.process.kill()

    def said_goodbye(self) -> bool:
        """Whether it ended as it should, with nothing left in its hands."""
        return self.process.exitcode in (0, REFUSED) and not any(self.board.running())

    def end(self) -> str:
        """How it ended, in words."""
        code = self.process.exitcode or 0
        return f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"


class Supervisor:
    """Keeps so many processes at work."""

    def __init__(self, app: App, plan: Plan, *, processes: int, grace: float) -> None:
        self._app = app
        self._plan = plan
        self._processes = processes
        self._grace = grace
        self._children: list[Child] = []
        self._stop_asked = 0
        self._undertaker = ThreadPoolExecutor(1, thread_name_prefix="headrace-undertaker")
        self._end_again: list[tuple[float, bytes]] = []
        self._failed_starts = 0
        self._next_start = 0.0

    def run(self) -> bool:
        """Work until a signal says stop; whether everything was finished within the grace."""
        before = [signal.signal(number, self._ask_to_stop) for number in (signal.SIGTERM, signal.SIGINT)]
        try:
            while not self._stop_asked:
                self._start_missing()
                self._wait()
            return self._stop()
        finally:
            for child in self._children:  # only when we fail ourselves
                child.kill()
            self._undertaker.shutdown()
            for number, handler in zip((signal.SIGTERM, signal.SIGINT), before, strict=True):
                signal.signal(number, handler)

    def _ask_to_stop(self, *_: object) -> None:
        self._stop_asked += 1

    def _stop(self) -> bool:
        """Let them finish; after the grace, or when asked again, kill them and give back what they held."""
        for child in self._children:
            child.process.terminate()
        log.info("stopping: what runs has %g s to finish", self._grace)
        until, asked = monotonic() + self._grace, self._stop_asked
        while self._children and monotonic() < until and self._stop_asked == asked:
            self._wait()
        left = list(self._children)
        for child in left:
            child.kill()
        while self._children:
            self._wait()
        return not left

    def _start_missing(self) -> None:
        if len(self._children) < self._processes and monotonic() >= self._next_start:
            while len(self._children) < self._processes:
                self._children.append(Child(self._plan))

    def _wait(self) -> None:
        """Look after the children for a tick."""
        sentinels = [child.process.sentinel for child in self._children]
        multiprocessing.connection.wait(sentinels, TICK_SECONDS)
        now_ns = monotonic_ns()
        for child in list(self._children):
            if not child.process.is_alive():
                self._children.remove(child)
                self._on_ended(child)
            elif not child.is_killed and child.board.overdue(now_ns):
                child.overdue_ns = now_ns
                child.kill()
        while self._end_again and self._end_again[0][0] <= monotonic():
            self._undertaker.submit(self._end_session, self._end_again.pop(0)[1])

    def _on_ended(self, child: Child) -> None:
        child.process.join()
        is_useless = not child.board.is_ready or child.process.exitcode == REFUSED
        if is_useless and not (child.is_killed or self._stop_asked):
            self._failed_starts += 1
            pause = min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2.0 ** min(self._failed_starts, 10))
            self._next_start = monotonic() + pause
            log.error("worker process %s %s; the next starts in %.1f s", child.process.pid, child.end(), pause)
            return
        self._failed_starts = 0
        if not child.said_goodbye():
            self._undertaker.submit(self._bury, child)
            if child.board.is_ready:
                self._end_again.append((monotonic() + AGAIN_SECONDS, child.board.session))

    # -- in the undertaker's thread

    def _bury(self, child: Child) -> None:
        """Say of each item in the hands of a dead process what became of it."""
        running = list(child.board.running())
        names = ", ".join(repr(begun.task) for _, begun in running) or "nothing"
        log.warning("worker process %s %s; it was running %s", child.process.pid, child.end(), names)
        overdue = child.board.overdue(child.overdue_ns)  # not what began between our look and its death
        for slot, begun in running:
            try:
                if slot in overdue:
                    self._on_overdue(begun)
                elif child.is_killed:
                    hand_back(self._app.handle, begun.receipt, CLOSED, "its worker was stopped")
                else:
                    self._on_crashed(begun, child.end())
            except Rejected as error:
                log.warning("task %r (%s) was not given back: %s", begun.task, begun.id, error)
            except HeadraceError as error:
                log.error("task %r (%s) could not be given back, its lease will end: %s", begun.task, begun.id, error)
        self._end_session(child.board.session)

    def _on_overdue(self, begun: Begun) -> None:
        task = self._app.tasks[begun.task]
        failure = timed_out(task)
        verdict = verdict_on(self._app.handle, begun, task, failure)
        tell(begun, failure, verdict)
        carry_out(self._app.handle, begun.receipt, verdict)

    def _on_crashed(self, begun: Begun, end: str) -> None:
        handle = self._app.handle
        hand_back(handle, begun.receipt, WORKER_CRASHED, f"the process {end}")
        with contextlib.suppress(Forbidden):  # then its caller finds out by itself
            if handle.why(begun.id).state == "dead":
                failure = Failure(failures.WORKER_CRASHED, f"its worker process {end}, as others did before")
                log.error("task %r (%s) is set aside: %s", begun.task, begun.id, failure)
                for queue, item in reply_of_failure(begun, failure):
                    handle.add(queue, item)

    def _end_session(self, session: bytes) -> None:
        try:
            end_session(self._app.handle, session)
        except HeadraceError as error:
            log.error("the session of a dead worker could not be ended, its leases will: %s", error)


def prepare(app: App, queues: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Check that this app can be worked for; the queues of plain tasks, and those of async ones."""
    if not app.tasks:
        raise Invalid("this app has no tasks: decorate a function with @app.task, in a module that is imported")
    if app.link is None:
        raise Invalid(
            f"this app opens {str(app.node)!r} in its own process, where no other can work for it: serve the directory "
            "(`headrace serve --at DIR`), and give the app its address"
        )
    for task in app.tasks.values():
        task.parameters.check()
    kinds = {task.queue: task.is_async for task in app.tasks.values()}
    chosen = list(queues) or sorted(kinds)
    for queue in chosen:
        if queue not in kinds:
            raise Invalid(f"no task of this app is on queue {queue!r}: they are on {', '.join(sorted(kinds))}")
        app.handle.peek(queue)  # `Forbidden` is better met here
        _leave_room(app, queue)
    plain = [queue for queue in chosen if not kinds[queue]]
    return tuple(plain), tuple(queue for queue in chosen if kinds[queue])


def _leave_room(app: App, queue: str) -> None:
    """See to it that the queue's own bound on attempts does not cut the retries of its tasks short."""
    needed = 1 + max(task.retries for task in app.tasks.values() if task.queue == queue)
    try:
        settings = app.handle.stats(queue).settings
    except Gone:
        settings = QueueSettings()
    except Forbidden:
        log.warning("the access token does not allow to look at queue %r: are its max_attempts %d?", queue, needed)
        return
    if settings.max_attempts < needed:
        app.handle.declare(queue, max_attempts=needed)

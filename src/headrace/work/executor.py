"""`headrace.Executor`: the tasks of an app behind the interface of `concurrent.futures`."""

from __future__ import annotations

import concurrent.futures
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from headrace.core.errors import Invalid
from headrace.work.app import App
from headrace.work.tasks import Task


class Executor(concurrent.futures.Executor):
    """Runs tasks at workers, for code that takes a `concurrent.futures.Executor`.

    Only tasks of the app can be submitted: a worker runs what it has the code of, and nothing that is sent to it.
    """

    def __init__(self, app: App) -> None:
        self._app = app
        self._open = True
        self._outstanding: set[Future[Any]] = set()
        self._lock = threading.Lock()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Submit a task; its future."""
        task = self._task(fn)
        if not self._open:
            raise RuntimeError("cannot schedule new futures after shutdown")
        future = task.submit(*args, **kwargs).future
        with self._lock:
            self._outstanding.add(future)
        future.add_done_callback(self._outstanding.discard)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take nothing more; wait for what is outstanding, or cancel what has not begun. The app stays open."""
        with self._lock:
            self._open = False
            outstanding = list(self._outstanding)
        if cancel_futures:
            for future in outstanding:
                future.cancel()
        if wait:
            concurrent.futures.wait(outstanding)

    def _task(self, fn: Callable[..., Any]) -> Task[..., Any]:
        if isinstance(fn, Task):
            if fn.app is self._app:
                return fn
            raise Invalid(f"task {fn.name!r} is of another app: make an Executor of that one")
        for task in self._app.tasks.values():
            if task.function is fn:
                return task
        name = getattr(fn, "__name__", repr(fn))
        raise Invalid(f"{name} is no task of this app, and functions are not sent: decorate it with @app.task")

"""An app: the tasks of a program, and the node whose queues they run from."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import inspect
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from types import TracebackType
from typing import Any, Final, ParamSpec, Self, TypeVar, overload

import msgspec

from headrace.client.connecting import connect
from headrace.client.handle import Headrace
from headrace.client.opening import open
from headrace.core.errors import Invalid
from headrace.core.items import Item, show_id
from headrace.core.limits import US
from headrace.core.names import nearest
from headrace.runtime.ids import ids
from headrace.runtime.link import Link
from headrace.work.failures import TaskFailed, failure_of
from headrace.work.messages import VERSION, Call, encode
from headrace.work.results import Replies, Result
from headrace.work.tasks import Backoff, Options, Task

P = ParamSpec("P")
R = TypeVar("R")
LEAVING_US: Final = 2 * US


class App:
    """`app = headrace.App("headrace://localhost")`: tasks, and where they are queued.

    `node` is an address, the path of a directory that is served or opened here, or a handle that is open. It is
    connected to when it is first needed. With `inline` tasks run where they are submitted, for tests.
    """

    def __init__(
        self, node: str | os.PathLike[str] | Headrace, *, token: str = "", ca: str | None = None, inline: bool = False
    ) -> None:
        self.node = node
        self.token = token
        self.ca = ca
        self.tasks: dict[str, Task[..., Any]] = {}
        self._inline = inline
        self._lock = threading.Lock()
        self._handle: Headrace | None = None
        self._replies: Replies | None = None
        self._pid = 0

    # -- tasks

    @overload
    def task(self, function: Callable[P, R]) -> Task[P, R]: ...
    @overload
    def task(
        self,
        *,
        name: str | None = None,
        queue: str | None = None,
        priority: int = 0,
        retries: int = 0,
        backoff: Backoff | None = None,
        timeout: float | None = None,
        soft_timeout: float | None = None,
        result_ttl: float = 3600.0,
    ) -> Callable[[Callable[P, R]], Task[P, R]]: ...
    def task(self, function: Callable[..., Any] | None = None, *, name: str | None = None, **options: Any) -> Any:
        """Make a task of a function, for `@app.task` or `@app.task(queue="thumbs", retries=5)`.

        It is known by `name`, which is the function's unless given. `retries` follow the first attempt, after the
        pauses of `backoff`. After `soft_timeout` seconds `SoftTimeout` is raised in it; after `timeout` its worker
        process is killed, and the attempt has failed. Its result is kept for `result_ttl` seconds; 0 is not at all.
        """
        if function is None:
            return lambda function: self.task(function, name=name, **options)  # type: ignore[call-overload]
        if not callable(function):
            raise Invalid(f"a task is made of a function, not of {function!r}; its options go by name")
        known = list(inspect.signature(self._register).parameters)[2:]
        for option in options:
            if option not in known:
                raise Invalid(f"{option!r} is no option of a task.{nearest(option, known)}")
        return self._register(function, name or function.__name__, **options)

    def _register(
        self,
        function: Callable[..., Any],
        name: str,
        *,
        queue: str | None = None,
        priority: int = 0,
        retries: int = 0,
        backoff: Backoff | None = None,
        timeout: float | None = None,
        soft_timeout: float | None = None,
        result_ttl: float = 3600.0,
    ) -> Task[..., Any]:
        task: Task[..., Any] = Task(
            self,
            function,
            name=name,
            queue=queue,
            priority=priority,
            retries=retries,
            backoff=Backoff() if backoff is None else backoff,
            timeout=timeout,
            soft_timeout=soft_timeout,
            result_ttl=result_ttl,
        )
        if name in self.tasks:
            raise Invalid(f"there are two tasks {name!r}: give one of them another name, @app.task(name=…)")
        for other in self.tasks.values():
            if other.queue == task.queue and other.is_async != task.is_async:
                raise Invalid(
                    f"queue {task.queue!r} would have plain tasks and async ones ({other.name!r}, {name!r}): they run "
                    "differently, so give the async ones a queue of their own"
                )
        self.tasks[name] = task
        return task

    def submit(self, task: Task[..., R], args: tuple[Any, ...], kwargs: dict[str, Any], options: Options) -> Result[R]:
        """Add the item of a call, or run it at once; programs use the task's own `submit`."""
        arguments = task.parameters.encode(args, kwargs, beside=Options.__struct_fields__)
        id = show_id(ids.one())
        if self._inline:
            return Result(None, task, id, _run(task, id, arguments))
        handle, replies = self._connected()
        seconds = task.result_ttl if options.result_ttl is None else options.result_ttl
        promise = replies.expect(task, id) if seconds else None
        reply_to = replies.queue if promise is not None else ""
        item = Item(
            encode(Call(VERSION, task.name, msgspec.Raw(arguments), reply_to, seconds)),
            priority=task.priority if options.priority is None else options.priority,
            key=options.key,
            delay=options.delay,
            not_before=options.not_before,
            expires=options.expires,
            id=id,
        )
        added = handle.add(task.queue, item)
        if added != id:  # its key is held by an item that was added before
            promise = replies.promised(added)
        return Result(handle, task, added, promise)

    @contextlib.contextmanager
    def inline(self) -> Iterator[None]:
        """For tests: while this lasts, submit runs the task at once, here, and no node is needed.

        Arguments and result are encoded and decoded all the same; an exception is raised by `result()` as `TaskFailed`.
        """
        before, self._inline = self._inline, True
        try:
            yield
        finally:
            self._inline = before

    # -- the node

    @property
    def handle(self) -> Headrace:
        """The node, connected to when this is first asked for, and anew in a process that was forked."""
        return self._connected()[0]

    @property
    def link(self) -> Link | None:
        """The session with the node, if that is in another process."""
        engine = self.handle._engine
        return engine if isinstance(engine, Link) else None

    def close(self) -> None:
        """Give up the results that are outstanding, and let the node go."""
        with self._lock:
            handle, replies, self._handle, self._replies = self._handle, self._replies, None, None
        if handle is None or replies is None or self._pid != os.getpid():
            return
        atexit.unregister(self._leave)
        replies.close()
        if handle is not self.node:
            handle.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _connected(self) -> tuple[Headrace, Replies]:
        handle, replies = self._handle, self._replies
        if handle is not None and replies is not None and self._pid == os.getpid():
            return handle, replies
        with self._lock:
            if self._handle is None or self._replies is None or self._pid != os.getpid():
                self._handle = self._open()
                self._replies = Replies(self._handle)
                self._pid = os.getpid()
                atexit.register(self._leave)
            return self._handle, self._replies

    def _leave(self) -> None:
        """The interpreter ends: do not wait long for a node that is away."""
        if self._handle is not None and self._pid == os.getpid() and self.link is not None:
            self.link.timeout_us = min(self.link.timeout_us, LEAVING_US)
        self.close()

    def _open(self) -> Headrace:
        if isinstance(self.node, Headrace):
            return self.node
        node = self._address()
        return connect(node, token=self.token, ca=self.ca) if "://" in node else open(node)

    def _address(self) -> str:
        if isinstance(self.node, Headrace):
            raise Invalid("this app was given an open handle: give it an address, so that workers can connect too")
        try:
            return os.fspath(self.node)
        except TypeError:
            raise Invalid(f"an app's node is an address, a path or a handle; it is {self.node!r}") from None


def _run(task: Task[..., Any], id: str, arguments: bytes) -> Future[Any]:
    """Run a task here, as a worker would."""
    done: Future[Any] = Future()
    try:
        args, kwargs = task.parameters.decode(arguments)
        value = _in_a_loop(task, args, kwargs) if task.is_async else task.function(*args, **kwargs)
        done.set_result(task.parameters.decode_result(encode(value)))
    except (Exception, SystemExit) as error:
        done.set_exception(TaskFailed(task.name, id, failure_of(error)))
    return done


def _in_a_loop(task: Task[..., Any], args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Run an async task to its end in a loop of its own; in a thread, for there may be a loop in this one."""
    outcome: Future[Any] = Future()

    def run() -> None:
        try:
            outcome.set_result(asyncio.run(task.function(*args, **kwargs)))
        except BaseException as error:
            outcome.set_exception(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return outcome.result()

"""A task: a function that can be run elsewhere, and how it is to be run."""

from __future__ import annotations

import datetime as dt
import functools
import inspect
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, ParamSpec, TypeVar

import msgspec

from headrace.core.errors import Invalid
from headrace.core.limits import check_count, check_queue_name, check_seconds
from headrace.core.names import nearest
from headrace.work.parameters import Parameters

if TYPE_CHECKING:
    from headrace.work.app import App
    from headrace.work.results import Result

P = ParamSpec("P")
R = TypeVar("R")

QUEUE: Final = "tasks"
ASYNC_QUEUE: Final = "async-tasks"
MOST_RETRIES: Final = 10_000
LONGEST_NAME: Final = 200


@dataclass(frozen=True, slots=True)
class Backoff:
    """How long to wait before an item is tried again: `first` seconds, then twice as long each time, at most `most`.

    Each pause is drawn from its upper half, so that what failed together does not come back together.
    """

    first: float = 1.0
    most: float = 60.0

    def __post_init__(self) -> None:
        check_seconds("the first pause of a backoff", self.first)
        check_seconds("the longest pause of a backoff", self.most, least=self.first)

    def seconds(self, failures: int) -> float:
        """The pause after so many failures."""
        pause: float = min(self.most, self.first * 2.0 ** min(failures - 1, 50))
        return pause * random.uniform(0.5, 1.0)


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What one call may say beside its arguments: as an item's own options, and `result_ttl` as the task's."""

    priority: int | None = None
    key: str | None = None
    delay: float | None = None
    not_before: dt.datetime | None = None
    expires: float | None = None
    result_ttl: float | None = None


class Task(Generic[P, R]):
    """A function of an app. Called it runs here; submitted it runs at a worker."""

    def __init__(
        self,
        app: App,
        function: Callable[P, R],
        *,
        name: str,
        queue: str | None,
        priority: int,
        retries: int,
        backoff: Backoff,
        timeout: float | None,
        soft_timeout: float | None,
        result_ttl: float,
    ) -> None:
        functools.update_wrapper(self, function)
        self.app = app
        self.function = function
        self.name = name
        self.is_async = inspect.iscoroutinefunction(function)
        self.queue = check_queue_name(queue or (ASYNC_QUEUE if self.is_async else QUEUE))
        self.priority = priority
        self.retries = check_count("retries", retries, least=0, most=MOST_RETRIES)
        self.backoff = backoff
        self.timeout = timeout
        self.soft_timeout = soft_timeout
        self.result_ttl = result_ttl
        self.parameters = Parameters(name, function)
        self._check()

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)

    def submit(self, *args: Any, **kwargs: Any) -> Result[R]:
        """Have it run by a worker with these arguments. A keyword that is no parameter is an option of the call:

        `priority` (lower is more urgent), `key` (nothing is added if one with this key was within the last hour),
        `delay` or `not_before`, `expires` (dropped if it has not begun by then), `result_ttl`.
        """
        own = {name: kwargs.pop(name) for name in Options.__struct_fields__ if name in kwargs}
        return self.app.submit(self, args, kwargs, Options(**own))

    def options(self, **options: Any) -> Submitter[R]:
        """The same with these options: `thumbnail.options(priority=3, delay=5).submit("cat.png")`."""
        for name in options:
            if name not in Options.__struct_fields__:
                raise Invalid(
                    f"{name!r} is no option of a call: they are {', '.join(Options.__struct_fields__)}."
                    f"{nearest(name, Options.__struct_fields__)}"
                )
        return Submitter(self, Options(**options))

    def __repr__(self) -> str:
        return f"<Task {self.name!r} on queue {self.queue!r}>"

    def _check(self) -> None:
        name = self.name
        if type(name) is not str or not 0 < len(name.encode()) <= LONGEST_NAME:
            raise Invalid(f"a task's name is text of 1 to {LONGEST_NAME} bytes; it is {name!r}")
        for both in (parameter for parameter in self.parameters.names if parameter in Options.__struct_fields__):
            raise Invalid(
                f"task {name!r} has a parameter {both!r}, which is an option of submit too: call the parameter "
                "something else"
            )
        if not isinstance(self.backoff, Backoff):
            raise Invalid(f"the backoff of task {name!r} is a headrace.Backoff; it is {self.backoff!r}")
        for what in ("timeout", "soft_timeout"):
            if getattr(self, what) is not None:
                check_seconds(f"the {what} of task {name!r}", getattr(self, what), least=0.001)
        if self.timeout is not None and self.soft_timeout is not None and self.soft_timeout >= self.timeout:
            raise Invalid(
                f"the soft_timeout of task {name!r} is {self.soft_timeout:g} s, and its timeout {self.timeout:g} s "
                "kills the worker before that: make it shorter"
            )
        check_seconds(f"the result_ttl of task {name!r}", self.result_ttl)


@dataclass(frozen=True, slots=True)
class Submitter(Generic[R]):
    """A task with the options of a call."""

    task: Task[..., R]
    options: Options

    def submit(self, *args: Any, **kwargs: Any) -> Result[R]:
        """Have it run by a worker with these arguments."""
        return self.task.app.submit(self.task, args, kwargs, self.options)

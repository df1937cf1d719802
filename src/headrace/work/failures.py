"""What went wrong in a task, as it is told to whoever waits for its result."""

from __future__ import annotations

import traceback
from typing import Final

import msgspec

from headrace.core.errors import HeadraceError

MOST_CHARS: Final = 20_000
"""Of a traceback or a message; the end of it says most."""
WORKER_CRASHED: Final = "WorkerCrashed"
TIMED_OUT: Final = "TimedOut"


class SoftTimeout(Exception):
    """Raised inside a task whose `soft_timeout` has passed, so that it can tidy up."""

    def __init__(self) -> None:
        super().__init__("the task's soft timeout has passed")


class Failure(msgspec.Struct, frozen=True, array_like=True):
    """An exception that happened elsewhere: the name of its class, its message, its traceback as text."""

    type: str
    message: str
    traceback: str = ""

    def __str__(self) -> str:
        return f"{self.type}: {self.message}" if self.message else self.type


class TaskFailed(HeadraceError):
    """A task has failed for good. `type`, `message` and `traceback` are those of the exception at the worker."""

    def __init__(self, task: str, id: str, failure: Failure) -> None:
        super().__init__(f"task {task!r} failed: {failure}")
        self.task = task
        self.id = id
        self.type = failure.type
        self.message = failure.message
        self.traceback = failure.traceback


def failure_of(error: BaseException) -> Failure:
    """An exception as it is told elsewhere."""
    kind = type(error)
    is_known = kind.__module__.partition(".")[0] in ("builtins", "headrace")
    name = kind.__qualname__ if is_known else f"{kind.__module__}.{kind.__qualname__}"
    try:
        message = str(error)
    except Exception:  # a task's own class, whose __str__ is broken
        message = "(its message cannot be shown)"
    story = "".join(traceback.format_exception(error))
    return Failure(name, _text(message)[-MOST_CHARS:], _text(story)[-MOST_CHARS:])


def _text(text: str) -> str:
    """Text that can be encoded."""
    return text.encode("utf-8", "backslashreplace").decode()

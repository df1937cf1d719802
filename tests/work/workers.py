"""A served node, an app on it, and workers as real processes."""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import pytest

from tests.server.serve import served

ROOT = str(Path(__file__).parents[2])
PATIENCE_SECONDS = 120


@contextmanager
def tasks_on_a_node(path: Path) -> Iterator[ModuleType]:
    """The module of tasks, whose app is on a node that is served here."""
    with served(path, durability="os") as node, pytest.MonkeyPatch.context() as patch:
        patch.setenv("TEST_NODE", f"headrace://127.0.0.1:{node.port}")
        tasks = importlib.reload(importlib.import_module("tests.work.tasks"))
        with tasks.app:
            yield tasks


@contextmanager
def worker(*options: str) -> Iterator[subprocess.Popen[str]]:
    """`headrace work` for these tasks; killed with its children at the end, if it has not ended."""
    process = subprocess.Popen(
        [sys.executable, "-m", "headrace", "work", "tests.work.tasks:app", "--log-level", "WARNING", *options],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        for number in (signal.SIGTERM, signal.SIGTERM):  # the second one says: at once
            process.send_signal(number)
        process.communicate(timeout=PATIENCE_SECONDS)


def wait_for_line(process: subprocess.Popen[str], words: str) -> None:
    """Return once the process has said so on standard error."""
    assert process.stderr is not None
    while words not in (line := process.stderr.readline()):
        assert line, f"the process ended without saying {words!r}"


class Gate:
    """A named pipe that a task waits at."""

    def __init__(self, folder: Path, name: str = "gate") -> None:
        self.path = str(folder / name)
        os.mkfifo(self.path)
        self._end: int | None = None

    def wait(self) -> None:
        """Return once a task has come to it."""
        with ThreadPoolExecutor(1) as thread:
            self._end = thread.submit(os.open, self.path, os.O_WRONLY).result(PATIENCE_SECONDS)

    def open(self) -> None:
        """Let the task go on."""
        assert self._end is not None
        os.close(self._end)
        self._end = None

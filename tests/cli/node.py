"""A node that `headrace serve` runs in a process of its own."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


class Node:
    """A running `headrace serve`; `ready` is what it printed once it was."""

    def __init__(self, at: Path | str, *arguments: str) -> None:
        ports = () if "--port" in arguments else ("--port", "0")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "headrace", "serve", "--json", "--at", str(at), *ports, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(f"the node did not start: {self.process.communicate()[1]}")
        self.ready: dict[str, Any] = json.loads(line)
        self.url: str = self.ready["url"]

    def end(self, sign: signal.Signals) -> tuple[int, str]:
        """Its exit code and what it said on standard error, after a signal."""
        self.process.send_signal(sign)
        _, err = self.process.communicate()
        return self.process.returncode, err


@contextmanager
def node(at: Path | str, *arguments: str) -> Iterator[Node]:
    """A node, killed at the end if it still runs."""
    running = Node(at, *arguments)
    try:
        yield running
    finally:
        running.process.kill()
        running.process.communicate()

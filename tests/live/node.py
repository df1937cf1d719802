"""A node that a process of its own serves, with the same ports in each of its lives."""

from __future__ import annotations

import json
import os
import random
import socket
from pathlib import Path
from types import TracebackType

from tests.live.process import Process

PROGRAM = "from headrace.cli import main; main()"
PORTS = range(20_000, 32_000)
"""Below those that the system gives to outgoing connections: a client that knocks while the node is dead takes none."""


class Node:
    """A node and its process; killed at the end."""

    def __init__(self, at: Path, *, durability: str = "os", **options: object) -> None:
        """`options` are those of `headrace serve`."""
        self.at = at
        self.port, self.rest_port = free_port(), free_port()
        told = {"at": at, "port": self.port, "rest-port": self.rest_port, "durability": durability, **options}
        self._arguments = [f"--{name.replace('_', '-')}={value}" for name, value in told.items()]
        self._process: Process | None = None
        self.start()

    @property
    def url(self) -> str:
        return f"headrace://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        self._process = Process(PROGRAM, "serve", "--json", *self._arguments)
        assert json.loads(self._process.line())["port"] == self.port

    def kill(self) -> None:
        """End it with -9."""
        assert self._process is not None
        self._process.__exit__(None, None, None)
        self._process = None

    def descriptors(self) -> int:
        """How many files and connections it has open."""
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def resident_bytes(self) -> int:
        return int(Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def __enter__(self) -> Node:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            self.kill()


def free_port() -> int:
    """A port nobody listens on."""
    while True:
        port = random.choice(PORTS)
        with socket.socket() as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                tried.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port

"""What strangers say to the doors of a node, and what they get for it."""

from __future__ import annotations

import contextlib
import itertools
import socket
import threading
from types import TracebackType

import headrace
from headrace.core.commands import QueueStats
from headrace.core.messages import VERSION, Hello
from headrace.wire.binary import pack

PATIENCE_SECONDS = 30.0
"""Beyond every limit of the nodes under test: whoever waits so long for a node hangs."""


def dial(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), PATIENCE_SECONDS)


def told(stream: socket.socket) -> bytes:
    """All that the node says until it hangs up; `TimeoutError` when it does not."""
    heard = b""
    while True:
        try:
            data = stream.recv(1 << 16)
        except ConnectionError:
            return heard
        if not data:
            return heard
        heard += data


def said(stream: socket.socket, data: bytes) -> bytes:
    """What the node says to this, and to no more."""
    with contextlib.suppress(ConnectionError):
        stream.sendall(data)
        stream.shutdown(socket.SHUT_WR)
    return told(stream)


def hello(number: int, *, token: str = "") -> bytes:
    """The frame by which a new session begins."""
    return pack(Hello(VERSION, number.to_bytes(16, "big"), True, token))


class Neighbour:
    """A well-behaved client that works on while others do not behave; an error or a stand is the test's."""

    def __init__(self, url: str) -> None:
        self.cycles = 0
        self._hr = headrace.connect(url)
        self._hr.declare("neighbour")
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._work)
        self._error: Exception | None = None

    def stats(self) -> QueueStats:
        return self._hr.stats("neighbour")

    def _work(self) -> None:
        try:
            for number in itertools.count():
                if self._stopping.is_set():
                    return
                body = b"%d" % number
                self._hr.add("neighbour", body)
                (lease,) = self._hr.pop("neighbour", wait=PATIENCE_SECONDS)
                assert lease.body == body
                lease.commit()
                self.cycles += 1
        except Exception as error:
            self._error = error

    def __enter__(self) -> Neighbour:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping.set()
        self._thread.join()
        stats = self.stats()
        self._hr.close()
        if error is None:
            assert self._error is None, repr(self._error)
            assert self.cycles > 0
            assert (stats.added, stats.committed, stats.queued, stats.leased) == (self.cycles, self.cycles, 0, 0)

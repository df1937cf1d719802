"""What an operation of a served Headrace costs among 1,000 queues, and beside 2,000 connections, to one of each."""

from __future__ import annotations

import resource
import socket
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import headrace
from bench.peers.servers import Server
from headrace.core.messages import VERSION, Hello
from headrace.wire.binary import pack

QUEUES = 1_000
CONNECTIONS = 2_000
ROUNDS = 2_000
WARM_UP = 200


def operations_us(server: Server, queues: int) -> dict[str, float]:
    """The median time of each operation, in µs, by one client that goes round so many queues."""
    names = [f"queue-{number}" for number in range(queues)]
    times: dict[str, list[float]] = {}

    def timed(name: str, act: Callable[[], object]) -> object:
        began = time.perf_counter()
        found = act()
        times.setdefault(name, []).append(time.perf_counter() - began)
        return found

    with headrace.connect(f"headrace://127.0.0.1:{server.port}") as hr:
        for name in names:
            hr.add_many(name, [b"x" * 100] * 10)
        for number in range(ROUNDS + WARM_UP):
            if number == WARM_UP:
                times.clear()
            name = names[number % queues]
            timed("add", lambda name=name: hr.add(name, b"x" * 100))
            timed("peek", lambda name=name: hr.peek(name))
            taken = timed("pop", lambda name=name: hr.pop(name))
            timed("extend", lambda taken=taken: hr.extend(taken, 60))
            timed("commit", lambda taken=taken: hr.commit(taken))
            timed("stats", lambda name=name: hr.stats(name))
        for name in names:
            hr.drop(name)
    return {name: statistics.median(found) * 1e6 for name, found in times.items()}


@contextmanager
def crowd(server: Server, count: int) -> Iterator[None]:
    """So many sessions that are connected and idle."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    streams = []
    try:
        for number in range(count):
            stream = socket.create_connection(("127.0.0.1", server.port))
            streams.append(stream)
            stream.sendall(pack(Hello(VERSION, number.to_bytes(16, "big"), True)))
            stream.recv(1 << 16)
        yield
    finally:
        for stream in streams:
            stream.close()

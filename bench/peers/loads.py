"""What is measured: client processes that put, take and acknowledge; and what it cost them and the server.

`batched`: half of the clients put, 100 a call, while the other half take and acknowledge, 100 a call; timed from the
first put to the last acknowledgement. `single`: each client puts, takes and acknowledges one item, again and again.
`waiting`: one client waits in the server, another puts now and then; timed from before the put until the body is there.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import struct
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from bench.peers.clients import Client, Postgres
from bench.peers.servers import Server
from bench.quiet import Watch, wait_for_quiet

BATCH = 100
CLIENTS = 8
BODY_BYTES = 100
PUTS_WAITED_FOR = 300
PAUSE_SECONDS = 0.005
PATIENCE_SECONDS = 120.0
CONTEXT = multiprocessing.get_context("fork")


class Cost(NamedTuple):
    """Cycles a second; processor time a cycle, in µs, of the server and of the clients; cores that others used."""

    per_s: float
    server_us: float
    client_us: float
    others: float


def batched(make: type[Client], server: Server, seconds: float) -> Cost:
    put, got, putting = CONTEXT.Value("q", 0), CONTEXT.Value("q", 0), CONTEXT.Value("i", CLIENTS // 2)

    def work(index: int, barrier: Any) -> tuple[int, float, float, float]:
        client = make(server.port, str(index))
        barrier.wait()
        began, cpu = time.monotonic(), time.process_time()
        done, last = 0, began
        if index < CLIENTS // 2:
            bodies = [os.urandom(BODY_BYTES // 2).hex().encode() for _ in range(BATCH)]
            while time.monotonic() < began + seconds:
                client.put(bodies)
                with put.get_lock():
                    put.value += BATCH
            with putting.get_lock():
                putting.value -= 1
        else:
            while putting.value or got.value < put.value:
                taken = client.get(BATCH, 0.2)
                if taken:
                    client.ack([handle for handle, _ in taken])
                    done, last = done + len(taken), time.monotonic()
                    with got.get_lock():
                        got.value += len(taken)
        return done, began, last, time.process_time() - cpu

    return _cost(_at_once(server, CLIENTS, work))


def single(make: type[Client], server: Server, seconds: float) -> Cost:
    def work(index: int, barrier: Any) -> tuple[int, float, float, float]:
        client = make(server.port, str(index))
        bodies = [[os.urandom(BODY_BYTES // 2).hex().encode()] for _ in range(32)]
        barrier.wait()
        began, cpu, done = time.monotonic(), time.process_time(), 0
        while time.monotonic() < began + seconds:
            client.put(bodies[done % 32])
            ((handle, _),) = client.get(1, 10.0)
            client.ack([handle])
            done += 1
        return done, began, time.monotonic(), time.process_time() - cpu

    return _cost(_at_once(server, CLIENTS, work))


def waiting(make: type[Client], server: Server) -> float:
    """The median, in ms."""

    def work(index: int, barrier: Any) -> list[int]:
        client = make(server.port, str(index))
        if index == 0:
            put = client.put_and_tell if isinstance(client, Postgres) else lambda body: client.put([body])
            barrier.wait()
            for _ in range(PUTS_WAITED_FOR):
                time.sleep(PAUSE_SECONDS)
                put(struct.pack(">Q", time.monotonic_ns()).hex().encode().ljust(BODY_BYTES, b"."))
            return []
        if isinstance(client, Postgres):
            client.listen()
        barrier.wait()
        waited_ns = []
        while len(waited_ns) < PUTS_WAITED_FOR:
            for handle, body in client.get(1, 5.0):
                waited_ns.append(time.monotonic_ns() - int(body[:16], 16))
                client.ack([handle])
        return waited_ns

    (waited_ns,) = (found for found in _at_once(server, 2, work).parts if found)
    return sorted(waited_ns)[len(waited_ns) // 2] / 1e6


def syncs_of(make: type[Client], server: Server, puts: int = 100) -> float | None:
    """How many system calls made something safe, for each of some single puts by one client."""
    client = make(server.port, "syncs")
    with server.count_syncs() as found:
        for _ in range(puts):
            client.put([b"x" * BODY_BYTES])
    handles = [handle for _ in range(puts) for handle, _ in client.get(1, 5.0)]
    for handle in handles:
        client.ack([handle])
    return found[0] / puts if found else None


class _Ran(NamedTuple):
    parts: list[Any]
    server_seconds: float
    others: float


def _cost(ran: _Ran) -> Cost:
    done = sum(part[0] for part in ran.parts)
    seconds = max(part[2] for part in ran.parts) - min(part[1] for part in ran.parts)
    clients = sum(part[3] for part in ran.parts)
    return Cost(done / seconds, ran.server_seconds / done * 1e6, clients / done * 1e6, ran.others)


def _at_once(server: Server, count: int, work: Callable[[int, Any], Any]) -> _Ran:
    """What `work` says in so many processes, which begin together at the barrier they are given."""
    barrier = CONTEXT.Barrier(count + 1)
    said = CONTEXT.Queue()

    def run(index: int) -> None:
        try:
            said.put(work(index, barrier))
        except BaseException:
            barrier.abort()
            raise

    processes = [CONTEXT.Process(target=run, args=(index,), daemon=True) for index in range(count)]
    for process in processes:
        process.start()
    wait_for_quiet()
    before, own = server.cpu_seconds(), _children_seconds()
    with Watch() as watch:
        barrier.wait(PATIENCE_SECONDS)
        began = time.monotonic()
        parts = [said.get(timeout=PATIENCE_SECONDS) for _ in processes]
        for process in processes:
            process.join()
        seconds = time.monotonic() - began
    used = server.cpu_seconds() - before
    others = watch.others - (used + _children_seconds() - own) / seconds
    return _Ran(parts, used, max(0.0, others))


def _children_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime

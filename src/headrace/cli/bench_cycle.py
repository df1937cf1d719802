"""What a cycle costs: threads that add, pop and commit on one node, and the figures of it.

A cycle is one item's add, pop and commit. A *call-cycle* is the three calls, with as many items as a batch has.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable

import msgspec

from headrace.client.handle import Headrace
from headrace.client.opening import handle_on
from headrace.runtime.host import MEMORY, open_engine

QUEUE = "bench"
WARM_UP = 20
"""One part in so many of the items goes through before the clock is read, at most `WARM_UP_ITEMS`."""
WARM_UP_ITEMS = 5_000


class Cycles(msgspec.Struct, frozen=True):
    """What was measured."""

    cycles_per_s: float
    p50_ms: float
    p99_ms: float
    syncs: int
    cpu_us_per_cycle: float
    bytes_per_item: float


def measure(*, threads: int, batch: int, size: int, durability: str, items: int, parent: str | None) -> Cycles:
    """Let `items` items through a new node, in a directory that is made within `parent` and removed again."""
    if durability == "memory":
        return _measured(MEMORY, threads=threads, batch=batch, size=size, durability=durability, items=items)
    with tempfile.TemporaryDirectory(prefix="headrace-bench-", dir=parent) as path:
        return _measured(path, threads=threads, batch=batch, size=size, durability=durability, items=items)


def percentile(ordered: list[float], part: float) -> float:
    """The nearest-rank percentile of numbers in order.

    >>> percentile([1.0, 2.0, 3.0, 4.0], 0.5), percentile([1.0, 2.0, 3.0, 4.0], 0.99)
    (2.0, 4.0)
    """
    return ordered[max(0, -int(-part * len(ordered) // 1) - 1)]


def _measured(path: str, *, threads: int, batch: int, size: int, durability: str, items: int) -> Cycles:
    engine = open_engine(path, durability=durability, limits=None)
    handle = handle_on(engine)
    try:
        cycle = _single(handle, bytes(size)) if batch == 1 else _batched(handle, bytes(size), batch)
        for _ in range(max(1, min(items // WARM_UP, WARM_UP_ITEMS) // batch)):
            cycle()
        rounds = max(1, items // (threads * batch))
        times: list[list[float]] = [[] for _ in range(threads)]
        syncs, written_bytes = engine.syncs, engine.written_bytes
        begin, cpu_begin = time.perf_counter(), time.process_time()
        if threads == 1:
            _repeat(cycle, rounds, times[0])
        else:
            _at_once([threading.Thread(target=_repeat, args=(cycle, rounds, mine)) for mine in times])
        seconds, cpu_seconds = time.perf_counter() - begin, time.process_time() - cpu_begin
        done = rounds * threads * batch
        ordered = sorted(second for mine in times for second in mine)
        assert len(ordered) == rounds * threads, "a thread ended early; it has said why"
        return Cycles(
            cycles_per_s=round(done / seconds, 1),
            p50_ms=round(percentile(ordered, 0.5) * 1e3, 4),
            p99_ms=round(percentile(ordered, 0.99) * 1e3, 4),
            syncs=engine.syncs - syncs,
            cpu_us_per_cycle=round(cpu_seconds / done * 1e6, 3),
            bytes_per_item=round((engine.written_bytes - written_bytes) / done, 1),
        )
    finally:
        handle.close()


def _at_once(workers: list[threading.Thread]) -> None:
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def _repeat(cycle: Callable[[], None], rounds: int, seconds: list[float]) -> None:
    """Run so many call-cycles and note how long each took."""
    now = time.perf_counter
    before = now()
    for _ in range(rounds):
        cycle()
        after = now()
        seconds.append(after - before)
        before = after


def _single(handle: Headrace, body: bytes) -> Callable[[], None]:
    add, pop, commit = handle.add, handle.pop, handle.commit

    def cycle() -> None:
        add(QUEUE, body)
        (lease,) = pop(QUEUE)
        commit(lease)

    return cycle


def _batched(handle: Headrace, body: bytes, batch: int) -> Callable[[], None]:
    add_many, pop, commit = handle.add_many, handle.pop, handle.commit
    bodies = [body] * batch

    def cycle() -> None:
        add_many(QUEUE, bodies)
        leases = pop(QUEUE, batch)
        assert len(leases) == batch, "every thread adds before it pops"
        commit(leases)

    return cycle

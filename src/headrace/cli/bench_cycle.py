"""What a cycle costs on a node in this process: the figures of `headrace bench cycle --embedded`."""

from __future__ import annotations

import tempfile
import time

import msgspec

from headrace.cli.bench_load import call_cycle, percentile, repeated, warm_up
from headrace.client.opening import handle_on
from headrace.runtime.host import MEMORY, open_engine

QUEUE = "bench"


class Cycles(msgspec.Struct, frozen=True):
    """What was measured; None is what cannot be known from where it was."""

    cycles_per_s: float
    p50_ms: float
    p99_ms: float
    syncs: int | None
    cpu_us_per_cycle: float
    bytes_per_item: float | None


def measure(*, threads: int, batch: int, size: int, durability: str, items: int, parent: str | None) -> Cycles:
    """Let `items` items through a new node, in a directory that is made within `parent` and removed again."""
    if durability == "memory":
        return _measured(MEMORY, threads=threads, batch=batch, size=size, durability=durability, items=items)
    with tempfile.TemporaryDirectory(prefix="headrace-bench-", dir=parent) as path:
        return _measured(path, threads=threads, batch=batch, size=size, durability=durability, items=items)


def figures(
    seconds: list[float], *, batch: int, wall_seconds: float, cpu_seconds: float, syncs: int | None, bytes: int | None
) -> Cycles:
    """The figures of call-cycles that took `seconds` each, and `wall_seconds` all together."""
    done, ordered = len(seconds) * batch, sorted(seconds)
    return Cycles(
        cycles_per_s=round(done / wall_seconds, 1),
        p50_ms=round(percentile(ordered, 0.5) * 1e3, 4),
        p99_ms=round(percentile(ordered, 0.99) * 1e3, 4),
        syncs=syncs,
        cpu_us_per_cycle=round(cpu_seconds / done * 1e6, 3),
        bytes_per_item=None if bytes is None else round(bytes / done, 1),
    )


def _measured(path: str, *, threads: int, batch: int, size: int, durability: str, items: int) -> Cycles:
    engine = open_engine(path, durability=durability, limits=None)
    with handle_on(engine) as handle:
        cycle = call_cycle(handle, QUEUE, batch=batch, size=size)
        warm_up(cycle, items=items, batch=batch)
        syncs, written_bytes = engine.syncs, engine.written_bytes
        begin, cpu_begin = time.perf_counter(), time.process_time()
        seconds = repeated(cycle, threads=threads, rounds=max(1, items // (threads * batch)))
        return figures(
            seconds,
            batch=batch,
            wall_seconds=time.perf_counter() - begin,
            cpu_seconds=time.process_time() - cpu_begin,
            syncs=engine.syncs - syncs,
            bytes=engine.written_bytes - written_bytes,
        )

"""What a backlog costs: memory, recovery, pops beside a short queue's, and serving while it is written to a snapshot.

Each stage runs in a process of its own, so that memory and recovery are those of a fresh one. The stages work on one
directory: `fill`, then `serve`, which recovers from the log alone, then `reopen`, which has a snapshot.
"""

from __future__ import annotations

import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TypeVar

import msgspec

from headrace.cli.bench_cycle import QUEUE
from headrace.cli.bench_load import percentile
from headrace.cli.progress import Bar
from headrace.client.handle import Headrace
from headrace.client.opening import handle_on
from headrace.core.errors import Unavailable
from headrace.core.items import Item
from headrace.runtime.engine import Engine
from headrace.runtime.host import open_engine

SHORT_ITEMS = 1_000
"""The short queue that a backlog's pops are compared with."""
SAMPLES = 4_000
GROW_BATCH = 100
SNAPSHOT_WITHIN_SECONDS = 600

T = TypeVar("T")


class Backlog(msgspec.Struct, frozen=True):
    """What is to be measured."""

    items: int
    size: int
    batch: int
    priorities: str
    durability: str

    def item(self, dice: random.Random) -> Item:
        priority = dice.randrange(1 << 32) if self.priorities == "random" else 0
        return Item(dice.randbytes(self.size), priority=priority)


class Filled(msgspec.Struct, frozen=True):
    """What `fill` measures."""

    fill_s: float
    memory_bytes_per_item: float | None
    pop_us_at_1000: float
    pop_us: float
    pop_ratio: float


class Served(msgspec.Struct, frozen=True):
    """What `serve` measures."""

    recovery_s: float
    recovery_cpu_s: float
    recovered_memory_bytes_per_item: float | None
    snapshot_s: float
    snapshot_cycles: int
    snapshot_p99_ms: float
    snapshot_max_ms: float
    p99_ms: float


class Reopened(msgspec.Struct, frozen=True):
    """What `reopen` measures."""

    snapshot_recovery_s: float
    snapshot_recovery_cpu_s: float


def measure(backlog: Backlog, *, parent: str | None) -> dict[str, float | None]:
    """Run all stages on a directory that is made within `parent` and removed again."""
    with Bar() as bar, tempfile.TemporaryDirectory(prefix="headrace-bench-", dir=parent) as path:
        bar.tell(f"filling: {backlog.items:,} items")
        filled = _apart(fill, path, backlog)
        bar.tell("recovering from the log, then serving until a snapshot is written")
        served = _apart(serve, path, backlog)
        bar.tell("recovering from the snapshot")
        reopened = _apart(reopen, path, backlog)
    return {**msgspec.structs.asdict(filled), **msgspec.structs.asdict(served), **msgspec.structs.asdict(reopened)}


def _apart(stage: Callable[[str, Backlog], T], path: str, backlog: Backlog) -> T:
    """Run a stage in a fresh process."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(stage, path, backlog).result()


def fill(path: str, backlog: Backlog) -> Filled:
    """Pops of a short queue, then the backlog, its memory, and its pops."""
    dice = random.Random(1)
    with handle_on(open_engine(path, durability=backlog.durability, limits=None)) as handle:
        _add(handle, backlog, dice, SHORT_ITEMS)
        short_us = _pop_us(handle, backlog, dice)
        before_bytes = _anonymous_bytes()
        begin = time.perf_counter()
        _add(handle, backlog, dice, backlog.items - SHORT_ITEMS)
        fill_s = time.perf_counter() - begin
        memory = _beside_bodies(before_bytes, backlog, backlog.items - SHORT_ITEMS)
        long_us = _pop_us(handle, backlog, dice)
        return Filled(round(fill_s, 2), memory, round(short_us, 2), round(long_us, 2), round(long_us / short_us, 3))


def serve(path: str, backlog: Backlog) -> Served:
    """Recover from the log alone; let items through until a snapshot has been written meanwhile."""
    dice = random.Random(2)
    before_bytes = _anonymous_bytes()
    begin, cpu_begin = time.perf_counter(), time.process_time()
    engine = open_engine(path, durability=backlog.durability, limits=None)
    recovery_s, recovery_cpu_s = time.perf_counter() - begin, time.process_time() - cpu_begin
    memory = _beside_bodies(before_bytes, backlog, backlog.items)
    with handle_on(engine) as handle:
        quiet_s = [_cycle(handle, backlog, dice) for _ in range(SAMPLES)]
        _grow_until_snapshot(engine, handle, backlog, dice)
        begin = time.perf_counter()
        during_s = sorted(_cycles_while_snapshotting(engine, handle, backlog, dice))
        snapshot_s = time.perf_counter() - begin
    return Served(
        round(recovery_s, 2),
        round(recovery_cpu_s, 2),
        memory,
        round(snapshot_s, 2),
        len(during_s),
        round(percentile(during_s, 0.99) * 1e3, 3),
        round(during_s[-1] * 1e3, 3),
        round(percentile(sorted(quiet_s), 0.99) * 1e3, 3),
    )


def reopen(path: str, backlog: Backlog) -> Reopened:
    """Recover from the snapshot and the log after it."""
    begin, cpu_begin = time.perf_counter(), time.process_time()
    engine = open_engine(path, durability=backlog.durability, limits=None)
    recovery_s, recovery_cpu_s = time.perf_counter() - begin, time.process_time() - cpu_begin
    with handle_on(engine) as handle:
        queued = handle.stats(QUEUE).queued
        assert queued == backlog.items, f"{queued:,} of {backlog.items:,} items are back"
    return Reopened(round(recovery_s, 2), round(recovery_cpu_s, 2))


def _add(handle: Headrace, backlog: Backlog, dice: random.Random, count: int) -> None:
    while count > 0:
        batch = min(count, backlog.batch)
        if batch == 1:
            handle.add(QUEUE, backlog.item(dice))
        else:
            handle.add_many(QUEUE, [backlog.item(dice) for _ in range(batch)])
        count -= batch


def _pop_us(handle: Headrace, backlog: Backlog, dice: random.Random) -> float:
    """The median time of a pop, the length of the queue kept as it is."""
    now = time.perf_counter
    seconds = []
    for _ in range(SAMPLES):
        begin = now()
        (lease,) = handle.pop(QUEUE)
        seconds.append(now() - begin)
        handle.commit(lease)
        handle.add(QUEUE, backlog.item(dice))
    return statistics.median(seconds) * 1e6


def _cycle(handle: Headrace, backlog: Backlog, dice: random.Random) -> float:
    """The time of one call-cycle."""
    item = backlog.item(dice)
    begin = time.perf_counter()
    handle.add(QUEUE, item)
    (lease,) = handle.pop(QUEUE)
    handle.commit(lease)
    return time.perf_counter() - begin


def _grow_until_snapshot(engine: Engine, handle: Headrace, backlog: Backlog, dice: random.Random) -> None:
    """Let the log grow quickly, and the queue stay as long as it is, until a snapshot is due."""
    give_up_at = time.monotonic() + SNAPSHOT_WITHIN_SECONDS
    while not engine.is_snapshotting:
        handle.add_many(QUEUE, [backlog.item(dice) for _ in range(GROW_BATCH)])
        handle.commit(handle.pop(QUEUE, GROW_BATCH))
        if time.monotonic() > give_up_at:
            raise Unavailable(f"no snapshot was due within {SNAPSHOT_WITHIN_SECONDS} s: measure fewer items")


def _cycles_while_snapshotting(
    engine: Engine, handle: Headrace, backlog: Backlog, dice: random.Random
) -> Iterator[float]:
    while engine.is_snapshotting:
        yield _cycle(handle, backlog, dice)


def _beside_bodies(before_bytes: int | None, backlog: Backlog, items: int) -> float | None:
    after_bytes = _anonymous_bytes()
    if before_bytes is None or after_bytes is None:
        return None
    return round((after_bytes - before_bytes) / items - backlog.size, 1)


def _anonymous_bytes() -> int | None:
    """The memory of this process that is not the image of a file; None where the system does not tell."""
    try:
        with open("/proc/self/status") as status:
            line = next((line for line in status if line.startswith("RssAnon:")), None)
    except OSError:
        return None
    return None if line is None else int(line.split()[1]) * 1024

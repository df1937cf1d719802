"""The load of `headrace bench cycle`: call-cycles on a handle, in one thread or several.

A cycle is one item's add, pop and commit. A *call-cycle* is the three calls, with as many items as a batch has.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from headrace.client.handle import Headrace

WARM_UP = 20
"""One part in so many of the items goes through before the clock is read, at most `WARM_UP_ITEMS`."""
WARM_UP_ITEMS = 5_000


def call_cycle(handle: Headrace, queue: str, *, batch: int, size: int) -> Callable[[], None]:
    """The three calls, as one."""
    return _single(handle, queue, bytes(size)) if batch == 1 else _batched(handle, queue, bytes(size), batch)


def warm_up(cycle: Callable[[], None], *, items: int, batch: int) -> None:
    """Run a few, so that what is made on first use is there."""
    for _ in range(max(1, min(items // WARM_UP, WARM_UP_ITEMS) // batch)):
        cycle()


def repeated(cycle: Callable[[], None], *, threads: int, rounds: int) -> list[float]:
    """Run so many call-cycles in each thread; how many seconds each took."""
    times: list[list[float]] = [[] for _ in range(threads)]
    if threads == 1:
        _repeat(cycle, rounds, times[0])
    else:
        _at_once([threading.Thread(target=_repeat, args=(cycle, rounds, mine)) for mine in times])
    seconds = [second for mine in times for second in mine]
    assert len(seconds) == rounds * threads, "a thread ended early; it has said why"
    return seconds


def percentile(ordered: list[float], part: float) -> float:
    """The nearest-rank percentile of numbers in order.

    >>> percentile([1.0, 2.0, 3.0, 4.0], 0.5), percentile([1.0, 2.0, 3.0, 4.0], 0.99)
    (2.0, 4.0)
    """
    return ordered[max(0, -int(-part * len(ordered) // 1) - 1)]


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


def _single(handle: Headrace, queue: str, body: bytes) -> Callable[[], None]:
    add, pop, commit = handle.add, handle.pop, handle.commit

    def cycle() -> None:
        add(queue, body)
        (lease,) = pop(queue)
        commit(lease)

    return cycle


def _batched(handle: Headrace, queue: str, body: bytes, batch: int) -> Callable[[], None]:
    add_many, pop, commit = handle.add_many, handle.pop, handle.commit
    bodies = [body] * batch

    def cycle() -> None:
        add_many(queue, bodies)
        leases = pop(queue, batch)
        assert len(leases) == batch, "every thread adds before it pops"
        commit(leases)

    return cycle

"""What an executor does with an order: each run in turn, and an outcome for each, whatever happens."""

from __future__ import annotations

import fcntl
import importlib
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from headrace.spark.engine.cache import folder
from headrace.spark.plan.orders import Order, OrderedRun, Outcome, read_order, write_outcomes
from headrace.spark.plan.results import flat, kept

_compiled: set[str] = set()


def work_off(order: bytes) -> bytes:
    """Carry an order out."""
    read = read_order(order)
    return write_outcomes([_done(read, run) for run in read.runs])


def _done(order: Order, run: OrderedRun) -> Outcome:
    try:
        kernel = importlib.import_module(order.kernel)
        _compile(kernel, order, run)
        start = time.perf_counter()
        measured = kernel.measure(run.parameters, run.seed)
        seconds = time.perf_counter() - start
        metrics = kept(flat(measured), order.metrics)
    except Exception as error:  # whatever it is, it is this point's and goes back with its parameters
        return Outcome(run.point, run.seed, error=f"{type(error).__name__}: {error}")
    return Outcome(run.point, run.seed, metrics, seconds)


def _compile(kernel: Any, order: Order, run: OrderedRun) -> None:
    """A worker's first run of a kernel is a tiny one, one worker of a machine at a time.

    The first one compiles, the others find the result in numba's cache.
    """
    if order.kernel in _compiled or not order.tiny:
        return
    with _alone(order.kernel):
        kernel.measure(run.parameters | order.tiny, run.seed)
    _compiled.add(order.kernel)


@contextmanager
def _alone(name: str) -> Iterator[None]:
    """The only one of this machine and user to be here under this name."""
    with open(folder("locks") / name, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield

"""The no-op task of `bench.tasks`, in the framework that the environment names; imported by producer and worker alike.

A run is counted in a shared file: one worker process runs one task at a time, so nothing else writes to it.
"""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Callable

COUNTER = struct.Struct("<q")
_memory: list[mmap.mmap] = []


def tick(number: int) -> None:
    """Count one run: about a microsecond."""
    if not _memory:
        with open(os.environ["NOOP_COUNTER"], "r+b") as file:
            _memory.append(mmap.mmap(file.fileno(), COUNTER.size))
    (count,) = COUNTER.unpack_from(_memory[0], 0)
    COUNTER.pack_into(_memory[0], 0, count + 1)


send: Callable[[int], object]

match os.environ.get("NOOP_FRAMEWORK"):
    case "headrace":
        import headrace

        app = headrace.App(os.environ["NOOP_NODE"])
        send = app.task(queue="noop", result_ttl=0)(tick).submit
    case "celery":
        import celery

        app = celery.Celery("noop", broker=os.environ["NOOP_NODE"])
        app.conf.update(task_ignore_result=True, task_acks_late=True)
        send = app.task(name="tick")(tick).delay
    case "rq":
        import redis
        import rq

        queue = rq.Queue("noop", connection=redis.Redis.from_url(os.environ["NOOP_NODE"]))

        def send(number: int) -> object:
            return queue.enqueue("bench.noop.tick", number, result_ttl=0)

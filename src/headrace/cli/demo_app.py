"""What `headrace demo` runs in processes of its own: the task of its workers, and a producer.

`headrace work headrace.cli.demo_app:app` runs the task; this module, run as a program, is a producer, which ends with
standard input. Both tell the demo on standard output what they do, a line of JSON each with the time, written at once:
a line is either whole or, when its process was killed before it, not there.
"""

from __future__ import annotations

import json
import os
import random
import sys
import threading
import time
import zlib
from collections import deque

import headrace

QUEUE = "demo"
NODE_VARIABLE = "HEADRACE_DEMO_NODE"
OUTSTANDING = 100
"""A producer rests while so many of its results are to come."""
BROKEN = 300
"""One attempt in so many fails."""
WORK_SECONDS = 0.002
PATIENCE_SECONDS = 60.0

app = headrace.App(os.environ.get(NODE_VARIABLE, ""))


def tell(what: str, name: str, *more: object) -> None:
    """One report; a write of less than PIPE_BUF bytes is never torn."""
    os.write(sys.stdout.fileno(), json.dumps([what, name, time.monotonic(), os.getpid(), *more]).encode() + b"\n")


def answer_to(name: str) -> int:
    """What the task makes of a name: known to all, so that a result can be checked."""
    return zlib.crc32(name.encode())


@app.task(queue=QUEUE, retries=50, backoff=headrace.Backoff(0.05, 1))
def picture(name: str) -> int:
    """A little work, which sometimes fails."""
    tell("began", name)
    time.sleep(WORK_SECONDS)
    if random.randrange(BROKEN) == 0:
        tell("failed", name)
        raise ValueError("the picture is upside down")
    tell("done", name)
    return answer_to(name)


def produce(source: str, stopping: threading.Event) -> None:
    """Submit names until told to stop, and wait for the result of each."""
    results: deque[tuple[str, headrace.Result[int]]] = deque()
    number = 0
    while results or not stopping.is_set():
        if len(results) < OUTSTANDING and not stopping.is_set():
            name = f"{source}.{number}"
            number += 1
            tell("adding", name)
            results.append((name, picture.submit(name, priority=number % 10)))
            tell("added", name)
        else:
            name, result = results.popleft()
            tell("result", name, result.result(timeout=PATIENCE_SECONDS))


def main(source: str) -> None:
    stopping = threading.Event()

    def watch() -> None:
        sys.stdin.read()
        stopping.set()

    threading.Thread(target=watch, daemon=True).start()
    with app:
        produce(source, stopping)


if __name__ == "__main__":
    main(sys.argv[1])

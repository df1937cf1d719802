"""The process that `headrace demo` kills: producers and workers, threads on one embedded node.

It tells the demo on standard output what it is about to do and what it was promised, a line of JSON each, written at
once: a line is either whole or, when the process was killed before it, not there. `drain` on standard input stops the
producers, and the process ends when the queue is empty; so does the end of standard input, which is the demo's death.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import threading
import time

import headrace

QUEUE = "demo"
BATCH = 20
BACKLOG = 1_000
"""Producers rest while more is queued, so that the queue is neither empty nor ever growing."""
BROKEN = 300
"""One item in so many fails the first time, and is given back with a reason."""
WORK_SECONDS = 0.001


def tell(*what: object) -> None:
    """One report; a write of less than PIPE_BUF bytes is never torn."""
    os.write(sys.stdout.fileno(), json.dumps(what).encode() + b"\n")


def produce(hr: headrace.Headrace, source: str, draining: threading.Event) -> None:
    """Add items in batches, each named so that the demo can tell it from every other."""
    dice = random.Random(source)
    first = 0
    while not draining.is_set():
        if hr.stats(QUEUE).queued > BACKLOG:
            draining.wait(0.01)
            continue
        tell("adding", source, first, BATCH)
        hr.add_many(
            QUEUE,
            [headrace.Item(f"{source}.{n}".encode(), priority=dice.randrange(10)) for n in range(first, first + BATCH)],
        )
        tell("added", source, first, BATCH)
        first += BATCH


def work(hr: headrace.Headrace, draining: threading.Event) -> None:
    """Take items and settle them, until all is done."""
    while True:
        for item in hr.take(QUEUE, wait=0.1):
            name = item.body.decode()
            attempts = [tried.reason for tried in hr.why(item.id).attempts if tried.ended] if item.attempt > 1 else []
            tell("got", name, item.attempt, attempts)
            try:
                with item:
                    time.sleep(WORK_SECONDS)
                    if item.attempt == 1 and hash_of(name) % BROKEN == 0:
                        raise ValueError("the picture is upside down")
                    tell("committing", name)
                tell("committed", name)
            except ValueError:
                tell("aborted", name)
        if draining.is_set():
            return


def hash_of(name: str) -> int:
    """A number that is the same in every process."""
    return random.Random(name).getrandbits(32)


def main(at: str, durability: str, life: str, producers: int, workers: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the demo, which then ends this process
    begun = time.monotonic()
    draining = threading.Event()
    with headrace.open(at, durability=durability) as hr:
        # An item may be in a worker's hands at each of the kills: none of them is its fault.
        hr.declare(QUEUE, max_crashes=1000)
        tell("open", round(1000 * (time.monotonic() - begun), 1), hr.stats(QUEUE).queued)
        threads = [
            threading.Thread(target=produce, args=(hr, f"{life}-{n}", draining), daemon=True) for n in range(producers)
        ]
        threads += [threading.Thread(target=work, args=(hr, draining), daemon=True) for _ in range(workers)]
        for thread in threads:
            thread.start()
        if sys.stdin.readline() != "drain\n":
            os._exit(1)
        draining.set()
        for thread in threads:
            thread.join()
    tell("closed")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))

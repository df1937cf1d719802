"""What producers and consumers were promised, and whether it adds up. Knows nothing of the server.

It reads what programs such as `fleet.py` say, while they run, and compares it with what is found in the two queues at
the end.
"""

from __future__ import annotations

import signal
import threading
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from headrace import Headrace
from headrace.core.commands import QueueStats
from tests.live.process import Process

FLEET = Path(__file__).parent / "fleet.py"
PATIENCE_SECONDS = 60.0


class Fleet:
    """A running `fleet.py`, all it says noted in a ledger."""

    def __init__(self, ledger: Ledger, url: str, name: str, how: str, *, lease_seconds: float) -> None:
        self._process: Process | None = Process(FLEET, url, name, how, lease_seconds)
        self._ledger = ledger
        self.stopped = threading.Event()
        self._reader = threading.Thread(target=self._read, args=(self._process,))
        self._reader.start()

    def stop(self) -> None:
        """Let its producers end; its consumers go on."""
        assert self._process is not None
        self._process.say("stop")
        assert self.stopped.wait(PATIENCE_SECONDS), "a producer does not come to an end"

    def kill(self) -> None:
        """End it with -9, if it has not ended; what it said before is noted."""
        if self._process is not None:
            self._process.send(signal.SIGKILL)
            self._reader.join()
            self._process.__exit__(None, None, None)
            self._process = None

    def _read(self, process: Process) -> None:
        for line in process.lines():
            if line == "stopped":
                self.stopped.set()
            else:
                self._ledger.note(line)


class Ledger:
    """What was said, by all programs together."""

    def __init__(self) -> None:
        self.asked: set[str] = set()
        self.promised: set[str] = set()
        self.moved: Counter[str] = Counter()
        self.doubts: list[str] = []
        self.refusals: list[str] = []
        self._lines = 0
        self._news = threading.Condition()

    def note(self, line: str) -> None:
        what, *names = line.split()
        with self._news:
            match what:
                case "adding":
                    self.asked.update(names)
                case "added":
                    self.promised.update(names)
                case "moved":
                    self.moved.update(names)
                case "doubt":
                    self.doubts.append(line)
                case "refused":
                    self.refusals.append(line)
                case _:
                    raise AssertionError(line)
            self._lines += 1
            self._news.notify_all()

    def wait_for_more(self, lines: int) -> None:
        """Until so many more lines were said."""
        with self._news:
            wanted = self._lines + lines
            done = self._news.wait_for(lambda: self._lines >= wanted, PATIENCE_SECONDS)
        assert done, f"work has come to a stand: {self._lines - wanted + lines} of {lines} lines"

    def check(self, waiting: Iterable[bytes], done: Iterable[bytes]) -> None:
        """Nothing promised is lost, nothing is there twice, nothing was done by halves."""
        out = Counter(body.decode() for body in done)
        found = out + Counter(body.decode() for body in waiting)
        assert self.promised, "nothing was tested"
        assert self.moved, "nothing was tested"
        assert set(found.values()) == {1}, "a step was half done: an item is in both queues, or twice in one"
        assert self.promised <= set(found) <= self.asked
        assert set(self.moved) <= set(out)
        assert set(self.moved.values()) == {1}, "an item was handed out again after its commit was acknowledged"


def drain(hr: Headrace) -> None:
    """Move what is still in `in`, once those who held it are given up."""
    while (stats := hr.stats("in")).queued + stats.leased:
        for lease in hr.pop("in", 100, wait=0.2):
            lease.commit(add=[("out", lease.body)])


def check_books(hr: Headrace, ledger: Ledger) -> None:
    """Hold what was said against what the queues hold, and the node's own figures against each other."""
    waiting, done = ([item.body for item in hr.peek(queue, 1_000_000)] for queue in ("in", "out"))
    ledger.check(waiting, done)
    stats = {stats.queue: stats for stats in hr.queues()}
    for queue in stats.values():
        assert is_balanced(queue), queue
    assert stats["in"].committed == stats["out"].added == len(done)
    assert len(ledger.promised) <= stats["in"].added <= len(ledger.asked)


def is_balanced(stats: QueueStats) -> bool:
    """What came in is what went out and what is there."""
    came = stats.added + stats.moved_in
    went = stats.committed + stats.expired + stats.purged + stats.moved_out + stats.quarantined
    return came == went + stats.queued + stats.leased + stats.dead

"""A process killed with -9 under load, again and again: what it was promised is there, and every step was whole."""

from collections import Counter
from pathlib import Path

import pytest

import headrace
from tests.live.process import Process

LIVES = 5
PROGRAM = Path(__file__).parent / "pipeline.py"


@pytest.mark.parametrize("durability", ["os", "fsync"])
def test_kill_9_in_a_loop_under_load(tmp_path: Path, durability: str) -> None:
    asked: set[str] = set()
    added: set[str] = set()
    moved: Counter[str] = Counter()
    for life in range(LIVES):
        with Process(PROGRAM, tmp_path, durability, life) as process:
            lines = [process.line() for _ in range(400 + 100 * life)]
            lines += process.kill()
        for line in lines:
            what, *names = line.split()
            match what:
                case "adding":
                    asked.update(names)
                case "added":
                    added.update(names)
                case "moved":
                    moved.update(names)

    with headrace.open(tmp_path) as hr:
        stats = {stats.queue: stats for stats in hr.queues()}
        waiting, done = (Counter(item.body.decode() for item in hr.peek(queue, 1_000_000)) for queue in ("in", "out"))
        reasons = {tried.reason for item in hr.peek("in", 50) for tried in hr.why(item.id).attempts}
    assert added
    assert moved
    found = waiting + done
    assert set(found.values()) == {1}, "a step was half done: an item is in both queues, or twice in one"
    assert added <= set(found) <= asked
    assert set(moved) <= set(done)
    assert set(moved.values()) == {1}, "an item was handed out again after its commit was acknowledged"
    assert reasons <= {"worker crashed", "aborted: a seven"}
    assert len(added) <= stats["in"].added <= len(asked)
    assert stats["in"].committed == stats["out"].added == len(done)
    assert stats["in"].added == stats["in"].committed + stats["in"].queued
    assert (stats["in"].dead, stats["in"].leased) == (0, 0)

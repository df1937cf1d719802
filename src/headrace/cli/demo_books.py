"""The books of `headrace demo`: what producers and workers said, held against the queue's ledger at the end.

They know nothing of the node. What was acknowledged must be done, and what was done must have been asked for; whatever
ran more than once must have a reason that the demo knows of itself: the attempt failed, or its worker was killed by it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any, NamedTuple

from headrace.cli.demo_app import answer_to

FAILED = "the task failed"
KILLED = "its worker was killed"


class Run(NamedTuple):
    """One attempt at a name."""

    time: float
    pid: int


class Books:
    """All reports. They come from several processes, so only their times tell their order."""

    def __init__(self) -> None:
        self.asked: set[str] = set()
        self.added: set[str] = set()
        self.runs: defaultdict[str, list[Run]] = defaultdict(list)
        self.failed: set[tuple[str, int]] = set()
        self.done: set[str] = set()
        self.done_by: Counter[int] = Counter()
        self.results: dict[str, tuple[float, int]] = {}
        self.killed: dict[int, float] = {}

    def note(self, report: list[Any]) -> None:
        """Enter one report."""
        match report:
            case ["adding", name, _, _]:
                self.asked.add(name)
            case ["added", name, _, _]:
                self.added.add(name)
            case ["began", name, time, pid]:
                self.runs[name].append(Run(time, pid))
            case ["failed", name, time, pid]:
                self.failed.add((name, pid))
            case ["done", name, _, pid]:
                self.done.add(name)
                self.done_by[pid] += 1
            case ["result", name, time, _, value]:
                self.results[name] = (time, value)

    def note_kill(self, pid: int, time: float) -> None:
        """A worker was killed."""
        self.killed[pid] = time

    def verdict(self, ledger: dict[str, int]) -> dict[str, Any]:
        """The books against the queue's own ledger, when the queue was drained."""
        again: Counter[str] = Counter()
        unexplained = 0
        for name, runs in self.runs.items():
            for run in sorted(runs)[:-1]:
                reason = self._reason(name, run)
                again[reason] += 1
                unexplained += not reason
        del again[""]
        lost = [name for name in self.added if name not in self.done or name not in self.results]
        wrong = [name for name, (_, value) in self.results.items() if value != answer_to(name)]
        left = ledger["queued"] + ledger["leased"] + ledger["dead"]
        agrees = (
            len(self.added) <= ledger["added"] <= len(self.added | self.asked)
            and ledger["committed"] == ledger["added"]
            and left == 0
        )
        unexpected = self._unexpected()
        return {
            "added": {
                "promised": len(self.added),
                "in_doubt": len(self.asked - self.added),
                "ledger": ledger["added"],
            },
            "committed": {
                "promised": len(self.results),
                "in_doubt": len(self.done - self.results.keys()),
                "ledger": ledger["committed"],
            },
            "left": left,
            "lost": len(lost),
            "unexpected": unexpected,
            "wrong": len(wrong),
            "handed_out_again": dict(again.most_common()),
            "unexplained": unexplained,
            "agrees": agrees,
            "ok": agrees and not (lost or unexpected or wrong or unexplained),
        }

    def _reason(self, name: str, run: Run) -> str:
        """Why this attempt was not the last; empty when there is none."""
        if (name, run.pid) in self.failed:
            return FAILED
        if self.killed.get(run.pid, 0.0) >= run.time:
            return KILLED
        return ""

    def _unexpected(self) -> int:
        """Attempts at what nobody added, or after its result had come, which is sent by the commit itself."""
        return sum(
            name not in self.asked or (name in self.results and run.time > self.results[name][0])
            for name, runs in self.runs.items()
            for run in runs
        )

"""`headrace demo`: a queue under load whose process is killed with -9 again and again, and the ledger at the end.

A child process (`demo_worker`) runs producers and workers on an embedded node. This process kills it, starts it again,
and keeps books of its own from what the child was promised: they are then held against the queue's ledger.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import click

from headrace.cli.progress import Bar
from headrace.cli.shown import counted, print_json
from headrace.core.errors import EXIT_FAILURE, Unavailable

QUEUE: Final = "demo"
SHORTEST_LIFE_SECONDS: Final = 0.8
LONGEST_LIFE_SECONDS: Final = 2.0
PATIENCE_SECONDS: Final = 30.0
"""Opening or draining that takes longer has gone wrong."""


class Books:
    """What the child said, whether it was promised or only asked for; who reads the reports believes nothing else."""

    def __init__(self) -> None:
        self.asked: set[str] = set()
        self.added: set[str] = set()
        self.deliveries: Counter[str] = Counter()
        self.committing: set[str] = set()
        self.committed: set[str] = set()
        self.reasons: Counter[str] = Counter()
        self.unexpected: list[str] = []
        self.unexplained: list[str] = []

    def note(self, report: list[Any]) -> None:
        """Enter one report."""
        match report:
            case ["adding", source, first, count]:
                self.asked.update(f"{source}.{n}" for n in range(first, first + count))
            case ["added", source, first, count]:
                self.added.update(f"{source}.{n}" for n in range(first, first + count))
            case ["got", name, attempt, reasons]:
                self._note_delivery(name, attempt, reasons)
            case ["committing", name]:
                self.committing.add(name)
            case ["committed", name]:
                self.committed.add(name)

    def _note_delivery(self, name: str, attempt: int, reasons: list[str]) -> None:
        if name not in self.asked or name in self.committed:
            self.unexpected.append(name)  # nobody added it, or it was done for good
        self.deliveries[name] += 1
        if attempt > 1 and len(reasons) == attempt - 1 and all(reasons):
            self.reasons[reasons[-1]] += 1
        elif attempt > 1 or self.deliveries[name] > 1:
            self.unexplained.append(name)

    @property
    def lost(self) -> set[str]:
        """Promised to be kept, and never handed out to be done."""
        return self.added - self.committed - self.committing

    def verdict(self, ledger: dict[str, int]) -> dict[str, Any]:
        """The books against the queue's own ledger, when the queue was drained."""
        added = len(self.added), len(self.added | self.asked)
        committed = len(self.committed), len(self.committed | self.committing)
        left = ledger["queued"] + ledger["leased"] + ledger["dead"]
        agrees = (
            added[0] <= ledger["added"] <= added[1]
            and committed[0] <= ledger["committed"] <= committed[1]
            and ledger["added"] == ledger["committed"] + left
            and left == 0
        )
        return {
            "added": {"promised": added[0], "in_doubt": added[1] - added[0], "ledger": ledger["added"]},
            "committed": {
                "promised": committed[0],
                "in_doubt": committed[1] - committed[0],
                "ledger": ledger["committed"],
            },
            "left": left,
            "lost": len(self.lost),
            "unexpected": len(self.unexpected),
            "handed_out_again": dict(self.reasons.most_common()),
            "unexplained": len(self.unexplained),
            "agrees": agrees,
            "ok": agrees and not (self.lost or self.unexpected or self.unexplained),
        }


class Child:
    """One life of the process with the node; its reports are read by a thread as they come."""

    def __init__(self, books: Books, *, at: str, durability: str, life: int, producers: int, workers: int) -> None:
        self._books = books
        self.opened_ms = 0.0
        self.found = 0
        self.is_open = threading.Event()
        arguments = [at, durability, str(life), str(producers), str(workers)]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "headrace.cli.demo_worker", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            report = json.loads(line)
            if report[0] == "open":
                self.opened_ms, self.found = report[1:]
                self.is_open.set()
            else:
                self._books.note(report)
        self.is_open.set()

    def kill(self) -> None:
        """End it with -9, and read what it said to the last line."""
        self._process.kill()
        self._finish()

    def drain(self) -> None:
        """Have it work the queue off and close it."""
        assert self._process.stdin is not None
        self._process.stdin.write(b"drain\n")
        self._process.stdin.flush()

    def wait(self, seconds: float) -> bool:
        """Wait for its end, at most so long; whether it has ended."""
        self._reader.join(seconds)
        if self._reader.is_alive():
            return False
        self._finish()
        if self._process.returncode:
            raise Unavailable(f"the demo's process ended with exit code {self._process.returncode}: see above")
        return True

    def _finish(self) -> None:
        self._process.wait()
        self._reader.join()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()


@click.command()
@click.option("--kills", type=click.IntRange(0, 20), default=5, show_default=True, help="How often to kill -9.")
@click.option("--producers", type=click.IntRange(1, 64), default=3, show_default=True, help="Threads that add.")
@click.option("--workers", type=click.IntRange(1, 64), default=4, show_default=True, help="Threads that take.")
@click.option(
    "--durability", type=click.Choice(["fsync", "os"]), default="fsync", show_default=True, help="What an add survives."
)
@click.option("--at", metavar="DIR", help="A new directory for the queue, kept afterwards. [default: a temporary one]")
@click.option("--seed", type=int, default=None, help="When to kill; drawn anew unless given.")
@click.option(
    "--json", "--once", "as_json", is_flag=True, envvar="ONCE", help="Quiet, and one line of JSON at the end."
)
def demo(
    *, kills: int, producers: int, workers: int, durability: str, at: str | None, seed: int | None, as_json: bool
) -> None:
    """Kill a queue under load again and again, and show that nothing is lost.

    Producers and workers share one embedded node in a process of its own, which is killed with -9 while they are at
    it, and started again on the same directory. This process writes down what they were promised, and compares it with
    the queue's ledger at the end. Exit code 1 when the two disagree.

    \b
    headrace demo
    headrace demo --kills 10 --durability os --json
    """
    if at is not None and os.path.isdir(at) and os.listdir(at):
        raise click.UsageError(f"{at!r} is not empty: name a directory that is not there yet")
    dice = random.Random(seed)
    books = Books()
    begun = time.monotonic()
    with _directory(at) as folder, Screen(shown=not as_json) as screen:
        screen.begin(kills, producers, workers, durability)
        for life in range(kills + 1):
            child = Child(books, at=folder, durability=durability, life=life, producers=producers, workers=workers)
            try:
                _live(child, books, screen, dice, is_last=life == kills)
            finally:
                child.kill()
            screen.end_life(life, kills, child, books)
        verdict = {**books.verdict(_ledger(folder)), "kills": kills, "seconds": round(time.monotonic() - begun, 1)}
    if as_json:
        print_json(verdict)
    else:
        _show(verdict)
    if not verdict["ok"]:
        raise SystemExit(EXIT_FAILURE)


def _live(child: Child, books: Books, screen: Screen, dice: random.Random, *, is_last: bool) -> None:
    """Let the child run for a while; the last one drains the queue and closes it."""
    if not child.is_open.wait(PATIENCE_SECONDS):
        raise Unavailable(f"the node was not open within {PATIENCE_SECONDS:.0f} s: this machine is too busy")
    until = time.monotonic() + dice.uniform(SHORTEST_LIFE_SECONDS, LONGEST_LIFE_SECONDS)
    while (left := until - time.monotonic()) > 0:
        screen.draw(books)
        if child.wait(min(0.1, left)):
            raise Unavailable("the demo's process ended before it was told to: see above")
    if is_last:
        child.drain()
        until = time.monotonic() + PATIENCE_SECONDS
        while not child.wait(0.1):
            screen.draw(books)
            if time.monotonic() > until:
                raise Unavailable(
                    f"the queue was not drained within {PATIENCE_SECONDS:.0f} s: this machine is too busy"
                )


def _ledger(at: str) -> dict[str, int]:
    """What the queue says of itself, read by this process."""
    from headrace.client.opening import open

    with open(at) as handle:
        stats = handle.stats(QUEUE)
    return {name: getattr(stats, name) for name in ("added", "committed", "queued", "leased", "dead")}


@contextmanager
def _directory(at: str | None) -> Iterator[str]:
    if at is not None:
        yield at
    else:
        with tempfile.TemporaryDirectory(prefix="headrace-demo-") as folder:
            yield os.path.join(folder, "data")


class Screen:
    """What a person sees while it goes on."""

    def __init__(self, *, shown: bool) -> None:
        self._shown = shown
        self._bar = Bar()

    def __enter__(self) -> Screen:
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.clear()

    def begin(self, kills: int, producers: int, workers: int, durability: str) -> None:
        if self._shown:
            click.secho(
                f"{producers} producers and {workers} workers on one queue ({durability}), killed {kills} times\n",
                bold=True,
            )
            click.secho(f"        {'opened in':>10}  {'found':>7}  {'added':>9}  {'committed':>9}", dim=True)

    def draw(self, books: Books) -> None:
        if self._shown:
            self._bar.tell(f"  …{len(books.added):>36,}  {len(books.committed):>9,}")

    def end_life(self, life: int, kills: int, child: Child, books: Books) -> None:
        if not self._shown:
            return
        self._bar.clear()
        end = click.style("kill -9", fg="red", bold=True) if life < kills else click.style("drained", fg="green")
        click.echo(
            f"  life {life + 1} {child.opened_ms:>7.0f} ms  {child.found:>7,}  {len(books.added):>9,}  "
            f"{len(books.committed):>9,}  {end}"
        )


def _show(verdict: dict[str, Any]) -> None:
    """The ledger: what was promised, what may have happened, what the queue says."""
    good, bad = click.style("✓", fg="green", bold=True), click.style("✗", fg="red", bold=True)
    click.secho(f"\n{'Ledger':<16}  {'promised':>9}  {'in doubt':>9}  {'queue says':>10}", bold=True)
    for name in ("added", "committed"):
        row = verdict[name]
        fits = row["promised"] <= row["ledger"] <= row["promised"] + row["in_doubt"]
        click.echo(
            f"  {name:<14}  {row['promised']:>9,}  {row['in_doubt']:>9,}  {row['ledger']:>10,}  {good if fits else bad}"
        )
    for name, what in (
        ("lost", "promised to be kept, and not there to be done"),
        ("unexpected", "never added, or back after its commit"),
        ("unexplained", "handed out again without a reason"),
        ("left", "still in the queue"),
    ):
        click.echo(f"  {name:<14}  {verdict[name]:>9,}  {good if not verdict[name] else bad} {what}")
    again = verdict["handed_out_again"]
    click.echo(f"  {'again':<14}  {sum(again.values()):>9,}  {good} handed out again, each with its reason:")
    for reason, count in again.items():
        click.echo(f"  {'':<14}  {count:>9,}    {reason}")
    click.echo("\nIn doubt is what was asked for and not answered before a kill: it may have happened.")
    outcome = "nothing was lost" if verdict["ok"] else "the books and the ledger disagree"
    click.secho(
        f"{counted(verdict['kills'], 'kill')} in {verdict['seconds']:.0f} s: {outcome}.",
        fg="green" if verdict["ok"] else "red",
        bold=True,
    )

"""`headrace demo`: a served queue under load whose processes are killed with -9, and the ledger at the end.

The node (`headrace serve`), the producers and the workers (`headrace work`) are processes of their own. This one kills
the node and workers, starts the node again, and keeps books of its own from what the others report.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Final

import click

from headrace.cli.progress import Bar
from headrace.cli.shown import counted, print_json
from headrace.core.errors import EXIT_FAILURE, Unavailable

SHORTEST_PAUSE_SECONDS: Final = 0.7
LONGEST_PAUSE_SECONDS: Final = 1.8
"""Between two kills."""
PATIENCE_SECONDS: Final = 60.0
"""Starting or draining that takes longer has gone wrong."""


class Part:
    """One process of the demo, whose reports are entered in the books as they come."""

    def __init__(self, books: Any, *arguments: str, node: str) -> None:
        from headrace.cli.demo_app import NODE_VARIABLE

        self._books = books
        self.process = subprocess.Popen(
            [sys.executable, "-m", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, NODE_VARIABLE: node},
            start_new_session=True,  # Ctrl-C is for the demo, which then ends this process
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._books.note(json.loads(line))

    def end_input(self) -> None:
        """Have a producer come to its end."""
        assert self.process.stdin is not None
        self.process.stdin.close()

    def wait(self) -> None:
        """Wait for its end, and read what it said to the last line."""
        try:
            code = self.process.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            raise Unavailable(
                f"the queue was not drained within {PATIENCE_SECONDS:.0f} s: this machine is too busy"
            ) from None
        self._reader.join()
        if code:
            raise Unavailable(f"a process of the demo ended with exit code {code}: see above")

    def close(self) -> None:
        """End it, whatever it is at."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.process.wait()
        self._reader.join()


class Served:
    """The node, which comes back where it was."""

    def __init__(self, at: str, durability: str) -> None:
        self._arguments = ["serve", "--json", "--at", at, "--durability", durability]
        self._ports = ["--port", "0"]
        self._begin()
        self._ports = ["--port", str(self.ready["port"])]
        if self.ready["rest_port"]:
            self._ports += ["--rest-port", str(self.ready["rest_port"])]

    def _begin(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "headrace", *self._arguments, *self._ports],
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise Unavailable(f"the node ended with exit code {self._process.wait()}: see above")
        self.ready: dict[str, Any] = json.loads(line)

    def kill_and_begin(self) -> float:
        """End it with -9, and start it again; how many seconds it was away."""
        begun = time.monotonic()
        self._end(signal.SIGKILL)
        self._begin()
        return time.monotonic() - begun

    def close(self) -> None:
        if self._process.poll() is None:
            self._end(signal.SIGTERM)

    def _end(self, sign: signal.Signals) -> None:
        self._process.send_signal(sign)
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()


@click.command()
@click.option(
    "--kills",
    type=click.IntRange(0, 10),
    default=4,
    show_default=True,
    help="How often to kill -9 the node, and a worker as often.",
)
@click.option("--producers", type=click.IntRange(1, 16), default=2, show_default=True, help="Processes that submit.")
@click.option("--workers", type=click.IntRange(1, 16), default=3, show_default=True, help="Processes that work.")
@click.option(
    "--durability", type=click.Choice(["fsync", "os"]), default="fsync", show_default=True, help="What an add survives."
)
@click.option("--at", metavar="DIR", help="A new directory for the queue, kept afterwards. [default: a temporary one]")
@click.option("--seed", type=int, default=None, help="When and whom to kill; drawn anew unless given.")
@click.option(
    "--json", "--once", "as_json", is_flag=True, envvar="ONCE", help="Quiet, and one line of JSON at the end."
)
def demo(
    *, kills: int, producers: int, workers: int, durability: str, at: str | None, seed: int | None, as_json: bool
) -> None:
    """Kill a served queue and its workers under load again and again, and show that nothing is lost.

    A node, producers that submit tasks and wait for their results, and workers that run them are processes of their
    own. The node and one worker after the other are killed with -9; everybody else reconnects by itself. This process
    keeps books of what each was told, and compares them with the queue's ledger at the end. Exit code 1 when the two
    disagree.

    \b
    headrace demo
    headrace demo --kills 8 --durability os --json
    """
    from headrace.cli.demo_books import Books

    if at is not None and os.path.isdir(at) and os.listdir(at):
        raise click.UsageError(f"{at!r} is not empty: name a directory that is not there yet")
    books, begun = Books(), time.monotonic()
    with _directory(at) as folder, Screen(books, shown=not as_json) as screen:
        screen.begin(producers, workers, durability)
        with ExitStack() as stack:
            served = Served(folder, durability)
            stack.callback(served.close)
            _run(served, books, screen, random.Random(seed), stack, kills=kills, producers=producers, workers=workers)
        verdict = books.verdict(_ledger(folder))
    verdict = {**verdict, "kills": {"node": kills, "worker": len(books.killed)}}
    verdict["seconds"] = round(time.monotonic() - begun, 1)
    if as_json:
        print_json(verdict)
    else:
        _show(verdict)
    if not verdict["ok"]:
        raise SystemExit(EXIT_FAILURE)


def _run(
    served: Served,
    books: Any,
    screen: Screen,
    dice: random.Random,
    stack: ExitStack,
    *,
    kills: int,
    producers: int,
    workers: int,
) -> None:
    """Load, kills, and the draining of the queue."""
    url = served.ready["url"]
    quiet = ["--log-level", "ERROR", "--processes", str(workers)]
    fleet = Part(books, "headrace", "work", "headrace.cli.demo_app:app", *quiet, node=url)
    stack.callback(fleet.close)
    sources = [Part(books, "headrace.cli.demo_app", f"p{number}", node=url) for number in range(1, producers + 1)]
    for source in sources:
        stack.callback(source.close)
    screen.watch(lambda: len(books.done_by) >= workers, "all workers are at it")
    for number in range(2 * kills):
        screen.pause(dice.uniform(SHORTEST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS))
        if number % 2 == 0:
            screen.tell("node", f"was away for {served.kill_and_begin():.2f} s")
        else:
            _kill_worker(books, screen, dice)
    screen.pause(dice.uniform(SHORTEST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS))
    for source in sources:
        source.end_input()
    for source in sources:
        source.wait()


def _kill_worker(books: Any, screen: Screen, dice: random.Random) -> None:
    """End one of those at work with -9; its supervisor starts another."""
    before = dict(books.done_by)
    alive: list[int] = []

    def somebody_works() -> bool:
        alive[:] = [pid for pid, count in dict(books.done_by).items() if count > before.get(pid, 0)]
        return bool(alive)

    screen.watch(somebody_works, "a worker is at it")
    pid = dice.choice(alive)
    os.kill(pid, signal.SIGKILL)
    books.note_kill(pid, time.monotonic())
    screen.tell("worker", f"{pid}, after {counted(books.done_by[pid], 'task')}")


def _ledger(at: str) -> dict[str, int]:
    """What the queue says of itself, read by this process."""
    from headrace.cli.demo_app import QUEUE
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

    def __init__(self, books: Any, *, shown: bool) -> None:
        self._books = books
        self._shown = shown
        self._bar = Bar()
        self._begun = time.monotonic()

    def __enter__(self) -> Screen:
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.clear()

    def begin(self, producers: int, workers: int, durability: str) -> None:
        if self._shown:
            who = f"{counted(producers, 'producer')} and {counted(workers, 'worker')}"
            click.secho(f"{who} on one served queue ({durability})\n", bold=True)
            click.secho(f"  {'at':>6}  {'added':>8}  {'done':>8}", dim=True)

    def pause(self, seconds: float) -> None:
        """Let the others work for a while, and show how they do."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            self._draw()
            time.sleep(min(0.1, left))

    def watch(self, is_so: Any, what: str) -> None:
        """Wait until something is so."""
        until = time.monotonic() + PATIENCE_SECONDS
        while not is_so():
            if time.monotonic() > until:
                raise Unavailable(f"after {PATIENCE_SECONDS:.0f} s it is not so that {what}: this machine is too busy")
            self._draw()
            time.sleep(0.02)

    def tell(self, who: str, what: str) -> None:
        """A kill, and what came of it."""
        if self._shown:
            self._bar.clear()
            click.echo(f"{self._line()}  {click.style('kill -9', fg='red', bold=True)}  {who} {what}")

    def _draw(self) -> None:
        done_by = dict(self._books.done_by)
        alive = [pid for pid in done_by if pid not in self._books.killed]
        self._bar.tell(f"{self._line()}  " + "  ".join(f"worker {pid}: {done_by[pid]:,}" for pid in alive))

    def _line(self) -> str:
        seconds = time.monotonic() - self._begun
        return f"  {seconds:>4.1f} s  {len(self._books.added):>8,}  {len(self._books.done):>8,}"


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
        ("lost", "promised to be kept, and never done"),
        ("unexpected", "never added, or begun again after its result had come"),
        ("wrong", "results that are not those of their tasks"),
        ("unexplained", "begun again without a reason"),
        ("left", "still in the queue"),
    ):
        click.echo(f"  {name:<14}  {verdict[name]:>9,}  {good if not verdict[name] else bad} {what}")
    again = verdict["handed_out_again"]
    click.echo(f"  {'again':<14}  {sum(again.values()):>9,}  {good} begun again, each with its reason:")
    for reason, count in again.items():
        click.echo(f"  {'':<14}  {count:>9,}    {reason}")
    click.echo("\nIn doubt is what was asked for and never answered. A commit is promised by the result that it sends.")
    outcome = "nothing was lost" if verdict["ok"] else "the books and the ledger disagree"
    click.secho(
        f"{counted(sum(verdict['kills'].values()), 'kill')} in {verdict['seconds']:.0f} s: {outcome}.",
        fg="green" if verdict["ok"] else "red",
        bold=True,
    )

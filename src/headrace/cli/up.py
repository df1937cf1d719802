"""The command `headrace up`: several nodes on this machine, each a process of its own that is started again if it dies.

A thread watches each process. A node that fails before it was ever ready ends all: what is wrong with it would be wrong
the next time too.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from typing import Final

import click

from headrace.cli import options
from headrace.cli.shown import print_json
from headrace.core.errors import EXIT_FAILURE

FIRST_PAUSE_SECONDS: Final = 0.25
LONGEST_PAUSE_SECONDS: Final = 10.0
STEADY_SECONDS: Final = 30.0
"""A node that ran for so long is started again at once."""
STOP_SECONDS: Final = 60.0
"""A node that takes longer to stop is killed: nothing acknowledged is lost by that."""
EXIT_INTERRUPTED: Final = 130


@click.command()
@click.option("--nodes", type=click.IntRange(1, 100), default=3, show_default=True, help="How many nodes.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=7420,
    show_default=True,
    help="The port of the first node, with REST one above it; the next nodes have the next two each. 0 lets the "
    "system choose.",
)
@options.directory
@options.as_json
@click.argument("serve_options", metavar="[-- SERVE_OPTIONS]...", nargs=-1, type=click.UNPROCESSED)
def up(*, at: str, nodes: int, host: str, port: int, as_json: bool, serve_options: tuple[str, ...]) -> None:
    """Serve several nodes on this machine, in the directories DIR/1, DIR/2 and so on.

    A node that dies is started again, after a pause that grows while it keeps dying. Ctrl-C or SIGTERM stops all.
    What follows -- is given to each `headrace serve`. Today these are separate nodes, each with its own queues: an item
    added to one is not on another. With --json each event is one line of JSON.

    \b
    headrace up --nodes 3 --at data
    headrace up --nodes 2 --at data --port 9000 -- --durability os
    """
    if port + 2 * nodes - 1 > 65535:
        raise click.UsageError(f"{nodes} nodes from port {port} on go beyond 65535: choose a lower one")
    stopping = threading.Event()
    signs: list[int] = []

    def stop(sign: int, frame: object) -> None:
        signs.append(sign)
        stopping.set()

    watched = [
        Node(
            number,
            [
                *("--at", os.path.join(at, str(number)), "--host", host),
                *("--port", str(port + 2 * (number - 1) if port else 0), *serve_options),
            ],
            stopping,
            as_json=as_json,
        )
        for number in range(1, nodes + 1)
    ]
    previous = {sign: signal.signal(sign, stop) for sign in (signal.SIGINT, signal.SIGTERM)}
    try:
        for node in watched:
            node.start()
        stopping.wait()
    finally:
        stopping.set()
        for node in watched:
            node.stop()
        for sign, handler in previous.items():
            signal.signal(sign, handler)
    if not signs:
        raise SystemExit(EXIT_FAILURE)
    if signs[0] == signal.SIGINT:
        raise SystemExit(EXIT_INTERRUPTED)


class Node(threading.Thread):
    """One node, kept running until `stopping`."""

    def __init__(self, number: int, arguments: list[str], stopping: threading.Event, *, as_json: bool) -> None:
        super().__init__(daemon=True)
        self._number = number
        self._arguments = arguments
        self._stopping = stopping
        self._as_json = as_json
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def run(self) -> None:
        pause_seconds = FIRST_PAUSE_SECONDS
        was_ready = False
        while (process := self._begin()) is not None:
            begun = time.monotonic()
            assert process.stdout is not None
            ready = process.stdout.readline()
            if ready:
                was_ready = True
                found = json.loads(ready)
                self._say("up", pid=found["pid"], url=found["url"], rest_url=found["rest_url"])
            code = process.wait()
            process.stdout.close()
            if self._stopping.is_set():
                self._say("stopped", exit_code=code)
                return
            if not was_ready:
                self._say("failed", exit_code=code)
                self._stopping.set()
                return
            if time.monotonic() - begun > STEADY_SECONDS:
                pause_seconds = FIRST_PAUSE_SECONDS
            self._say("died", exit_code=code, again_in_seconds=pause_seconds)
            if self._stopping.wait(pause_seconds):
                return
            pause_seconds = min(LONGEST_PAUSE_SECONDS, pause_seconds * 2)

    def stop(self) -> None:
        """End it, in good order if it can be had."""
        with self._lock:
            process = self._process
        if process is not None:
            process.terminate()
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
            self.join()

    def _begin(self) -> subprocess.Popen[bytes] | None:
        """The process, unless all is to stop."""
        with self._lock:
            if self._stopping.is_set():
                return None
            self._process = subprocess.Popen(
                [sys.executable, "-m", "headrace", "serve", "--json", *self._arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                start_new_session=True,  # Ctrl-C is for us, who then stop it
            )
            return self._process

    def _say(self, event: str, **facts: object) -> None:
        """One line on what became of this node."""
        if self._as_json:
            print_json({"node": self._number, "event": event, **facts})
            return
        told = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in facts.items() if value is not None)
        click.echo(f"node {self._number}  {event:<8}{told}")

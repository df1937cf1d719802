"""What a cycle costs on a node that is served: `headrace bench cycle --at URL` and `--spawn`.

Each client is a process with a connection of its own; all begin together. What the node itself wrote and synced is
asked of its `/metrics`, where there is one: a node that was spawned, with REST installed.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import msgspec

from headrace.cli.bench_cycle import Cycles, figures
from headrace.cli.bench_load import call_cycle, repeated, warm_up
from headrace.client.connecting import connect
from headrace.core.errors import Unavailable


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """What one client is to do, and where; told on its standard input, since it may hold a token."""

    url: str
    queue: str
    token: str
    ca: str | None
    threads: int
    batch: int
    size: int
    items: int


class Report(msgspec.Struct, frozen=True):
    """What one client measured; the times are of the clock that all processes share."""

    begun: float
    ended: float
    cpu_seconds: float
    seconds: list[float]


def measure(load: Load, *, clients: int, metrics_url: str | None = None) -> Cycles:
    """Let `load.items` items through, by so many clients; the queue is new, and dropped at the end."""
    share = msgspec.structs.replace(load, items=max(1, load.items // clients))
    with connect(load.url, token=load.token, ca=load.ca) as handle:
        handle.declare(load.queue)
        try:
            with ExitStack() as stack:
                parts = [stack.enter_context(_client(share)) for _ in range(clients)]
                for part in parts:
                    _line(part)
                before = _counters(metrics_url)
                for part in parts:
                    _tell(part, b"go\n")
                reports = [msgspec.json.decode(_line(part), type=Report) for part in parts]
                after = _counters(metrics_url)
        finally:
            handle.drop(load.queue)
    return figures(
        [second for report in reports for second in report.seconds],
        batch=load.batch,
        wall_seconds=max(report.ended for report in reports) - min(report.begun for report in reports),
        cpu_seconds=sum(report.cpu_seconds for report in reports),
        syncs=after[0] - before[0] if before and after else None,
        bytes=after[1] - before[1] if before and after else None,
    )


@contextmanager
def spawned(*, durability: str, parent: str | None) -> Iterator[dict[str, Any]]:
    """A node that is served for the measurement alone; what it said once it was ready."""
    with tempfile.TemporaryDirectory(prefix="headrace-bench-", dir=parent) as path:
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "headrace",
                "serve",
                "--json",
                "--at",
                path,
                "--port",
                "0",
                "--durability",
                durability,
            ],
            stdout=subprocess.PIPE,
            env={name: value for name, value in os.environ.items() if not name.startswith("HEADRACE_")},
            cwd=path,
            start_new_session=True,
        )
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            if not line:
                raise Unavailable(f"the node ended with exit code {process.wait()}: see above")
            yield json.loads(line)
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate()


@contextmanager
def _client(load: Load) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "headrace.cli.bench_served"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        _tell(process, msgspec.json.encode(load) + b"\n")
        yield process
    finally:
        process.kill()
        process.communicate()


def _tell(process: subprocess.Popen[bytes], line: bytes) -> None:
    assert process.stdin is not None
    process.stdin.write(line)
    process.stdin.flush()


def _line(process: subprocess.Popen[bytes]) -> bytes:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise Unavailable("a client of the measurement ended early: see above")
    return line


def _counters(url: str | None) -> tuple[int, int] | None:
    """How often the node synced, and how many bytes it wrote, so far."""
    if url is None:
        return None
    try:
        with urllib.request.urlopen(f"{url}/metrics", timeout=10) as answer:
            text = answer.read().decode()
    except urllib.error.URLError:
        return None
    syncs, written = (
        re.search(rf"^headrace_{name}_total (\S+)", text, re.M) for name in ("syncs", "log_bytes_written")
    )
    return (int(float(syncs[1])), int(float(written[1]))) if syncs and written else None


def main() -> None:
    """One client."""
    load = msgspec.json.decode(sys.stdin.buffer.readline(), type=Load)
    with connect(load.url, token=load.token, ca=load.ca) as handle:
        cycle = call_cycle(handle, load.queue, batch=load.batch, size=load.size)
        warm_up(cycle, items=load.items, batch=load.batch)
        print("ready", flush=True)
        sys.stdin.buffer.readline()
        begun, cpu_begun = time.monotonic(), time.process_time()
        seconds = repeated(cycle, threads=load.threads, rounds=max(1, load.items // (load.threads * load.batch)))
        ended, cpu_seconds = time.monotonic(), time.process_time() - cpu_begun
    sys.stdout.buffer.write(msgspec.json.encode(Report(begun, ended, cpu_seconds, seconds)) + b"\n")


if __name__ == "__main__":
    main()

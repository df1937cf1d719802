"""No-op tasks a second with one worker process that runs one at a time: Headrace, and Celery and RQ over Redis.

submit: one call at a time while no worker runs. drain: a worker takes that backlog. end to end: to an idle worker, from
the first submit to the last run; producer, node and worker share this machine's cores. Nobody asks for results. What is
compared is what survives the same: `os` with Redis's `appendfsync everysec`, `fsync` with its `always`. Celery
acknowledges late here, as Headrace does: by default it would lose the task in hand when its worker dies.

Celery and RQ are skipped with a reason where they, or Redis, are not installed: `pip install celery redis rq`.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from bench.noop import COUNTER

TASKS = 3000
PATIENCE_SECONDS = 120.0
NODE = """
import asyncio, sys
from headrace.server.serving import Serving, Settings
async def serve():
    await Serving(Settings(at=sys.argv[1], port=int(sys.argv[2]), durability=sys.argv[3])).start()
    await asyncio.Event().wait()
asyncio.run(serve())
"""
PRODUCE = """
import sys, time
from bench.noop import send
send(0)
for line in sys.stdin:
    began = time.monotonic()
    for n in range(int(line)): send(n)
    print(began, time.monotonic(), flush=True)
"""


class Contender(NamedTuple):
    """A framework and how its worker is started."""

    name: str
    framework: str
    worker: list[str]
    needs: tuple[str, ...] = ()


CONTENDERS = (
    Contender("headrace", "headrace", ["headrace", "work", "bench.noop:app", "--processes", "1"]),
    Contender(
        "celery (solo)",
        "celery",
        ["celery", "-A", "bench.noop:app", "worker", "-P", "solo", "-l", "error"],
        ("celery", "redis"),
    ),
    Contender(
        "celery (prefork, 1)",
        "celery",
        ["celery", "-A", "bench.noop:app", "worker", "-P", "prefork", "-c", "1", "-l", "error"],
        ("celery", "redis"),
    ),
    Contender(
        "rq (SimpleWorker, no fork)",
        "rq",
        ["rq", "worker", "noop", "-q", "-w", "rq.worker.SimpleWorker"],
        ("rq", "redis"),
    ),
)


def main() -> None:
    for durability in ("os", "fsync"):
        for contender in CONTENDERS:
            missing = [name for name in contender.needs if importlib.util.find_spec(name) is None]
            if contender.needs and shutil.which("redis-server") is None:
                missing.append("redis-server")
            if missing:
                print(f"{durability:6} {contender.name}: skipped, {' and '.join(missing)} not installed")
                continue
            submit, drain, whole = measured(contender, durability)
            print(
                f"{durability:6} {contender.name}: submit {submit:,.0f}/s, drain {drain:,.0f}/s, "
                f"end to end {whole:,.0f}/s"
            )


def measured(contender: Contender, durability: str) -> tuple[float, float, float]:
    """Tasks a second: submitted, drained, and end to end."""
    with tempfile.TemporaryDirectory() as folder:
        counter = Path(folder, "counter")
        counter.write_bytes(bytes(COUNTER.size))
        port = free_port()
        node = f"headrace://127.0.0.1:{port}" if contender.framework == "headrace" else f"redis://127.0.0.1:{port}"
        environment = {
            **os.environ,
            "NOOP_FRAMEWORK": contender.framework,
            "NOOP_NODE": node,
            "NOOP_COUNTER": str(counter),
            "RQ_REDIS_URL": node,
            "PYTHONPATH": os.getcwd(),
        }
        command = node_command(contender.framework, folder, port, durability)
        with running(command, environment), running([sys.executable, "-c", PRODUCE], environment) as producer:
            wait_for_port(port)
            began, ended = produce(producer, TASKS)
            worker = [str(Path(sys.executable).with_name(contender.worker[0])), *contender.worker[1:]]
            with running(worker, environment):
                drain = drained(counter, TASKS + 1)
                first, _ = produce(producer, TASKS)
                last = reached(counter, 2 * TASKS + 1)
        return TASKS / (ended - began), drain, TASKS / (last - first)


def node_command(framework: str, folder: str, port: int, durability: str) -> list[str]:
    if framework == "headrace":
        return [sys.executable, "-c", NODE, str(Path(folder, "data")), str(port), durability]
    sync = {"os": "everysec", "fsync": "always"}[durability]
    return [
        *("redis-server", "--port", str(port), "--dir", folder, "--save", ""),
        *("--appendonly", "yes", "--appendfsync", sync),
    ]


def produce(producer: subprocess.Popen[str], count: int) -> tuple[float, float]:
    """Have so many submitted; when that began and ended."""
    assert producer.stdin is not None
    assert producer.stdout is not None
    producer.stdin.write(f"{count}\n")
    producer.stdin.flush()
    began, ended = map(float, producer.stdout.readline().split())
    return began, ended


def drained(counter: Path, count: int) -> float:
    """Tasks a second, from when the worker is seen to have begun."""
    began = reached(counter, 1)
    first = read(counter)
    return (count - first) / (reached(counter, count) - began)


def reached(counter: Path, count: int) -> float:
    """When so many have run."""
    until = time.monotonic() + PATIENCE_SECONDS
    while read(counter) < count:
        if time.monotonic() > until:
            raise RuntimeError(f"{read(counter)} of {count} tasks ran in {PATIENCE_SECONDS:g} s")
        time.sleep(0.002)
    return time.monotonic()


def read(counter: Path) -> int:
    count: int = COUNTER.unpack(counter.read_bytes())[0]
    return count


@contextmanager
def running(command: list[str], environment: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        command,
        env=environment,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def wait_for_port(port: int) -> None:
    until = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < until:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except OSError:
            time.sleep(0.05)
    raise RuntimeError(f"nothing listens on port {port}")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port

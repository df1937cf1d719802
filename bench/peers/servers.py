"""The servers that are compared: how each is started at a durability, on a loopback port of its own, and ended.

`os` and `fsync` name what an acknowledged add survives, as in Headrace: the death of the process with a sync about each
second, or a power cut. A server is ended by the process that started it, and its folder removed.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal, NamedTuple

from bench.quiet import TICKS_PER_SECOND

Durability = Literal["os", "fsync"]
PATIENCE_SECONDS: Final = 30.0
SYNCS: Final = re.compile(r"\b(?:fsync|fdatasync|sync_file_range|syncfs|msync)\(")


class Kind(NamedTuple):
    """A server: what it is called, what it needs, how it is started, what each durability means there."""

    name: str
    program: str
    library: str
    command: Callable[[Path, int, Durability], list[str]]
    means: dict[Durability, str]
    user: str = ""
    """As whom it runs when we are root."""
    is_ready: Callable[[int], bool] = lambda port: True
    """Whether it takes work, once it listens."""

    def missing(self) -> str:
        """What is not installed, or nothing."""
        if shutil.which(self.program) is None and not Path(self.program).exists():
            return f"{Path(self.program).name} is not installed"
        if importlib.util.find_spec(self.library) is None:
            return f"the Python package {self.library} is not installed"
        return ""


class Server:
    """One that runs."""

    def __init__(self, process: subprocess.Popen[bytes], port: int) -> None:
        self.process = process
        self.port = port

    def cpu_seconds(self) -> float:
        """Processor time of its processes so far, and of those that have ended."""
        ticks = 0
        for pid in self.pids():
            try:
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            ticks += sum(map(int, fields[11:15]))
        return ticks / TICKS_PER_SECOND

    def pids(self) -> list[int]:
        """Its process and those that it started."""
        children: dict[int, list[int]] = {}
        for path in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = path.read_text().rpartition(")")[2].split()
            except OSError:
                continue
            children.setdefault(int(fields[1]), []).append(int(path.parent.name))
        found, waiting = [], [self.process.pid]
        while waiting:
            pid = waiting.pop()
            found.append(pid)
            waiting += children.get(pid, [])
        return found

    @contextmanager
    def count_syncs(self) -> Iterator[list[int]]:
        """A list that holds, at the end, how many calls made something safe; none where strace may not look."""
        found: list[int] = []
        with tempfile.NamedTemporaryFile("r", suffix=".strace") as file:
            try:
                who = [word for pid in self.pids() for word in ("-p", str(pid))]
                calls = "trace=fsync,fdatasync,sync_file_range,syncfs,msync"
                tracer = subprocess.Popen(
                    ["strace", "-f", "-e", calls, "-o", file.name, *who], stderr=subprocess.PIPE, text=True
                )
            except FileNotFoundError:
                yield found
                return
            assert tracer.stderr is not None
            is_attached = "attached" in tracer.stderr.readline()
            yield found
            tracer.terminate()
            tracer.wait()
            if is_attached:
                found.append(len(SYNCS.findall(file.read())))


def _headrace(folder: Path, port: int, durability: Durability) -> list[str]:
    where = ["--at", str(folder / "data"), "--port", str(port), "--rest-port", "0"]
    return [sys.executable, "-m", "headrace", "serve", "--durability", durability, *where]


def _beanstalkd(folder: Path, port: int, durability: Durability) -> list[str]:
    often = {"os": "-f1000", "fsync": "-f0"}[durability]
    return ["beanstalkd", "-l", "127.0.0.1", "-p", str(port), "-z", "1048576", "-b", str(folder), often]


def _redis(folder: Path, port: int, durability: Durability) -> list[str]:
    often = {"os": "everysec", "fsync": "always"}[durability]
    return [
        *("redis-server", "--bind", "127.0.0.1", "--port", str(port), "--dir", str(folder), "--save", ""),
        *("--appendonly", "yes", "--appendfsync", often, "--loglevel", "warning"),
    ]


def _postgres_folder() -> str:
    """Where the newest PostgreSQL keeps its programs: Debian does not put them on the path."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: float(path.parent.name))
    return str(found[-1]) if found else "/usr/bin"


def _postgres(folder: Path, port: int, durability: Durability) -> list[str]:
    data = folder / "data"
    subprocess.run(
        [*_as("postgres"), f"{_postgres_folder()}/initdb", "-D", data, "-A", "trust", "-U", "postgres", "--no-sync"],
        check=True,
        capture_output=True,
        cwd="/",
    )
    with open(data / "postgresql.conf", "a") as file:
        file.write(
            f"listen_addresses='127.0.0.1'\nport={port}\nunix_socket_directories=''\nshared_buffers=512MB\n"
            f"max_wal_size=4GB\nautovacuum_naptime=5s\n"
            f"synchronous_commit={'on' if durability == 'fsync' else 'off'}\n"
        )
    return [f"{_postgres_folder()}/postgres", "-D", str(data)]


def _is_postgres_ready(port: int) -> bool:
    asked = [f"{_postgres_folder()}/pg_isready", "-q", "-h", "127.0.0.1", "-p", str(port)]
    return subprocess.run(asked).returncode == 0


EACH_SECOND = "written, synced each second"
BEFORE_ANSWER = "synced before the answer"
HEADRACE = Kind("headrace", sys.executable, "headrace", _headrace, {"os": EACH_SECOND, "fsync": BEFORE_ANSWER})
BEANSTALKD = Kind(
    "beanstalkd", "beanstalkd", "greenstalk", _beanstalkd, {"os": EACH_SECOND, "fsync": "synced at each write"}
)
REDIS = Kind("redis", "redis-server", "redis", _redis, {"os": EACH_SECOND, "fsync": BEFORE_ANSWER})
POSTGRES = Kind(
    "postgres",
    f"{_postgres_folder()}/postgres",
    "psycopg",
    _postgres,
    {"os": "synced within 0.6 s", "fsync": BEFORE_ANSWER},
    user="postgres",
    is_ready=_is_postgres_ready,
)


@contextmanager
def running(kind: Kind, durability: Durability) -> Iterator[Server]:
    """The server, in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix=f"bench-{kind.name}-") as name, open(os.devnull, "wb") as nothing:
        folder = Path(name)
        if kind.user and os.getuid() == 0:
            shutil.chown(folder, kind.user)
        port = _free_port()
        command = [*_as(kind.user), *kind.command(folder, port, durability)]
        process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=nothing, stderr=nothing)
        try:
            _wait_for(kind, process, port)
            yield Server(process, port)
        finally:
            process.terminate()
            try:
                process.wait(PATIENCE_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _as(user: str) -> list[str]:
    """What runs a program as somebody else, if it must be and we may."""
    if not user or os.getuid() != 0:
        return []
    return ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


def _wait_for(kind: Kind, process: subprocess.Popen[bytes], port: int) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            if kind.is_ready(port):
                return
        except OSError:
            pass
        time.sleep(0.01)
    raise RuntimeError(f"{process.args!r} does not listen")

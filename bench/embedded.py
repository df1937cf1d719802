"""The embedded queue beside its peers, in one run: cycles a second, processor time and syncs, and the ratios.

A cycle is the add, the pop and the commit of one item of 100 bytes. Every figure is the median of rounds that go
through all queues in turn, each round after a wait for a quiet machine; processor time is the least of the rounds. A
row is marked with `~` when others used more than a third of a core in every round of it. Syncs are counted by strace
in a short run of their own.

    python -m bench.embedded --json --dir /var/tmp
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from typing import Any

from bench.libraries import DEATH, PEERS, POWER
from bench.quiet import CALM_CORES, Watch, wait_for_quiet

ROUNDS = 5
ROUND_SECONDS = 1.0
COUNTED = 20
"""Call-cycles of a thread in which syncs are counted."""


@dataclass(frozen=True)
class Load:
    """What is asked of a queue."""

    name: str
    durable: str
    threads: int
    batch: int
    peers: tuple[str, ...]

    @property
    def words(self) -> str:
        calls = "single calls" if self.batch == 1 else f"batches of {self.batch}"
        return f"{self.threads} thread{'s' if self.threads > 1 else ''}, {calls}, survives {self.durable}"


LOADS = (
    Load("os-single", DEATH, 1, 1, ("headrace", "sqlite", "huey")),
    Load("fsync-single", POWER, 1, 1, ("headrace", "sqlite", "huey", "persist-queue")),
    Load("fsync-threads", POWER, 8, 1, ("headrace", "sqlite", "huey", "persist-queue")),
    Load("os-batch", DEATH, 1, 100, ("headrace", "sqlite", "huey")),
    Load("fsync-batch", POWER, 1, 100, ("headrace", "sqlite", "huey", "persist-queue")),
)


@dataclass
class Rounds:
    """What was measured of one queue under one load."""

    cycles_per_s: list[float] = field(default_factory=list)
    cpu_us: list[float] = field(default_factory=list)
    others: list[float] = field(default_factory=list)
    syncs_per_cycle: float | None = None

    def figures(self) -> dict[str, Any]:
        return {
            "cycles_per_s": round(statistics.median(self.cycles_per_s)),
            "cpu_us_per_cycle": round(min(self.cpu_us), 2),
            "syncs_per_cycle": self.syncs_per_cycle,
            "calm": min(self.others) < CALM_CORES,
        }


def measure(load: Load, *, rounds: int, seconds: float, parent: str | None) -> dict[str, dict[str, Any]]:
    """The figures of each peer, and how many times theirs Headrace's cycles are."""
    measured = {name: Rounds() for name in load.peers}
    for _ in range(rounds):
        for name, kept in measured.items():
            wait_for_quiet()
            with tempfile.TemporaryDirectory(dir=parent) as path:
                _round(load, name, path, seconds, kept)
    figures = {}
    for name, kept in measured.items():
        kept.syncs_per_cycle = count_syncs(load, name, parent)
        figures[name] = kept.figures()
    ours = figures["headrace"]
    for theirs in figures.values():
        theirs["headrace_times"] = round(ours["cycles_per_s"] / theirs["cycles_per_s"], 2)
        theirs["headrace_times_by_cpu"] = round(theirs["cpu_us_per_cycle"] / ours["cpu_us_per_cycle"], 2)
    return figures


def _round(load: Load, name: str, path: str, seconds: float, kept: Rounds) -> None:
    """Let every thread go through cycles for so long."""
    station = PEERS[name](path, load.durable)
    cycles = [station.worker(load.batch) for _ in range(load.threads)]
    cycles[0]()
    done = [0] * load.threads
    end = [0.0]

    def work(which: int) -> None:
        cycle, until = cycles[which], end[0]
        while time.perf_counter() < until:
            cycle()
            done[which] += 1

    workers = [threading.Thread(target=work, args=(which,)) for which in range(1, load.threads)]
    with Watch() as watch:
        begin, cpu_begin = time.perf_counter(), time.process_time()
        end[0] = begin + seconds
        for worker in workers:
            worker.start()
        work(0)
        for worker in workers:
            worker.join()
        elapsed, cpu_seconds = time.perf_counter() - begin, time.process_time() - cpu_begin
    station.close()
    items = sum(done) * load.batch
    kept.cycles_per_s.append(items / elapsed)
    kept.cpu_us.append(cpu_seconds / items * 1e6)
    kept.others.append(watch.others)


def count_syncs(load: Load, name: str, parent: str | None) -> float | None:
    """The sync calls of a cycle, seen from outside; None without strace."""
    strace = shutil.which("strace")
    if strace is None:
        return None
    seen = []
    traced = ["-f", "-qq", "-e", "trace=fsync,fdatasync,msync,sync_file_range"]
    again = [sys.executable, "-m", "bench.embedded", "--load", load.name, "--queue", name]
    for cycles in (0, COUNTED):
        with tempfile.NamedTemporaryFile(mode="r") as trace, tempfile.TemporaryDirectory(dir=parent) as path:
            command = [strace, *traced, "-o", trace.name, *again, "--cycles", str(cycles), "--dir", path]
            subprocess.run(command, check=True)
            seen.append(len(re.findall(r"\b(?:fsync|fdatasync|msync|sync_file_range)\(", trace.read())))
    return round((seen[1] - seen[0]) / (COUNTED * load.threads * load.batch), 3)


def go_through(load: Load, name: str, path: str, cycles: int) -> None:
    """So many call-cycles of every thread, for whoever counts from outside."""
    station = PEERS[name](path, load.durable)
    work = [station.worker(load.batch) for _ in range(load.threads)]
    workers = [threading.Thread(target=lambda cycle=cycle: [cycle() for _ in range(cycles)]) for cycle in work]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    station.close()


def table(load: Load, figures: dict[str, dict[str, Any]]) -> str:
    """Markdown."""
    lines = [
        f"\n**{load.name}**: {load.words}\n",
        "| | cycles/s | CPU µs a cycle | syncs a cycle | Headrace's cycles/s are | Headrace, by CPU |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for name, of in figures.items():
        syncs = "not counted" if of["syncs_per_cycle"] is None else f"{of['syncs_per_cycle']:g}"
        times = "" if name == "headrace" else f"{of['headrace_times']:g}×"
        by_cpu = "" if name == "headrace" else f"{of['headrace_times_by_cpu']:g}×"
        mark = "" if of["calm"] else " ~"
        rate, cpu_us = f"{of['cycles_per_s']:,}", f"{of['cpu_us_per_cycle']:g}"
        lines.append(f"| {name}{mark} | {rate} | {cpu_us} | {syncs} | {times} | {by_cpu} |")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.add_argument("--load", choices=[load.name for load in LOADS], action="append", help="one load, repeatable")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--seconds", type=float, default=ROUND_SECONDS, help="of each round and queue")
    parser.add_argument("--dir", help="where the queues are made; name one on the disk that you mean")
    parser.add_argument("--queue", choices=list(PEERS), help=argparse.SUPPRESS)
    parser.add_argument("--cycles", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments or [])
    loads = [load for load in LOADS if not given.load or load.name in given.load]
    if given.cycles is not None:
        go_through(loads[0], given.queue, given.dir, given.cycles)
        return
    measured = {}
    for load in loads:
        measured[load.name] = measure(load, rounds=given.rounds, seconds=given.seconds, parent=given.dir)
        if not given.json:
            print(table(load, measured[load.name]), flush=True)
    if given.json:
        print(json.dumps(measured))


if __name__ == "__main__":
    main(sys.argv[1:])

"""Waiting for others to leave the machine alone, and telling whether they did."""

from __future__ import annotations

import os
import time
from pathlib import Path

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
CALM_CORES = 0.35
PATIENCE_SECONDS = float(os.environ.get("BENCH_PATIENCE", "4"))


def busy_seconds() -> float:
    """Processor time of the whole machine so far, all cores; 0 where the system does not tell."""
    try:
        fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]
    except OSError:
        return 0.0
    user, nice, system, _idle, _waiting, *interrupts = map(int, fields)
    return (user + nice + system + sum(interrupts)) / TICKS_PER_SECOND


class Watch:
    """`with Watch() as watch:` … `watch.others`: how many cores others used meanwhile."""

    others = 0.0

    def __enter__(self) -> Watch:
        self._begin = time.monotonic(), busy_seconds(), time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        begin, busy, own = self._begin
        used = busy_seconds() - busy - (time.process_time() - own)
        self.others = max(0.0, used / (time.monotonic() - begin))


def wait_for_quiet() -> None:
    """Wait until others use less than `CALM_CORES`, at most `BENCH_PATIENCE` seconds, which the environment sets."""
    end = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end:
        with Watch() as watch:
            time.sleep(0.15)
        if watch.others < CALM_CORES:
            return

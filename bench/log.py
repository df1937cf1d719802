"""The file log against the disk below it: single records and groups, unsynced and synced; and its recovery.

Each figure stands beside what this machine's `pwrite` and `fdatasync` do with the same bytes in the same run.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from headrace.core.records import Added, encode_records
from headrace.runtime.disk import open_directory
from headrace.store.log import FileLog
from headrace.store.recovery import recover

APPENDS = 200_000
SYNCS = 2_000
BODY_BYTES = 100


class Nothing:
    """A shard that keeps nothing, so that what is measured is the log."""

    def thaw(self, parts: object) -> None: ...

    def apply(self, position: int, record: object) -> None: ...

    def settle(self) -> None: ...


def timed(what: str, count: int, bytes_each: int, act: Callable[[], None], beside: float | None = None) -> float:
    """Run and print, beside the time of another; the time of one."""
    wall, cpu = time.perf_counter(), time.process_time()
    act()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    mb_per_s = count * bytes_each / wall / 1e6
    ratio = f" {beside / (wall / count):6.2f} × as fast as raw" if beside is not None else ""
    print(f"{what:30} {wall / count * 1e6:9.2f} µs {cpu / count * 1e6:8.2f} µs cpu {mb_per_s:8.1f} MB/s{ratio}")
    return wall / count


def main() -> None:
    record = Added(1, b"", 0, 0, "thumbnails", 5, [b"i" * 25 + b"x" * BODY_BYTES])
    payload = encode_records([record])
    size_bytes = len(payload)
    print(f"records of {size_bytes} bytes (an item with a body of {BODY_BYTES}), on {os.getcwd()}")
    with tempfile.TemporaryDirectory(dir=".") as name:
        written, synced = raw(Path(name) / "raw", payload)
        disk = open_directory(str(Path(name) / "log"))
        log, _ = recover(disk, Nothing())

        def append(count: int, group: int) -> None:
            records = [record] * group
            for _ in range(count // group):
                log.append(records)

        def append_synced(count: int) -> None:
            for _ in range(count):
                log.append([record])
                log.sync()

        timed("encode alone", APPENDS, size_bytes, lambda: encode(record))
        timed("append, groups of 1", APPENDS, size_bytes, lambda: append(APPENDS, 1), written)
        timed("append, groups of 100", APPENDS, size_bytes, lambda: append(APPENDS, 100), written)
        log.sync()
        timed("append and sync, groups of 1", SYNCS, size_bytes, lambda: append_synced(SYNCS), synced)
        log.close()
        count = log.end
        reopened: list[FileLog] = []
        timed("recover, a record", count, size_bytes, lambda: reopened.append(recover(disk, Nothing())[0]))
        reopened[0].close()
        disk.close()


def encode(record: Added) -> None:
    for _ in range(APPENDS):
        encode_records([record])


def raw(path: Path, payload: bytes) -> tuple[float, float]:
    """What the system takes for the same bytes in a preallocated file: written, and written and synced."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT)
    os.posix_fallocate(descriptor, 0, APPENDS * len(payload))
    os.fsync(descriptor)

    def write() -> None:
        for i in range(APPENDS):
            os.pwrite(descriptor, payload, i * len(payload))

    def write_and_sync() -> None:
        for i in range(SYNCS):
            os.pwrite(descriptor, payload, i * len(payload))
            os.fdatasync(descriptor)

    written = timed("raw pwrite", APPENDS, len(payload), write)
    os.fsync(descriptor)
    synced = timed("raw pwrite and fdatasync", SYNCS, len(payload), write_and_sync)
    os.close(descriptor)
    return written, synced

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.core.errors import Damaged, Unavailable
from headrace.sim.disk import Crash, SimDisk
from headrace.store import log as log_module
from headrace.store import segment
from headrace.store.log import FileLog
from headrace.store.snapshot import SnapshotWriter
from tests.store.fold import Fold, added, opened


class Work:
    """A process that appends, syncs and takes snapshots, and what it was promised."""

    def __init__(self, disk: SimDisk) -> None:
        self.disk = disk
        self.written: list[bytes] = []
        self.safe = 0

    def run(self, steps: list[tuple[str, int]]) -> None:
        log, _, fold = opened(self.disk)
        self.written = list(fold.bodies)
        self.safe = len(self.written)
        for verb, size in steps:
            self._step(log, verb, size)

    def _step(self, log: FileLog, verb: str, size: int) -> None:
        if verb == "append":
            bodies = [b"%d-%d-" % (len(self.written), i) + b"x" * size for i in range(1 + size % 3)]
            self.written += bodies
            log.append([added(body) for body in bodies])
        elif verb == "sync":
            log.sync()
            self.safe = len(self.written)
        elif verb == "mark":
            log.mark()
        elif verb == "snapshot":
            log.sync()
            self.safe = len(self.written)
            writer = SnapshotWriter(self.disk, log.end)
            fold = Fold()
            fold.bodies = list(self.written)
            for part in fold.freeze():
                writer.put(part)
            log.trim(writer.finish())
        elif verb == "close":
            log.close()
            self.safe = len(self.written)
        else:
            raise AssertionError(verb)


STEPS = st.lists(
    st.tuples(st.sampled_from(["append", "append", "append", "sync", "mark", "snapshot"]), st.integers(0, 300)),
    max_size=25,
)


def crashed(disk: SimDisk, run: Callable[[], None], crash_at: int) -> bool:
    """Whether the run died at the fault point, rather than come to its end before it."""
    disk.crash_at = disk.points + crash_at
    try:
        run()
    except Crash:
        return True
    return False


@settings(max_examples=300, deadline=None)
@given(steps=STEPS, crash_at=st.integers(1, 150), seed=st.integers(0, 1 << 30), again=st.integers(0, 30))
def test_after_a_power_cut_everything_synced_is_there_and_nothing_that_was_not_written(
    steps: list[tuple[str, int]], crash_at: int, seed: int, again: int
) -> None:
    rng = random.Random(seed)
    disk = SimDisk(rng)
    work = Work(disk)
    crashed(disk, lambda: work.run(steps), crash_at)
    survivor = disk.after_power_cut(rng)
    if again:  # a second crash, during recovery
        crashed(survivor, lambda: opened(survivor) and None, again)
        survivor = survivor.after_power_cut(rng)
    log, _, fold = opened(survivor)
    assert fold.bodies == work.written[: len(fold.bodies)]
    assert len(fold.bodies) >= work.safe
    log.append([added(b"after")])
    log.close()
    before = fold.bodies
    _, report, fold = opened(survivor.after_power_cut(rng))
    assert fold.bodies == [*before, b"after"]
    assert report.cut_bytes == 0


@settings(max_examples=100, deadline=None)
@given(steps=STEPS, crash_at=st.integers(1, 150), seed=st.integers(0, 1 << 30))
def test_after_a_kill_everything_written_is_there(steps: list[tuple[str, int]], crash_at: int, seed: int) -> None:
    disk = SimDisk(random.Random(seed))
    work = Work(disk)
    steps = [*steps, ("append", 3)]
    died = crashed(disk, lambda: work.run(steps), crash_at)
    _, _, fold = opened(disk.after_process_death())
    assert fold.bodies == work.written[: len(fold.bodies)]
    if not died:
        assert fold.bodies == work.written


def test_a_frame_torn_at_any_byte_is_cut_and_what_was_before_it_stays() -> None:
    body = b"y" * 150
    for torn_at in range(300):
        disk = SimDisk(random.Random(0))
        log, _, _ = opened(disk)
        log.append([added(b"kept")])
        log.sync()
        disk.crash_at = disk.points + 1
        disk.tear_at = torn_at
        with pytest.raises(Crash, match=r"after (\d+) of (\d+) bytes") as crash:
            log.append([added(body)])
        _, report, fold = opened(disk.after_process_death())
        whole = f"after {torn_at} of {torn_at} " in str(crash.value)
        assert fold.bodies == ([b"kept", body] if whole else [b"kept"])
        assert bool(report.cut_bytes) == (torn_at > 0 and not whole)
        if whole:
            return
    raise AssertionError("the frame was never written as a whole")


def test_a_flipped_bit_is_damage_or_makes_no_difference_but_never_another_answer() -> None:
    pristine = SimDisk(random.Random(0))
    work = Work(pristine)
    work.run([("append", 10), ("sync", 0), ("append", 90), ("sync", 0), ("append", 20), ("sync", 0), ("close", 0)])
    name = "log-000000000001"
    damaged = 0
    for offset in range(800):
        disk = pristine.after_process_death()
        disk.flip(name, offset, offset % 8)
        message = ""
        try:
            _, _, fold = opened(disk)
        except Damaged as error:
            message = str(error)
        if message:
            damaged += 1
            assert name in message
            assert "headrace repair --at DIR" in message
        else:
            assert fold.bodies == work.written
    assert damaged > 400


def test_a_newer_format_is_refused_and_nothing_is_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, write in (("log-000000000001", "append"), ("snapshot-00000000000000000004", "snapshot")):
        disk = SimDisk(random.Random(0))
        with monkeypatch.context() as newer:
            newer.setattr(segment, "FORMAT", 7)
            Work(disk).run([("append", 3), ("append", 3), ("append", 3), ("append", 3), (write, 0), ("close", 0)])
        before = {file: disk.content(file) for file in disk.names()}
        with pytest.raises(
            Unavailable, match=r"is of format 7 and this version of Headrace reads formats up to 1: open"
        ):
            opened(disk)
        assert {file: disk.content(file) for file in disk.names()} == before
        assert name in before


def test_a_foreign_file_is_left_alone() -> None:
    disk = SimDisk(random.Random(0))
    for name in ("notes.txt", "log-1", "snapshot-7", "log-000000000001.bak", "snapshot-00000000000000000004.news"):
        disk.create(name, 5).write(0, b"hello")
    Work(disk).run([("append", 3), ("snapshot", 0), ("append", 3), ("snapshot", 0), ("snapshot", 0)])
    for name in ("notes.txt", "log-1", "snapshot-7", "log-000000000001.bak", "snapshot-00000000000000000004.news"):
        assert disk.content(name) == b"hello"


def test_a_log_without_its_beginning_is_damaged() -> None:
    disk = SimDisk(random.Random(0))
    Work(disk).run([("append", 200)] * 12 + [("close", 0)])
    disk.remove("log-000000000001")
    with pytest.raises(Damaged, match=r"records 0 to \d+ once were"):
        opened(disk)


def test_a_log_that_is_gone_though_a_snapshot_is_there_is_damaged() -> None:
    disk = SimDisk(random.Random(0))
    Work(disk).run([("append", 3), ("snapshot", 0), ("close", 0)])
    disk.remove("log-000000000001")
    with pytest.raises(Damaged, match="the log is missing, though there is a snapshot of position 1"):
        opened(disk)


def test_a_record_of_a_newer_kind_is_damage_and_never_a_tail(monkeypatch: pytest.MonkeyPatch) -> None:
    disk = SimDisk(random.Random(0))
    log, _, _ = opened(disk)
    log.append([added(b"known")])
    with monkeypatch.context() as newer:
        newer.setattr(log_module, "encode_records", lambda records: b"\x91\x93\xcc\xc8\x00\x00")
        log.append([added(b"of a newer kind")])
    with pytest.raises(Damaged, match="records that this version cannot read"):
        opened(disk.after_process_death())


def test_recovery_reads_no_segment_that_the_snapshot_covers() -> None:
    disk = SimDisk(random.Random(0))
    work = Work(disk)
    work.run([("append", 200)] * 20 + [("snapshot", 0), ("append", 200), ("close", 0)])
    first = "log-000000000001"
    assert first in disk.names()
    disk.flip(first, 100)
    _, report, fold = opened(disk)
    assert fold.bodies == work.written
    assert report.records == len(work.written) - (report.snapshot or 0)

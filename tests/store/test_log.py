from __future__ import annotations

import random

import pytest

from headrace.core.ports import DiskFailed, DiskFull
from headrace.sim.disk import DiskFaults, SimDisk
from headrace.store.log import FileLog, segment_bytes_for
from headrace.store.snapshot import SnapshotWriter
from tests.store.fold import Fold, added, opened


def fresh(**options: int) -> tuple[SimDisk, FileLog]:
    disk = SimDisk(random.Random(0), **options)
    return disk, opened(disk)[0]


def bodies_on(disk: SimDisk) -> list[bytes]:
    return opened(disk.after_process_death())[2].bodies


def fill(log: FileLog) -> int:
    """Append until the disk is full; how many fitted."""
    count = 0
    while True:
        try:
            log.append([added(b"%04d" % count + b"x" * 100)])
        except DiskFull:
            return count
        count += 1


def test_positions_count_records_and_a_group_is_appended_as_one() -> None:
    _, log = fresh()
    assert log.append([added(b"a"), added(b"b")]) == 0
    assert log.append([added(b"c")]) == 2
    assert (log.end, log.safe) == (3, 0)
    log.sync()
    assert log.safe == 3
    assert [position for position, _ in log.tail()] == [0, 1, 2]
    assert [position for position, _ in log.tail(1)] == [1, 2]


def test_syncs_are_counted_and_one_of_nothing_is_none() -> None:
    _, log = fresh()
    before = log.syncs
    log.append([added(b"a")])
    log.append([added(b"b")])
    log.sync()
    assert log.syncs == before + 1
    log.sync()
    assert log.syncs == before + 1


def test_what_is_appended_while_a_sync_runs_is_not_safe_by_it() -> None:
    disk, log = fresh()
    log.append([added(b"before")])
    token = log.begin_sync()
    log.append([added(b"meanwhile")])
    token.run()
    log.end_sync(token)
    assert log.safe == 1
    for seed in range(20):
        assert opened(disk.after_power_cut(random.Random(seed)))[2].bodies[:1] == [b"before"]


def test_a_segment_that_was_left_while_a_sync_ran_is_synced_by_the_next() -> None:
    disk, log = fresh()
    token = log.begin_sync()
    token.run()
    written = [b"%02d" % i + b"x" * 100 for i in range(40)]
    for body in written:
        log.append([added(body)])
    log.end_sync(token)
    log.sync()
    assert log.safe == 40
    for seed in range(20):
        assert opened(disk.after_power_cut(random.Random(seed)))[2].bodies == written


def test_a_sync_with_nothing_new_asks_nothing_of_the_disk() -> None:
    disk, log = fresh()
    log.append([added(b"a")])
    log.sync()
    points = disk.points
    log.sync()
    assert disk.points == points


def test_a_marker_is_written_once_for_what_it_says() -> None:
    _, log = fresh()
    log.append([added(b"a")])
    log.sync()
    log.mark()
    written_bytes = log.written_bytes
    log.mark()
    assert log.written_bytes == written_bytes
    assert log.end == 1


def test_a_frame_larger_than_a_segment_makes_its_segment_grow() -> None:
    disk, log = fresh()
    big = b"y" * 50_000
    log.append([added(b"small")])
    log.append([added(big)])
    log.append([added(b"after")])
    log.close()
    assert bodies_on(disk) == [b"small", big, b"after"]
    assert max(len(disk.content(name)) for name in disk.names()) > 50_000


def test_a_failed_write_appends_nothing_and_the_log_goes_on_in_the_next_segment() -> None:
    for faults in (DiskFaults(write_error=1.0), DiskFaults(short_write=1.0)):
        disk, log = fresh()
        log.append([added(b"before")])
        disk.faults = faults
        with pytest.raises(DiskFailed):
            log.append([added(b"refused")])
        disk.faults = DiskFaults()
        assert not log.failed
        assert log.append([added(b"after")]) == 1
        log.sync()
        assert bodies_on(disk) == [b"before", b"after"]


def test_a_failed_sync_is_fatal_and_never_tried_again() -> None:
    disk, log = fresh()
    log.append([added(b"a")])
    disk.faults = DiskFaults(sync_error=1.0)
    with pytest.raises(DiskFailed, match=r"cannot go on .*open the directory again"):
        log.sync()
    disk.faults = DiskFaults()
    points = disk.points
    for call in (log.sync, lambda: log.append([added(b"b")])):
        with pytest.raises(DiskFailed, match="cannot go on"):
            call()
    assert disk.points == points
    assert log.safe == 0
    log, _, fold = opened(disk.after_process_death())
    assert fold.bodies == [b"a"]
    assert log.safe == 1


def test_what_a_failed_sync_left_in_memory_only_is_on_disk_after_recovery() -> None:
    disk, log = fresh()
    log.append([added(b"a")])
    disk.faults = DiskFaults(sync_error=1.0)
    with pytest.raises(DiskFailed):
        log.sync()
    disk.faults = DiskFaults()
    restarted = disk.after_process_death()
    _, report, fold = opened(restarted)
    assert report.rewritten_bytes > 0
    for seed in range(20):
        assert opened(restarted.after_power_cut(random.Random(seed)))[2].bodies == fold.bodies == [b"a"]


def test_a_full_disk_refuses_adds_while_the_reserve_serves_what_takes_items_out() -> None:
    disk, log = fresh(capacity_bytes=64 << 10)
    log.reserve_bytes = 16 << 10
    count = fill(log)
    assert count > 100
    end = log.end
    for _ in range(40):
        with pytest.raises(DiskFull, match="are kept for emptying the queues"):
            log.append([added(b"x" * 104)])
        log.append([added(b"pop")], from_reserve=True)
    assert log.end == end + 40
    log.sync()
    assert len(bodies_on(disk)) == count + 40


def test_an_emptied_disk_takes_adds_again() -> None:
    disk, log = fresh(capacity_bytes=64 << 10)
    log.reserve_bytes = 16 << 10
    fill(log)
    log.append([added(b"pop")], from_reserve=True)
    log.sync()
    assert log.is_scarce
    writer = SnapshotWriter(disk, log.end)
    writer.put(b"emptied")
    log.trim(writer.finish(kept=1))
    assert fill(log) > 50


def test_even_without_any_room_nothing_is_appended_in_part() -> None:
    disk, log = fresh(capacity_bytes=24 << 10)
    count = 0
    while True:
        try:
            log.append([added(b"%d" % count + b"x" * 300)], from_reserve=True)
        except DiskFull:
            break
        count += 1
    assert log.end == count > 20
    log.sync()
    assert bodies_on(disk) == [b"%d" % i + b"x" * 300 for i in range(count)]


def test_a_spare_segment_made_ahead_is_used_without_another_creation() -> None:
    disk, log = fresh()
    while not log.wants_segment():
        log.append([added(b"x" * 100)])
    token = log.begin_segment()
    token.run()
    log.end_segment(token)
    names = disk.names()
    while not log.wants_segment():
        log.append([added(b"x" * 100)])
    assert disk.names() == names
    assert len(names) == 2


def test_a_spare_that_comes_too_late_is_taken_away_again() -> None:
    disk, log = fresh()
    while not log.wants_segment():
        log.append([added(b"x" * 100)])
    token = log.begin_segment()
    token.run()
    late = set(disk.names())
    for _ in range(20):
        log.append([added(b"x" * 100)])
    log.end_segment(token)
    assert "log-000000000002" in late
    assert "log-000000000002" not in disk.names()
    log.close()
    assert len(bodies_on(disk)) == log.end


def test_trim_keeps_every_segment_with_something_from_the_position_on() -> None:
    disk, log = fresh()
    for i in range(60):
        log.append([added(b"%02d" % i + b"x" * 100)])
    kept_before = log.log_bytes
    log.sync()
    log.trim(30)
    positions = [position for position, _ in log.tail()]
    assert positions == list(range(positions[0], 60))
    assert 0 < positions[0] <= 30
    assert log.log_bytes < kept_before
    assert [name for name in disk.names() if name.startswith("log-")] != ["log-000000000001"]


def test_a_closed_log_is_marked_to_its_end_and_takes_nothing_more() -> None:
    disk, log = fresh()
    log.append([added(b"a")])
    log.close()
    with pytest.raises(DiskFailed, match="closed"):
        log.append([added(b"b")])
    _, report, _ = opened(disk)
    assert report.rewritten_bytes == 0


def test_segments_are_smaller_on_small_disks() -> None:
    assert segment_bytes_for(1 << 40, 16 << 20) == 16 << 20
    assert segment_bytes_for(1 << 20, 16 << 20) == 64 << 10
    assert segment_bytes_for(0, 16 << 20) == 4096


def test_a_damaged_newest_snapshot_costs_time_and_no_data() -> None:
    disk, log = fresh()
    fold = Fold()
    for i in range(30):
        body = b"%02d" % i + b"x" * 100
        fold.bodies.append(body)
        log.append([added(body)])
        if i in (10, 20):
            log.sync()
            writer = SnapshotWriter(disk, log.end)
            for part in fold.freeze():
                writer.put(part)
            log.trim(writer.finish())
    log.close()
    newest = disk.names()[-1]
    disk.flip(newest, 100)
    log, report, found = opened(disk)
    assert found.bodies == fold.bodies
    assert report.snapshot == 11
    assert report.notes == [f"{newest} is damaged and is now {newest}.damaged"]
    assert log.end == 30

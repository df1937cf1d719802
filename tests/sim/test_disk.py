from __future__ import annotations

import random

import pytest

from headrace.core.ports import DiskFailed, DiskFull
from headrace.sim.disk import SECTOR_BYTES, Crash, DiskFaults, SimDisk


def synced(name: str = "a", size_bytes: int = 1024) -> SimDisk:
    disk = SimDisk(random.Random(0))
    disk.create(name, size_bytes).sync()
    disk.sync_names()
    return disk


def outcomes(disk: SimDisk, name: str = "a") -> list[bytes]:
    """What a file may hold after a power cut, by many seeds."""
    cuts = [disk.after_power_cut(random.Random(seed)) for seed in range(200)]
    return [cut.content(name) for cut in cuts if name in cut.names()]


def test_what_is_synced_survives_and_what_is_not_may_or_may_not() -> None:
    disk = synced()
    file = disk.open("a")
    file.write(0, b"s" * 64)
    file.sync()
    file.write(64, b"u" * 64)
    found = outcomes(disk)
    assert all(content[:64] == b"s" * 64 for content in found)
    assert {content[64:128] for content in found} >= {bytes(64), b"u" * 64}
    assert disk.after_process_death().content("a")[:128] == b"s" * 64 + b"u" * 64


def test_unsynced_sectors_are_lost_in_any_order() -> None:
    disk = synced()
    disk.open("a").write(0, b"u" * (3 * SECTOR_BYTES))
    kept = {tuple(content[i * SECTOR_BYTES] == ord("u") for i in range(3)) for content in outcomes(disk)}
    assert len(kept) == 8
    assert disk.fired["lost_write"]


def test_a_write_is_torn_at_every_byte() -> None:
    for torn_at in range(11):
        disk = synced()
        file = disk.open("a")
        disk.crash_at = disk.points + 1
        disk.tear_at = torn_at
        with pytest.raises(Crash):
            file.write(5, b"0123456789")
        assert disk.after_process_death().content("a")[5:15] == b"0123456789"[:torn_at] + bytes(10 - torn_at)


def test_names_that_are_not_synced_may_be_lost() -> None:
    disk = synced()
    disk.create("new", 10)
    disk.rename("a", "b")
    seen = {tuple(disk.after_power_cut(random.Random(seed)).names()) for seed in range(100)}
    assert seen == {("a",), ("b",), ("a", "new"), ("b", "new")}
    disk.sync_names()
    assert {tuple(disk.after_power_cut(random.Random(seed)).names()) for seed in range(20)} == {("b", "new")}


def test_what_a_failed_sync_left_is_seen_and_never_kept() -> None:
    disk = synced()
    file = disk.open("a")
    file.write(0, b"u" * 64)
    disk.faults = DiskFaults(sync_error=1.0)
    with pytest.raises(DiskFailed):
        file.sync()
    disk.faults = DiskFaults()
    file.sync()
    assert file.read(0, 64) == b"u" * 64
    assert {content[:64] for content in outcomes(disk)} == {bytes(64)}


def test_a_file_never_synced_may_hold_what_a_removed_one_held() -> None:
    disk = synced()
    file = disk.open("a")
    file.write(0, b"stale" * 10)
    file.sync()
    disk.remove("a")
    disk.create("b", 1024)
    disk.sync_names()
    found = outcomes(disk, "b")
    assert any(content.startswith(b"stale") for content in found)
    assert any(content == bytes(1024) for content in found)


def test_a_full_disk_takes_nothing_more_until_room_is_made() -> None:
    disk = SimDisk(random.Random(0), capacity_bytes=1000)
    disk.create("a", 900)
    with pytest.raises(DiskFull):
        disk.create("b", 101)
    assert disk.names() == ["a"]
    assert disk.free_bytes() == 100
    disk.remove("a")
    disk.create("b", 1000)


def test_a_short_write_leaves_a_part() -> None:
    disk = synced()
    disk.faults = DiskFaults(short_write=1.0)
    file = disk.open("a")
    with pytest.raises(DiskFailed, match="in part"):
        file.write(0, b"u" * 100)
    assert 0 < file.read(0, 100).count(b"u") < 100


def test_a_disk_that_came_back_is_not_changed_by_whoever_held_the_old_one() -> None:
    disk = synced()
    file = disk.open("a")
    back = disk.after_process_death()
    file.write(0, b"zombie")
    file.sync()
    assert back.content("a") == bytes(1024)


def test_the_process_dies_at_every_numbered_point() -> None:
    for crash_at in range(1, 9):
        disk = SimDisk(random.Random(crash_at))
        disk.crash_at = crash_at
        with pytest.raises(Crash):
            every_call(disk)
        assert disk.points == crash_at
        assert disk.fired["crash"] == 1


def every_call(disk: SimDisk) -> None:
    file = disk.create("a", 10)
    file.write(0, b"x")
    file.sync()
    disk.sync_names()
    file.read(0, 1)
    file.truncate(5)
    disk.rename("a", "b")
    disk.remove("b")

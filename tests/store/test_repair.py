from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.core.errors import Damaged
from headrace.core.records import Added, AnyRecord, Quarantined
from headrace.sim.disk import SimDisk
from headrace.store.repair import repair
from headrace.store.snapshot import SnapshotWriter
from headrace.store.verify import verify
from tests.store.fold import Fold, added, opened

BODIES = [b"%03d-" % i + b"x" * (37 * i % 200) for i in range(60)]


def filled(*, snapshots: bool) -> SimDisk:
    """A directory of several segments, closed properly."""
    disk = SimDisk(random.Random(1))
    log, _, fold = opened(disk)
    for i, body in enumerate(BODIES):
        log.append([added(body)])
        fold.bodies.append(body)
        if i % 4 == 0:
            log.sync()
        if snapshots and i in (20, 40):
            log.sync()
            writer = SnapshotWriter(disk, log.end)
            for part in fold.freeze():
                writer.put(part)
            log.trim(writer.finish())
    log.close()
    return disk


def is_refused(disk: SimDisk) -> bool:
    try:
        opened(disk)
    except Damaged:
        return True
    return False


@settings(max_examples=200, deadline=None)
@given(data=st.data(), snapshots=st.booleans())
def test_repair_opens_whatever_was_damaged_keeps_the_rest_and_deletes_nothing(
    data: st.DataObject, snapshots: bool
) -> None:
    disk = filled(snapshots=snapshots)
    is_removed = False
    for _ in range(data.draw(st.integers(1, 4))):
        name = data.draw(st.sampled_from(disk.names()))
        if data.draw(st.integers(0, 9)) == 0:
            disk.remove(name)
            is_removed = True
            if not disk.names():
                return
        else:
            offset = data.draw(st.integers(0, max(0, len(disk.content(name)) - 1)))
            disk.flip(name, offset, data.draw(st.integers(0, 7)))
    refused = is_refused(disk.after_process_death())
    before = {name: disk.content(name) for name in disk.names()}
    assert bool(verify(disk).problems) >= refused
    repaired = repair(disk, wall_us=7)
    assert verify(disk).problems == []
    _, _, fold = opened(disk)
    assert fold.bodies == [body for body in BODIES if body in set(fold.bodies)]
    if not refused and not is_removed:
        assert fold.bodies == BODIES
    assert bool(repaired.set_aside) or not refused or bool(repaired.missing) or "a new log" in str(repaired.done)
    kept = b"".join(disk.content(name) for name in repaired.set_aside)
    for name, content in before.items():
        if name.startswith("snapshot") and name not in disk.names():
            assert content in kept


def test_a_healthy_directory_is_left_as_it_is() -> None:
    disk = filled(snapshots=True)
    before = {name: disk.content(name) for name in disk.names()}
    repaired = repair(disk, wall_us=0)
    assert not repaired.done
    assert {name: disk.content(name) for name in disk.names()} == before


def test_repair_says_what_is_missing_and_tells_the_log() -> None:
    disk = filled(snapshots=False)
    disk.flip("log-000000000001", 64 + 40)
    with pytest.raises(Damaged, match=r"log-000000000001 at offset 64 .*records 0 to 0 .*headrace repair --at DIR"):
        opened(disk)
    repaired = repair(disk, wall_us=7)
    assert repaired.missing == [(0, 1)]
    assert repaired.set_aside == ["log-000000000001.at-64.damaged"]
    log, report, fold = opened(disk)
    assert report.missing == 1
    assert fold.bodies == BODIES[1:]
    records: list[AnyRecord] = [record for _, record in log.tail()]
    assert isinstance(records[0], Added)
    last = records[-1]
    assert isinstance(last, Quarantined)
    assert last.at_us == 7
    assert "records 0 to 0 are missing" in last.note
    assert "1 record is missing: items added there are lost" in last.note


def test_a_repair_that_is_cut_short_anywhere_can_be_run_again() -> None:
    for crash_at in range(1, 400):
        disk = filled(snapshots=False)
        disk.flip("log-000000000001", 64 + 40)
        disk.flip("log-000000000002", 700)
        disk.crash_at = disk.points + crash_at
        died = died_in_repair(disk)
        survivor = disk.after_power_cut(random.Random(crash_at))
        repair(survivor, wall_us=7)
        _, _, fold = opened(survivor)
        assert [body for body in BODIES if body in set(fold.bodies)] == fold.bodies
        assert len(fold.bodies) >= len(BODIES) - 3
        if not died:
            return
    raise AssertionError("the repair never came to its end")


def died_in_repair(disk: SimDisk) -> bool:
    from headrace.sim.disk import Crash

    try:
        repair(disk, wall_us=7)
    except Crash:
        return True
    return False


def test_verify_names_every_kind_of_file_and_changes_nothing() -> None:
    disk = filled(snapshots=True)
    disk.create("notes.txt", 3)
    disk.create("owner.lock", 3)
    before = {name: disk.content(name) for name in disk.names()}
    verified = verify(disk)
    assert {name: disk.content(name) for name in disk.names()} == before
    kinds = {file.name: file.kind for file in verified.files}
    assert kinds["notes.txt"] == "foreign"
    assert kinds["owner.lock"] == "lock"
    assert set(kinds.values()) == {"foreign", "lock", "segment", "snapshot"}
    assert verified.problems == []
    assert verified.end == verified.safe == len(BODIES)
    assert Fold().bodies == []

"""`headrace bench`: its figures are counted, whatever they are."""

import os
from pathlib import Path

from tests.cli.conftest import Headrace
from tests.cli.node import node

CYCLE_FIGURES = ["cycles_per_s", "p50_ms", "p99_ms", "syncs", "cpu_us_per_cycle", "bytes_per_item"]


def test_a_cycle_at_fsync_waits_for_the_disk_at_its_add_and_at_its_commit(headrace: Headrace) -> None:
    found = headrace("bench cycle --embedded --items 50 --durability fsync --json").json
    assert list(found) == CYCLE_FIGURES
    assert found["syncs"] == 100
    assert found["p99_ms"] >= found["p50_ms"] > 0


def test_bytes_are_those_of_the_log(headrace: Headrace) -> None:
    small, large = (
        headrace(f"bench cycle --items 64 --durability os --size {size} --json").json["bytes_per_item"]
        for size in (100, 1124)
    )
    assert large - small == 1024
    assert headrace("bench cycle --items 64 --durability memory --json").json["bytes_per_item"] == 0


def test_threads_share_syncs_and_batches_share_calls(headrace: Headrace) -> None:
    found = headrace("bench cycle --threads 4 --batch 10 --items 400 --json").json
    assert 2 <= found["syncs"] <= 80


def test_a_node_that_is_spawned_has_the_same_figures(headrace: Headrace, tmp_path: Path) -> None:
    found = headrace(f"bench cycle --spawn --clients 2 --batch 5 --items 100 --dir {tmp_path} --json").json
    assert list(found) == CYCLE_FIGURES
    assert 2 <= found["syncs"] <= 40
    assert found["bytes_per_item"] > 100
    assert os.listdir(tmp_path) == ["stdin"]


def test_a_node_at_an_address_keeps_nothing_of_the_measurement(headrace: Headrace, tmp_path: Path) -> None:
    with node(tmp_path / "data") as served:
        found = headrace(f"bench cycle --at {served.url} --clients 2 --items 10 --json").json
        assert list(found) == CYCLE_FIGURES
        assert (found["syncs"], found["bytes_per_item"]) == (None, None)
        assert headrace(f"queues --at {served.url} --json").json == {"queues": []}


def test_one_node_is_measured_at_a_time(headrace: Headrace) -> None:
    ran = headrace("bench cycle --spawn --embedded")
    assert (ran.code, "choose one" in ran.err) == (2, True)


def test_nothing_is_left_behind(headrace: Headrace, tmp_path: Path) -> None:
    where = tmp_path / "here"
    where.mkdir()
    assert headrace(f"bench cycle --items 10 --dir {where}").out.startswith("cycles_per_s")
    assert os.listdir(where) == []


def test_a_directory_that_is_not_there_is_named(headrace: Headrace, tmp_path: Path) -> None:
    ran = headrace(f"bench cycle --dir {tmp_path}/nowhere")
    assert ran.code == 2
    assert "nowhere' is no directory" in ran.err


def test_a_backlog_is_recovered_and_a_snapshot_of_it_written(headrace: Headrace) -> None:
    found = headrace("bench backlog --items 10000 --size 1000 --priorities random --json").json
    assert found["recovery_s"] > 0
    assert found["snapshot_recovery_s"] > 0
    assert found["snapshot_cycles"] > 0
    assert found["snapshot_max_ms"] >= found["snapshot_p99_ms"]

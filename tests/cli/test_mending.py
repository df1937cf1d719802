"""`verify` and `repair` by the command line, on a log with a flipped bit."""

from pathlib import Path

import pytest

from headrace.client.opening import open
from tests.cli.conftest import Headrace


@pytest.fixture
def damaged(headrace: Headrace, tmp_path: Path) -> Path:
    """A log with ten items, one bit flipped in the middle of them."""
    for i in range(10):
        headrace(f"add q {'body' * 20}{i}")
    path = tmp_path / "data" / "log-000000000001"
    log = bytearray(path.read_bytes())
    log[log.index(b"body5") + 2] ^= 0x10
    path.write_bytes(log)
    return path


def test_a_sound_directory_is_said_to_be_sound(headrace: Headrace) -> None:
    headrace("add q a")
    assert headrace("verify --json").json["ok"] is True
    assert "sound: " in headrace("verify").out
    assert headrace("repair").out == "sound: there is nothing to repair\n"
    assert headrace("peek q").code == 0


def test_a_flipped_bit_is_named_by_every_command_and_exit_code_1(headrace: Headrace, damaged: Path) -> None:
    content = damaged.read_bytes()
    found = headrace("verify --json")
    assert (found.code, found.json["ok"]) == (1, False)
    (file,) = [file for file in found.json["files"] if file["problems"]]
    assert file["name"] == damaged.name
    peeked = headrace("peek q")
    assert (peeked.code, peeked.out) == (1, "")
    assert damaged.name in peeked.err
    assert "headrace repair" in peeked.err
    assert headrace("verify").out.splitlines()[-1] == f"repair it with: headrace repair --at {damaged.parent}"
    assert damaged.read_bytes() == content


def test_repair_sets_aside_and_the_rest_is_there_again(headrace: Headrace, damaged: Path) -> None:
    repaired = headrace("repair --json").json
    assert len(repaired["missing"]) == 1
    aside = damaged.parent / repaired["set_aside"][0]
    assert b"body" in aside.read_bytes()
    assert headrace("verify --json").json["ok"] is True
    bodies = [item["body"][-1] for item in headrace("peek q -n 100 --json").json["items"]]
    assert bodies == [str(i) for i in range(10) if i != 5]


def test_no_command_touches_a_directory_that_another_owns(headrace: Headrace, tmp_path: Path) -> None:
    headrace("add q a")
    with open(tmp_path / "data"):
        for command in ("verify", "repair", "peek q", "queues"):
            ran = headrace(command)
            assert (ran.code, ran.out) == (1, "")
            assert "is open in this process already" in ran.err

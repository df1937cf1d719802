"""A log that is not what was written: opening says so and changes nothing, repair sets aside, and the rest is there."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from struct import pack_into
from zlib import crc32

import pytest

import headrace

LOG = "log-000000000001"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log of twenty items, closed properly."""
    with headrace.open(tmp_path) as hr:
        for i in range(20):
            hr.add("q", b"body-%02d-" % i + bytes(100))
    return tmp_path / LOG


def _command(*arguments: str | Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, "-m", "headrace", *arguments], capture_output=True, text=True)


def test_a_flipped_bit_is_found_named_and_set_aside(log: Path) -> None:
    content = bytearray(log.read_bytes())
    content[content.index(b"body-07-") + 5] ^= 1
    log.write_bytes(content)

    with pytest.raises(headrace.Damaged, match=f"{LOG}.*headrace repair"):
        headrace.open(log.parent)
    assert log.read_bytes() == content

    found = _command("verify", "--at", log.parent)
    assert found.returncode == 1
    assert LOG in found.stdout
    assert "Traceback" not in found.stderr

    repaired = _command("repair", "--at", log.parent)
    assert repaired.returncode == 0, repaired.stderr
    assert any(b"body-17-" in path.read_bytes() for path in log.parent.glob("*.damaged"))
    assert _command("verify", "--at", log.parent).returncode == 0
    with headrace.open(log.parent) as hr:
        names = [item.body[:7] for item in hr.peek("q", 100)]
        assert names == [b"body-%02d" % i for i in range(20) if i != 7]
        hr.add("q", b"and on it goes")


def test_what_a_newer_version_wrote_is_left_to_it(log: Path) -> None:
    content = bytearray(log.read_bytes())
    pack_into("<I", content, 8, 99)
    pack_into("<I", content, 28, crc32(bytes(content[:28])))
    log.write_bytes(content)
    with pytest.raises(headrace.Unavailable, match=f"{LOG}.*99") as refused:
        headrace.open(log.parent)
    assert "\n" not in str(refused.value)
    for command in ("verify", "repair", "peek q"):
        ran = _command(*command.split(), "--at", log.parent)
        assert (ran.returncode, ran.stdout) == (1, "")
        assert ran.stderr == f"headrace: {refused.value}\n"
    assert log.read_bytes() == content


def test_a_file_that_is_not_ours_is_left_alone(log: Path) -> None:
    (log.parent / "notes.txt").write_text("mine")
    with headrace.open(log.parent) as hr:
        assert hr.stats("q").queued == 20
    assert (log.parent / "notes.txt").read_text() == "mine"


def test_a_directory_that_cannot_be_written() -> None:
    program = """
import os, sys, headrace, headrace.client.opening
if os.getuid() == 0:
    os.setuid(65534)  # root may write anywhere
try:
    headrace.open(sys.argv[1])
except headrace.Unavailable as error:
    print(error)
"""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o555)
        ran = subprocess.run([sys.executable, "-c", program, folder], capture_output=True, text=True)
    sentence = f"the directory '{folder}' cannot be written: give this user the right to, or choose another\n"
    assert (ran.stdout, ran.stderr) == (sentence, "")

"""A file system of 1 MB that fills and empties, in a mount namespace of its own."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.live.process import Process


def _namespace() -> list[str]:
    """How to run something where it may mount, or a skip with the reason."""
    if shutil.which("unshare") is None:
        pytest.skip("there is no unshare here to mount a small file system in")
    for command in (["unshare", "-m"], ["unshare", "-rm"]) if os.getuid() == 0 else (["unshare", "-rm"],):
        mount = [*command, "mount", "-t", "tmpfs", "-o", "size=64k", "none", "/mnt"]
        tried = subprocess.run(mount, capture_output=True, text=True)
        if tried.returncode == 0:
            return command
    pytest.skip(f"neither root's nor a user's namespace may mount here: {tried.stderr.strip()}")


PROGRAM = """
    import subprocess, sys
    import headrace

    at = sys.argv[1]
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1M", "none", at], check=True)
    hr = headrace.open(at)
    number = 0
    for filling in range(4):
        inside = {item.body[:8] for item in hr.peek("q", 1_000_000)}
        while True:
            name = b"%08d" % number
            number += 1
            try:
                hr.add("q", name + bytes(1000))
            except headrace.Full as error:
                refused = str(error)
                break
            inside.add(name)
        print("filled", len(inside), refused)
        assert {item.body[:8] for item in hr.peek("q", 1_000_000)} == inside
        if filling % 2:  # what was refused is not there after a restart either, and what was acknowledged is
            hr.close()
            hr = headrace.open(at)
            assert {item.body[:8] for item in hr.peek("q", 1_000_000)} == inside
        for item in hr.take("q", wait=0):  # out of the reserve
            with item:
                inside.remove(item.body[:8])
            if filling == 0 and len(inside) == 10:
                break
        print("emptied", len(inside), hr.stats("q").queued)
    hr.close()
    with headrace.open(at) as hr:
        stats = hr.stats("q")
        assert stats.added == stats.committed, stats
    print("done")
"""


def test_a_full_disk_refuses_adds_and_can_be_emptied_and_filled_again(tmp_path: Path) -> None:
    with Process(PROGRAM, tmp_path, before=_namespace()) as process:
        lines = process.rest()
    assert lines[-1] == "done"
    filled = [line.split(maxsplit=2) for line in lines if line.startswith("filled")]
    assert len(filled) == 4
    assert all(int(count) > 50 for _, count, _ in filled)
    assert all("the disk is full: free some space, or work the queue off" in refused for *_, refused in filled)
    assert [line for line in lines if line.startswith("emptied")] == ["emptied 10 10", *["emptied 0 0"] * 3]

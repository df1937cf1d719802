from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from headrace.core.errors import Unavailable
from headrace.runtime.disk import open_directory
from headrace.runtime.owner import DirectoryLock
from headrace.store.verify import verify

TRY = """
import sys
from headrace.core.errors import Unavailable
from headrace.runtime.owner import DirectoryLock
try:
    DirectoryLock(sys.argv[1])
except Unavailable as error:
    print(error)
else:
    print("owned")
"""


def tried_elsewhere(path: Path) -> str:
    return subprocess.run([sys.executable, "-c", TRY, str(path)], capture_output=True, text=True, check=True).stdout


def test_a_second_process_is_told_who_owns_the_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/usr/bin/worker", "--queue", "two words"])
    lock = DirectoryLock(str(tmp_path))
    told = tried_elsewhere(tmp_path)
    assert f"in use by process {os.getpid()} (worker --queue 'two words')" in told
    lock.release()
    assert tried_elsewhere(tmp_path) == "owned\n"


def test_a_second_handle_of_the_process_is_refused_and_does_not_give_the_lock_up(tmp_path: Path) -> None:
    lock = DirectoryLock(str(tmp_path))
    with pytest.raises(Unavailable, match="open in this process already"):
        DirectoryLock(str(tmp_path / "." / ""))
    assert "in use by process" in tried_elsewhere(tmp_path)
    lock.release()


def test_the_lock_holds_where_there_is_no_room_to_say_who_owns_it(tmp_path: Path) -> None:
    no_room = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n" + TRY
    tried = subprocess.run([sys.executable, "-c", no_room, str(tmp_path)], capture_output=True, text=True, check=True)
    assert tried.stdout == "owned\n"


def test_verify_by_the_owner_does_not_give_the_lock_up(tmp_path: Path) -> None:
    lock = DirectoryLock(str(tmp_path))
    disk = open_directory(str(tmp_path))
    assert [file.kind for file in verify(disk).files] == ["lock"]
    disk.close()
    assert "in use by process" in tried_elsewhere(tmp_path)
    lock.release()


def test_the_lock_ends_with_a_process_that_is_killed(tmp_path: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", TRY + "\nsys.stdout.flush()\nsys.stdin.read()", str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "owned\n"
    with pytest.raises(Unavailable, match=f"process {holder.pid}"):
        DirectoryLock(str(tmp_path))
    holder.send_signal(signal.SIGKILL)
    holder.communicate()
    DirectoryLock(str(tmp_path)).release()

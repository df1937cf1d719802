from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.core.errors import Unavailable
from headrace.core.ports import DiskFailed
from headrace.runtime import disk as runtime_disk
from headrace.runtime.disk import SystemDisk, file_system_of, open_directory
from headrace.store.recovery import recover
from tests.store.fold import Fold


@pytest.fixture(params=["mapped", "written through"])
def disk(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SystemDisk]:
    mappable = frozenset({file_system_of(str(tmp_path))}) if request.param == "mapped" else frozenset[str]()
    monkeypatch.setattr(runtime_disk, "MAPPABLE", mappable)
    opened = open_directory(str(tmp_path))
    yield opened
    opened.close()


def test_what_is_written_is_read_and_is_in_the_file(disk: SystemDisk) -> None:
    file = disk.create("a", 8192)
    assert file.read(0, 10_000) == bytes(8192)
    file.write(100, b"headrace")
    file.write(8185, b"the end")
    file.sync()
    assert file.read(100, 8) == b"headrace"
    assert (Path(disk.path) / "a").read_bytes()[8185:] == b"the end"
    file.close()
    again = disk.open("a")
    assert again.size_bytes == 8192
    assert again.read(8185, 100) == b"the end"
    again.close()


def test_a_file_grows_at_its_end_and_shrinks(disk: SystemDisk) -> None:
    file = disk.create("a", 0)
    file.write(0, b"one")
    file.write(3, b"two")
    assert file.size_bytes == 6
    file.truncate(4)
    assert file.read(0, 100) == b"onet"
    file.write(4, b"!" * 5000)
    assert file.size_bytes == 5004
    file.close()


def test_a_mapped_file_is_cut_and_written_on(disk: SystemDisk) -> None:
    file = disk.create("a", 8192)
    file.write(0, b"x" * 300)
    file.truncate(256)
    file.write(256, b"after")
    file.sync()
    assert file.read(250, 100) == b"x" * 6 + b"after"
    file.close()


def test_names_are_those_of_regular_files_sorted(disk: SystemDisk) -> None:
    for name in ("b", "a", "c"):
        disk.create(name, 0).close()
    (Path(disk.path) / "directory").mkdir()
    (Path(disk.path) / "link").symlink_to("a")
    disk.rename("c", "d")
    disk.remove("b")
    disk.sync_names()
    assert disk.names() == ["a", "d"]


def test_what_is_not_there_is_one_sentence(disk: SystemDisk) -> None:
    with pytest.raises(DiskFailed, match=r"cannot open .*/missing: no such file or directory"):
        disk.open("missing")
    with pytest.raises(DiskFailed, match="cannot remove"):
        disk.remove("missing")


def test_a_directory_is_made_with_its_parents(tmp_path: Path) -> None:
    open_directory(str(tmp_path / "a" / "b")).close()
    assert (tmp_path / "a" / "b").is_dir()


def test_a_path_that_cannot_be_a_directory_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (str(tmp_path / "file"), str(tmp_path / "file" / "below"), "nul\0byte", str(tmp_path / ("n" * 300))):
        with pytest.raises(Unavailable, match=r"the directory .* cannot be made: .*; choose another"):
            open_directory(path)


def test_a_directory_that_cannot_be_written_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: not mode & os.W_OK)  # root may write anywhere
    with pytest.raises(Unavailable, match="cannot be written: give this user the right to, or choose another"):
        open_directory(str(tmp_path))


APPEND = """
import sys
from headrace.runtime.disk import open_directory
from headrace.store.recovery import recover
from tests.store.fold import Fold, added
log, _ = recover(open_directory(sys.argv[1]), Fold())
for i in range(1000):
    log.append([added(b"%d" % i)])
print(log.end, flush=True)
sys.stdin.read()
"""


def test_what_was_appended_outlives_a_process_that_is_killed(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", APPEND, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "1000\n"
    process.send_signal(signal.SIGKILL)
    process.communicate()
    fold = Fold()
    disk = open_directory(str(tmp_path))
    log, _ = recover(disk, fold)
    assert fold.bodies == [b"%d" % i for i in range(1000)]
    log.close()
    disk.close()


FILL = """
import os, sys
from headrace.core.ports import DiskFull
from headrace.runtime.disk import open_directory
disk = open_directory(sys.argv[1])
segment = disk.create("mapped", 128 << 10)
filler = disk.create("filler", 0)
written = 0
try:
    while True:
        filler.write(written, bytes(4096))
        written += 4096
except DiskFull as error:
    print("full:", error)
try:
    disk.create("refused", 4 << 20)
except DiskFull:
    print(disk.names())
segment.write(0, b"x" * (128 << 10))
segment.sync()
print("written")
"""


@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs unshare to mount a small file system")
def test_a_full_disk_refuses_and_what_was_reserved_can_still_be_written(tmp_path: Path) -> None:
    mount = f'mount -t tmpfs -o size=1m tmpfs "{tmp_path}" && exec "{sys.executable}" -c "$0" "{tmp_path}"'
    run = subprocess.run(["unshare", "-rm", "sh", "-c", mount, FILL], capture_output=True, text=True, check=False)
    if "unshare" in run.stderr or "mount:" in run.stderr:
        pytest.skip(f"a small file system cannot be mounted here: {run.stderr.strip()}")
    assert run.stderr == ""
    full, names, written = run.stdout.splitlines()
    assert full.startswith("full: there is no room to write")
    assert names == "['filler', 'mapped']"
    assert written == "written"

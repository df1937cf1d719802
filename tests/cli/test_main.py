"""The command as a whole: its help, its environment, pipes and interrupts, and what it imports."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from headrace.cli import COMMANDS
from tests.cli.conftest import Headrace

HEAVY = ("numpy", "numba", "matplotlib", "pandas", "pyarrow", "pyspark", "asyncio", "ssl", "multiprocessing")


def test_help_lists_every_command(headrace: Headrace) -> None:
    ran = headrace("--help")
    assert ran.code == 0
    for name, (_, line) in COMMANDS.items():
        assert f"  {name} " in ran.out
        assert line.split()[0] in ran.out


def test_help_and_the_package_import_nothing_heavy_nor_any_command() -> None:
    program = (
        "import sys, headrace, headrace.cli\n"
        "try: headrace.cli.main(['--help'])\n"
        "except SystemExit: pass\n"
        "print(*sorted(sys.modules), file=sys.stderr)"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(ran.stderr.split())
    assert not loaded & set(HEAVY)
    assert {name for name in loaded if name.startswith("headrace")} <= {
        "headrace", "headrace.cli", "headrace.core", "headrace.core.errors", "headrace.core.names",
    }  # fmt: skip


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_an_example(headrace: Headrace, name: str) -> None:
    ran = headrace(f"{name} --help")
    assert ran.code == 0
    assert f"headrace {name}" in ran.out.split("Usage:")[1].split("\n", 1)[1]


def test_the_environment_mirrors_the_options(
    headrace: Headrace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    headrace("add q a")
    monkeypatch.setenv("HEADRACE_POP_LEASE", "7")
    monkeypatch.setenv("HEADRACE_JSON", "1")
    (item,) = headrace("pop q").json["items"]
    assert item["lease_seconds"] == 7.0
    assert headrace(f"queues --at {tmp_path}/other").code == 3


def _headrace(at: Path, *arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "headrace", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "HEADRACE_AT": str(at)},
    )


def test_a_broken_pipe_is_quiet(headrace: Headrace, tmp_path: Path) -> None:
    headrace("add q --lines", stdin=b"x" * 50 + b"\n" + b"some text\n" * 20_000)
    command = _headrace(tmp_path / "data", "peek", "q", "-n", "20000")
    assert command.stdout is not None
    assert command.stderr is not None
    command.stdout.read(10)
    command.stdout.close()
    assert command.stderr.read() == b""
    assert command.wait() != 0


def test_an_interrupt_is_quiet_and_lets_the_directory_go(headrace: Headrace, tmp_path: Path) -> None:
    headrace("add q a")
    headrace("pop q")
    command = _headrace(tmp_path / "data", "pop", "q", "--wait", "600")
    while not (tmp_path / "data" / "owner.lock").read_bytes().startswith(b"%d\n" % command.pid):
        assert command.poll() is None
    command.send_signal(signal.SIGINT)
    _, err = command.communicate()
    assert command.returncode == 130
    assert b"Traceback" not in err
    assert headrace("peek q").code == 3

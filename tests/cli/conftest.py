"""`headrace`, run in this process on a directory of the test."""

import json
import os
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from headrace.cli import main


class Ran(NamedTuple):
    """What a command printed, and how it ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Headrace = Callable[..., Ran]


@pytest.fixture
def headrace(capfdbinary: pytest.CaptureFixture[bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Headrace:
    """Run one command line; HEADRACE_AT is a new directory, and standard input what is given."""
    monkeypatch.setenv("HEADRACE_AT", str(tmp_path / "data"))

    def run(command: str, *, stdin: bytes = b"") -> Ran:
        given = tmp_path / "stdin"
        given.write_bytes(stdin)
        capfdbinary.readouterr()
        with given.open() as file, monkeypatch.context() as patch:
            patch.setattr("sys.stdin", file)
            with pytest.raises(SystemExit) as left:
                main(shlex.split(command))
        out, err = capfdbinary.readouterr()
        assert isinstance(left.value.code, int)
        return Ran(left.value.code, os.fsdecode(out), err.decode())

    return run

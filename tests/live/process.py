"""A Python process of its own, talked to by lines."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType

SOURCES = str(Path(__file__).parents[2])


class Process:
    """A program that is running; killed at the end, if it still is."""

    def __init__(self, program: str | Path, *arguments: object, before: Sequence[str] = ()) -> None:
        code = [str(program)] if isinstance(program, Path) else ["-c", textwrap.dedent(program)]
        self._process = subprocess.Popen(
            [*before, sys.executable, "-u", *code, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": SOURCES},
        )
        self.pid = self._process.pid

    def __enter__(self) -> Process:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            assert pipe is not None
            pipe.close()
        self._process.wait()

    def line(self) -> str:
        """The next line that it prints; when there is none, what it said on stderr is the error."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise AssertionError(f"the process ended: {self._read()[1]}")
        return line.rstrip("\n")

    def rest(self) -> list[str]:
        """All that it still prints, once it has ended; it must end well."""
        out, err = self._read()
        assert self._process.returncode == 0, err
        return out.splitlines()

    def failure(self) -> str:
        """What it says on stderr, when it ends badly."""
        _, err = self._read()
        assert self._process.returncode not in (0, None)
        return err

    def _read(self) -> tuple[str, str]:
        """What is left of its output, when it has ended. (`communicate` would miss what `line` has read ahead.)"""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._process.stdin.close()
        out, err = self._process.stdout.read(), self._process.stderr.read()
        self._process.wait()
        return out, err

    def say(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def lines(self) -> Iterator[str]:
        """The whole lines that it prints, until it ends."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.endswith("\n"):
                yield line.rstrip("\n")

    def send(self, sign: signal.Signals) -> None:
        self._process.send_signal(sign)

    def kill(self) -> list[str]:
        """End it with -9; the whole lines that it had printed."""
        self._process.kill()
        return [line for line in self._read()[0].splitlines(keepends=True) if line.endswith("\n")]

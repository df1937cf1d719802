"""Who owns a directory: one process, and in it one handle.

The lock is `fcntl.lockf` on a file in the directory, which the kernel drops when the process dies and a forked child
does not inherit (as it would `flock`). Two traps of it are covered by a table within the process: it does not keep one
process from locking twice, and closing *any* descriptor of the file drops it. The file holds the owner's pid and
command, for the message to whoever comes second; it is never removed, since a lock on a removed file would hold off
nobody.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shlex
import sys
from typing import Final

from headrace.core.errors import Unavailable
from headrace.runtime.disk import open_directory

LOCK_NAME: Final = "owner.lock"

_COMMAND_CHARS: Final = 200

_owned: dict[tuple[int, int], str] = {}


class InUse(Unavailable):
    """Another owns the directory."""


class DirectoryLock:
    """Held from construction to `release`; `InUse` names the owner."""

    def __init__(self, path: str) -> None:
        open_directory(path).close()
        status = os.stat(path)
        self._key = status.st_dev, status.st_ino
        self._pid = os.getpid()
        if self._key in _owned:
            raise InUse(
                f"the directory {path!r} is open in this process already (pid {self._pid}): use that handle, which "
                "threads may share, or close it first"
            )
        try:
            self._descriptor = os.open(os.path.join(path, LOCK_NAME), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise Unavailable(f"the directory {path!r} cannot be locked: {error.strerror}; choose another") from error
        try:
            fcntl.lockf(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            said = os.pread(self._descriptor, 4096, 0).decode("utf-8", "replace")
            os.close(self._descriptor)
            pid, _, command = said.strip().partition("\n")
            who = f"process {pid} ({command})" if command else f"process {pid or 'unknown'}"
            raise InUse(f"the directory {path!r} is in use by {who}: close it there, or stop that process") from None
        _owned[self._key] = path
        with contextlib.suppress(OSError):  # no room, say: the lock holds all the same, and the next owner sees no pid
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, f"{self._pid}\n{_command()}\n".encode("utf-8", "replace"), 0)

    def release(self) -> None:
        """Let go; in a forked child, which does not hold it, nothing."""
        if self._descriptor >= 0 and os.getpid() == self._pid:
            _owned.pop(self._key, None)
            with contextlib.suppress(OSError):
                os.close(self._descriptor)
        self._descriptor = -1


def _command() -> str:
    """What this process was called with, on one line."""
    name = os.path.basename(sys.argv[0] if sys.argv else "") or "python"
    line = shlex.join([name, *sys.argv[1:]]).replace("\n", " ")
    return line if len(line) <= _COMMAND_CHARS else line[: _COMMAND_CHARS - 3] + "..."


def _after_fork() -> None:
    _owned.clear()


os.register_at_fork(after_in_child=_after_fork)

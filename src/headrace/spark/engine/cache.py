"""Where this user's machine keeps what can be made again: unpacked code, the Java shim, locks."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def folder(*names: str) -> Path:
    """A folder in the user's cache, made if need be; in the temporary directory if the user has no home to write to."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    try:
        return _made(Path(base, "headrace", *names))
    except OSError:
        return _made(Path(tempfile.gettempdir(), f"headrace-{os.getuid()}", *names))


def _made(path: Path) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=path):  # can it be written to?
        return path

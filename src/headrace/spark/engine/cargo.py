"""The code that goes with a job, so that executors need numba and msgspec but none of our sources.

The packages are packed into one archive, named by its contents. An executor unpacks it once, into its machine's cache
and under that name: numba keeps compiled kernels beside their source, so they too are shared by all workers of a
machine and outlive the job. Within this machine nothing is packed: executors import what the driver does.
"""

from __future__ import annotations

import hashlib
import importlib.util
import io
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from headrace.spark.engine.cache import folder

Work = Callable[[Iterable[bytes]], Iterator[bytes]]


def pack(packages: Iterable[str]) -> Path:
    """The archive of these packages' Python files, in the cache."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for package in sorted(set(packages)):
            spec = importlib.util.find_spec(package)
            assert spec is not None
            assert spec.origin is not None
            root = Path(spec.origin).parent
            for path in sorted(root.rglob("*.py")):
                # A fixed date: the same files make the same archive.
                entry = zipfile.ZipInfo(str(Path(package, path.relative_to(root))), (2020, 1, 1, 0, 0, 0))
                archive.writestr(entry, path.read_bytes())
    content = buffer.getvalue()
    target = folder("cargo") / f"headrace-{hashlib.blake2b(content, digest_size=8).hexdigest()}.zip"
    if not target.exists():
        aside = target.with_suffix(".part")
        aside.write_bytes(content)
        aside.replace(target)
    return target


def carried(archive: str | None) -> Work:
    """The function that executors run on orders: it unpacks the archive if there is one, then works them off.

    It is pickled by value, since it runs before our code can be imported; hence its own imports, and nothing global.
    """

    def work(orders: Iterable[bytes]) -> Iterator[bytes]:
        import os
        import sys
        import tempfile
        import zipfile

        from pyspark import SparkFiles

        if archive is not None:
            home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
            try:
                os.makedirs(os.path.join(home, "headrace", "code"), exist_ok=True)
            except OSError:
                home = os.path.join(tempfile.gettempdir(), f"headrace-{os.getuid()}")
            target = os.path.join(home, "headrace", "code", archive.removesuffix(".zip"))
            if not os.path.isdir(target):
                os.makedirs(os.path.dirname(target), exist_ok=True)
                aside = tempfile.mkdtemp(dir=os.path.dirname(target))
                with zipfile.ZipFile(SparkFiles.get(archive)) as packed:
                    packed.extractall(aside)
                try:
                    os.rename(aside, target)
                except OSError:  # another worker was quicker
                    import shutil

                    shutil.rmtree(aside)
            if target not in sys.path:
                sys.path.insert(0, target)
                for name in [name for name in sys.modules if name.split(".")[0] == "headrace"]:
                    del sys.modules[name]
        from headrace.spark.engine.worker import work_off

        return map(work_off, orders)

    return work

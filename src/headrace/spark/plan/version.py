"""The version of a number: of Headrace, and of all source that had a part in it.

Two tables with one version were computed by the same lines: the kernel's, and those of every module of its own
package that it imports, directly or not. A change elsewhere leaves the version alone, so that no table goes stale
for nothing.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import headrace
from headrace.core.errors import Invalid


@cache
def version(kernel: str) -> str:
    """For example `0.1.0+3fa2b1c9`."""
    digest = hashlib.blake2b(digest_size=4)
    for module in sorted(_sources(kernel)):
        digest.update(module.encode() + b"\0" + _path(module).read_bytes())
    return f"{headrace.__version__}+{digest.hexdigest()}"


def _sources(kernel: str) -> set[str]:
    """The kernel's module and all of its own package that it leads to."""
    if _find(kernel) is None:
        raise Invalid(f"there is no kernel {kernel!r}: it is the dotted path of a module")
    package = kernel.split(".")[0]
    found, todo = {kernel}, [kernel]
    while todo:
        for name in _imports(todo.pop()):
            if name.split(".")[0] == package and name not in found and _find(name) is not None:
                found.add(name)
                todo.append(name)
    return found


def _imports(module: str) -> Iterator[str]:
    """Every name that an import in the module may mean a module by."""
    for node in ast.walk(ast.parse(_path(module).read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            name = "." * node.level + (node.module or "")
            source = importlib.util.resolve_name(name, module.rpartition(".")[0])
            yield source
            yield from (f"{source}.{alias.name}" for alias in node.names)


@cache
def _find(module: str) -> Path | None:
    try:
        spec = importlib.util.find_spec(module)
    except ModuleNotFoundError:  # a name within a module, not a module
        return None
    return Path(spec.origin) if spec is not None and spec.origin else None


def _path(module: str) -> Path:
    path = _find(module)
    assert path is not None
    return path

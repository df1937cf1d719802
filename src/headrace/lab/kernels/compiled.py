"""How kernels are compiled: one loop over arrays that the caller owns, with everything it calls inlined.

Handing a tuple of arrays from function to function, numba counts references at each step, by atomic operations
that cost more than the simulation (35 times more, measured on the distributed queue). A kernel makes no array, so
there is nothing to count: counting is switched off, and a kernel that did make one would fail to compile.

Numba renews machine code on disk when the kernel's own file changes, but not when a file changes whose functions it
calls. So the folder is named by what all kernels and designs say.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba as nb

import headrace.protocols.designs

_HERE = Path(__file__).parent
_SOURCES = sorted([*_HERE.rglob("*.py"), *Path(headrace.protocols.designs.__file__).parent.glob("*.py")])
_SAID = hashlib.sha256(b"".join(path.read_bytes() for path in _SOURCES)).hexdigest()[:16]
nb.config.CACHE_DIR = str(Path(nb.config.CACHE_DIR or _HERE / "__pycache__") / f"kernels-{_SAID}")

F = TypeVar("F", bound=Callable[..., Any])
R = TypeVar("R")


def kernel(function: F) -> F:
    """A loop that Python calls; its machine code is kept on disk."""
    compiled: F = nb.njit(cache=True, error_model="numpy", _nrt=False)(function)
    return compiled


def inlined(function: F) -> F:
    """A part of a kernel, compiled into its callers."""
    compiled: F = nb.njit(forceinline=True, error_model="numpy", _nrt=False)(function)
    return compiled


def decision(function: Callable[..., R]) -> Callable[..., R]:
    """A decision of `headrace.protocols.designs`, compiled into its callers; its sequences are arrays here."""
    return inlined(function)

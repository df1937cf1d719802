"""How kernels are compiled: three decorators, so that the reasons stand in one place.

Kernels only work on arrays handed to them, so they do without numba's reference counts (`_nrt`): counting each
access to an array of a tuple cost the relaxed kernel 14 times its time. Such a function cannot allocate.
Functions that take a large tuple are inlined, or each call would copy all of it. An entry keeps its machine code
on disk. Numba renews that when the entry's own file changes, but not when a file changes whose functions it calls;
so the directory is named by what all kernels and designs say.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import numba as nb

import headrace.protocols.designs

_HERE = Path(__file__).parent
_SOURCES = [*_HERE.glob("*.py"), *Path(headrace.protocols.designs.__file__).parent.glob("*.py")]
_SAID = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(_SOURCES))).hexdigest()[:16]
nb.config.CACHE_DIR = str(Path(nb.config.CACHE_DIR or _HERE / "__pycache__") / f"kernels-{_SAID}")

entry = nb.njit(cache=True, _nrt=False)
inlined = nb.njit(inline="always", _nrt=False)
called = nb.njit(_nrt=False)

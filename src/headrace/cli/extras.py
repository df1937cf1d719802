"""A missing optional dependency, said in one sentence with the command that brings it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from headrace.core.errors import Unavailable


@contextmanager
def needing(extra: str) -> Iterator[None]:
    """Imports within need the extra; without it, say how to get it."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] == "headrace":
            raise
        raise Unavailable(f"this needs {error.name}: pip install 'headrace[{extra}]'") from error

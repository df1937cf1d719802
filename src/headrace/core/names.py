"""The nearest right name, for a message about a wrong one."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(word: str, known: Iterable[str]) -> str:
    """` Did you mean 'x'?`, or nothing when no known word is near."""
    import difflib  # only wanted once something went wrong

    close = difflib.get_close_matches(word, list(known), n=1)
    return f" Did you mean {close[0]!r}?" if close else ""

"""How items, times and figures are shown: aligned tables for people, stable JSON for machines.

JSON: one value a command. Instants are ISO 8601 in UTC, durations are seconds. A body is `body` when it is UTF-8 text,
and `body_base64` when it is not.
"""

from __future__ import annotations

import base64
import datetime as dt
import json
from collections.abc import Sequence
from typing import Any

import click

from headrace.cli.progress import duration

PREVIEW_CHARS = 60


def print_json(value: Any) -> None:
    click.echo(json.dumps(value, ensure_ascii=False))


def print_table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Columns under their heads: numbers to the right, everything else to the left."""
    texts = [[_cell(value) for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(heads, *texts, strict=True)]
    rights = [all(isinstance(row[i], int) for row in rows) for i in range(len(heads))]
    click.echo(click.style(_line(heads, widths, rights), bold=True))
    for text in texts:
        click.echo(_line(text, widths, rights))


def print_pairs(pairs: Sequence[tuple[str, object]]) -> None:
    """Names and values, one a line."""
    width = max(len(name) for name, _ in pairs)
    for name, value in pairs:
        click.echo(f"{name:<{width}}  {_cell(value)}")


def body_json(body: bytes) -> dict[str, str]:
    """A body as a member of a JSON object."""
    try:
        return {"body": body.decode()}
    except UnicodeDecodeError:
        return {"body_base64": base64.b64encode(body).decode()}


def preview(body: bytes) -> str:
    """A body on one line, cut short; nothing in it reaches the terminal as a control sequence."""
    try:
        text = body[: 4 * PREVIEW_CHARS].decode(errors="strict" if len(body) <= 4 * PREVIEW_CHARS else "ignore")
    except UnicodeDecodeError:
        return f"<{len(body):,} bytes: {body[:12].hex(' ')}{' …' if len(body) > 12 else ''}>"
    return plain(text)


def plain(text: str) -> str:
    """Text on one line, cut short, what cannot be printed escaped."""
    shown = "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
    return shown if len(shown) <= PREVIEW_CHARS else shown[: PREVIEW_CHARS - 1] + "…"


def iso(instant: dt.datetime | None) -> str | None:
    return instant.isoformat().replace("+00:00", "Z") if instant is not None else None


def ago(instant: dt.datetime) -> str:
    """How long ago an instant is, or how far ahead."""
    seconds = (dt.datetime.now(dt.UTC) - instant).total_seconds()
    if seconds < 0:
        return f"in {span(-seconds)}"
    return "just now" if seconds < 1 else f"{span(seconds)} ago"


def span(seconds: float) -> str:
    """A duration as people say it.

    >>> span(40), span(400), span(40_000), span(864_000)
    ('40 s', '7 min', '11 h', '10 days')
    """
    return duration(seconds) if seconds < 48 * 3600 else f"{seconds / 86400:.0f} days"


def size(size_bytes: int) -> str:
    """
    >>> size(100), size(2048), size(5 << 20)
    ('100 B', '2 KiB', '5 MiB')
    """
    if size_bytes < 1024:
        return f"{size_bytes} B"
    value = size_bytes / 1024
    for unit in ("KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{value:.1f}".removesuffix(".0") + f" {unit}"
        value /= 1024
    return f"{value:.1f} TiB"


def counted(count: int, noun: str) -> str:
    """
    >>> counted(1, "item"), counted(2000, "item")
    ('1 item', '2,000 items')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _cell(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else "" if value is None else str(value)


def _line(texts: Sequence[str], widths: Sequence[int], rights: Sequence[bool]) -> str:
    cells = zip(texts, widths, rights, strict=True)
    return "  ".join(text.rjust(width) if right else text.ljust(width) for text, width, right in cells).rstrip()

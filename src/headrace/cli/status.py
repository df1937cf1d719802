"""The command `headrace status`: how a node is doing, at a glance."""

from __future__ import annotations

import datetime as dt
import time
from typing import Any, Final

import click

from headrace.cli import options
from headrace.cli.shown import ago, counted, print_json, print_table, size
from headrace.client.shapes import moment
from headrace.core.commands import QueueStats

SUMS: Final = ("queued", "delayed", "held", "leased", "dead", "added", "committed", "bytes")


@click.command()
@options.at
@options.as_json
def status(*, at: options.Place, as_json: bool) -> None:
    """Show how a node is doing: its queues, their lengths and oldest items, leases, and the dead.

    Exit code 1 when it does not answer.

    \b
    headrace status --at data
    headrace status --at headrace://queue.example.org --token-file operator.token --json
    """
    with options.opened(at) as handle:
        begun = time.perf_counter()
        found = handle.queues()
        answered_ms = round((time.perf_counter() - begun) * 1000, 2)
    sums = {name: sum(getattr(stats, name) for stats in found) for name in SUMS}
    oldest_us = min((stats.oldest_us for stats in found if stats.oldest_us), default=0)
    if as_json:
        queues = [_json(stats) for stats in found]
        print_json({"at": str(at), "answered_ms": answered_ms, **sums, **_oldest(oldest_us), "queues": queues})
        return
    told = [
        counted(len(found), "queue"),
        f"{sums['queued']:,} queued",
        f"{sums['leased']:,} leased",
        f"{sums['dead']:,} dead",
    ]
    if oldest_us:
        told.append(f"the oldest added {ago(moment(oldest_us))}")
    click.echo(f"{click.style(str(at), bold=True)} answers in {answered_ms:g} ms: {', '.join(told)}")
    if found:
        click.echo()
        heads = ("QUEUE", "QUEUED", "DELAYED", "HELD", "LEASED", "DEAD", "ADDED", "COMMITTED", "SIZE", "OLDEST", "")
        print_table(heads, [_row(stats) for stats in found])


def _row(stats: QueueStats) -> tuple[object, ...]:
    return (
        stats.queue,
        *(getattr(stats, name) for name in SUMS[:-1]),
        size(stats.bytes),
        ago(moment(stats.oldest_us)) if stats.oldest_us else "",
        "paused" if stats.settings.paused else "",
    )


def _json(stats: QueueStats) -> dict[str, Any]:
    sums = {name: getattr(stats, name) for name in SUMS}
    return {"queue": stats.queue, **sums, **_oldest(stats.oldest_us), "paused": stats.settings.paused}


def _oldest(oldest_us: int) -> dict[str, float | None]:
    """How long ago the oldest queued item was added."""
    if not oldest_us:
        return {"oldest_seconds": None}
    age = dt.datetime.now(dt.UTC) - moment(oldest_us)
    return {"oldest_seconds": round(max(0.0, age.total_seconds()), 3)}

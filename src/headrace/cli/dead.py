"""Commands on what went wrong: `dead`, `revive`, `purge`."""

from __future__ import annotations

import sys

import click

from headrace.cli import options
from headrace.cli.shown import ago, body_json, counted, iso, plain, preview, print_json, print_table

_ids = click.argument("ids", metavar="[ID]...", nargs=-1)


@click.command()
@click.argument("queue")
@options.count(100)
@click.option("--after", type=int, metavar="PLACE", help="Go on after this place, the last one of a former listing.")
@options.at
@options.as_json
def dead(*, queue: str, count: int, after: int | None, at: options.Place, as_json: bool) -> None:
    """List the dead items of QUEUE, and why they died.

    An item is dead after too many failed attempts, or on request; it is handed out no more until it is revived.

    Example: headrace dead thumbnails --at data
    """
    with options.opened(at) as handle:
        total = handle.stats(queue).dead
        found = handle.dead(queue, count, after=after)
    if as_json:
        items = [
            {
                "id": item.id,
                "queue": item.queue,
                "priority": item.priority,
                "added": iso(item.added),
                "died": iso(item.died),
                "reason": item.reason,
                "attempts": item.attempts,
                "place": item.place,
                "key": item.key,
                "headers": item.headers,
                **body_json(item.body),
            }
            for item in found
        ]
        print_json({"items": items, "total": total})
    elif not found:
        click.echo(f"{queue} has no dead items" + ("" if after is None else f" after place {after}"))
    else:
        print_table(
            ("ID", "PRIORITY", "ATTEMPTS", "DIED", "REASON", "BODY"),
            [
                (item.id, item.priority, item.attempts, ago(item.died), plain(item.reason), preview(item.body))
                for item in found
            ],
        )
        if len(found) == count and total > count:
            click.echo(f"{len(found):,} of {total:,}; go on with --after {found[-1].place}")


@click.command()
@click.argument("queue")
@_ids
@options.at
@options.as_json
def revive(*, queue: str, ids: tuple[str, ...], at: options.Place, as_json: bool) -> None:
    """Queue dead items of QUEUE again, their counts reset: those with these IDs, or all.

    Example: headrace revive thumbnails --at data
    """
    with options.opened(at) as handle:
        count = handle.revive(queue, ids or None)
    if as_json:
        print_json({"revived": count})
    else:
        click.echo(f"{counted(count, 'item')} revived")


@click.command()
@click.argument("queue")
@_ids
@click.option("--dead", is_flag=True, help="Throw away the dead instead of what is queued.")
@click.option("--yes", is_flag=True, help="Do not ask. (Only a terminal is asked.)")
@options.at
@options.as_json
def purge(*, queue: str, ids: tuple[str, ...], dead: bool, yes: bool, at: options.Place, as_json: bool) -> None:
    """Throw away what is queued in QUEUE; or its dead; or the dead with these IDs.

    What is leased stays with those who hold it.

    \b
    headrace purge thumbnails --at data
    headrace purge thumbnails --dead --at data
    """
    with options.opened(at) as handle:
        found = handle.stats(queue)
        if sys.stdin.isatty() and not yes:
            count = len(ids) or (found.dead if dead else found.queued)
            click.confirm(f"Throw away {counted(count, 'item')} of {queue}?", abort=True, err=True)
        count = handle.purge(queue, dead=dead, ids=ids or None)
    if as_json:
        print_json({"purged": count})
    else:
        click.echo(f"{counted(count, 'item')} purged")

"""Commands on items: `pop`, `peek`, `commit`, `abort`, `extend`, `why`."""

from __future__ import annotations

import os
from typing import Any, NoReturn

import click

from headrace.cli import options
from headrace.cli.shown import ago, body_json, counted, iso, plain, preview, print_json, print_table, span
from headrace.client.handle import Headrace, Lease, pop_detached
from headrace.client.shapes import Place, Queued
from headrace.core.errors import Forbidden
from headrace.core.limits import US

_receipts = click.argument("receipts", metavar="RECEIPT...", nargs=-1, required=True)


@click.command()
@click.argument("queues", metavar="QUEUE...", nargs=-1, required=True)
@options.count(1)
@click.option("--wait", type=float, default=0, metavar="SECONDS", help="Wait so long for a first item.")
@click.option(
    "--lease", type=float, metavar="SECONDS", help="How long the items are yours; 60 s unless the queue says."
)
@click.option("--at-least", type=int, metavar="PRIORITY", help="Only items that are at least this urgent.")
@click.option("--name", help="Name this pop: done again under its name, it gives the same items.")
@options.at
@options.as_json
def pop(
    *,
    queues: tuple[str, ...],
    count: int,
    wait: float,
    lease: float | None,
    at_least: int | None,
    name: str | None,
    at: options.Place,
    as_json: bool,
) -> None:
    """Lease the most urgent items of a QUEUE, or of several, and print them.

    They are yours until the lease is over, whatever runs in between: settle each with `headrace commit RECEIPT` or
    `headrace abort RECEIPT`. Exit code 3 when there is nothing.

    \b
    headrace pop thumbnails --lease 300 --at data
    headrace pop thumbnails previews -n 10 --wait 5 --json --at data
    """
    with options.opened(at) as handle:
        leases = pop_detached(handle, queues, count, wait=wait, lease=lease, at_least=at_least, name=name)
        if as_json:
            print_json({"items": [_lease_json(item) for item in leases], "top": leases.top})
        if not leases and leases.top is None:
            _explain_nothing(handle, queues)
    if leases and not as_json:
        heads = ("RECEIPT", "PRIORITY", "ATTEMPT", "ADDED", "LEASED FOR", "BODY")
        print_table(heads, [_lease_row(item) for item in leases])
    if not leases:
        options.nothing(f"the most urgent item of {queues[0]} has priority {leases.top}, less urgent than {at_least}")


@click.command()
@click.argument("queue")
@options.count(10)
@options.at
@options.as_json
def peek(*, queue: str, count: int, at: options.Place, as_json: bool) -> None:
    """Show the most urgent items of QUEUE, and leave them there.

    Exit code 3 when there is nothing that could be handed out now.

    Example: headrace peek thumbnails -n 3 --at data
    """
    with options.opened(at) as handle:
        items = handle.peek(queue, count)
        if as_json:
            print_json({"items": [_item_json(item) for item in items]})
        if not items:
            _explain_nothing(handle, (queue,))
    if not as_json:
        print_table(
            ("ID", "PRIORITY", "ADDED", "BODY"),
            [(item.id, item.priority, ago(item.added), preview(item.body)) for item in items],
        )


@click.command()
@_receipts
@click.option(
    "--add", "added", nargs=2, multiple=True, metavar="QUEUE BODY", help="Add an item in the same step; repeatable."
)
@options.at
@options.as_json
def commit(*, receipts: tuple[str, ...], added: tuple[tuple[str, str], ...], at: options.Place, as_json: bool) -> None:
    """Settle leased items as done, by the RECEIPTs that pop gave.

    With --add the new items and the commit become true together, or not at all.

    \b
    headrace commit thumbnails/1f3c9a-2b --at data
    headrace commit thumbnails/1f3c9a-2b --add previews cat.png --at data
    """
    with options.opened(at) as handle:
        handle.commit(receipts, add=[(queue, os.fsencode(body)) for queue, body in added])
    _say_settled("committed", len(receipts), as_json=as_json)


@click.command()
@_receipts
@click.option("--delay", type=float, default=0, metavar="SECONDS", help="Hand them out again only after so long.")
@click.option("--reason", default="", metavar="TEXT", help="Why; `headrace why` shows it.")
@click.option("--dead", is_flag=True, help="Do not hand them out again: put them with the dead.")
@options.at
@options.as_json
def abort(
    *, receipts: tuple[str, ...], delay: float, reason: str, dead: bool, at: options.Place, as_json: bool
) -> None:
    """Give leased items back, by the RECEIPTs that pop gave.

    Example: headrace abort thumbnails/1f3c9a-2b --delay 30 --reason "disk full" --at data
    """
    with options.opened(at) as handle:
        handle.abort(receipts, delay=delay, reason=reason, dead=dead)
    _say_settled("aborted", len(receipts), as_json=as_json)


@click.command()
@_receipts
@click.option("--seconds", type=float, required=True, help="How long from now.")
@options.at
@options.as_json
def extend(*, receipts: tuple[str, ...], seconds: float, at: options.Place, as_json: bool) -> None:
    """Hold leased items for longer, by the RECEIPTs that pop gave.

    Example: headrace extend thumbnails/1f3c9a-2b --seconds 600 --at data
    """
    with options.opened(at) as handle:
        handle.extend(receipts, seconds)
    _say_settled("extended", len(receipts), as_json=as_json)


@click.command()
@click.argument("item_id", metavar="ID")
@options.at
@options.as_json
def why(*, item_id: str, at: options.Place, as_json: bool) -> None:
    """Say where an item is, how many are ahead of it, since when, and what became of each attempt.

    Exit code 3 when it is not here: committed, expired, purged, or never added.

    Example: headrace why 01890a5d-ac96-774b-bcce-b302099a8057 --at data
    """
    with options.opened(at) as handle:
        place = handle.why(item_id)
    if as_json:
        print_json(_place_json(place))
    if place.state == "unknown":
        options.nothing(f"item {place.id} is not here: it was committed, expired or purged, or never added")
    if not as_json:
        _tell(place)


def _explain_nothing(handle: Headrace, queues: tuple[str, ...]) -> NoReturn:
    """Why there is nothing to show: no such queue, all is leased or delayed, or it is empty."""
    sentences = []
    for queue in queues:
        try:
            stats = handle.stats(queue)
        except Forbidden:  # the access token is for work, not for figures
            sentences.append(f"queue {queue} has nothing to hand out")
            continue
        parts = [(stats.leased, "leased"), (stats.delayed, "delayed"), (stats.held, "held"), (stats.dead, "dead")]
        rest = ", ".join(f"{count:,} {word}" for count, word in parts if count)
        sentences.append(f"queue {queue} has nothing to hand out" + (f" ({rest})" if rest else ""))
    options.nothing("; ".join(sentences))


def _say_settled(what: str, count: int, *, as_json: bool) -> None:
    if as_json:
        print_json({what: count})
    else:
        click.echo(f"{counted(count, 'item')} {what}")


def _item_json(item: Queued | Lease) -> dict[str, Any]:
    return {
        "id": item.id,
        "queue": item.queue,
        "priority": item.priority,
        "added": iso(item.added),
        "key": item.key,
        "headers": item.headers,
        **body_json(item.body),
    }


def _lease_json(item: Lease) -> dict[str, Any]:
    return {
        "receipt": str(item.receipt),
        "attempt": item.attempt,
        "lease_seconds": item._lease_us / US,
        **_item_json(item),
    }


def _lease_row(item: Lease) -> tuple[object, ...]:
    return (
        str(item.receipt),
        item.priority,
        item.attempt,
        ago(item.added),
        span(item._lease_us / US),
        preview(item.body),
    )


def _place_json(place: Place) -> dict[str, Any]:
    return {
        "id": place.id,
        "state": place.state,
        "queue": place.queue or None,
        "priority": place.priority,
        "ahead": place.ahead,
        "added": iso(place.added),
        "since": iso(place.since),
        "due": iso(place.due),
        "attempts": [
            {"leased": iso(tried.leased), "ended": iso(tried.ended), "reason": tried.reason or None}
            for tried in place.attempts
        ],
    }


def _tell(place: Place) -> None:
    assert place.since is not None
    assert place.added is not None
    ahead = f", {place.ahead:,} ahead of it" if place.state == "queued" else ""
    due = f", due {ago(place.due)}" if place.state == "delayed" and place.due is not None else ""
    click.echo(f"{place.state} in {place.queue}, priority {place.priority}{ahead}{due}")
    click.echo(f"so since {place.since:%Y-%m-%d %H:%M:%S} UTC ({ago(place.since)}); added {ago(place.added)}")
    if not place.attempts:
        click.echo("never handed out")
        return
    rows = []
    for number, tried in enumerate(place.attempts, 1):
        held = span((tried.ended - tried.leased).total_seconds()) if tried.ended else ""
        rows.append((number, f"{tried.leased:%Y-%m-%d %H:%M:%S}", held, plain(tried.reason or "going on")))
    print_table(("ATTEMPT", "LEASED (UTC)", "HELD", "ENDED BY"), rows)

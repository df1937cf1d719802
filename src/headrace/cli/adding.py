"""`headrace add`: bodies from arguments, a file or standard input, or one item a line."""

from __future__ import annotations

import datetime as dt
import os
import sys
from collections.abc import Iterator
from typing import IO, Any

import click

from headrace.cli import options
from headrace.cli.progress import Bar
from headrace.cli.shown import counted, print_json
from headrace.client.handle import Headrace
from headrace.core.errors import HeadraceError, Rejected
from headrace.core.items import Item
from headrace.core.limits import check_queue_name

BATCH_ITEMS = 1000
BATCH_BYTES = 4 << 20
STDIN = "-"


@click.command()
@click.argument("queue")
@click.argument("bodies", metavar="[BODY]...", nargs=-1)
@click.option("--file", metavar="PATH", help="Take the body from a file; - is standard input.")
@click.option("--lines", is_flag=True, help="Add one item a line of the file or standard input; empty lines are none.")
@click.option("--priority", type=int, default=0, show_default=True, help="Lower is more urgent.")
@click.option("--key", help="Add nothing if an item with this key was added within the last hour.")
@click.option("--header", "headers", metavar="NAME=VALUE", multiple=True, help="A header; may be given several times.")
@click.option("--delay", type=float, metavar="SECONDS", help="Hand it out only after so long.")
@click.option("--not-before", metavar="TIME", help="Hand it out only from then on: 2030-01-31T08:00:00+01:00.")
@click.option("--expires", type=float, metavar="SECONDS", help="Drop it when it is still queued after so long.")
@click.option("--id", "item_id", metavar="UUID", help="The item's id, if it has one already.")
@click.option("--wait", type=float, default=0, metavar="SECONDS", help="Wait so long for room in a full queue.")
@options.at
@options.as_json
def add(
    *,
    queue: str,
    bodies: tuple[str, ...],
    file: str | None,
    lines: bool,
    key: str | None,
    headers: tuple[str, ...],
    not_before: str | None,
    item_id: str | None,
    wait: float,
    at: options.Place,
    as_json: bool,
    **given: Any,
) -> None:
    """Add items to QUEUE and print their ids.

    Without a BODY it is read from standard input, as it is when the BODY is -. When the command returns, the items
    survive a power cut.

    \b
    headrace add thumbnails cat.png dog.png --priority 3 --at data
    headrace add thumbnails --file photo.jpg --key photo-17 --at data
    find . -name '*.png' | headrace add thumbnails --lines --at data
    """
    check_queue_name(queue)
    settings = {
        **given,
        "key": key,
        "headers": dict(map(_header, headers)) or None,
        "not_before": _instant(not_before),
        "id": item_id,
    }
    if lines:
        if key or item_id:
            raise click.UsageError("--key and --id name one item: they do not go with --lines")
        _add_lines(queue, _source(bodies, file), settings, wait=wait, at=at, as_json=as_json)
        return
    if len(bodies) > 1 and (key or item_id):
        raise click.UsageError("--key and --id name one item: give one BODY")
    items = [Item(body, **settings) for body in _bodies(bodies, file)]
    with options.opened(at, create=True) as handle:
        ids = list(handle.add_many(queue, items, wait=wait))
    if as_json:
        print_json({"ids": ids})
    else:
        click.echo("\n".join(ids))


def _bodies(bodies: tuple[str, ...], file: str | None) -> Iterator[bytes]:
    """The bodies, each as the bytes that were given."""
    if len(bodies) > 1:
        yield from map(os.fsencode, bodies)
    elif bodies and bodies[0] != STDIN and file is None:
        yield os.fsencode(bodies[0])
    else:
        with _source(bodies, file) as source:
            yield source.read()


def _source(bodies: tuple[str, ...], file: str | None) -> IO[bytes]:
    """Where to read from: a file or standard input."""
    if bodies not in ((), (STDIN,)) or (bodies and file):
        raise click.UsageError("give a BODY or a --file, not both")
    if file is not None and file != STDIN:
        try:
            return open(file, "rb")
        except OSError as error:
            raise click.UsageError(f"{file!r} cannot be read: {(error.strerror or str(error)).lower()}") from None
    if sys.stdin.isatty() and not bodies and file is None:
        raise click.UsageError("give a BODY, a --file, or something on standard input")
    return sys.stdin.buffer


def _add_lines(
    queue: str, source: IO[bytes], settings: dict[str, Any], *, wait: float, at: options.Place, as_json: bool
) -> None:
    """Add in batches, each all or none; an error says how far it came."""
    total_bytes = os.fstat(source.fileno()).st_size if source is not sys.stdin.buffer else 0
    added = read_bytes = 0
    with options.opened(at, create=True) as handle, source, Bar() as bar:
        for batch, batch_bytes in _batches(source):
            _add_batch(handle, queue, [Item(line, **settings) for line in batch], wait, done=added)
            added += len(batch)
            read_bytes += batch_bytes
            if total_bytes:
                bar.show(
                    f"{added:,} items",
                    done=read_bytes >> 10,
                    total=max(1, total_bytes >> 10),
                    unit="KiB",
                    seconds_left=None,
                )
            else:
                bar.tell(f"{added:,} items")
    if as_json:
        print_json({"added": added})
    else:
        click.echo(f"{counted(added, 'item')} added to {queue}")


def _add_batch(handle: Headrace, queue: str, items: list[Item], wait: float, *, done: int) -> None:
    try:
        handle.add_many(queue, items, wait=wait)
    except HeadraceError as error:
        certain = "were added" if isinstance(error, Rejected) else "were certainly added"
        raise type(error)(f"{error} ({counted(done, 'item')} before {certain})") from None


def _batches(source: IO[bytes]) -> Iterator[tuple[list[bytes], int]]:
    """The lines of a file, in batches, each with how many bytes were read for it."""
    batch: list[bytes] = []
    read_bytes = 0
    for line in source:
        read_bytes += len(line)
        body = line.removesuffix(b"\n").removesuffix(b"\r")
        if body:
            batch.append(body)
        if len(batch) == BATCH_ITEMS or read_bytes >= BATCH_BYTES:
            yield batch, read_bytes
            batch, read_bytes = [], 0
    if batch:
        yield batch, read_bytes


def _header(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise click.BadParameter(f"{text!r} is not NAME=VALUE", param_hint="--header")
    return name, value


def _instant(text: str | None) -> dt.datetime | None:
    """A time; one without a zone is in this machine's."""
    if text is None:
        return None
    try:
        instant = dt.datetime.fromisoformat(text)
    except ValueError:
        raise click.BadParameter(
            f"{text!r} is not a time such as 2030-01-31T08:00:00+01:00", param_hint="--not-before"
        ) from None
    return instant if instant.tzinfo else instant.astimezone()

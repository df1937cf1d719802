"""Commands on queues: `queues`, `stats`, `declare`, `pause`, `resume`, `drop`."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from headrace.cli import options
from headrace.cli.documented import field_docs
from headrace.cli.shown import ago, counted, iso, print_json, print_pairs, print_table, size
from headrace.client.shapes import moment
from headrace.core.commands import QueueStats
from headrace.core.limits import QueueSettings

LEDGER = ("added", "moved_in", "committed", "expired", "purged", "moved_out", "quarantined", "deduplicated")


@click.command()
@options.at
@options.as_json
def queues(*, at: options.Place, as_json: bool) -> None:
    """List the queues and how full they are.

    Example: headrace queues --at data
    """
    with options.opened(at) as handle:
        found = handle.queues()
    if as_json:
        print_json({"queues": [_stats_json(stats) for stats in found]})
    elif not found:
        click.echo("no queues yet")
    else:
        heads = ("QUEUE", "QUEUED", "DELAYED", "LEASED", "DEAD", "SIZE", "OLDEST", "")
        print_table(heads, [_row(stats) for stats in found])


@click.command()
@click.argument("queue")
@options.at
@options.as_json
def stats(*, queue: str, at: options.Place, as_json: bool) -> None:
    """Show the figures of QUEUE: what is in it, what went through it, and its settings.

    The ledger balances: added + moved in = committed + expired + purged + moved out + quarantined
    + what is queued, leased and dead.

    Example: headrace stats thumbnails --at data
    """
    with options.opened(at) as handle:
        found = handle.stats(queue)
    if as_json:
        print_json(_stats_json(found))
        return
    print_pairs(
        [
            ("queued", found.queued),
            ("  delayed", found.delayed),
            ("  held", found.held),
            ("leased", found.leased),
            ("dead", found.dead),
            ("size", size(found.bytes)),
            ("oldest", ago(moment(found.oldest_us)) if found.oldest_us else "none"),
        ]
    )
    click.echo()
    print_pairs([(name.replace("_", " "), getattr(found, name)) for name in LEDGER])
    click.echo()
    settings = msgspec.structs.asdict(found.settings)
    print_pairs([(name.replace("_", " "), _setting(value)) for name, value in settings.items()])


def _settings(command: Any) -> Any:
    """One option for each setting of a queue but `paused`, which has commands of its own."""
    for name, text in reversed(field_docs(QueueSettings).items()):
        option = f"--{name.replace('_', '-')}"
        kind = QueueSettings.__annotations__[name]
        if name == "paused":
            continue
        if kind == "bool":
            decorated = click.option(f"{option}/--no-{option[2:]}", name, default=None, help=text)
        elif "None" in kind:
            decorated = click.option(
                option, name, metavar="NUMBER", type=_number_or_none, help=f"{text} Give 'none' for that."
            )
        else:
            decorated = click.option(option, name, type=float if kind == "float" else int, help=text)
        command = decorated(command)
    return command


def _number_or_none(text: str) -> int | str:
    """A bound, or 'none', which must not be taken for a setting that was not named."""
    try:
        return "none" if text == "none" else int(text)
    except ValueError:
        raise click.BadParameter(f"{text!r} is not a whole number, nor 'none'") from None


@click.command()
@click.argument("queue")
@_settings
@options.at
@options.as_json
def declare(*, queue: str, at: options.Place, as_json: bool, **given: Any) -> None:
    """Create QUEUE, or change its settings; those not named stay as they are.

    Example: headrace declare thumbnails --capacity-items 100000 --max-attempts 5 --at data
    """
    changes = {name: None if value == "none" else value for name, value in given.items() if value is not None}
    with options.opened(at, create=True) as handle:
        handle.declare(queue, **changes)
        settings = msgspec.structs.asdict(handle.stats(queue).settings)
    if as_json:
        print_json({"queue": queue, "settings": settings})
    else:
        print_pairs([(name.replace("_", " "), _setting(value)) for name, value in settings.items()])


@click.command()
@click.argument("queue")
@options.at
@options.as_json
def pause(*, queue: str, at: options.Place, as_json: bool) -> None:
    """Hand nothing of QUEUE out until it is resumed; adds go on.

    Example: headrace pause thumbnails --at data
    """
    _set_paused(queue, True, at=at, as_json=as_json)


@click.command()
@click.argument("queue")
@options.at
@options.as_json
def resume(*, queue: str, at: options.Place, as_json: bool) -> None:
    """Hand items of QUEUE out again.

    Example: headrace resume thumbnails --at data
    """
    _set_paused(queue, False, at=at, as_json=as_json)


@click.command()
@click.argument("queue")
@options.at
@options.as_json
def drop(*, queue: str, at: options.Place, as_json: bool) -> None:
    """Remove QUEUE with all that is in it; refused while items are leased.

    Example: headrace drop thumbnails --at data
    """
    with options.opened(at) as handle:
        found = handle.stats(queue)
        handle.drop(queue)
    lost = found.queued + found.dead
    if as_json:
        print_json({"queue": queue, "dropped_items": lost})
    else:
        click.echo(f"{queue} is gone, and {counted(lost, 'item')} with it")


def _set_paused(queue: str, paused: bool, *, at: options.Place, as_json: bool) -> None:
    with options.opened(at) as handle:
        handle.stats(queue)  # a misspelt name must not make a queue
        handle.declare(queue, paused=paused)
    if as_json:
        print_json({"queue": queue, "paused": paused})
    else:
        click.echo(f"{queue} is {'paused' if paused else 'handing items out'}")


def _row(stats: QueueStats) -> tuple[object, ...]:
    return (
        stats.queue,
        stats.queued,
        stats.delayed,
        stats.leased,
        stats.dead,
        size(stats.bytes),
        ago(moment(stats.oldest_us)) if stats.oldest_us else "",
        "paused" if stats.settings.paused else "",
    )


def _stats_json(stats: QueueStats) -> dict[str, Any]:
    plain = msgspec.structs.asdict(stats)
    oldest_us = plain.pop("oldest_us")
    settings = plain.pop("settings")
    return {
        **plain,
        "oldest": iso(moment(oldest_us)) if oldest_us else None,
        "settings": msgspec.structs.asdict(settings),
    }


def _setting(value: object) -> object:
    if value is None:
        return "no bound"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else value

"""The command `headrace bench`: what a node does on this machine, in figures that a plan can be built on."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import click
import msgspec

from headrace.cli import options
from headrace.cli.shown import print_json, print_pairs

DURABILITIES = ("fsync", "os", "memory")


@click.group()
def bench() -> None:
    """Measure what this machine does in a second.

    A cycle is the add, the pop and the commit of one item. Nothing of yours is touched: what is measured is made for
    it, and removed.

    Example: headrace bench cycle --embedded --threads 8 --durability fsync
    """


def _common(command: Callable[..., None]) -> Callable[..., None]:
    """What every measurement is told."""
    for option in (
        options.as_json,
        click.option(
            "--dir",
            "parent",
            metavar="DIR",
            callback=_existing,
            help="Where the measured directory is made: name one on the disk that you mean. "
            "[default: the system's for temporary files]",
        ),
        click.option(
            "--size",
            type=click.IntRange(0, 1 << 20),
            default=100,
            show_default=True,
            metavar="BYTES",
            help="The size of a body.",
        ),
    ):
        command = option(command)
    return command


def _existing(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    if value is not None and not os.path.isdir(value):
        raise click.BadParameter(f"{value!r} is no directory: make it, or name another", ctx, param)
    return value


@bench.command()
@click.option("--embedded", is_flag=True, help="Measure a node in this process; the default.")
@click.option("--spawn", is_flag=True, help="Measure a node that is served for this alone, from other processes.")
@click.option("--at", metavar="URL", help="Measure the node at headrace://host:port, on a queue made for it.")
@click.option("--token-file", metavar="FILE", help="With --at: the file with the access token; or set HEADRACE_TOKEN.")
@click.option("--ca", metavar="FILE", help="With --at: the authorities that vouch for the node's certificate.")
@click.option(
    "--clients",
    type=click.IntRange(1, 200),
    default=1,
    show_default=True,
    help="With --at or --spawn: processes at once, each with a connection.",
)
@click.option(
    "--threads", type=click.IntRange(1, 1000), default=1, show_default=True, help="Threads at once, in each process."
)
@click.option("--batch", type=click.IntRange(1, 10_000), default=1, show_default=True, help="Items in one call.")
@click.option("--items", type=click.IntRange(1), default=20_000, show_default=True, help="Items in all.")
@click.option(
    "--durability",
    type=click.Choice(DURABILITIES),
    default="fsync",
    show_default=True,
    help="What an acknowledged add survives: a power cut, the process's death, nothing.",
)
@_common
def cycle(
    *,
    embedded: bool,
    spawn: bool,
    at: str | None,
    token_file: str | None,
    ca: str | None,
    clients: int,
    threads: int,
    batch: int,
    items: int,
    durability: str,
    size: int,
    parent: str | None,
    as_json: bool,
) -> None:
    """Measure cycles: add, pop, commit.

    \b
    cycles_per_s      items through add, pop and commit in a second, all threads together
    p50_ms, p99_ms    how long the three calls take together, for a batch as a whole
    syncs             how often the disk was told to make something safe, and waited for
    cpu_us_per_cycle  processor time for each item: of the process with the node in it, or of the
                      clients where the node is served
    bytes_per_item    bytes of log written for each item: its add with the body, its lease and its
                      commit, with the heads of their frames and what fills these up to 64 bytes;
                      0 at `memory`

    What only the node could tell (syncs, bytes_per_item) is null with --at.

    \b
    headrace bench cycle --embedded --threads 8 --durability fsync --json
    headrace bench cycle --embedded --batch 100 --durability os --items 1000000 --dir /var/tmp
    headrace bench cycle --spawn --clients 4 --batch 100 --durability os --items 400000
    """
    if embedded + spawn + (at is not None) > 1:
        raise click.UsageError("--embedded, --spawn and --at name three different nodes: choose one")
    if spawn or at is not None:
        if spawn and durability == "memory":
            raise click.UsageError("a node that is served keeps what it is given: choose fsync or os")
        load = {"threads": threads, "batch": batch, "size": size, "items": items}
        figures = _served(at, load, clients, durability, parent, options.access_token(token_file), ca)
    else:
        from headrace.cli.bench_cycle import measure

        figures = measure(threads=threads, batch=batch, size=size, durability=durability, items=items, parent=parent)
    _show(msgspec.structs.asdict(figures), as_json=as_json)


def _served(
    at: str | None, load: dict[str, int], clients: int, durability: str, parent: str | None, token: str, ca: str | None
) -> Any:
    from headrace.cli.bench_served import Load, measure, spawned

    queue = f"bench-{os.urandom(4).hex()}"
    if at is not None:
        return measure(Load(url=at, queue=queue, token=token, ca=ca, **load), clients=clients)
    with spawned(durability=durability, parent=parent) as ready:
        spent = Load(url=ready["url"], queue=queue, token="", ca=None, **load)
        return measure(spent, clients=clients, metrics_url=ready["rest_url"])


@bench.command()
@click.option(
    "--items",
    type=click.IntRange(10_000),
    default=1_000_000,
    show_default=True,
    help="How many are queued.",
)
@click.option(
    "--batch",
    type=click.IntRange(1, 10_000),
    default=100,
    show_default=True,
    help="Items in one call while filling: each call is a frame of the log, to be read again in recovery.",
)
@click.option(
    "--priorities",
    type=click.Choice(("equal", "random")),
    default="equal",
    show_default=True,
    help="Equal ones arrive in the order of the queue, random ones in none.",
)
@click.option(
    "--durability",
    type=click.Choice(DURABILITIES[:2]),
    default="os",
    show_default=True,
    help="What an acknowledged add survives: a power cut, the process's death.",
)
@_common
def backlog(
    *, items: int, batch: int, priorities: str, durability: str, size: int, parent: str | None, as_json: bool
) -> None:
    """Measure a node on which much is queued.

    \b
    fill_s                           time to add all of it
    memory_bytes_per_item            anonymous memory that the process took for an item while filling, less its body
    pop_us_at_1000, pop_us           median time of a pop with 1,000 queued, and with all; pop_ratio is of the two
    recovery_s, recovery_cpu_s       time to open the directory with the log alone, in a new process
    recovered_memory_bytes_per_item  as above, once recovered
    snapshot_s                       time a snapshot took beside one thread of traffic
    snapshot_cycles                  cycles meanwhile
    snapshot_p99_ms, snapshot_max_ms how long those took; p99_ms is that of cycles before
    snapshot_recovery_s              time to open with that snapshot; _cpu_s is processor time

    Memory is null where the system does not tell it (it is read from /proc).

    Example: headrace bench backlog --items 1000000 --priorities random --json
    """
    from headrace.cli.bench_backlog import Backlog, measure

    wanted = Backlog(items=items, size=size, batch=batch, priorities=priorities, durability=durability)
    _show(measure(wanted, parent=parent), as_json=as_json)


def _show(figures: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(figures)
    else:
        print_pairs(list(figures.items()))

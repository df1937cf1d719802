"""What the commands on a node share: where it is, how to open it, and what to say when nothing is there.

Each option can also be given by the environment: `HEADRACE_AT` and `HEADRACE_JSON` to all commands, and
`HEADRACE_COMMAND_OPTION` (such as `HEADRACE_POP_LEASE`) to one. No other room reads the environment.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from headrace.core.errors import EXIT_NOTHING, Gone

if TYPE_CHECKING:
    from headrace.client.handle import Headrace

Command = TypeVar("Command", bound=Callable[..., Any])


def _where(ctx: click.Context, param: click.Parameter, value: str | None) -> str:
    if not value:
        raise click.UsageError("say which directory: --at DIR, or set HEADRACE_AT", ctx)
    return value


def at(command: Command) -> Command:
    """The directory of the node."""
    return click.option(
        "--at",
        metavar="DIR",
        envvar="HEADRACE_AT",
        show_envvar=True,
        callback=_where,
        help="The directory that holds the queues.",
    )(command)


def as_json(command: Command) -> Command:
    """Output for machines."""
    return click.option("--json", "as_json", is_flag=True, envvar="HEADRACE_JSON", help="Print JSON.")(command)


def count(default: int) -> Callable[[Command], Command]:
    """How many."""
    return click.option(
        "-n", "--count", type=int, default=default, show_default=True, metavar="N", help="How many items at most."
    )


@contextmanager
def opened(at: str, *, create: bool = False) -> Iterator[Headrace]:
    """The node in the directory `at`; it is made only by what puts something there."""
    from headrace.client.opening import open

    if not create:
        check_directory(at)
    with open(at) as handle:
        yield handle


def check_directory(at: str) -> None:
    """`Gone` when no node was ever at `at`: a misspelt name must not make an empty one."""
    from headrace.store import segment, snapshot

    names = os.listdir(at) if os.path.isdir(at) else []
    if all(segment.number_of(name) is None and snapshot.position_of(name) is None for name in names):
        raise Gone(f"there are no queues in {at!r}: `headrace add` makes them, or name another directory")


def nothing(sentence: str) -> NoReturn:
    """Say on stderr that nothing is there, and leave with the exit code for it."""
    click.echo(f"headrace: {sentence}", err=True)
    raise SystemExit(EXIT_NOTHING)

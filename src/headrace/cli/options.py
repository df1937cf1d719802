"""What the commands on a node share: where it is, how to reach it, and what to say when nothing is there.

Each option can also be given by the environment: `HEADRACE_AT` and `HEADRACE_JSON` to all commands, and
`HEADRACE_COMMAND_OPTION` (such as `HEADRACE_POP_LEASE`) to one; and by `headrace.toml`. No other room reads either.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn, TypeVar

import click
from click.core import ParameterSource

from headrace.cli.configuration import configured
from headrace.core.errors import EXIT_NOTHING, Gone

if TYPE_CHECKING:
    from headrace.client.handle import Headrace

Command = TypeVar("Command", bound=Callable[..., Any])

TOKEN_VARIABLE: Final = "HEADRACE_TOKEN"


class Place(NamedTuple):
    """Where a node is, and how it is to be reached there."""

    at: str
    """A directory, or an address."""
    token: str
    ca: str | None
    timeout_seconds: float

    @property
    def is_address(self) -> bool:
        return "://" in self.at

    def __str__(self) -> str:
        return self.at


def _where(ctx: click.Context, param: click.Parameter, value: str | None) -> str:
    if not value:
        raise click.UsageError("say where the node is: --at DIR or --at headrace://host:port, or set HEADRACE_AT", ctx)
    return value


def _directory_only(ctx: click.Context, param: click.Parameter, value: str | None) -> str:
    if not value:
        raise click.UsageError("say which directory: --at DIR, or set HEADRACE_AT", ctx)
    if "://" in value:
        raise click.UsageError(f"{value} is an address: name the node's directory, --at DIR, on its own machine", ctx)
    return value


def token_file(command: Command) -> Command:
    """Where the access token is."""
    return click.option(
        "--token-file",
        metavar="FILE",
        envvar="HEADRACE_TOKEN_FILE",
        help="The file with the access token; or set HEADRACE_TOKEN to the token.",
    )(command)


def at(command: Command) -> Command:
    """The node, in a directory or at an address: the command is given a `Place`."""

    @functools.wraps(command)
    def placed(*, at: str, token_file: str | None, ca: str | None, timeout: float, **given: Any) -> Any:
        return command(at=Place(at, access_token(token_file), ca, timeout), **given)

    for option in (
        click.option(
            "--timeout",
            type=click.FloatRange(min=0.001),
            envvar="HEADRACE_TIMEOUT",
            default=10.0,
            show_default=True,
            metavar="SECONDS",
            help="How long the node at an address may take to answer, beyond --wait.",
        ),
        click.option(
            "--ca",
            metavar="FILE",
            envvar="HEADRACE_CA",
            help="The authorities that vouch for the node's certificate, in PEM; otherwise the system's.",
        ),
        token_file,
        click.option(
            "--at",
            metavar="DIR|URL",
            envvar="HEADRACE_AT",
            show_envvar=True,
            callback=_where,
            help="The directory that holds the queues, or headrace://host:port of the node that serves them "
            "(headraces:// with TLS).",
        ),
    ):
        option(placed)
    return configured(placed)  # type: ignore[return-value]


def directory(command: Command) -> Command:
    """The directory of a node, for what is done on its own machine."""
    return configured(
        click.option(
            "--at",
            metavar="DIR",
            envvar="HEADRACE_AT",
            show_envvar=True,
            callback=_directory_only,
            help="The directory that holds the queues.",
        )(command)
    )


def as_json(command: Command) -> Command:
    """Output for machines."""
    return click.option("--json", "as_json", is_flag=True, envvar="HEADRACE_JSON", help="Print JSON.")(command)


def count(default: int) -> Callable[[Command], Command]:
    """How many."""
    return click.option(
        "-n", "--count", type=int, default=default, show_default=True, metavar="N", help="How many items at most."
    )


@contextmanager
def opened(place: Place, *, create: bool = False) -> Iterator[Headrace]:
    """A handle on the node; one in a directory is made only by what puts something there."""
    if place.is_address:
        from headrace.client.connecting import connect

        with connect(place.at, token=place.token, ca=place.ca, timeout=place.timeout_seconds) as handle:
            yield handle
        return
    from headrace.client.opening import open

    if not create:
        check_directory(place.at)
    with open(place.at) as handle:
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


def access_token(file: str | None) -> str:
    """The access token; it has no option of its own, since a command line is everybody's to read."""
    told = click.get_current_context().get_parameter_source("token_file") is ParameterSource.COMMANDLINE
    given = os.environ.get(TOKEN_VARIABLE, "")
    if file is None or (given and not told):
        return given
    try:
        with open(file) as source:
            return source.read().strip()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text"
        raise click.UsageError(f"the access token in {file!r} cannot be read: {why}") from None

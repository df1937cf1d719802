"""The command `headrace access`: the access tokens of a node."""

from __future__ import annotations

import os
import re

import click

from headrace.cli import options
from headrace.cli.shown import print_json, print_table
from headrace.core.errors import Gone, Invalid


@click.group()
def access() -> None:
    """Issue, list and revoke the access tokens of a node.

    They are kept, hashed, in the node's directory, and hold at once, whether it is being served or not: so these
    commands are for the node's own machine.

    \b
    headrace access issue --at data thumbnailer --scope pop:thumbs-* --scope commit:thumbs-*
    headrace access revoke --at data thumbnailer
    """


@access.command()
@click.argument("name")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    required=True,
    metavar="VERB[:QUEUES]",
    help="What it allows: add, pop (with looking), commit (settling in any way) or admin (everything), on the queues "
    "whose names match, such as pop:thumbs-*; may be given several times.",
)
@options.directory
@options.as_json
def issue(*, name: str, scopes: tuple[str, ...], at: str, as_json: bool) -> None:
    """Make an access token called NAME, and show it: this once.

    A client gives it by HEADRACE_TOKEN, by --token-file, or as `token=` in Python; over REST as `Authorization: Bearer
    TOKEN`. Once there is a token, nobody comes in without one but by the directory's own socket.

    \b
    headrace access issue thumbnailer --scope pop:thumbs-* --scope commit:thumbs-* --at data
    headrace access issue operator --scope admin --at data > operator.token
    """
    from headrace.server.access import Tokens

    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", name):
        raise Invalid(f"{name!r} cannot be a token's name: use letters, digits, '.', '_' or '-', at most 100")
    try:
        os.makedirs(at, exist_ok=True)
        token = Tokens(at).issue(name, list(scopes))
    except OSError as error:
        raise Invalid(f"the directory {at!r} cannot hold access tokens: {error.strerror}") from None
    if as_json:
        print_json({"name": name, "token": token, "scopes": list(scopes)})
    else:
        click.echo(token)
        click.echo("Keep it: it is shown this once, and stored nowhere.", err=True)


@access.command(name="list")
@options.directory
@options.as_json
def list_(*, at: str, as_json: bool) -> None:
    """List the access tokens by name, and what each allows.

    Example: headrace access list --at data
    """
    from headrace.server.access import Tokens

    _check_directory(at)
    found = list(Tokens(at))
    if as_json:
        print_json({"tokens": [{"name": one.name, "scopes": one.scopes} for one in found]})
    elif found:
        print_table(("NAME", "SCOPES"), [(one.name, ", ".join(one.scopes)) for one in found])
    else:
        click.echo("no access tokens")


@access.command()
@click.argument("name")
@options.directory
@options.as_json
def revoke(*, name: str, at: str, as_json: bool) -> None:
    """Make the access token called NAME worthless.

    Connections that came in by it are hung up on within a second.

    Example: headrace access revoke thumbnailer --at data
    """
    from headrace.server.access import Tokens

    _check_directory(at)
    Tokens(at).revoke(name)
    if as_json:
        print_json({"revoked": name})
    else:
        click.echo(f"{name} is revoked")


def _check_directory(at: str) -> None:
    if not os.path.isdir(at):
        raise Gone(f"there is no directory {at!r}: name that of a node")

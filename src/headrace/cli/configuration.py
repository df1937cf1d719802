"""`headrace.toml`: settings for the commands that use a node or serve one.

A setting is an option of a command by another way: a flag comes before the environment, that before the file, the file
before what is built in. `[client]` holds what all commands on a node share, `[serve]`, `[up]` and `[work]` the options
of the command, `[limits]` the bounds of a node that is served. The file is checked as a whole, whichever command reads
it.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, TypeVar

import click

from headrace.core.errors import Invalid
from headrace.core.names import nearest

Command = TypeVar("Command", bound=Callable[..., Any])

FILE: Final = "headrace.toml"
SECTIONS_OF: Final = {"serve": ("serve", "limits"), "up": ("up",), "work": ("client", "work")}
"""Where a command finds its settings; all others in `[client]`."""


def configured(command: Command) -> Command:
    """Let the options of a command be set in `headrace.toml`."""
    return click.option(
        "--config",
        metavar="FILE",
        envvar="HEADRACE_CONFIG",
        is_eager=True,
        expose_value=False,
        callback=_configure,
        help=f"The file with settings. [default: {FILE} in the current directory, if there is one]",
    )(command)


def settings() -> dict[str, dict[str, click.Option]]:
    """Every setting there is: by section, then by name."""
    from headrace.cli.queues import stats
    from headrace.cli.serve import LIMIT_NAMES, serve
    from headrace.cli.up import up
    from headrace.cli.work import work

    client = dict(_options(stats))
    limits = {name: option for name, option in _options(serve) if name in LIMIT_NAMES}
    return {
        "client": client,
        "serve": {name: option for name, option in _options(serve) if name not in limits},
        "limits": limits,
        "up": dict(_options(up)),
        "work": {name: option for name, option in _options(work) if name not in client},
    }


def read(path: str) -> dict[str, dict[str, Any]]:
    """What a file sets, by section and name; `Invalid` names what is wrong in it."""
    try:
        with open(path, "rb") as file:
            found = tomllib.load(file)
    except OSError as error:
        raise Invalid(f"{path} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Invalid(f"{path} is not TOML: {error}") from None
    known = settings()
    for section, values in found.items():
        if not isinstance(values, dict):
            raise Invalid(f"{section!r} in {path} stands in no section: write it below one of {_shown(known)}")
        if section not in known:
            near = nearest(section, known) or f" There are {_shown(known)}."
            raise Invalid(f"{path} has a section [{section}], which is none of ours.{near}")
        for name, value in values.items():
            if name not in known[section]:
                near = nearest(name, known[section]) or f" There are {', '.join(known[section])}."
                raise Invalid(f"{path} sets {name!r} in [{section}], which is no setting there.{near}")
            _check(known[section][name], value, f"{name!r} in [{section}] of {path}")
    return found


def _shown(sections: Iterable[str]) -> str:
    return ", ".join(f"[{section}]" for section in sections)


def _configure(ctx: click.Context, param: click.Parameter, path: str | None) -> None:
    if path is None and os.path.exists(FILE):
        path = FILE
    if path is None:
        return
    found = read(path)
    sections = SECTIONS_OF.get(ctx.command.name or "", ("client",))
    given = {key: value for section in sections for key, value in found.get(section, {}).items()}
    ctx.default_map = {option.name: given[name] for name, option in _options(ctx.command) if name in given}


def _options(command: click.Command) -> Iterator[tuple[str, click.Option]]:
    """The options that can be set in the file, each by its name there."""
    for option in command.params:
        if isinstance(option, click.Option) and option.expose_value:
            yield setting_name(option), option


def setting_name(option: click.Option) -> str:
    """
    >>> setting_name(click.Option(["--rest-port"]))
    'rest_port'
    """
    return option.opts[0].lstrip("-").replace("-", "_")


def wanted(option: click.Option) -> tuple[str, tuple[type, ...]]:
    """What an option's value is in the file: in words, and as types."""
    if option.multiple:
        return "a list of strings", (list,)
    if option.is_flag:
        return "true or false", (bool,)
    if isinstance(option.type, click.types.IntParamType):
        return "a whole number", (int,)
    if isinstance(option.type, click.types.FloatParamType):
        return "a number", (int, float)
    if isinstance(option.type, click.Choice):
        return f"one of {', '.join(map(repr, option.type.choices))}", (str,)
    return "a string", (str,)


def _check(option: click.Option, value: object, where: str) -> None:
    words, types = wanted(option)
    is_right = isinstance(value, types) and (isinstance(value, bool) == (bool in types))
    if is_right and isinstance(value, list):
        is_right = all(isinstance(one, str) for one in value)
    if not is_right:
        raise Invalid(f"{where} is to be {words}; it is {value!r}")
    if not isinstance(value, list):
        try:
            option.type.convert(value, option, None)
        except click.BadParameter as error:
            raise Invalid(f"{where} cannot be: {error.message}") from None

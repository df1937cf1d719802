"""What `simulate` and `model` share: commands made from a registry's `PARAMETERS`, and numbers shown.

The list of names reads each module's docstring without importing it, so help is quick and works without the
`lab` extra; running one needs it.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from headrace.cli.extras import needing
from headrace.core.names import nearest
from headrace.lab.parameters import Parameter


class MeasuredGroup(click.Group):
    """One command for each module of a registry, its options made from the module's PARAMETERS.

    `options(module)` adds some that are no parameters; `run(module, options)` gives the numbers to show.
    """

    def __init__(
        self,
        name: str,
        *,
        modules: Mapping[str, str],
        run: Callable[[Any, dict[str, Any]], dict[str, Any]],
        options: Callable[[Any], Sequence[click.Parameter]] = lambda module: (),
        help: str,
    ) -> None:
        super().__init__(name, help=help)
        self.modules = modules
        self.run = run
        self.options = options

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(self.modules)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, _first_line(self.modules[name])) for name in sorted(self.modules)])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command:
        if cmd_name not in self.modules:
            hint = nearest(cmd_name, self.modules) or f" There is {', '.join(sorted(self.modules))}."
            raise click.UsageError(f"there is nothing named {cmd_name!r} to {ctx.info_name}.{hint}", ctx)
        with needing("lab"):
            module = importlib.import_module(self.modules[cmd_name])

        def callback(as_json: bool, **given: Any) -> None:
            show(self.run(module, given), as_json=as_json)

        return click.Command(
            cmd_name,
            callback=callback,
            help=module.__doc__,
            params=[
                *(_option(parameter) for parameter in module.PARAMETERS),
                *self.options(module),
                click.Option(["--json", "as_json"], is_flag=True, help="Print JSON."),
            ],
        )


def show(measured: dict[str, Any], *, as_json: bool) -> None:
    """Print metrics as JSON, or as a table for people."""
    if as_json:
        click.echo(json.dumps(measured))
        return
    rows = list(_rows(measured, ""))
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        click.echo(f"{name:<{width}}  {value}")


def _rows(measured: dict[str, Any], prefix: str) -> list[tuple[str, str]]:
    rows = []
    for name, value in measured.items():
        if isinstance(value, dict):
            rows += _rows(value, f"{prefix}{name}.")
        elif not name.endswith("_ci95"):
            half = measured.get(f"{name}_ci95")
            rows.append((f"{prefix}{name}", _number(value) + (f" ± {_number(half)}" if half is not None else "")))
    return rows


def _number(value: Any) -> str:
    if isinstance(value, list):
        return "; ".join(map(_number, value)) or "-"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _option(parameter: Parameter) -> click.Option:
    if isinstance(parameter.default, bool):
        return click.Option([parameter.option], is_flag=True, default=parameter.default, help=parameter.help)
    if parameter.choices:
        help_text = f"{parameter.help} One of {', '.join(parameter.choices)}."
    else:
        help_text = parameter.help
    # Bounds and choices are left to `complete`, whose words a sweep uses too.
    return click.Option(
        [parameter.option],
        type=type(parameter.default),
        default=parameter.default,
        show_default=parameter.default != "",
        help=help_text,
    )


def _first_line(module: str) -> str:
    spec = importlib.util.find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    docstring = ast.get_docstring(ast.parse(Path(spec.origin).read_text()))
    assert docstring, f"{module} says nothing of itself"
    return docstring.splitlines()[0]

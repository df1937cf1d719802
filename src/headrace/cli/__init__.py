"""The `headrace` command: one lazily loaded module a family of commands.

Reads the arguments, the environment and `headrace.toml` (no other room does), calls the room that knows, and
turns errors into one sentence and an exit code: 2 usage, 1 failure, 3 nothing there.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from typing import NoReturn

import click

from headrace.core.errors import EXIT_FAILURE, HeadraceError, outward
from headrace.core.names import nearest

COMMANDS: dict[str, tuple[str, str]] = {
    # name: (module:attribute, the line in `headrace --help`)
    "simulate": ("headrace.cli.simulate:simulate", "Run one simulation here and print what it measured."),
    "model": ("headrace.cli.model:model", "Solve a model and print what it predicts."),
    "lab": ("headrace.cli.lab:lab", "Measure the papers' figures and claims again."),
}


class LazyGroup(click.Group):
    """A group whose commands are imported on use, so that `headrace --help` stays quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        command = getattr(importlib.import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            raise click.UsageError(f"there is no command {name!r}.{nearest(name, COMMANDS)}", ctx)
        return super().resolve_command(ctx, args)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="headrace")
def cli() -> None:
    """A distributed work queue with no central broker to outgrow."""


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run the command and leave with its exit code; no traceback for an error that has a name."""
    try:
        code = cli.main(args=argv, prog_name="headrace", standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except click.Abort:
        click.echo("stopped", err=True)
        sys.exit(130)
    except HeadraceError as error:
        click.echo(f"headrace: {error}", err=True)
        sys.exit(outward(error).exit_code)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(EXIT_FAILURE)

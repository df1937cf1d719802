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

SECTIONS = {
    "Nodes": ("serve", "up", "work", "status", "access"),
    "Items": ("add", "pop", "peek", "commit", "abort", "extend", "why"),
    "Queues": ("queues", "stats", "declare", "pause", "resume", "drop", "dead", "revive", "purge"),
    "Data": ("verify", "repair"),
    "Proof": ("demo", "sim", "bench"),
    "Lab": ("simulate", "model", "plan", "lab"),
}
"""How `headrace --help` groups the commands; what is in no section comes last."""

COMMANDS: dict[str, tuple[str, str]] = {
    # name: (module:attribute, the line in `headrace --help`)
    "serve": ("headrace.cli.serve:serve", "Serve the queues of a directory to other processes and machines."),
    "up": ("headrace.cli.up:up", "Serve several nodes on this machine, and start again those that die."),
    "status": ("headrace.cli.status:status", "Show how a node is doing."),
    "access": ("headrace.cli.access:access", "Issue, list and revoke access tokens."),
    "add": ("headrace.cli.adding:add", "Add items, from arguments, a file or standard input."),
    "pop": ("headrace.cli.items:pop", "Lease the most urgent items."),
    "peek": ("headrace.cli.items:peek", "Show the most urgent items, and leave them there."),
    "commit": ("headrace.cli.items:commit", "Settle leased items as done."),
    "abort": ("headrace.cli.items:abort", "Give leased items back."),
    "extend": ("headrace.cli.items:extend", "Hold leased items for longer."),
    "why": ("headrace.cli.items:why", "Say where an item is, and what became of each attempt."),
    "queues": ("headrace.cli.queues:queues", "List the queues and how full they are."),
    "stats": ("headrace.cli.queues:stats", "Show the figures and settings of a queue."),
    "declare": ("headrace.cli.queues:declare", "Create a queue, or change its settings."),
    "pause": ("headrace.cli.queues:pause", "Hand nothing out until resumed."),
    "resume": ("headrace.cli.queues:resume", "Hand items out again."),
    "drop": ("headrace.cli.queues:drop", "Remove a queue with all that is in it."),
    "dead": ("headrace.cli.dead:dead", "List dead items, and why they died."),
    "revive": ("headrace.cli.dead:revive", "Queue dead items again."),
    "purge": ("headrace.cli.dead:purge", "Throw away what is queued, or the dead."),
    "work": ("headrace.cli.work:work", "Run the tasks of an app, from its queues."),
    "verify": ("headrace.cli.mending:verify", "Read every file, and say what is right and what is wrong."),
    "repair": ("headrace.cli.mending:repair", "Set damaged parts aside, so that the directory opens again."),
    "bench": ("headrace.cli.bench:bench", "Measure what this machine does in a second."),
    "sim": ("headrace.cli.sim:sim", "Try to break the node and its store, by seeds, in virtual time."),
    "demo": ("headrace.cli.demo:demo", "Kill a queue under load again and again, and show that nothing is lost."),
    "simulate": ("headrace.cli.simulate:simulate", "Run one simulation here and print what it measured."),
    "model": ("headrace.cli.model:model", "Solve a model and print what it predicts."),
    "plan": ("headrace.cli.plan:plan", "Choose a design and its parameters for a workload."),
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
        rest = [name for name in COMMANDS if not any(name in names for names in SECTIONS.values())]
        width = max(map(len, COMMANDS))
        for title, names in (*SECTIONS.items(), ("More", rest)):
            rows = [(name.ljust(width), COMMANDS[name][1]) for name in names if name in COMMANDS]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            raise click.UsageError(f"there is no command {name!r}.{nearest(name, COMMANDS)}", ctx)
        return super().resolve_command(ctx, args)


CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100, "auto_envvar_prefix": "HEADRACE"}


@click.group(cls=LazyGroup, context_settings=CONTEXT)
@click.version_option(package_name="headrace")
def cli() -> None:
    """A distributed work queue with no central broker to outgrow.

    \b
    headrace add thumbnails cat.png --priority 3 --at data
    headrace pop thumbnails --at data
    headrace commit thumbnails/1f3c9a-2b --at data

    Every option can be set by the environment too: HEADRACE_AT=data serves all commands, HEADRACE_POP_LEASE=300 one.
    Exit codes: 0 done, 1 failed, 2 wrong usage, 3 nothing there.
    """


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

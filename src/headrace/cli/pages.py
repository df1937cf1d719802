"""The pages that are made from the program: `docs/commands.md` from --help, `docs/limits.md` from the limits,
`docs/configuration.md` from the options that can be set in a file.

`python -m headrace.cli.pages` (or `make docs`) writes them; a test holds them current, and fails where a command, an
option, a limit or a setting says nothing of itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from headrace.cli import COMMANDS, cli
from headrace.cli.configuration import settings, wanted
from headrace.cli.documented import field_docs
from headrace.cli.measured import MeasuredGroup
from headrace.cli.shown import size, span
from headrace.core.limits import COUNT_MAX, PRIORITY_MAX, PRIORITY_MIN, US, Limits, QueueSettings
from headrace.server.limits import ServerLimits
from headrace.store.log import SEGMENT_BYTES

Bounds = type[Limits] | type[QueueSettings] | type[ServerLimits]

DOCS = Path(__file__).parents[3] / "docs"
WIDTH = 100

COMMANDS_HEAD = """\
# Commands

This page is made from `--help` (`make docs`).

**Everywhere.** `--at` names a directory, whether it is being served or not, or the address of a node. Each option can
also be set by the environment: `HEADRACE_AT` and `HEADRACE_JSON` for all commands, `HEADRACE_COMMAND_OPTION` (such as
`HEADRACE_POP_LEASE=300`) for one; and some in a file, see [configuration](configuration.md). An access token comes from
`HEADRACE_TOKEN` or `--token-file`, and is never an argument. Durations are seconds.

| exit code | meaning |
|---|---|
| 0 | done |
| 1 | failed: the sentence on standard error says why |
| 2 | wrong usage, or a value that makes no sense |
| 3 | nothing there: an empty queue, an unknown queue, item or directory |
| 130 | interrupted |

**JSON.** With `--json` a command prints one value on one line. Instants are ISO 8601 in UTC, durations are seconds. A
body is `"body"` when it is UTF-8 text, and `"body_base64"` when it is not.

| command | prints |
|---|---|
| `serve` | once ready `{"at", "url", "port", "rest_url", "rest_port", "socket", "pid"}` |
| `up` | a line an event: `{"node", "event", …}`; the events are `up`, `died`, `stopped`, `failed` |
| `status` | `{"at", "answered_ms", "queued", "leased", "dead", …, "oldest_seconds", "queues": […]}` |
| `access` | `{"name", "token", "scopes"}`, `{"tokens": [{"name", "scopes"}…]}`, `{"revoked": NAME}` |
| `add` | `{"ids": […]}`; with `--lines` `{"added": N}` |
| `pop` | `{"items": [{"receipt", "attempt", "lease_seconds", "id", "queue", "priority", "added", "key", "headers", \
"body"}…], "top": P}`; `top` is the most urgent priority when `--at-least` was not met, else null |
| `peek` | `{"items": [{"id", "queue", "priority", "added", "key", "headers", "body"}…]}` |
| `commit`, `abort`, `extend` | `{"committed": N}`, `{"aborted": N}`, `{"extended": N}` |
| `why` | `{"id", "state", "queue", "priority", "ahead", "added", "since", "due", "attempts": [{"leased", "ended", \
"reason"}…]}` |
| `queues`, `stats` | `{"queues": […]}`; a queue's figures, `"oldest"` and `"settings"` |
| `dead` | `{"items": [{"id", "died", "reason", "attempts", "place", …}…], "total": N}` |
| `revive`, `purge`, `drop` | `{"revived": N}`, `{"purged": N}`, `{"queue", "dropped_items"}` |
| `declare`, `pause`, `resume` | `{"queue", "settings"}`, `{"queue", "paused"}` |
| `verify` | `{"ok", "problems", "tail", "end", "safe", "files": [{"name", "kind", "size_bytes", "records", "first", \
"problems"}…]}` |
| `repair` | `{"set_aside", "missing": [[from, to]…], "done", "loss"}` |
"""

LIMITS_HEAD = f"""\
# Limits

This page is made from `core/limits.py` and `server/limits.py` (`make docs`).

- A queue's name has 1 to 200 ASCII letters, digits, `.`, `_` or `-`, and begins with a letter or a digit.
- A priority is a whole number from -2⁶³ to 2⁶³-1 ({PRIORITY_MIN} to {PRIORITY_MAX}); lower is more urgent.
- A delay, a lease or a wait is at most ten years, a lease at least a millisecond.
- A bound that is set is at most {COUNT_MAX:,}.
- A segment of the log has {size(SEGMENT_BYTES)}, less on a small disk.
"""


CONFIGURATION_HEAD = """\
# Configuration

This page is made from the options of the commands (`make docs`).

The commands read `headrace.toml` in the current directory, or the file that `--config FILE` or `HEADRACE_CONFIG` names.
The library reads no file and no environment: what it is told, it is told in Python.

A flag comes before the environment, the environment before the file, the file before what is built in. A file with a
mistake in it is refused as a whole, whichever command reads it, and the sentence names the nearest right setting.

```toml
[client]
at = "headraces://queue.example.org"
token_file = "/etc/headrace/token"

[serve]
at = "/var/lib/headrace"
durability = "os"

[limits]
body_bytes = 65536
connections = 500
```

An access token is in none of these: it is in the file that `token_file` names, or in `HEADRACE_TOKEN`.
"""

SECTION_HEADS = {
    "client": "What all commands share that use a node.",
    "serve": "`headrace serve`",
    "limits": "The [limits](limits.md) of a node that `headrace serve` runs.",
    "up": "`headrace up`; the nodes that it starts read `[serve]` and `[limits]`.",
    "work": "`headrace work`, which reads `token_file` in `[client]` too.",
}


def configuration_page() -> str:
    """All settings, by section."""
    parts = [CONFIGURATION_HEAD]
    for section, options in settings().items():
        parts += [f"## [{section}]", "", SECTION_HEADS[section], ""]
        parts += ["| setting | is | unless set | environment | what it is |", "|---|---|---|---|---|"]
        parts += [_setting_row(section, name, option) for name, option in options.items()]
        parts.append("")
    return "\n".join(parts)


def _setting_row(section: str, name: str, option: click.Option) -> str:
    variable = (
        option.envvar
        or f"HEADRACE_{'SERVE' if section == 'limits' else section.upper()}_{(option.name or name).upper()}"
    )
    default = option.to_info_dict()["default"]
    shown = "" if default in (None, (), False) or option.multiple else f"`{default}`"
    text = (option.help or "").replace("|", "\\|")
    return f"| `{name}` | {wanted(option)[0]} | {shown} | `{variable}` | {text} |"


def commands_page() -> str:
    """All commands with their help."""
    parts = [COMMANDS_HEAD]
    for name, command in documented_commands():
        context = click.Context(command, info_name=name, terminal_width=WIDTH, help_option_names=["-h", "--help"])
        parts.append(f"## {name}\n\n```\n{command.get_help(context)}\n```\n")
    return "\n".join(parts)


def documented_commands() -> Iterator[tuple[str, click.Command]]:
    """Every command by its full name; what a registry adds (`headrace simulate NAME`) is left to its own --help."""
    context = click.Context(cli)
    for name in COMMANDS:
        command = cli.get_command(context, name)
        assert command is not None
        yield from _with_parts(f"headrace {name}", command)


def _with_parts(name: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    yield name, command
    if isinstance(command, click.Group) and not isinstance(command, MeasuredGroup):
        for part in command.list_commands(click.Context(command)):
            inner = command.get_command(click.Context(command), part)
            assert inner is not None
            yield from _with_parts(f"{name} {part}", inner)


def limits_page() -> str:
    """All limits with their values."""
    return "\n".join(
        [
            LIMITS_HEAD,
            "## A node's limits",
            "",
            "`headrace.open(path, limits=headrace.Limits(…))` sets others; `headrace serve` has an option for each.",
            "",
            *_table(Limits),
            "",
            "## What a node takes from the outside",
            "",
            "These hold for its doors, the binary one and REST; `headrace serve` has an option for each.",
            "",
            *_table(ServerLimits),
            "",
            "## A queue's settings",
            "",
            "`hr.declare(queue, …)` or `headrace declare QUEUE …` sets them; they are kept with the queue.",
            "",
            *_table(QueueSettings),
            "",
        ]
    )


def _table(cls: Bounds) -> Iterator[str]:
    values = cls()
    yield "| name | unless set | what it is |"
    yield "|---|---|---|"
    for name, text in field_docs(cls).items():
        yield f"| `{name}` | {_value(name, getattr(values, name))} | {text} |"


def _value(name: str, value: object) -> str:
    if value is None:
        return "no bound"
    if isinstance(value, bool):
        return "yes" if value else "no"
    assert isinstance(value, int | float)
    if name.endswith("_bytes"):
        return size(int(value))
    if name.endswith("_us"):
        return span(value / US)
    return span(value) if name.endswith("_seconds") else f"{value:,}"


PAGES = {"commands.md": commands_page, "configuration.md": configuration_page, "limits.md": limits_page}

if __name__ == "__main__":
    for name, page in PAGES.items():
        (DOCS / name).write_text(page())
        click.echo(DOCS / name)

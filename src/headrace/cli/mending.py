"""Commands on the files of a node: `verify` and `repair`. No node is started, and none may be running."""

from __future__ import annotations

import dataclasses

import click

from headrace.cli import options
from headrace.cli.shown import counted, print_json, print_table, size
from headrace.core.errors import EXIT_FAILURE


@click.command()
@options.directory
@options.as_json
def verify(*, at: str, as_json: bool) -> None:
    """Read every file, and say what is right and what is wrong; nothing is changed.

    Exit code 1 when something is damaged. What a crash leaves at the end of the log is not damage: it is shown, and
    cut off when the directory is opened.

    Example: headrace verify --at data
    """
    from headrace.runtime.host import owned_disk
    from headrace.store.verify import verify

    options.check_directory(at)
    with owned_disk(at) as disk:
        found = verify(disk)
    if as_json:
        print_json(
            {
                "ok": not found.problems,
                "problems": found.problems,
                "tail": found.tail,
                "end": found.end,
                "safe": found.safe,
                "files": [dataclasses.asdict(file) for file in found.files],
            }
        )
    else:
        rows = [
            (
                file.name,
                file.kind,
                "" if file.size_bytes is None else size(file.size_bytes),
                f"{file.records:,}" if file.kind in ("segment", "snapshot") else "",
                "damaged" if file.problems else "",
            )
            for file in found.files
        ]
        print_table(("FILE", "KIND", "SIZE", "RECORDS", ""), rows)
        for sentence in found.tail:
            click.echo(f"unsynced tail: {sentence}")
        for sentence in found.problems:
            click.secho(sentence, fg="red")
        if found.problems:
            click.echo(f"repair it with: headrace repair --at {at}")
        else:
            click.echo(f"sound: {counted(found.end, 'record')}, {found.safe:,} of them known to be synced")
    if found.problems:
        raise SystemExit(EXIT_FAILURE)


@click.command()
@options.directory
@options.as_json
def repair(*, at: str, as_json: bool) -> None:
    """Set damaged parts aside, so that the directory opens again, and say what is missing.

    Nothing is deleted: what was damaged is kept in files beside the log, whose names end in .damaged. A directory
    that is sound is left as it is.

    Example: headrace repair --at data
    """
    from headrace.runtime.clock import SystemClock
    from headrace.runtime.host import owned_disk
    from headrace.store.repair import repair

    options.check_directory(at)
    with owned_disk(at) as disk:
        repaired = repair(disk, wall_us=SystemClock().wall_us())
    if as_json:
        print_json({**dataclasses.asdict(repaired), "loss": repaired.loss})
    elif not repaired.done:
        click.echo("sound: there is nothing to repair")
    else:
        for sentence in repaired.done:
            click.echo(sentence)
        click.echo(repaired.loss)

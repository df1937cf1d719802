"""`headrace plan workload.toml`: a design and its parameters for a workload, with what to expect of them."""

from __future__ import annotations

import json
from pathlib import Path

import click

from headrace.cli.compiling import compiling_told
from headrace.cli.extras import needing
from headrace.cli.progress import Bar
from headrace.core.errors import EXIT_FAILURE


@click.command()
@click.argument("workload", type=click.Path(path_type=Path))
@click.option("--picture", type=click.Path(path_type=Path), help="Where to draw the trade-off: .svg, .png or .pdf.")
@click.option("--seed", default=1, show_default=True, help="Of the simulations that confirm the plan.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def plan(ctx: click.Context, workload: Path, picture: Path | None, seed: int, as_json: bool) -> None:
    """Choose a design and its parameters for WORKLOAD, a TOML file.

    All candidates are solved by models; those that may meet the targets are simulated. The cheapest that does is
    the plan: fewest bytes, then messages, then memory. Exit code 1 when none does.

    Example: headrace plan examples/workloads/stochastic.toml --picture plan.svg
    """
    with needing("lab"):
        from headrace.lab.planner import picture as pictures
        from headrace.lab.planner.search import plan as search
        from headrace.lab.planner.telling import as_data, as_text
        from headrace.lab.planner.workload import read

    if picture is not None:
        pictures.check(picture)
    with Bar() as bar, compiling_told(bar):
        found = search(
            read(workload),
            seed=seed,
            watch=lambda what, done, of: bar.show(what, done=done, total=of, unit="candidates", seconds_left=None),
        )
    if picture is not None:
        pictures.save(found, picture)
    click.echo(json.dumps(as_data(found)) if as_json else as_text(found))
    if picture is not None:
        click.echo(f"The trade-off is drawn in {picture}.", err=True)
    ctx.exit(EXIT_FAILURE if found.missed else 0)

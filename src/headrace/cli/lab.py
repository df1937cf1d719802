"""`headrace lab`: what the papers claim, measured again on Spark, and the page that says what holds."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headrace.cli.extras import needing
from headrace.cli.progress import Bar, duration
from headrace.core.errors import EXIT_FAILURE, HeadraceError

if TYPE_CHECKING:
    from headrace.lab.measure import Measured

FOLDER = Path("out/lab")

_scale = click.option(
    "--scale",
    type=click.Choice(["quick", "paper"]),
    default="paper",
    show_default=True,
    help="quick: seconds, to see that it works. paper: what the verdicts rest on.",
)
_folder = click.option(
    "--out",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=FOLDER,
    show_default=True,
    help="Where the tables and the page are.",
)
_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def _debuggable(command: Callable[..., None]) -> Callable[..., None]:
    """Add `--debug`, which shows the stack trace of what went wrong."""

    @click.option("--debug", is_flag=True, help="Show Spark's log, and stack traces.")
    @wraps(command)
    def run(*, debug: bool, **given: Any) -> None:
        try:
            command(debug=debug, **given)
        except HeadraceError:
            if debug:
                traceback.print_exc()
            raise

    return run


@click.group()
def lab() -> None:
    """Measure the papers' figures and claims again.

    \b
    headrace lab list
    headrace lab run 004-fig4 --scale quick
    headrace lab run all && headrace lab report
    """


@lab.command("list")
@_json
def list_experiments(as_json: bool) -> None:
    """List the experiments and claims of each paper."""
    with needing("lab"):
        from headrace.lab.papers import papers

        found = papers().values()
    if as_json:
        listed = [
            {"experiment": figure.name, "paper": paper.name, "title": figure.title, "source": figure.source}
            for paper in found
            for figure in paper.figures
        ]
        click.echo(json.dumps(listed))
        return
    for paper in found:
        click.echo(f"{paper.name}  {paper.authors}: {paper.title} ({paper.year})")
        width = max(len(figure.name) for figure in paper.figures)
        for figure in paper.figures:
            click.echo(f"  {figure.name:<{width}}  {figure.title} ({figure.source})")
        click.echo(f"  {len(paper.claims)} claims")


@lab.command()
@click.argument("experiment")
@_scale
@click.option(
    "--master",
    default="local[*]",
    show_default=True,
    help="Where Spark runs: local[N], spark://HOST:PORT, sc://HOST:PORT (Spark Connect), yarn, k8s://…",
)
@_folder
@click.option("--fresh", is_flag=True, help="Forget what was measured before, and begin anew.")
@_json
@_debuggable
def run(*, experiment: str, scale: str, master: str, folder: Path, fresh: bool, as_json: bool, debug: bool) -> None:
    """Run EXPERIMENT on Spark: one, all of a paper's (004), or all.

    An interrupted run goes on where it was: only what is missing is computed.

    Example: headrace lab run 004-fig4 --scale quick
    """
    with needing("lab"):
        from headrace.lab.papers import Scale, figures

        wanted = figures(experiment)
    with needing("spark"):
        from headrace.lab.measure import measure
        from headrace.spark.plan.ledger import Progress
    with Bar() as bar:

        def watch(name: str, progress: Progress) -> None:
            bar.show(name, done=progress.done, total=progress.points, unit="points", seconds_left=progress.seconds_left)

        def finished(each: Measured) -> None:
            bar.clear()
            if not as_json:
                click.echo(_sentence(each))
            for failure in each.failures:
                click.echo(
                    f"failed at {json.dumps(failure.parameters)}, seed {failure.seed}: {failure.error}", err=True
                )

        bar.tell("seeing what is missing, and starting Spark for it")
        try:
            done = measure(
                wanted,
                scale=Scale(scale),
                folder=folder,
                master=master,
                fresh=fresh,
                debug=debug,
                watch=watch,
                finished=finished,
            )
        except KeyboardInterrupt:
            bar.clear()
            click.echo("What was measured is kept: the same command goes on from there.", err=True)
            raise
    if as_json:
        click.echo(json.dumps([_plain(each) for each in done]))
    if any(each.failures for each in done):
        raise SystemExit(EXIT_FAILURE)


def _sentence(each: Measured) -> str:
    what = f"{each.computed} runs in {duration(each.seconds)}" if each.computed else "nothing to compute"
    return f"{each.experiment.name}: {len(each.experiment.points)} points, {what}: {each.table.path}"


def _plain(each: Measured) -> dict[str, Any]:
    return {
        "experiment": each.experiment.name,
        "points": len(each.experiment.points),
        "computed_runs": each.computed,
        "seconds": round(each.seconds, 3),
        "table": str(each.table.path),
        "failures": [
            {"parameters": failure.parameters, "seed": failure.seed, "error": failure.error}
            for failure in each.failures
        ],
    }


@lab.command()
@_scale
@_folder
@click.option("--json", "as_json", is_flag=True, help="Print the claims and their verdicts as JSON instead.")
@_debuggable
def report(*, scale: str, folder: Path, as_json: bool, debug: bool) -> None:
    """Make one page of all figures and claims from the tables that are there.

    Example: headrace lab report --scale quick
    """
    with needing("spark"):
        from headrace.lab.papers import Scale
        from headrace.lab.report import findings, write
    found = findings(scale=Scale(scale), folder=folder)
    if as_json:
        click.echo(json.dumps([judged.plain() for finding in found for judged in finding.judged]))
        return
    path = write(found, scale=Scale(scale), folder=folder)
    click.echo(str(path))

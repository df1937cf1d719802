"""`headrace simulate NAME`: one kernel, run here in this process, without Spark.

A kernel that can `combine` the measurements of several seeds gets `--seeds`, one that can `write_series` gets
`--series`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from headrace.cli.compiling import compiling_told
from headrace.cli.measured import MeasuredGroup
from headrace.cli.progress import Bar
from headrace.core.errors import Invalid
from headrace.lab.kernels import KERNELS
from headrace.lab.parameters import complete


def _measure(kernel: Any, options: dict[str, Any]) -> dict[str, Any]:
    seeds, series = _seeds(options.pop("seed"), options.pop("seeds", None)), options.pop("series", None)
    parameters = complete(kernel.PARAMETERS, options)
    kernel.check(parameters)
    measured: list[dict[str, Any]] = []
    with Bar() as bar, compiling_told(bar):
        for seed in seeds:
            bar.show("simulate", done=len(measured), total=len(seeds), unit="seeds", seconds_left=None)
            measured.append(kernel.measure(parameters, seed))
            if series is not None:
                kernel.write_series(parameters, seed, series)
    if len(measured) == 1:
        return measured[0]
    combined: dict[str, Any] = kernel.combine(measured)
    return combined


def _seeds(seed: int, seeds: str | None) -> Sequence[int]:
    """`seeds` as FIRST:LAST, both included, or one number; `seed` when there is none."""
    if seeds is None:
        return [seed]
    first, colon, last = seeds.partition(":")
    try:
        chosen = range(int(first), int(last if colon else first) + 1)
    except ValueError:
        chosen = range(0)
    if not chosen:
        raise Invalid(f"--seeds is {seeds!r}: write FIRST:LAST with whole numbers, as in 1:10")
    return chosen


def _options(kernel: Any) -> list[click.Parameter]:
    options: list[click.Parameter] = [
        click.Option(["--seed"], type=int, default=1, show_default=True, help="The same seed gives the same numbers.")
    ]
    if hasattr(kernel, "combine"):
        options.append(
            click.Option(["--seeds"], metavar="FIRST:LAST", help="Run once for each seed and combine what they give.")
        )
    if hasattr(kernel, "write_series"):
        options.append(
            click.Option(
                ["--series"],
                type=click.Path(file_okay=False, path_type=Path),
                help="Write the state over time to this directory, one CSV file a seed.",
            )
        )
    return options


simulate = MeasuredGroup(
    "simulate",
    modules=KERNELS,
    run=_measure,
    options=_options,
    help="""Run one simulation here and print what it measured.

    Example: headrace simulate relaxed --nodes 20 --backlog 10000 --peeks 2 --json
    """,
)

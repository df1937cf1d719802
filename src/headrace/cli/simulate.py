"""`headrace simulate NAME`: one run of a compiled kernel, here in this process, without Spark."""

from __future__ import annotations

from typing import Any

import click

from headrace.cli.measured import MeasuredGroup
from headrace.lab.kernels import KERNELS
from headrace.lab.parameters import complete


def _measure(kernel: Any, options: dict[str, Any]) -> dict[str, Any]:
    seed = options.pop("seed")
    parameters = complete(kernel.PARAMETERS, options)
    kernel.check(parameters)
    measured: dict[str, Any] = kernel.measure(parameters, seed)
    return measured


simulate = MeasuredGroup(
    "simulate",
    modules=KERNELS,
    run=_measure,
    options=[
        click.Option(["--seed"], type=int, default=1, show_default=True, help="The same seed gives the same numbers.")
    ],
    help="""Run one simulation here and print what it measured.

    Example: headrace simulate relaxed --nodes 20 --backlog 10000 --peeks 2 --json
    """,
)

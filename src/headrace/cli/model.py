"""`headrace model NAME`: a prediction without sampling."""

from __future__ import annotations

from typing import Any

from headrace.cli.measured import MeasuredGroup
from headrace.lab.models import MODELS
from headrace.lab.parameters import complete


def _solve(model: Any, options: dict[str, Any]) -> dict[str, Any]:
    parameters = complete(model.PARAMETERS, options)
    model.check(parameters)
    solved: dict[str, Any] = model.solve(parameters)
    return solved


model = MeasuredGroup(
    "model",
    modules=MODELS,
    run=_solve,
    help="""Solve a model and print what it predicts.

    Example: headrace model relaxed --nodes 20 --peeks 2 --json
    """,
)

"""A kernel for tests of sweeps: 10 and some noise, in no time."""

import random
from collections.abc import Mapping
from typing import Any

from headrace.core.errors import Invalid
from headrace.lab.parameters import Parameter

PARAMETERS = (
    Parameter("nodes", 5, "How many.", least=1),
    Parameter("noise", 1.0, "Standard deviation."),
    Parameter("length", 100, "How long.", least=1),
    Parameter("fails", False, "Whether it fails."),
)


def check(parameters: Mapping[str, Any]) -> None:
    if parameters["length"] < parameters["nodes"]:
        raise Invalid("--length is below --nodes")


def measure(parameters: Mapping[str, Any], seed: int) -> dict[str, Any]:
    if parameters["fails"]:
        raise ArithmeticError("asked to fail")
    draw = random.Random(seed)
    return {
        "mean": 10 + parameters["noise"] * draw.gauss(0, 1),
        "mean_ci95": 0.25,
        "bins": {"0": parameters["nodes"], "1": draw.random()},
    }

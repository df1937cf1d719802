"""A kernel for tests of sweeps: some of its runs take their process with them."""

import os
from collections.abc import Mapping
from typing import Any

from headrace.lab.parameters import Parameter

PARAMETERS = (Parameter("number", 0, "Tells points apart."), Parameter("kills", False, "Whether it kills."))


def check(parameters: Mapping[str, Any]) -> None:
    """Nothing to check."""


def measure(parameters: Mapping[str, Any], seed: int) -> dict[str, Any]:
    if parameters["kills"]:
        os._exit(3)
    return {"number": parameters["number"]}

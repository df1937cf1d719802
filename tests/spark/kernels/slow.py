"""A kernel for benchmarks and tests of sweeps: it keeps a core busy for a time, and says where it is."""

import time
from collections.abc import Mapping
from typing import Any

from headrace.lab.parameters import Parameter

PARAMETERS = (Parameter("number", 0, "Tells points apart."), Parameter("seconds", 0.0, "How long.", least=0))


def check(parameters: Mapping[str, Any]) -> None:
    """Nothing to check."""


def measure(parameters: Mapping[str, Any], seed: int) -> dict[str, Any]:
    end = time.process_time() + parameters["seconds"]
    turns = 0
    while time.process_time() < end:
        turns += 1
    return {"turns": turns, "shipped": "/headrace/code/" in __file__}

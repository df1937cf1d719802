"""A kernel for tests of sweeps: it remembers the lengths that it was called with."""

from collections.abc import Mapping
from typing import Any

calls: list[int] = []


def measure(parameters: Mapping[str, Any], seed: int) -> dict[str, Any]:
    calls.append(parameters["length"])
    return {"length": parameters["length"]}

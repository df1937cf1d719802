"""What a kernel or a model can be told: names, defaults, bounds, and one way to check them.

A kernel or model declares `PARAMETERS`; command-line options are made from them, and sweeps validate with
them, so that a wrong name or value is refused in the same words everywhere. What several parameters mean
together is left to the module's own `check`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.core.errors import Invalid
from headrace.core.names import nearest

Value = bool | int | float | str


@dataclass(frozen=True, slots=True)
class Parameter:
    """One thing to set. Its type is that of `default`; `least` and `most` are inclusive."""

    name: str
    default: Value
    help: str
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None

    @property
    def option(self) -> str:
        """How the command line spells it."""
        return "--" + self.name.replace("_", "-")


def complete(parameters: Sequence[Parameter], given: Mapping[str, Any]) -> dict[str, Any]:
    """All parameters by name: those `given`, checked, and the defaults of the rest."""
    known = {parameter.name: parameter for parameter in parameters}
    for name in given:
        if name not in known:
            raise Invalid(f"there is no parameter {name!r}.{nearest(name, known)}")
    return {
        name: checked(parameter, given[name]) if name in given else parameter.default
        for name, parameter in known.items()
    }


def checked(parameter: Parameter, value: Any) -> Value:
    """`value` as the parameter's type, or Invalid in one sentence."""
    typed = _typed(parameter, value)
    if parameter.choices and typed not in parameter.choices:
        hint = nearest(str(typed), parameter.choices)
        raise Invalid(f"{parameter.option} is {typed!r}: it must be one of {', '.join(parameter.choices)}.{hint}")
    if isinstance(typed, (int, float)):
        if parameter.least is not None and typed < parameter.least:
            raise Invalid(f"{parameter.option} is {typed}: it must be at least {parameter.least:g}")
        if parameter.most is not None and typed > parameter.most:
            raise Invalid(f"{parameter.option} is {typed}: it must be at most {parameter.most:g}")
    return typed


def _typed(parameter: Parameter, value: Any) -> Value:
    """`value` in the type of the default; an int passes for a float, and nothing else for anything else."""
    kind = type(parameter.default)
    if kind is float and type(value) in (int, float) and math.isfinite(value):
        return float(value)
    if kind is not float and type(value) is kind:
        return kind(value)
    wanted = {bool: "true or false", int: "a whole number", float: "a number", str: "a word"}[kind]
    raise Invalid(f"{parameter.option} is {value!r}: it must be {wanted}")

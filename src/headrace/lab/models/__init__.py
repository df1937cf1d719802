"""Predictions without sampling: laws and queueing models, one module each.

A model module offers `PARAMETERS`, `check(parameters)` and `solve(parameters)`. Its docstring's first line is
what `headrace model --help` says of it.
"""

MODELS: dict[str, str] = {
    "relaxed": "headrace.lab.models.relaxed",
}

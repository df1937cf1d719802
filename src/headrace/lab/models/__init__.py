"""Predictions without sampling: laws and queueing models, one module each.

A model module offers `PARAMETERS`, `check(parameters)` and `solve(parameters)`. Its docstring's first line is
what `headrace model --help` says of it.
"""

MODELS: dict[str, str] = {
    "stochastic": "headrace.lab.models.stochastic",
    "relaxed": "headrace.lab.models.relaxed",
}

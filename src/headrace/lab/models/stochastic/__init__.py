"""Models 1, 2 and 3 of the distributed queue (T. Johnson 1995), and pool models of its other designs.

\b
Example: headrace model stochastic --consumers 150 --max-hops 5
The paper's own misprints: headrace model stochastic --form approximate --reading printed

The same options and keys as `headrace simulate stochastic`, in ticks; `notes` say where a form is out of its range.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.core.errors import Invalid
from headrace.lab import distributed_queue
from headrace.lab.distributed_queue import LARGEST_TABLE, understand
from headrace.lab.models.stochastic import pool, summary
from headrace.lab.models.stochastic.probing import classes_of
from headrace.lab.models.stochastic.probing import solve as solve_probing
from headrace.lab.models.stochastic.producer import FORMS, READINGS
from headrace.lab.parameters import Parameter

PARAMETERS: tuple[Parameter, ...] = (
    *distributed_queue.PARAMETERS,
    Parameter(
        "form", "state-dependent", "Arrivals slow down while requests wait (eq. 3), or do not (eq. 4).", choices=FORMS
    ),
    Parameter("reading", "corrected", "The equations with their misprints mended, or as printed.", choices=READINGS),
    Parameter("seed", 1, "The seed of the simulation whose random reach sets are meant."),
)


def check(parameters: Mapping[str, Any]) -> None:
    """Raise Invalid where the parameters make no sense together, or no model covers them."""
    system = understand(parameters)
    for covered, option in (
        (system.wait == "at-last", f"--wait {system.wait}"),
        (system.access != "learned", "--access learned"),
        (not system.exclude_visited, "--exclude-visited"),
    ):
        if not covered:
            raise Invalid(f"no model covers {option}: leave it out, or use headrace simulate stochastic")
    one_by_one = system.limited_reach and (system.reach_sets == "random" or len(system.types) > 1)
    if one_by_one and system.consumers * system.producers > LARGEST_TABLE:
        raise Invalid(
            f"--consumers {system.consumers} times --producers {system.producers} must be at most {LARGEST_TABLE:,} "
            "where their reach differs and they are modelled one by one: use --reach-sets balanced without --types"
        )


def solve(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """What the models predict, in the keys of the simulator; `iterations` and `residual` tell how it was solved."""
    check(parameters)
    system = understand(parameters)
    form, reading = parameters["form"], parameters["reading"]
    if system.design != "stochastic":
        return pool.predict(system)
    solution = solve_probing(system, classes_of(system, parameters["seed"]), form=form, reading=reading)
    return summary.predict(system, solution, form=form, reading=reading)

"""What the experiments of 000 share: the paper's system, its loads, scales, and models asked at a point."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.lab.models.stochastic import PARAMETERS as MODEL_PARAMETERS
from headrace.lab.models.stochastic import solve
from headrace.lab.papers import Scale
from headrace.lab.parameters import complete
from headrace.spark.plan.experiment import Experiment, Precision

KERNEL = "headrace.lab.kernels.stochastic"

# The load is M μ / (N λ); with N = 100 and μ = λ it is the number of consumers in per cent.
LOADS = (50, 100, 150, 200)
HOPS = (1, 2, 3, 4, 5, 6, 8, 10, 15, 20)
TWICE = "50:2/150,50:1/150"
NINE_TIMES = "10:0.05,90:1/180"
OBJECTS = 1_000_000


def experiment(
    scale: Scale, *points: Mapping[str, Any], replications: int = 4, objects: int = OBJECTS, precise: bool = True
) -> Experiment:
    """The paper's 10⁶ objects a run, repeated until the wait is known within 2 %."""
    quick = scale is Scale.QUICK
    length = min(objects, 20_000) if quick else objects
    return Experiment(
        kernel=KERNEL,
        points=tuple({**point, "objects": length} for point in points),
        replications=2 if quick else replications,
        precision=None if quick or not precise else Precision("wait", 0.02, 3 * replications),
        cost=_cost,
        tiny={"objects": 1_000},
    )


def _cost(point: Mapping[str, Any]) -> float:
    """In microseconds, roughly: a multicast sends 2M notices an object."""
    each = 0.06 * point["consumers"] if point["design"] == "multicast" else 0.1
    return each * float(point["objects"])


def modelled(metric: str, **given: Any) -> float:
    """What the model says of a metric."""
    value: float = solve(complete(MODEL_PARAMETERS, given))[metric]
    return value

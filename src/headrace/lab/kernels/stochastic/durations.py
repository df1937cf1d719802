"""Random times of the distributed queue: messages and production."""

from __future__ import annotations

import math

from headrace.lab.kernels.compiled import inlined
from headrace.lab.kernels.stream import Stream, exponential, uniform

EXPONENTIAL, UNIFORM, DETERMINISTIC, GAMMA = 0, 1, 2, 3
KINDS = {"exponential": EXPONENTIAL, "uniform": UNIFORM, "deterministic": DETERMINISTIC, "gamma": GAMMA}


@inlined
def message_time(stream: Stream, kind: int, mean: float) -> float:
    """How long one message takes, exponential or deterministic."""
    if kind == DETERMINISTIC:
        return mean
    return exponential(stream, mean)


@inlined
def production_time(stream: Stream, kind: int, mean: float, spread: float, shape: float) -> float:
    """How long one object takes to make."""
    if kind == EXPONENTIAL:
        return exponential(stream, mean)
    if kind == UNIFORM:
        return mean * (1.0 + spread * (2.0 * uniform(stream) - 1.0))
    if kind == DETERMINISTIC:
        return mean
    return mean * _gamma(stream, shape) / shape


@inlined
def _gamma(stream: Stream, shape: float) -> float:
    """A gamma variate of scale 1 (Marsaglia and Tsang 2000; below 1 by their power of a uniform)."""
    boost = 1.0
    if shape < 1.0:
        boost = (1.0 - uniform(stream)) ** (1.0 / shape)
        shape += 1.0
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = _normal(stream)
        v = (1.0 + c * x) ** 3
        if v > 0.0 and math.log(1.0 - uniform(stream)) < 0.5 * x * x + d - d * v + d * math.log(v):
            return d * v * boost


@inlined
def _normal(stream: Stream) -> float:
    """A standard normal variate (Box and Muller, one of the pair)."""
    radius = math.sqrt(-2.0 * math.log(1.0 - uniform(stream)))
    return radius * math.cos(2.0 * math.pi * uniform(stream))

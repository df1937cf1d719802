"""What driver and executors say to one another: an order of runs, and what became of each. Bytes are MessagePack."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from headrace.spark.plan.experiment import Experiment, Run


class OrderedRun(msgspec.Struct, frozen=True):
    """A run without what only the plan needs."""

    point: str
    parameters: dict[str, Any]
    seed: int


class Order(msgspec.Struct, frozen=True):
    """Runs of one kernel, to be done in one go by one executor."""

    kernel: str
    metrics: tuple[str, ...]
    tiny: dict[str, Any]
    runs: tuple[OrderedRun, ...]


class Outcome(msgspec.Struct, frozen=True):
    """What a run measured (flat metrics, each with its half-width), or why it failed."""

    point: str
    seed: int
    metrics: dict[str, tuple[float, float | None]] = {}
    seconds: float = 0.0
    error: str = ""


def order(experiment: Experiment, runs: Iterable[Run]) -> bytes:
    """The order that carries these runs out."""
    return msgspec.msgpack.encode(
        Order(
            kernel=experiment.kernel,
            metrics=experiment.metrics,
            tiny=dict(experiment.tiny),
            runs=tuple(OrderedRun(run.point, dict(run.parameters), run.seed) for run in runs),
        )
    )


read_order = msgspec.msgpack.Decoder(Order).decode
read_outcomes = msgspec.msgpack.Decoder(list[Outcome]).decode
write_outcomes = msgspec.msgpack.Encoder().encode

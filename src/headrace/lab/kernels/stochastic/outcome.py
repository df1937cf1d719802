"""Numbers from a run: a warm-up that is dropped, batches, means over all of them and half-widths between them."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core import estimates
from headrace.lab.distributed_queue import System
from headrace.lab.kernels.stochastic.processes import (
    EMPTY,
    FULL_TICKS,
    PROBES,
    THINK_TICKS,
    WAIT_TICKS,
    WAITED,
    Floats,
)
from headrace.lab.kernels.stochastic.simulation import Simulation

BATCHES = 20


def outcome(simulation: Simulation, system: System, objects: int) -> dict[str, Any]:
    """Run a warm-up of a tenth (and 20 objects a consumer), then `objects` in batches."""
    simulation.go_on(np.empty(objects // 10 + 20 * system.consumers))
    waits = np.empty(objects)
    marks = [np.append(simulation.counts, simulation.clock)]
    sizes = []
    for batch in np.array_split(waits, BATCHES):
        simulation.go_on(batch)
        marks.append(np.append(simulation.counts, simulation.clock))
        sizes.append(len(batch))
    batches = [
        _metrics(simulation, system, size, after - before)
        for size, before, after in zip(sizes, marks, marks[1:], strict=False)
    ]
    whole = marks[-1] - marks[0]
    measured: dict[str, Any] = {}
    for name, value in _metrics(simulation, system, objects, whole).items():
        measured[name] = value
        measured[f"{name}_ci95"] = estimates.mean([batch[name] for batch in batches]).half_width
    measured["wait_p99"] = float(np.quantile(waits, 0.99))
    measured["messages"] = {name: float(whole[place]) / objects for name, place in simulation.kinds.items()}
    measured["objects"] = objects
    measured["ticks"] = float(whole[-1])
    return measured


def _metrics(simulation: Simulation, system: System, objects: int, counted: Floats) -> dict[str, float]:
    """The metrics of a stretch of the run, from what was counted in it (the last place is its ticks)."""
    ticks = counted[-1]
    full = counted[FULL_TICKS] / (ticks * system.producers)
    busy = counted[THINK_TICKS] / (counted[THINK_TICKS] + counted[WAIT_TICKS])
    metrics = {
        "h_avg": counted[PROBES] / objects,
        "wait": counted[WAIT_TICKS] / objects,
        "producer_full": full,
        "producer_empty": counted[EMPTY] / counted[PROBES],
        "producer_utilisation": 1 - full,
        "consumer_utilisation": busy,
        "throughput": objects / ticks,
        "messages_per_object": sum(counted[place] for place in simulation.kinds.values()) / objects,
        "blocked": counted[WAITED] / objects,
    }
    return {name: float(value) for name, value in metrics.items()}

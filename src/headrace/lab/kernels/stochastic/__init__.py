"""The distributed queue of T. Johnson (1995): waits, probes and messages of four designs, in ticks.

\b
Example: headrace simulate stochastic --producers 100 --consumers 150 --max-hops 5
Figure 9: headrace simulate stochastic --reach 4 --reach-sets random --max-hops 3

Producers make objects and stop when their buffers are full; consumers take one, consume it and ask again. All
objects after a tenth as many to warm up are counted; half-widths (±) are 95 % by the means of 20 batches.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.lab import distributed_queue
from headrace.lab.distributed_queue import understand
from headrace.lab.kernels.stochastic.outcome import outcome
from headrace.lab.kernels.stochastic.simulation import Simulation
from headrace.lab.parameters import Parameter

PARAMETERS: tuple[Parameter, ...] = (
    *distributed_queue.PARAMETERS,
    Parameter("objects", 1_000_000, "Objects to consume after the warm-up.", least=1_000, most=100_000_000),
)


def check(parameters: Mapping[str, Any]) -> None:
    """Raise Invalid where the parameters make no sense together."""
    understand(parameters)


def measure(parameters: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """What one run of the system shows; the same parameters and seed give the same numbers."""
    system = understand(parameters)
    return outcome(Simulation(system, seed), system, parameters["objects"])

"""Networked clusters over time: queues, P and R as the pictures of 002 show them, and how long a burst is felt.

The same simulation as `networked`, sampled every 10 ms. Cluster k's burst is the one that its own users cause.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headrace.core.errors import Invalid
from headrace.lab.kernels import networked
from headrace.lab.kernels.topology import network
from headrace.lab.parameters import Parameter

STEP = 0.010

PARAMETERS = (
    *(parameter for parameter in networked.PARAMETERS if parameter.name != "against"),
    Parameter("every", 0.25, "The time between two values of a series, in s.", least=STEP),
)


def check(parameters: Mapping[str, Any]) -> None:
    """As `networked`; and each burst must have time before it, to compare with, and after it, to pass."""
    networked.check({**parameters, "against": networked.NOTHING})
    if not 0 < parameters["burst_length"] <= parameters["burst_first"]:
        raise Invalid(
            f"--burst-length is {parameters['burst_length']:g}: it must be above 0 and at most --burst-first, "
            f"{parameters['burst_first']:g}"
        )
    last = _bursts(parameters)[-1] + parameters["burst_length"]
    if parameters["until"] <= last:
        raise Invalid(f"--until is {parameters['until']:g}, but the last burst ends at {last:g}: set a later horizon")


def measure(parameters: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Series by cluster, and what each cluster's burst does.

    `queued`, `accept` (P) and `reach` (R) are series; under `shared`, all clusters show the one queue. `crowded` is
    how long, in s, more requests wait than there are servers (P < 1/2); `drained`, by burst, how long after its end
    the queue is empty for the first time. `accept_in_burst` is the mean P while a cluster's burst lasts, at itself
    and at its neighbours, and at those as long before it, over all bursts.
    """
    times = np.arange(0.0, parameters["until"], STEP)
    _, _, samples = networked.run(parameters, seed, sample_times=times)
    clusters = network(parameters["topology"]).clusters
    columns = np.zeros(clusters, np.int64) if parameters["policy"] == "shared" else np.arange(clusters)
    queued, reach = samples.queued[:, columns], samples.reach[:, columns]
    accept = networked.acceptances(parameters, samples)[:, columns]
    kept = slice(None, None, round(parameters["every"] / STEP))
    return {
        **{
            name: {str(k): [float(value) for value in series[kept, k]] for k in range(clusters)}
            for name, series in (("queued", queued), ("accept", accept), ("reach", reach))
        },
        "crowded": {str(k): float(np.count_nonzero(accept[:, k] < 0.5) * STEP) for k in range(clusters)},
        "drained": {
            str(k): _until_empty(queued[:, k], times, begin + parameters["burst_length"])
            for k, begin in enumerate(_bursts(parameters))
        },
        "accept_in_burst": _in_bursts(parameters, times, accept),
    }


def _bursts(parameters: Mapping[str, Any]) -> list[float]:
    clusters = network(parameters["topology"]).clusters
    return [parameters["burst_first"] + k * parameters["burst_every"] for k in range(clusters)]


def _until_empty(queued: NDArray[np.int64], times: NDArray[np.float64], end: float) -> float:
    """From the end of a burst until the queue is empty for the first time, or the horizon."""
    empty = times[(times >= end) & (queued == 0)]
    return float((empty[0] if len(empty) else times[-1]) - end)


def _in_bursts(
    parameters: Mapping[str, Any], times: NDArray[np.float64], accept: NDArray[np.float64]
) -> dict[str, float]:
    links, length = network(parameters["topology"]), parameters["burst_length"]
    found: dict[str, list[float]] = {"own": [], "neighbours": [], "neighbours_before": []}
    for k, begin in enumerate(_bursts(parameters)):
        near = links.heads[links.first_edge[k] : links.first_edge[k + 1]]
        lasting = accept[(times >= begin) & (times < begin + length)].mean(axis=0)
        before = accept[(times >= begin - length) & (times < begin)].mean(axis=0)
        found["own"].append(lasting[k])
        found["neighbours"].extend(lasting[near])
        found["neighbours_before"].extend(before[near])
    return {who: float(np.mean(values)) for who, values in found.items()}

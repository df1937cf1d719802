"""One configuration, and what a model predicts or a simulation measures of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from headrace.core.estimates import Estimate
from headrace.lab.kernels import stochastic as simulator
from headrace.lab.models import stochastic as models
from headrace.lab.parameters import complete
from headrace.lab.planner.workload import Workload

# Time on the hub's link beyond this share, or more items than it can pass on, is no plan.
BUSIEST_LINK = 0.9
OBJECTS = 200_000
MULTICAST_WORK = 8_000_000
"""Notices in a simulated run, which set how many items it can have."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A design and its parameters."""

    design: str
    buffers: int
    max_hops: int = 3
    wait: str = "at-last"
    access: str = "uniform"
    reach: int = 0

    def options(self) -> dict[str, Any]:
        """What is said of it in a plan: only what the design knows."""
        options: dict[str, Any] = {"design": self.design, "buffers": self.buffers}
        if self.design in ("stochastic", "multicast"):
            options["max_hops"] = self.max_hops
        if self.design == "stochastic":
            options |= {"wait": self.wait, "access": self.access}
            if self.reach:
                options |= {
                    "reach": self.reach,
                    "reach_sets": "balanced",
                    "exclude_visited": self.max_hops <= self.reach,
                }
        return options

    def __str__(self) -> str:
        named = [f"{name.replace('_', '-')} {value}" for name, value in self.options().items() if name != "design"]
        return f"{self.design} ({', '.join(named)})"


@dataclass(frozen=True, slots=True)
class Figures:
    """What to expect of a candidate; intervals where it was simulated."""

    mean_wait_seconds: Estimate
    p99_wait_seconds: float
    messages_per_item: Estimate
    memory_bytes: int
    """The most that one process holds of items."""
    throughput: float
    body_bytes_per_item: int
    """What crosses the network of bodies."""
    simulated: bool

    def by_target(self) -> dict[str, float]:
        """The figures that targets are about, by the targets' names; the upper ends of intervals are left out."""
        return {
            "mean_wait_seconds": self.mean_wait_seconds.value,
            "p99_wait_seconds": self.p99_wait_seconds,
            "messages_per_item": self.messages_per_item.value,
            "memory_bytes": float(self.memory_bytes),
        }


def predict(workload: Workload, candidate: Candidate) -> Figures | None:
    """By the models, which know neither late binding, learning nor exclusion: as if it did without them.

    None where the hub's link could not carry the items.
    """
    plain = replace(candidate, wait="at-last", access="rates" if candidate.access == "learned" else candidate.access)
    given = _parameters(workload, plain)
    given.pop("exclude_visited", None)
    found = models.solve(complete(models.PARAMETERS, given))
    return _figures(workload, candidate, found, simulated=False)


def simulate(workload: Workload, candidate: Candidate, *, seed: int) -> Figures | None:
    """By the compiled simulator."""
    given = _parameters(workload, candidate)
    objects = OBJECTS
    if candidate.design == "multicast":
        objects = max(2_000, min(OBJECTS, MULTICAST_WORK // (2 * workload.consumers)))
    found = simulator.measure(complete(simulator.PARAMETERS, given | {"objects": objects}), seed)
    return _figures(workload, candidate, found, simulated=True)


def _parameters(workload: Workload, candidate: Candidate) -> dict[str, Any]:
    """The candidate in the simulator's options, a tick being a second; a body's time is part of its consumption."""
    given = candidate.options() | {
        "producers": workload.producers,
        "consumers": workload.consumers,
        "consume_rate": 1 / (1 / workload.consume_rate + workload.body_seconds),
        "message_time": workload.message_seconds,
        "processing_time": workload.processing_seconds,
        "production": workload.production,
    }
    if len(workload.sources) == 1:
        given["produce_rate"] = workload.sources[0].rate
    else:
        given["types"] = ",".join(f"{source.count}:{source.rate!r}" for source in workload.sources)
    return given


def _figures(workload: Workload, candidate: Candidate, found: dict[str, Any], *, simulated: bool) -> Figures | None:
    body_seconds, crossings = workload.body_seconds, 1
    if candidate.design == "hub":
        # Each item comes in and goes out over the hub's link, where it queues.
        crossings = 2
        link = crossings * found["throughput"] * workload.body_seconds
        if link > BUSIEST_LINK:
            return None
        body_seconds /= 1 - link
    stored = candidate.buffers * (workload.producers if candidate.design == "hub" else 1)
    return Figures(
        mean_wait_seconds=Estimate(found["wait"] + body_seconds, found["wait_ci95"] if simulated else None),
        p99_wait_seconds=found["wait_p99"] + body_seconds,
        messages_per_item=Estimate(found["messages_per_object"], found.get("messages_per_object_ci95")),
        memory_bytes=stored * workload.item_bytes,
        throughput=found["throughput"],
        body_bytes_per_item=crossings * workload.item_bytes,
        simulated=simulated,
    )

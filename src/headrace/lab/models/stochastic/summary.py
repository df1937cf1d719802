"""From a solution to the keys that the simulator prints, and notes on where the model is out of its range."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headrace.lab.distributed_queue import System
from headrace.lab.models.stochastic.fixed_point import CONVERGED, Floats
from headrace.lab.models.stochastic.probing import Solution
from headrace.lab.models.stochastic.tail import Mixture, quantile


def predict(system: System, solution: Solution, *, form: str, reading: str) -> dict[str, Any]:
    """The measures of section 4.1: over consumers by the objects they get, over producers by their number."""
    classes, chain = solution.classes, solution.chain
    waits = solution.waits()
    served = classes.consumers / (1 / system.consume_rate + waits)
    served = served / served.sum()
    hops = float(served @ solution.hops)
    probing = served * solution.hops
    full = _over_producers(system, classes.producers, chain.full)
    wait = float(served @ waits)
    think = 1 / system.consume_rate
    blocked = solution.empty**system.max_hops
    predicted = {
        "h_avg": hops,
        "wait": wait,
        "wait_ci95": 0.0,
        "wait_p99": _p99(system, solution, served),
        "producer_full": full,
        "producer_empty": float(probing @ solution.empty / probing.sum()),
        "producer_utilisation": 1 - full,  # U_p = 1 - p(f)
        "consumer_utilisation": think / (think + wait),  # U_c
        "throughput": float(classes.producers @ (classes.rates * (1 - chain.full))),  # T = N λ U_p
        "messages_per_object": hops + 1,
        "messages": {"request": 1.0, "forward": hops - 1, "wait": 0.0, "object": 1.0},
        "blocked": float(served @ blocked),
        "model": classes.model,
        "form": form,
        "reading": reading,
        "iterations": solution.iterations,
        "residual": solution.residual,
        "notes": _notes(system, solution, form, reading),
    }
    if reading == "printed":
        # W as section 4.1 prints it, with p_mt^h_max both in B (eq. 9) and before it.
        literal = waits - solution.blocked_ticks * (1 - blocked)
        predicted["wait_formula_as_printed"] = float(served @ literal)
    return predicted


def _over_producers(system: System, counts: NDArray[np.int64], full: Floats) -> float:
    """The mean over all producers; one that no consumer can reach is full."""
    return float((counts @ full + system.producers - counts.sum()) / system.producers)


def _p99(system: System, solution: Solution, served: Floats) -> float:
    """The time that 99 % of requests wait at most: messages, and for the blocked also their turn in line."""
    empty, chain, most = solution.empty, solution.chain, system.max_hops
    found = [float(served @ (empty ** (hop - 1) * (1 - empty))) for hop in range(1, most + 1)]
    joins = (served * empty ** (most - 1)) @ (solution.classes.access * chain.empty)
    return quantile(
        0.99,
        Mixture(
            found=np.array(found),
            message_ticks=solution.message_ticks,
            exponential=system.message_distribution == "exponential",
            blocked=joins[:, None] * chain.behind,
            rates=solution.classes.rates,
        ),
    )


def _notes(system: System, solution: Solution, form: str, reading: str) -> list[str]:
    chain = solution.chain
    notes = []
    if solution.residual > CONVERGED:
        notes.append(f"no solution was found: the residual is {solution.residual:.2g}")
    if form == "approximate" and float((chain.block * chain.arrival / solution.classes.rates).max()) >= 1:
        notes.append(
            "the approximate form is out of its range: requests that block arrive faster than objects (p_b μ_c >= λ), "
            "so eq. 4 fills the line up to its end; use --form state-dependent"
        )
    if reading == "printed":
        notes.append("the printed equations let production and consumption differ; throughput is N λ U_p")
    if system.production.kind != "exponential":
        notes.append(f"production times are taken as exponential of the same mean, not {system.production.kind}")
    if system.processing_time > 0:
        notes.append("processing adds to each message's time; queueing for it is left out")
    return notes

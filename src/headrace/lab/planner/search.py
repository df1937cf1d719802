"""The search: all candidates by the models, the likeliest by simulation, and what would help if none will do."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from headrace.lab.planner.candidate import Candidate, Figures, predict, simulate
from headrace.lab.planner.workload import ItemSource, Workload

BUFFERS = (1, 2, 3, 5, 8, 12, 20)
HOPS = (1, 2, 3, 4, 5, 7, 10)
MULTICAST_HOPS = 5
SHORTLIST = 4
SHORTER = 0.85
MESSAGE_BYTES = 128
"""What a message costs on the network besides a body, for the price of a plan."""
MODEL_SLACK = {"at-last": 1.3, "late": 2.5, "shortest": 1.3}
"""How far a model's wait may be above a target for a simulation to be worth it; none knows late binding."""
KEPT_THROUGHPUT = 0.9
"""Of the best candidate's: a plan may not buy short waits by letting the system stand."""
GROWTH = (1.05, 1.1, 1.25, 1.5, 2.0, 3.0)

Watch = Callable[[str, int, int], None]
Found = dict[Candidate, Figures]


@dataclass(frozen=True, slots=True)
class Remedy:
    """A change of the workload or its targets with which a plan would be found."""

    change: str
    candidate: Candidate
    figures: Figures


@dataclass(frozen=True, slots=True)
class Plan:
    """What came of the search.

    `chosen` meets all targets in simulation, or, where `missed` names targets, comes nearest to them.
    """

    workload: Workload
    chosen: Candidate
    figures: Figures
    missed: tuple[str, ...]
    remedies: tuple[Remedy, ...]
    predicted: Mapping[Candidate, Figures]
    simulated: Mapping[Candidate, Figures]
    considered: int


def plan(workload: Workload, *, seed: int = 1, watch: Watch = lambda what, done, of: None) -> Plan:
    """The cheapest configuration that meets the targets: fewest bytes, then messages, then buffers."""
    predicted = _predicted(workload, watch)
    simulated: Found = {}
    shortlist = _shortlist(workload, predicted)
    for place, candidate in enumerate(shortlist):
        watch("simulating", place, len(shortlist))
        measured = simulate(workload, candidate, seed=seed)
        if measured is not None:
            simulated[candidate] = measured
    watch("simulating", len(shortlist), len(shortlist))
    assert simulated, "at least the stochastic design can always be simulated"
    fit = [candidate for candidate, figures in simulated.items() if not _missed(workload, simulated, figures)]
    if fit:
        chosen = min(fit, key=lambda candidate: _price(candidate, simulated[candidate]))
        missed: tuple[str, ...] = ()
    else:
        chosen = min(simulated, key=lambda candidate: _distance(workload, simulated[candidate]))
        missed = tuple(_missed(workload, simulated, simulated[chosen]))
    remedies = _remedies(workload, simulated, seed) if missed else ()
    considered = len(predicted)
    return Plan(workload, chosen, simulated[chosen], missed, remedies, predicted, simulated, considered)


def candidates(workload: Workload) -> list[Candidate]:
    """Everything that the search considers."""
    found = []
    uneven = len({source.rate for source in workload.sources}) > 1
    for buffers in BUFFERS:
        for design in workload.designs:
            if design == "multicast":
                found.append(Candidate(design, buffers, max_hops=MULTICAST_HOPS))
            elif design != "stochastic":
                found.append(Candidate(design, buffers))
        if "stochastic" not in workload.designs:
            continue
        for hops in HOPS:
            for wait in ("at-last", "late") if hops > 1 else ("at-last",):
                for access in ("uniform", "learned") if uneven else ("uniform",):
                    found.append(
                        Candidate("stochastic", buffers, hops, wait=wait, access=access, reach=workload.connections)
                    )
    return found


def _predicted(workload: Workload, watch: Watch) -> Found:
    everything = candidates(workload)
    found: Found = {}
    solved: dict[Candidate, Figures | None] = {}
    for place, candidate in enumerate(everything):
        watch("solving", place, len(everything))
        plain = replace(candidate, wait="at-last")
        if plain not in solved:
            solved[plain] = predict(workload, plain)
        figures = solved[plain]
        if figures is not None:
            found[candidate] = figures
    watch("solving", len(everything), len(everything))
    return found


def _shortlist(workload: Workload, predicted: Found) -> list[Candidate]:
    """Of each design those that may meet the targets, cheapest first, and its best, which the picture compares."""
    chosen: list[Candidate] = []
    for design, wait in [(design, wait) for design in workload.designs for wait in ("at-last", "late")]:
        own = [candidate for candidate in predicted if (candidate.design, candidate.wait) == (design, wait)]
        likely = [one for one in own if not _missed(workload, predicted, predicted[one], slack=MODEL_SLACK[wait])]
        likely.sort(key=lambda candidate: _price(candidate, predicted[candidate]))
        # Neighbours on the grid promise much the same: after the cheapest, those that wait markedly less.
        shortest = float("inf")
        steps = []
        for candidate in likely:
            tail = predicted[candidate].p99_wait_seconds
            if tail < SHORTER * shortest:
                steps.append(candidate)
                shortest = tail
        chosen += steps[:SHORTLIST]
        if own:
            chosen.append(min(own, key=lambda candidate: _distance(workload, predicted[candidate])))
    return list(dict.fromkeys(chosen))


def _missed(workload: Workload, among: Found, figures: Figures, *, slack: float = 1.0) -> list[str]:
    """The targets that `figures` miss; waits may miss by the factor `slack`."""
    values = figures.by_target()
    missed = [
        name
        for name, target in workload.targets.given().items()
        if values[name] > target * (slack if "wait" in name else 1.0)
    ]
    best = max(other.throughput for other in among.values())
    return [*missed, "throughput"] if figures.throughput < KEPT_THROUGHPUT * best else missed


def _price(candidate: Candidate, figures: Figures) -> tuple[float, ...]:
    """Bytes on the network an item, to 5 %; messages, to a quarter; buffers, and with them memory; the wait."""
    messages = figures.messages_per_item.value
    network = figures.body_bytes_per_item + MESSAGE_BYTES * messages
    return round(math.log(network) / 0.05), round(messages / 0.25), candidate.buffers, figures.mean_wait_seconds.value


def _distance(workload: Workload, figures: Figures) -> tuple[float, float]:
    """How far the worst-missed target is exceeded, and the wait."""
    values = figures.by_target()
    over = [values[name] / target for name, target in workload.targets.given().items()]
    return max([1.0, *over]), figures.mean_wait_seconds.value / max(figures.throughput, 1e-300)


def _remedies(workload: Workload, simulated: Found, seed: int) -> tuple[Remedy, ...]:
    """What would do: one target given up, or more producers, or fewer consumers; by models, confirmed by simulation."""
    found = []
    for name in workload.targets.given():
        eased = replace(workload, targets=replace(workload.targets, **{name: float("inf")}))
        fit = [candidate for candidate, figures in simulated.items() if not _missed(eased, simulated, figures)]
        if fit:
            least = min(fit, key=lambda candidate: simulated[candidate].by_target()[name])
            value = simulated[least].by_target()[name]
            found.append(
                Remedy(
                    f"{name} of {value:.3g} instead of {workload.targets.given()[name]:.3g}", least, simulated[least]
                )
            )
    for series, change in _changes(workload):
        remedy = _with_change(workload, series, change, seed)
        if remedy is not None:
            found.append(remedy)
    return tuple(found)


def _changes(workload: Workload) -> list[tuple[list[Workload], str]]:
    """Series of changed workloads, the smallest change first; the first of a series that will do is proposed."""
    more = [
        replace(
            workload,
            sources=tuple(ItemSource(max(one.count + 1, round(one.count * by)), one.rate) for one in workload.sources),
        )
        for by in GROWTH
    ]
    fewer = [replace(workload, consumers=max(1, round(workload.consumers / by))) for by in GROWTH]
    quicker = [replace(workload, message_seconds=workload.message_seconds / by) for by in (1.5, 2.0, 4.0, 10.0)]
    return [
        (more, "{0.producers} producers instead of {1.producers}"),
        (fewer, "{0.consumers} consumers instead of {1.consumers}"),
        (quicker, "messages of {0.message_seconds:.3g} s instead of {1.message_seconds:.3g} s"),
    ]


def _with_change(workload: Workload, series: list[Workload], change: str, seed: int) -> Remedy | None:
    """The first workload of the series for which a candidate will do; late binding and learning are left aside."""
    for changed in series:
        predicted = {
            candidate: figures
            for candidate in candidates(changed)
            if candidate.wait == "at-last" and (figures := predict(changed, candidate)) is not None
        }
        fit = [candidate for candidate, figures in predicted.items() if not _missed(changed, predicted, figures)]
        if not fit:
            continue
        cheapest = min(fit, key=lambda candidate: _price(candidate, predicted[candidate]))
        measured = simulate(changed, cheapest, seed=seed)
        if measured is not None and not _missed(changed, {cheapest: measured}, measured):
            return Remedy(change.format(changed, workload), cheapest, measured)
    return None

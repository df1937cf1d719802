"""The distributed queue of T. Johnson (1995) as the simulator and the models are both told it.

Options are spelt once here, and `understand` turns them into one `System` or refuses them in a sentence. Times
are in ticks, rates in objects a tick. What a design does is in `headrace.protocols.designs`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headrace.core.errors import Invalid
from headrace.lab.parameters import Parameter

DESIGNS = ("stochastic", "hub", "manager", "multicast")
LARGEST_TABLE = 20_000_000
"""Entries of one table: a few of 160 MB each."""

PARAMETERS: tuple[Parameter, ...] = (
    Parameter("design", "stochastic", "How a consumer finds an object.", choices=DESIGNS),
    Parameter("producers", 100, "Producers (N).", least=1, most=100_000),
    Parameter("consumers", 100, "Consumers (M).", least=1, most=100_000),
    Parameter("buffers", 5, "Objects that one producer stores before it stops (f).", least=1, most=10_000),
    Parameter("max_hops", 3, "Probes before a request waits at a producer (h_max).", least=1, most=1_000),
    Parameter("produce_rate", 0.01, "Objects a tick from one producer that is not stopped (λ)."),
    Parameter("consume_rate", 0.01, "Objects a tick that one consumer works off (μ)."),
    Parameter("message_time", 1.0, "Ticks that a message is under way (r).", least=0.0),
    Parameter("processing_time", 0.0, "Ticks that a process takes over a message, one at a time.", least=0.0),
    Parameter(
        "production",
        "exponential",
        "Production times: exponential, uniform:FROM:TO (ticks), deterministic or gamma:SHAPE.",
    ),
    Parameter(
        "message_distribution",
        "exponential",
        "Times of messages and of their processing.",
        choices=("exponential", "deterministic"),
    ),
    Parameter(
        "types",
        "",
        "Producers by type, COUNT:RATE[:SHARE],…; SHARE is the fraction of all probes sent to the type.",
    ),
    Parameter("reach", 0, "Producers that one consumer may probe; 0 for all.", least=0),
    Parameter("reach_sets", "balanced", "How they are drawn.", choices=("random", "balanced")),
    Parameter(
        "wait",
        "at-last",
        "Where a request waits: at the last producer, at the shortest visited, or at all visited, bound late.",
        choices=("at-last", "shortest", "late"),
    ),
    Parameter(
        "access",
        "uniform",
        "Probes by p_access: even, by the true production rates, or by rates learned from replies.",
        choices=("uniform", "rates", "learned"),
    ),
    Parameter("exclude_visited", False, "Never probe a producer twice for one request."),
)


@dataclass(frozen=True, slots=True)
class ProducerType:
    """`count` producers (N_k) of one `rate` (λ_k) that together get the fraction `share` (frac_k) of all probes."""

    count: int
    rate: float
    share: float


@dataclass(frozen=True, slots=True)
class Production:
    """The law of production times: `kind`, and what it takes besides the mean."""

    kind: str
    spread: float = 0.0
    """Half the width over the mean, for uniform times."""
    shape: float = 1.0


@dataclass(frozen=True, slots=True)
class System:
    """What is simulated or solved, understood and checked."""

    design: str
    consumers: int
    buffers: int
    max_hops: int
    consume_rate: float
    message_time: float
    processing_time: float
    production: Production
    message_distribution: str
    types: tuple[ProducerType, ...]
    reach: int
    reach_sets: str
    wait: str
    access: str
    exclude_visited: bool

    @property
    def producers(self) -> int:
        return sum(kind.count for kind in self.types)

    @property
    def load(self) -> float:
        """Mμ / Σλ: above 1 the consumers could take more than the producers make."""
        return self.consumers * self.consume_rate / sum(kind.count * kind.rate for kind in self.types)

    @property
    def limited_reach(self) -> bool:
        return self.reach < self.producers

    def rates(self) -> NDArray[np.float64]:
        """The production rate of each producer."""
        return np.repeat([kind.rate for kind in self.types], [kind.count for kind in self.types])

    def weights(self) -> NDArray[np.float64]:
        """p_access of each producer for a consumer that reaches all."""
        each = [kind.share / kind.count for kind in self.types]
        return np.repeat(each, [kind.count for kind in self.types])


def understand(parameters: Mapping[str, Any]) -> System:
    """The system that complete `parameters` describe, or Invalid."""
    for name in ("produce_rate", "consume_rate"):
        if not parameters[name] > 0:
            raise Invalid(f"--{name.replace('_', '-')} is {parameters[name]:g}: it must be above 0")
    production, mean_ticks = _production(parameters["production"])
    types = _types(parameters, mean_ticks)
    producers = sum(kind.count for kind in types)
    reach = parameters["reach"] or producers
    if reach > producers:
        raise Invalid(f"--reach is {reach}: it must be at most the {producers} producers there are")
    _only_for_stochastic(parameters)
    _fits(parameters, producers, reach)
    if parameters["exclude_visited"] and parameters["max_hops"] > reach:
        raise Invalid(
            f"--max-hops is {parameters['max_hops']}: with --exclude-visited it must be at most the {reach} producers "
            "in reach"
        )
    return System(
        production=production,
        types=types,
        reach=reach,
        **{
            name: parameters[name]
            for name in System.__dataclass_fields__
            if name not in ("production", "types", "reach")
        },
    )


def reach_sets(system: System, seed: int) -> NDArray[np.int64]:
    """Which producers each consumer of a system of limited reach may probe: rows of `reach` distinct producers.

    Random sets are drawn consumer by consumer. Balanced ones are dealt from shuffled decks of all producers, so
    that the numbers of consumers a producer serves differ by at most one.
    """
    random = np.random.default_rng([seed, 0x5E75])
    count, reach = system.producers, system.reach
    if system.reach_sets == "random":
        return np.array([random.choice(count, reach, replace=False) for _ in range(system.consumers)])
    sets = np.empty((system.consumers, reach), dtype=np.int64)
    deck: list[int] = []
    for consumer in range(system.consumers):
        hand = deck[:reach]
        deck = deck[reach:]
        if len(hand) < reach:
            fresh = [int(p) for p in random.permutation(count)]
            more = [p for p in fresh if p not in hand][: reach - len(hand)]
            taken = set(more)
            hand += more
            deck = [p for p in fresh if p not in taken]
        sets[consumer] = hand
    return sets


def _production(text: str) -> tuple[Production, float | None]:
    """The law, and its mean in ticks where the law itself says it."""
    kind, *values = text.split(":")
    try:
        numbers = [float(value) for value in values]
        if kind in ("exponential", "deterministic") and not numbers:
            return Production(kind), None
        if kind == "gamma" and len(numbers) == 1 and numbers[0] > 0:
            return Production(kind, shape=numbers[0]), None
        if kind == "uniform" and len(numbers) == 2 and 0 <= numbers[0] < numbers[1]:
            low, high = numbers
            return Production(kind, spread=(high - low) / (high + low)), (low + high) / 2
    except ValueError:
        pass
    raise Invalid(
        f"--production is {text!r}: it must be exponential, uniform:FROM:TO with 0 <= FROM < TO, deterministic or "
        "gamma:SHAPE with SHAPE above 0"
    )


def _types(parameters: Mapping[str, Any], mean_ticks: float | None) -> tuple[ProducerType, ...]:
    if not parameters["types"]:
        rate = parameters["produce_rate"] if mean_ticks is None else 1 / mean_ticks
        return (ProducerType(parameters["producers"], rate, 1.0),)
    if mean_ticks is not None:
        raise Invalid("--production uniform:FROM:TO sets every producer's times: leave out --types, or choose gamma")
    counts, rates, shares = [], [], []
    for entry in parameters["types"].split(","):
        fields = entry.split(":")
        try:
            count, rate = int(fields[0]), float(Fraction(fields[1]))
            share = float(Fraction(fields[2])) if len(fields) > 2 else None
        except (ValueError, IndexError, ZeroDivisionError):
            raise Invalid(f"--types has {entry!r}: each must be COUNT:RATE or COUNT:RATE:SHARE, as 50:1/75") from None
        if count < 1 or rate <= 0 or len(fields) > 3 or (share is not None and not 0 <= share <= 1):
            raise Invalid(f"--types has {entry!r}: COUNT and RATE must be above 0 and SHARE between 0 and 1")
        counts.append(count)
        rates.append(rate)
        shares.append(share)
    if sum(counts) != parameters["producers"]:
        raise Invalid(
            f"--types has {sum(counts)} producers and --producers is {parameters['producers']}: make them equal"
        )
    return tuple(map(ProducerType, counts, rates, _shares(parameters["access"], counts, rates, shares)))


def _shares(access: str, counts: list[int], rates: list[float], shares: list[float | None]) -> list[float]:
    given = [share for share in shares if share is not None]
    if not given:
        amounts = [count * (rate if access == "rates" else 1.0) for count, rate in zip(counts, rates, strict=True)]
        return [amount / sum(amounts) for amount in amounts]
    if access != "uniform":
        raise Invalid(f"--types gives SHAREs and --access is {access}: give one of the two")
    if len(given) < len(shares):
        raise Invalid("--types gives a SHARE to some types only: give one to each or to none")
    if abs(sum(given) - 1) > 1e-3:
        raise Invalid(f"--types has SHAREs that add up to {sum(given):g}: they must add up to 1")
    return [share / sum(given) for share in given]


def _only_for_stochastic(parameters: Mapping[str, Any]) -> None:
    """Refuse what the other designs have no use for, rather than pass over it."""
    if parameters["design"] == "stochastic":
        return
    plain = {parameter.name: parameter.default for parameter in PARAMETERS}
    for name in ("reach", "wait", "access", "exclude_visited"):
        if parameters[name] != plain[name]:
            raise Invalid(
                f"--{name.replace('_', '-')} is for --design stochastic: leave it out with {parameters['design']}"
            )


def _fits(parameters: Mapping[str, Any], producers: int, reach: int) -> None:
    """Refuse tables that no memory would hold."""
    consumers, buffers = parameters["consumers"], parameters["buffers"]
    if parameters["design"] == "multicast" and consumers * producers > LARGEST_TABLE:
        raise Invalid(
            f"--consumers {consumers} each keep a table of {producers} --producers under multicast: "
            f"their product must be at most {LARGEST_TABLE:,}"
        )
    if (parameters["access"] == "learned" or reach < producers) and consumers * reach > LARGEST_TABLE:
        raise Invalid(
            f"--consumers {consumers} each keep a table of the {reach} producers in reach: "
            f"their product must be at most {LARGEST_TABLE:,}"
        )
    if parameters["design"] in ("hub", "manager") and producers * buffers > LARGEST_TABLE:
        raise Invalid(
            f"--producers {producers} times --buffers {buffers} is what a {parameters['design']} may hold: "
            f"it must be at most {LARGEST_TABLE:,}"
        )

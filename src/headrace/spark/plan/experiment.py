"""An experiment: a kernel over a grid of parameters, as a frozen value, and the runs it is made of.

The random numbers of a run depend on the experiment's seed, the kernel, the point's parameters and the number of
the replication, and on nothing else: a point gives the same numbers in any order, on any number of machines, and
in any experiment that holds it. What the parameters mean is the kernel's affair; they arrive here complete.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from headrace.core.errors import Invalid
from headrace.core.names import nearest

Parameters = Mapping[str, Any]

_NAME = re.compile(r"[a-z0-9][a-z0-9.-]{0,79}")


@dataclass(frozen=True, slots=True)
class Cut:
    """A point whose `parameter` (its length: pops, items) exceeds `most` runs as several shorter replications.

    Each pays its warm-up anew, so `most` must be long against it.
    """

    parameter: str
    most: int


@dataclass(frozen=True, slots=True)
class Precision:
    """Replicate a point until the half-width of `metric` is at most `relative` of its value, or `most` are run."""

    metric: str
    relative: float
    most: int


def _alike(_: Parameters) -> float:
    return 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """What to measure, where.

    - `name` is the table's; a figure of the lab lends its own.
    - `kernel` is a module's dotted path; it offers `measure(parameters, seed)`.
    - `points` are complete parameters (see `grid`).
    - Each point runs `replications` times with independent seeds, and on, if `precision` asks for it; `cut` makes
      several replications of a long one.
    - Points that differ only in the parameters named by `common` share their seeds (common random numbers), so that
      they can be compared pair by pair.
    - `cost` estimates a point's seconds; only proportions matter. Dear points start first.
    - `metrics` are those to keep, by name or by the first part of a nested name; none named: all.
    - `tiny`, laid over a point, makes a run that takes no time. A worker begins with it, so that the kernel is
      compiled once a machine and not by all workers at the same time.
    """

    name: str = "unnamed"
    kernel: str
    points: tuple[Parameters, ...]
    replications: int = 1
    precision: Precision | None = None
    common: tuple[str, ...] = ()
    cut: Cut | None = None
    cost: Callable[[Parameters], float] = _alike
    metrics: tuple[str, ...] = ()
    tiny: Parameters = field(default_factory=dict)
    seed: int = 1

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise Invalid(f"an experiment's name is small letters, digits, dots and dashes, not {self.name!r}")
        if not self.points:
            raise Invalid(f"{self.name}: an experiment needs a point at least")
        if self.replications < 1:
            raise Invalid(f"{self.name}: {self.replications} replications: at least 1 is needed")
        if self.precision is not None and not (self.precision.relative > 0 and self.precision.most >= 2):
            raise Invalid(f"{self.name}: a precision needs a relative half-width above 0 and 2 replications or more")

    def check(self) -> None:
        """Refuse parameters that the points, by now complete, do not have, and points that stand there twice."""
        named = [*self.common, *self.tiny, *([self.cut.parameter] if self.cut else [])]
        for point in self.points:
            for name in named:
                if name not in point:
                    raise Invalid(f"{self.name}: its points have no parameter {name!r}.{nearest(name, point)}")
        seen: set[str] = set()
        for point in self.points:
            if (key := self.point_of(point)) in seen:
                raise Invalid(f"{self.name}: the point {canonical(point)} stands there twice")
            seen.add(key)

    def point_of(self, parameters: Parameters) -> str:
        """The short name by which the table knows a point."""
        return _digest(self.kernel, canonical(parameters))[:12]

    def seed_of(self, parameters: Parameters, replication: int) -> int:
        """The seed of one run: below 2**53, so that every reader of the table keeps it whole."""
        shared = {name: value for name, value in parameters.items() if name not in self.common}
        digest = _digest(str(self.seed), self.kernel, canonical(shared), str(replication))
        return int(digest[:16], 16) >> 11

    def runs(self, parameters: Parameters, first: int, last: int) -> tuple[Run, ...]:
        """The runs number `first` up to `last` of a point."""
        pieces = self._pieces(parameters)
        given = dict(parameters)
        if self.cut is not None and pieces > 1:
            given[self.cut.parameter] = math.ceil(parameters[self.cut.parameter] / pieces)
        point, cost = self.point_of(parameters), self.cost(parameters) / pieces
        return tuple(
            Run(point=point, parameters=given, seed=self.seed_of(parameters, number), cost=cost)
            for number in range(first, last)
        )

    def planned(self, parameters: Parameters) -> int:
        """How many runs a point has before any precision is asked for."""
        return self.replications * self._pieces(parameters)

    def _pieces(self, parameters: Parameters) -> int:
        if self.cut is None:
            return 1
        length: float = parameters[self.cut.parameter]
        return max(1, math.ceil(length / self.cut.most))


@dataclass(frozen=True, slots=True)
class Run:
    """One call of a kernel: the least that is computed, stored and resumed."""

    point: str
    parameters: Parameters
    seed: int
    cost: float


def grid(**axes: Any) -> tuple[dict[str, Any], ...]:
    """All combinations of the axes; a list or tuple is an axis, anything else stands for itself.

    >>> grid(nodes=[5, 20], peeks=2)
    ({'nodes': 5, 'peeks': 2}, {'nodes': 20, 'peeks': 2})

    Grids of other shapes are sums of these: `grid(nodes=5, peeks=[1, 2]) + grid(nodes=20, peeks=2)`.
    """
    spread: Iterable[Iterable[Any]] = (
        values if isinstance(values, (list, tuple, range)) else [values] for values in axes.values()
    )
    return tuple(dict(zip(axes, values, strict=True)) for values in itertools.product(*spread))


def canonical(parameters: Parameters) -> str:
    """Parameters as text, the same for the same values whatever their order."""
    return json.dumps(dict(parameters), sort_keys=True, separators=(",", ":"))


def _digest(*parts: str) -> str:
    return hashlib.blake2b("\n".join(parts).encode(), digest_size=16).hexdigest()

"""What was measured: the rows of an experiment's table, and what figures and claims ask of them.

One row is one metric of one run. A nested measurement `{"histogram": {"0": 0.1}}` becomes the metric
`histogram.0`; `mean_ci95` beside `mean` becomes the row's half-width. Asked for a point's metric, the interval comes
from the spread of its replications, or from the kernel's own half-width when there is one run only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec

from headrace.core import estimates
from headrace.core.errors import Gone, Invalid
from headrace.core.estimates import Estimate
from headrace.core.names import nearest
from headrace.spark.plan.experiment import Experiment, Parameters, Run, canonical

_HALF_WIDTH = "_ci95"


class Row(msgspec.Struct, frozen=True, gc=False):
    """A line of the table. `parameters` are those the kernel was called with, as JSON: with the seed, it repeats."""

    experiment: str
    point: str
    parameters: str
    seed: int
    metric: str
    value: float
    half_width: float | None
    version: str
    seconds: float


def flat(measured: Mapping[str, Any], prefix: str = "") -> dict[str, tuple[float, float | None]]:
    """Metrics by dotted name, each with its half-width if the kernel gave one."""
    found: dict[str, tuple[float, float | None]] = {}
    for name, value in measured.items():
        if isinstance(value, Mapping):
            found.update(flat(value, f"{prefix}{name}."))
        elif isinstance(value, (list, tuple)):
            found.update(flat({str(place): entry for place, entry in enumerate(value)}, f"{prefix}{name}."))
        elif not (name.endswith(_HALF_WIDTH) and name.removesuffix(_HALF_WIDTH) in measured):
            half = measured.get(name + _HALF_WIDTH)
            found[prefix + name] = (float(value), None if half is None else float(half))
    return found


def kept(metrics: Mapping[str, Any], wanted: tuple[str, ...]) -> dict[str, Any]:
    """Those of the flat `metrics` that an experiment wants, which must be there."""
    if not wanted:
        return dict(metrics)
    for name in wanted:
        if not any(_under(metric, name) for metric in metrics):
            raise Invalid(f"the kernel measures no {name!r}.{nearest(name, metrics)}")
    return {metric: value for metric, value in metrics.items() if any(_under(metric, name) for name in wanted)}


def _under(metric: str, name: str) -> bool:
    return metric == name or metric.startswith(name + ".")


def rows_of(
    experiment: str,
    run: Run,
    *,
    metrics: Mapping[str, tuple[float, float | None]],
    seconds: float,
    version: str,
) -> list[Row]:
    """One run's measurements as lines of the table."""
    row = partial(Row, experiment, run.point, canonical(run.parameters), run.seed)
    return [row(name, value, half, version, seconds) for name, (value, half) in metrics.items()]


@dataclass(frozen=True, slots=True)
class Results:
    """An experiment and its rows.

    A point is named by those of its parameters that vary, `results.estimate("mean", nodes=20, peeks=2)`, and the
    name must fit exactly one.
    """

    experiment: Experiment
    rows: tuple[Row, ...]
    _index: dict[tuple[str, str], dict[int, Row]]
    _done: dict[str, list[int]]

    @classmethod
    def of(cls, experiment: Experiment, rows: Iterable[Row]) -> Results:
        """The results of an experiment: those rows that belong to its points."""
        points = {experiment.point_of(parameters): parameters for parameters in experiment.points}
        ours = tuple(row for row in rows if row.point in points)
        index: dict[tuple[str, str], dict[int, Row]] = {}
        done: dict[str, set[int]] = {}
        for row in ours:
            index.setdefault((row.point, row.metric), {})[row.seed] = row
            done.setdefault(row.point, set()).add(row.seed)
        return cls(
            experiment,
            ours,
            index,
            {point: _ordered(experiment, points[point], seeds) for point, seeds in done.items()},
        )

    def points(self, **where: Any) -> list[Parameters]:
        """The experiment's points with these parameters, in its order."""
        for name in where:
            if name not in self.experiment.points[0]:
                hint = nearest(name, self.experiment.points[0])
                raise Invalid(f"{self.experiment.name} has no parameter {name!r}.{hint}")
        return [point for point in self.experiment.points if all(point[name] == value for name, value in where.items())]

    def point(self, **where: Any) -> Parameters:
        """The one point with these parameters."""
        found = self.points(**where)
        if len(found) != 1:
            raise Invalid(f"{self.experiment.name}: {len(found)} points have {canonical(where)}, not one")
        return found[0]

    def by_seed(self, parameters: Parameters, metric: str) -> dict[int, Row]:
        """A point's rows of one metric, in the order of its replications."""
        point = self.experiment.point_of(parameters)
        found = self._index.get((point, metric), {})
        return {seed: found[seed] for seed in self._done.get(point, ()) if seed in found}

    def seeds(self, parameters: Parameters) -> set[int]:
        """The seeds of a point's runs that are done."""
        return set(self._done.get(self.experiment.point_of(parameters), ()))

    def values(self, metric: str, **where: Any) -> list[float]:
        """What each replication of a point measured."""
        parameters = self.point(**where)
        rows = self.by_seed(parameters, metric)
        if not rows:
            raise Gone(self._missing(parameters, metric))
        return [row.value for row in rows.values()]

    def estimate(self, metric: str, **where: Any) -> Estimate:
        """A point's metric with its interval."""
        parameters = self.point(**where)
        rows = list(self.by_seed(parameters, metric).values())
        if not rows:
            raise Gone(self._missing(parameters, metric))
        if len(rows) == 1:
            return Estimate(rows[0].value, rows[0].half_width)
        return estimates.mean([row.value for row in rows])

    def series(self, metric: str, *, over: str, **where: Any) -> list[tuple[Any, Estimate]]:
        """A metric along one parameter, the others held: what a line of a picture shows.

        A point that could not be computed is left out.
        """
        points = self.points(**where)
        places = [point[over] for point in points]
        if len(set(places)) != len(places):
            raise Invalid(f"{self.experiment.name}: {canonical(where)} leaves more open than {over!r}")
        return [
            (place, self.estimate(metric, **point))
            for place, point in zip(places, points, strict=True)
            if self.by_seed(point, metric)
        ]

    def difference(self, metric: str, *, of: Parameters, to: Parameters, **where: Any) -> Estimate:
        """The metric at `of` less that at `to`, paired by seed (see `Experiment.common`)."""
        return estimates.difference(*self._pairs(metric, of, to, where))

    def ratio(self, metric: str, *, of: Parameters, to: Parameters, **where: Any) -> Estimate:
        """The metric at `of` over that at `to`, paired by seed."""
        return estimates.ratio(*self._pairs(metric, of, to, where))

    def mapping(self, prefix: str, **where: Any) -> dict[str, Estimate]:
        """All metrics under a nested name: `mapping("histogram")` of `histogram.0`, `histogram.1` and so on."""
        parameters = self.point(**where)
        point = self.experiment.point_of(parameters)
        return {
            metric.removeprefix(prefix + "."): self.estimate(metric, **parameters)
            for name, metric in self._index
            if name == point and metric.startswith(prefix + ".")
        }

    def _pairs(self, metric: str, of: Parameters, to: Parameters, where: Parameters) -> tuple[list[float], list[float]]:
        first, second = self.point(**where, **of), self.point(**where, **to)
        ours, theirs = self.by_seed(first, metric), self.by_seed(second, metric)
        shared = [seed for seed in ours if seed in theirs]
        if not shared:
            if not ours or not theirs:
                raise Gone(self._missing(second if ours else first, metric))
            raise Invalid(
                f"{self.experiment.name}: {canonical(of)} and {canonical(to)} share no seeds: "
                f"name {', '.join(sorted({*of, *to}))} in `common`"
            )
        return [ours[seed].value for seed in shared], [theirs[seed].value for seed in shared]

    def _missing(self, parameters: Parameters, metric: str) -> str:
        known = {name for _, name in self._index}
        hint = nearest(metric, known) if metric not in known else ""
        return f"{self.experiment.name} has no {metric!r} at {canonical(parameters)}.{hint}"


def _ordered(experiment: Experiment, parameters: Parameters, seeds: set[int]) -> list[int]:
    """A point's seeds in the order of its replications; some may be missing in between."""
    numbers = range(experiment.planned(parameters) + len(seeds))
    return [seed for seed in (experiment.seed_of(parameters, number) for number in numbers) if seed in seeds]

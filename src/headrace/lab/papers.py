"""What the lab holds of a paper: its figures, its claims, and where our reading departs from its text.

A figure is an experiment at two scales with its picture. `headrace.lab.experiments` names the papers; one module each
offers `PAPER`. A figure's name begins with the paper's, as in `004-fig4`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from headrace.core.errors import Invalid
from headrace.core.names import nearest
from headrace.lab.claims import Claim
from headrace.lab.experiments import PAPERS
from headrace.lab.parameters import complete
from headrace.spark.plan.experiment import Experiment
from headrace.spark.plan.results import Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture


class Scale(StrEnum):
    """`quick` shows that everything works, in seconds; `paper` is what a claim's verdict rests on."""

    QUICK = "quick"
    PAPER = "paper"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """An experiment and its picture.

    `experiment` gives the plan at a scale; the parameters of its points may leave out those that keep their default.
    `draw` makes the picture from the results (see `headrace.lab.style`); None for an experiment that serves claims
    only.
    """

    name: str
    title: str
    source: str
    experiment: Callable[[Scale], Experiment]
    draw: Callable[[Results], Picture] | None
    caption: str = ""

    def at(self, scale: Scale) -> Experiment:
        """The experiment with complete parameters, each point checked by the kernel."""
        planned = self.experiment(scale)
        kernel = importlib.import_module(planned.kernel)
        points = tuple(complete(kernel.PARAMETERS, point) for point in planned.points)
        for point in points:
            kernel.check(point)
        experiment = replace(planned, name=self.name, points=points)
        experiment.check()
        return experiment

    @property
    def command(self) -> str:
        return f"headrace lab run {self.name}"


@dataclass(frozen=True, slots=True)
class Deviation:
    """Where we read a paper otherwise than it is printed, or go beyond it, and why."""

    source: str
    text: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper:
    """One paper and all the lab says of it."""

    name: str
    title: str
    authors: str
    year: int
    figures: tuple[Figure, ...]
    claims: tuple[Claim, ...]
    deviations: tuple[Deviation, ...] = ()
    summary: str = ""


def papers() -> dict[str, Paper]:
    """All papers, by name."""
    found = [importlib.import_module(module).PAPER for module in PAPERS.values()]
    assert all(isinstance(paper, Paper) for paper in found)
    return {paper.name: paper for paper in found}


def figures(wanted: str = "all") -> list[Figure]:
    """The figures that a name stands for: one of them, all of a paper's (`004`), or `all`."""
    everything = papers()
    known = {figure.name: [figure] for paper in everything.values() for figure in paper.figures}
    known |= {paper.name: list(paper.figures) for paper in everything.values()}
    known["all"] = [figure for paper in everything.values() for figure in paper.figures]
    if wanted not in known:
        raise Invalid(f"there is no experiment {wanted!r}.{nearest(wanted, known)} `headrace lab list` names them all")
    return known[wanted]

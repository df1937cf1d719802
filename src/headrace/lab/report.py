"""The lab's page: every figure and claim of the papers, from the tables that are there, in one HTML file.

It needs nothing beside itself: pictures are inline SVG, and the style sheet is in it. What it says is computed here and
now from the tables; what has no table yet says which command makes it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from html import escape
from importlib import resources
from pathlib import Path

from headrace.core.errors import Gone
from headrace.lab import style
from headrace.lab.claims import Judged, Verdict, judge
from headrace.lab.measure import read, table_of
from headrace.lab.papers import Figure, Paper, Scale, papers
from headrace.spark.engine.table import Table
from headrace.spark.plan.results import Results

_SIGNS = {
    Verdict.CONFIRMED: ("yes", "✓"),
    Verdict.WITH_A_NOTE: ("note", "✓*"),
    Verdict.NOT_CONFIRMED: ("no", "✗"),
    Verdict.NOT_MEASURED: ("open", "–"),
}


@dataclass(frozen=True, slots=True)
class Finding:
    """A paper, what was measured of it, and what follows for its claims."""

    paper: Paper
    results: Mapping[str, Results]
    tables: Mapping[str, Table]
    judged: tuple[Judged, ...]


def findings(*, scale: Scale, folder: Path) -> list[Finding]:
    """Read all tables of a scale and judge all claims on them."""
    found = []
    for paper in papers().values():
        tables = {figure.name: table_of(figure, scale, folder) for figure in paper.figures}
        results = {
            figure.name: read(figure.at(scale), tables[figure.name])
            for figure in paper.figures
            if tables[figure.name].exists
        }
        judged = tuple(judge(claim, results) for claim in paper.claims)
        found.append(Finding(paper, results, tables, judged))
    if not any(finding.results for finding in found):
        raise Gone(f"there are no tables in {folder / scale}: make them with `headrace lab run all --scale {scale}`")
    return found


def write(found: Iterable[Finding], *, scale: Scale, folder: Path) -> Path:
    """Make the page, beside its tables."""
    path = folder / scale / "report.html"
    path.write_text(page(list(found), scale), encoding="utf-8")
    return path


def page(found: list[Finding], scale: Scale) -> str:
    """The whole page."""
    sheet = resources.files("headrace.lab").joinpath("report.css").read_text(encoding="utf-8")
    contents = "".join(
        f'<li><a href="#paper-{_id(finding.paper.name)}"><b>{escape(finding.paper.name)}</b> '
        f"{escape(finding.paper.title)}</a> {_tally(finding.judged)}</li>"
        for finding in found
    )
    everything = [judged for finding in found for judged in finding.judged]
    body = "".join(_paper(finding, scale) for finding in found)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Headrace lab: what the papers claim, measured</title>
<style>
{_colours()}
{sheet}</style>
</head>
<body>
<header>
<h1>What the papers claim, measured</h1>
<p>Each figure is an experiment that was run again, and each statement is a claim whose verdict follows from the
measurements. Values come with 95&nbsp;% intervals.</p>
{_legend(everything)}
<nav aria-label="Papers"><ol>{contents}</ol></nav>
{_provenance(found, scale)}
</header>
<main>
{body}
</main>
</body>
</html>
"""


def _paper(finding: Finding, scale: Scale) -> str:
    paper = finding.paper
    summary = f'<p class="summary">{_text(paper.summary)}</p>' if paper.summary else ""
    return f"""<section class="paper" id="paper-{_id(paper.name)}">
<h2><span class="number">{escape(paper.name)}</span> {escape(paper.title)}</h2>
<p class="authors">{escape(paper.authors)}, {paper.year}</p>
{summary}
{_measured(finding, scale) if finding.results else _absent(f"headrace lab run {paper.name}", scale)}
</section>
"""


def _measured(finding: Finding, scale: Scale) -> str:
    claims = "".join(_claim(judged) for judged in finding.judged)
    figures = "".join(_figure(figure, finding, scale) for figure in finding.paper.figures)
    deviations = "".join(
        f"<dt>{escape(deviation.source)}</dt><dd>{_text(deviation.text)} <span>{_text(deviation.why)}</span></dd>"
        for deviation in finding.paper.deviations
    )
    return f"""<h3>Claims</h3>
<div class="claims">{claims}</div>
<h3>Figures</h3>
{figures}
{f'<h3>Where we depart from the text</h3><dl class="deviations">{deviations}</dl>' if deviations else ""}"""


def _claim(judged: Judged) -> str:
    claim, (kind, sign) = judged.claim, _SIGNS[judged.verdict]
    unit = f"<caption>{escape(claim.unit)}</caption>" if claim.unit else ""
    measured = "".join(
        f"<tr><th>{escape(name) or 'measured'}</th><td><b>{escape(str(estimate))}</b></td></tr>"
        for name, estimate in judged.measured.items()
    )
    links = ", ".join(f'<a href="#{_id(name)}">{escape(name)}</a>' for name in claim.experiments)
    by = f"measured by {links}" if links else "by arithmetic"
    why = f'<p class="why">{_text(judged.why)}</p>' if judged.why else ""
    return f"""<article class="claim {kind}" id="claim-{_id(claim.name)}">
<p class="verdict"><span aria-hidden="true">{sign}</span> <span>{judged.verdict}</span></p>
<div>
<p class="text">{_text(claim.text)}</p>
<p class="source">{escape(claim.source)} · {by}</p>
{why}
</div>
<table>{unit}<tr><th>expected</th><td>{escape(str(claim.expect))}</td></tr>
{measured}</table>
</article>
"""


def _figure(figure: Figure, finding: Finding, scale: Scale) -> str:
    head = f"""<h4>{escape(figure.title)} <span class="source">{escape(figure.source)}</span></h4>"""
    command = f"<code>{escape(figure.command)} --scale {scale}</code>"
    results = finding.results.get(figure.name)
    if results is None:
        return f'<figure id="{_id(figure.name)}">{head}{_absent(figure.command, scale)}</figure>'
    drawn = ""
    if figure.draw is not None:
        try:
            picture = style.svg(figure.draw(results), figure.name)
            drawn = f'<div class="picture" role="img" aria-label="{escape(figure.title)}">{picture}</div>'
        except Gone as error:
            drawn = f'<p class="absent">Not complete: {escape(str(error))}</p>'
    caption = f"<p>{_text(figure.caption)}</p>" if figure.caption else ""
    return f"""<figure id="{_id(figure.name)}">
{head}
{drawn}
<figcaption>{caption}
<p class="how">{command} {escape(_effort(results))} <a href="{escape(finding.tables[figure.name].path.name)}">table</a>
</p></figcaption>
</figure>
"""


def _effort(results: Results) -> str:
    """How much was measured: points, runs, seeds, time."""
    runs = {(row.point, row.seed): row.seconds for row in results.rows}
    points = len({point for point, _ in runs})
    planned = len(results.experiment.points)
    lacking = f" ({planned - points} of {planned} points could not be computed)" if points < planned else ""
    seconds = sum(runs.values())
    took = f"{seconds:,.1f} s" if seconds >= 0.1 else "under 0.1 s"
    return (
        f"{_counted(points, 'point')}{lacking}, {_counted(len(runs), 'run')}, {took} of computing, "
        f"root seed {results.experiment.seed}"
    )


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _provenance(found: list[Finding], scale: Scale) -> str:
    made_with: dict[str, set[str]] = {}
    for finding in found:
        for name, results in finding.results.items():
            made_with.setdefault("headrace", set()).update(row.version for row in results.rows)
            if finding.tables[name].path.exists():
                for library, number in finding.tables[name].made_with().items():
                    made_with.setdefault(library, set()).add(number)
    versions = "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(', '.join(sorted(numbers)))}</dd>" for name, numbers in made_with.items()
    )
    return f"""<details class="provenance"><summary>How this page was made, and how to make it again</summary>
<p><code>headrace lab run all --scale {scale}</code>, then <code>headrace lab report --scale {scale}</code>. The same
versions give the same numbers on any machine and any number of cores: every run's seed follows from the root seed, the
kernel, the point's parameters and the number of the replication. The tables hold the seed and the parameters of each
run; <code>headrace simulate</code> repeats a single one.</p>
<dl>{versions}</dl></details>"""


def _legend(judged: list[Judged]) -> str:
    counted = Counter(each.verdict for each in judged)
    return (
        '<ul class="tally large">'
        + "".join(
            f'<li class="{kind}"><span aria-hidden="true">{sign}</span> <b>{counted[verdict]}</b> {verdict}</li>'
            for verdict, (kind, sign) in _SIGNS.items()
            if counted[verdict]
        )
        + "</ul>"
    )


def _tally(judged: Iterable[Judged]) -> str:
    counted = Counter(each.verdict for each in judged)
    return (
        '<span class="tally">'
        + "".join(
            f'<span class="{kind}" title="{verdict}">{sign} {counted[verdict]}</span>'
            for verdict, (kind, sign) in _SIGNS.items()
            if counted[verdict]
        )
        + "</span>"
    )


def _absent(command: str, scale: Scale) -> str:
    return f'<p class="absent">Not measured yet: <code>{escape(command)} --scale {scale}</code></p>'


def _text(words: str) -> str:
    """Prose, in which `this` is code."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", escape(words))


def _id(name: str) -> str:
    return escape(name.replace(" ", "-"))


def _colours() -> str:
    """The pictures' colours as CSS variables, light and dark."""
    light = "".join(f"--{name}:{colour};" for name, colour in style.LIGHT.items())
    dark = "".join(f"--{name}:{colour};" for name, colour in style.DARK.items())
    return f":root{{{light}}}\n@media (prefers-color-scheme:dark){{:root{{{dark}}}}}"

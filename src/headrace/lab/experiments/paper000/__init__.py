"""T. Johnson, Designing a Distributed Queue (1995): figures 2 to 9, every number of its text as a claim, and more."""

from headrace.lab.experiments.paper000.beyond import BEYOND, BEYOND_CLAIMS
from headrace.lab.experiments.paper000.claims import CLAIMS
from headrace.lab.experiments.paper000.deviations import DEVIATIONS
from headrace.lab.experiments.paper000.figures import FIGURES
from headrace.lab.papers import Paper

PAPER = Paper(
    name="000",
    title="Designing a Distributed Queue",
    authors="T. Johnson",
    year=1995,
    figures=(*FIGURES, *BEYOND),
    claims=(*CLAIMS, *BEYOND_CLAIMS),
    deviations=DEVIATIONS,
    summary=(
        "Objects stay with their producers, and a consumer finds one by a few random probes. A few probes and five "
        "buffers do indeed suffice, except where producers are very uneven or each consumer may reach only a few of "
        "them at random; learned access and late binding mend the first and shorten the longest waits."
    ),
)

"""Lai and Polak, networked queues of autonomous service clusters: figures 5 to 9, the claims of section III, and more.

The topologies of the paper's figure 4 are not in its text, so every figure is drawn on four: a ring, a star, a
complete network and a grid. Each picture holds the perfect shared queue, which nothing can beat.
"""

from headrace.lab.experiments.paper002.beyond import BEYOND
from headrace.lab.experiments.paper002.claims import CLAIMS
from headrace.lab.experiments.paper002.deviations import DEVIATIONS
from headrace.lab.experiments.paper002.figures import FIGURES
from headrace.lab.papers import Paper

PAPER = Paper(
    name="002",
    title="A Collaborative Approach to Stochastic Load Balancing with Networked Queues of Autonomous Service Clusters",
    authors="C.-J. Lai and W. Polak",
    year=2006,
    figures=(*FIGURES, *BEYOND),
    claims=CLAIMS,
    deviations=DEVIATIONS,
    summary=(
        "Clusters of servers, each with its own queue, forward requests to their neighbours when a burst comes. It "
        "works, on every topology: waits shrink by an order of magnitude, and a burst's queue is gone within half a "
        "second of its end. The exchange of state, though, has hardly a part in it; forwarding by expected cost makes "
        "use of it, and cuts the longest times by 36 to 53 %."
    ),
)

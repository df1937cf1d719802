"""Paper 004, the relaxed queue: figures 2 to 7 of Lin and Liang, their claims, and what lies beyond them."""

from headrace.lab.experiments.paper004.beyond import BEYOND
from headrace.lab.experiments.paper004.beyond_claims import BEYOND_CLAIMS
from headrace.lab.experiments.paper004.claims import CLAIMS
from headrace.lab.experiments.paper004.figures import FIGURES
from headrace.lab.papers import Deviation, Paper

PAPER = Paper(
    name="004",
    title="A Scalable Relaxed Distributed Priority Queue",
    authors="Bill S. Lin and Xiaohua (Victor) Liang",
    year=2020,
    summary=(
        "A pop peeks a few random nodes and takes the best. Rank error (PEI) is how many more urgent items were "
        "queued. The authors' recorded runs are drawn beside ours, and the exact law of Walzer and Williams."
    ),
    figures=FIGURES + BEYOND,
    claims=CLAIMS + BEYOND_CLAIMS,
    deviations=(
        Deviation(
            "§3.2",
            "Figures 2 to 7 draw peeked nodes with replacement; the product draws distinct ones.",
            "The text says different nodes, but the authors' recorded runs agree with replacement only.",
        ),
        Deviation(
            "§4.2, figures 4 to 7",
            "30,000 items are filled in and 10,000 popped, with no adds.",
            "That is what the recorded runs did: they end with 20,000 left.",
        ),
        Deviation(
            "§4.2, figure 3",
            "Peek before add puts the item where the fewest more urgent ones stand ahead of it.",
            "That is the authors' program; the text's highest top priority is shown beside it, and is another system.",
        ),
        Deviation(
            "§4.3, figure 7",
            "The second best node is found by one scan that forgets to demote the best it had before, and the first "
            "item is given back before the second pop.",
            "Only this agrees with the recorded runs; the policy as worded is drawn beside it, and is worse.",
        ),
        Deviation(
            "§4.3",
            "In lock step all clients look, and then each in turn takes to the end; freely interleaved, the next round "
            "trip is that of a client drawn at random.",
            "The recorded runs are in lock step, which is the worst case; real clients are nearer to the other.",
        ),
    ),
)

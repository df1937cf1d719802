"""Where we read 002 otherwise than it is printed, and what we chose where it is silent."""

from headrace.lab.papers import Deviation

DEVIATIONS = (
    Deviation(
        "section II, P_ky",
        "Each neighbour sends its product without the receiver's factor, and nothing is divided.",
        "As printed, (1−R_y)/(1−P_k) sets a stale product against a fresh P_k: it can exceed 1, and 1 − it is then no "
        "probability. With fresh states both forms are equal, as a test shows. Where all products are 1, forwarding "
        "is even.",
    ),
    Deviation(
        "section III",
        "Delivery to a server (5 ms and 1 ms) does not keep that server occupied.",
        "The paper states a capacity of 125 requests a second, which is 5 servers over 40 ms. Option "
        "`--delivery occupy` has 46 ms, and a capacity of 109.",
    ),
    Deviation(
        "section III",
        "A user's stay is exponential with mean 0.5 s.",
        "A duration cannot be drawn from the Poisson distribution that is named.",
    ),
    Deviation(
        "figure 4",
        "Results are given for a ring, a star, a complete network and a grid.",
        "The figure that shows the paper's three topologies is not in the text. A grid of five would be a line, so the "
        "smallest grid has six clusters and a horizon of 50 s.",
    ),
    Deviation(
        "section III",
        "Each cluster sends its adverts in a phase of its own, drawn at random; cluster numbers k begin at 0.",
        "The paper says how often, not whether in step.",
    ),
    Deviation(
        "section III",
        "All requests sent before the horizon are served and counted, also those that end after it.",
        "Leaving out unfinished ones would favour the slower policy.",
    ),
    Deviation(
        "figures 7 and 8",
        "Speed-ups are ratios run by run, for the same requests, averaged over the seeds with 95 % intervals.",
        "The paper shows one run of each.",
    ),
)

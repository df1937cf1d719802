"""What is expected of the experiments beyond the figures: section 4.3's alternatives, and our own proposals."""

from __future__ import annotations

from headrace.core.estimates import Estimate
from headrace.lab.claims import AtLeast, AtMost, Between, Claim, about
from headrace.lab.experiments.paper004.beyond import CONTESTED, OURS, PLACES, against_law, beyond_minimum

BEYOND_CLAIMS = (
    Claim(
        name="004-law-growing-keys",
        text="With growing keys and one client, the mean rank error is that of Walzer and Williams's law.",
        source=OURS,
        experiments=("004-law",),
        measure=lambda results: against_law(results, "growing"),
        expect=about(1, within=0.02),
        unit="measured over law",
    ),
    Claim(
        name="004-law-uniform-keys",
        text="Uniform keys over a fixed backlog differ somewhat from it.",
        source=OURS,
        experiments=("004-law",),
        measure=lambda results: against_law(results, "uniform"),
        expect=Between(0.75, 1.25),
        unit="measured over law",
        note="The regime drifts: with time most keys that stay are far from urgent, and new ones overtake them.",
    ),
    Claim(
        name="004-hiding-leaves-the-degradation",
        text="If peeked items are hidden from other clients, the degradation would still persist.",
        source="§4.3, alternative 1",
        experiments=("004-alternatives",),
        measure=lambda results: results.ratio(
            "mean", of={"concurrency": 64, "policy": "hide"}, to={"concurrency": 1, "policy": "hide"}
        ),
        expect=AtLeast(2),
        unit="times, from 1 client to 64",
    ),
    Claim(
        name="004-locking-removes-the-degradation",
        text="Locking the peeked nodes eliminates the concurrency problem.",
        source="§4.3, alternative 2",
        experiments=("004-alternatives",),
        measure=lambda results: results.ratio(
            "mean", of={"concurrency": 64, "policy": "lock"}, to={"concurrency": 1, "policy": "lock"}
        ),
        expect=AtMost(1.1),
        unit="times, from 1 client to 64",
        why_not="Nodes that are often locked are seldom peeked, so the choice is no longer a fair one.",
    ),
    Claim(
        name="004-locking-limits-throughput",
        text="Locking would severely limit the overall throughput.",
        source="§4.3, alternative 2",
        experiments=("004-alternatives",),
        measure=lambda results: results.ratio(
            "requests_per_pop", of={"concurrency": 64, "policy": "lock"}, to={"concurrency": 1, "policy": "lock"}
        ),
        expect=AtLeast(2),
        unit="times the requests a pop, from 1 client to 64",
    ),
    Claim(
        name="004-retrying-avoids-both",
        text="Aborting and retrying avoids the problems of hiding and of locking, but may go on for long.",
        source="§4.3, alternative 3",
        experiments=("004-alternatives",),
        measure=lambda results: results.ratio(
            "mean", of={"concurrency": 64, "policy": "retry"}, to={"concurrency": 64, "policy": "best"}
        ),
        expect=AtMost(0.5),
        unit="of policy best, with 64 clients",
    ),
    Claim(
        name="004-conditional-beats-blind-beats-naive",
        text="A conditional pop whose refusal carries the fresh top beats the blind chain, which beats the naive pop.",
        source=OURS,
        experiments=("004-conditional",),
        measure=lambda results: {
            f"{first} over {second}, {nodes} nodes, {crowd} clients": results.ratio(
                "mean", of={"policy": first}, to={"policy": second}, nodes=nodes, interleave="free"
            )
            for nodes, crowd, _ in CONTESTED
            for first, second in (("conditional", "conditional-blind"), ("conditional-blind", "best"))
        },
        expect=AtMost(1),
    ),
    Claim(
        name="004-u-shape",
        text="With concurrent clients the error of the naive pop is U-shaped in the peeks.",
        source=OURS,
        experiments=("004-u-curve",),
        measure=lambda results: beyond_minimum(results, "best"),
        expect=AtLeast(1),
        unit="items: every node peeked, less the least",
    ),
    Claim(
        name="004-u-shape-conditional",
        text="So is that of the conditional pop.",
        source=OURS,
        experiments=("004-u-curve",),
        measure=lambda results: beyond_minimum(results, "conditional"),
        expect=AtLeast(1),
        unit="items: every node peeked, less the least",
        why_not="A refusal brings the fresh top, so what is stale is mended at the price of a request.",
    ),
    Claim(
        name="004-round-robin-beats-random",
        text="Round-robin from a random start per client beats random placement, and costs nothing.",
        source=OURS,
        experiments=("004-placements",),
        measure=lambda results: {
            f"{nodes} nodes": results.ratio(
                "mean", of={"place": "round-robin"}, to={"place": "random"}, nodes=nodes, concurrency=8
            )
            for nodes in (20, 100)
        },
        expect=AtMost(0.85),
        unit="of random, with 8 clients",
    ),
    Claim(
        name="004-fewest-of-two",
        text="The fewest inserts of two nodes does a little better than round-robin.",
        source=OURS,
        experiments=("004-placements",),
        measure=lambda results: {
            f"{nodes} nodes": results.ratio(
                "mean", of={"place": "fewest"}, to={"place": "round-robin"}, nodes=nodes, concurrency=8
            )
            for nodes in (20, 100)
        },
        expect=AtMost(1),
        unit="of round-robin, with 8 clients",
        note="With each node's count known exactly; from one client's own adds alone it is worse than round-robin.",
    ),
    Claim(
        name="004-overtaken",
        text="In steady work an item is overtaken as often, on average, as a pop errs.",
        source=OURS,
        experiments=("004-placements",),
        measure=lambda results: {
            f"{place}, {nodes} nodes": Estimate(
                results.estimate("overtaken_mean", nodes=nodes, place=place, concurrency=8).value
                / results.estimate("mean", nodes=nodes, place=place, concurrency=8).value
            )
            for nodes in (20, 100)
            for place in PLACES
        },
        expect=about(1, within=0.01),
        unit="overtaken over rank error, means",
    ),
    Claim(
        name="004-batches-cost-a-fraction",
        text="Merged batches take a fraction of the requests.",
        source=OURS,
        experiments=("004-batches",),
        measure=lambda results: results.estimate("requests_per_pop", batch=10, peeks=10),
        expect=AtMost(2),
        unit="requests an item, ten items from ten nodes",
    ),
)

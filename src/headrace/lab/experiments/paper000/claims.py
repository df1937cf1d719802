"""What the text of 000 says, number by number, and its five conclusions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from headrace.core.estimates import Estimate
from headrace.lab.claims import AtLeast, AtMost, Between, Claim, about, quotient
from headrace.lab.experiments.paper000.figures import FEW_HOPS, PRODUCTIONS, SHARES, production_share, shared
from headrace.lab.experiments.paper000.setup import HOPS, LOADS, NINE_TIMES, TWICE, modelled
from headrace.spark.plan.results import Results

Values = Mapping[str, Estimate | float]


def _by_load(metric: str, loads: tuple[int, ...], **where: Any) -> Callable[[Results], Values]:
    return lambda results: {f"{load} %": results.estimate(metric, consumers=load, **where) for load in loads}


def _compared(metric: str, of: int, to: int, loads: tuple[int, ...]) -> Callable[[Results], Values]:
    """The metric with `of` probes over that with `to`, by load."""
    return lambda results: {
        f"{load} %": quotient(
            results.estimate(metric, consumers=load, max_hops=of), results.estimate(metric, consumers=load, max_hops=to)
        )
        for load in loads
    }


def _gained(metric: str, over: str, enough: int, most: int, **where: Any) -> Callable[[Results], Estimate]:
    """What part of the way from 1 to `most` of a parameter is made by `enough` of it."""

    def measure(results: Results) -> Estimate:
        first, then, last = (results.estimate(metric, **where, **{over: at}) for at in (1, enough, most))
        way = last.value - first.value
        part = (then.value - first.value) / way
        spreads = [
            weight * (each.half_width or 0.0) / way
            for weight, each in ((1 - part, first), (1.0, then), (part, last))  # to first order
        ]
        return Estimate(part, math.hypot(*spreads))

    return measure


def _gained_by_load(metric: str, over: str, enough: int, most: int) -> Callable[[Results], Values]:
    return lambda results: {f"{load} %": _gained(metric, over, enough, most, consumers=load)(results) for load in LOADS}


def _limits(results: Results) -> Values:
    """W at five probes over M/(Nλ) - 1/μ."""
    return {
        f"{load} %": quotient(results.estimate("wait", consumers=load, max_hops=5), load - 100.0) for load in (150, 200)
    }


def _agreement(metric: str) -> Callable[[Results], Values]:
    """The corrected model over the simulation: the furthest point of each load's line."""

    def measure(results: Results) -> Values:
        found = {}
        for load in LOADS:
            ratios = [
                quotient(
                    modelled(metric, consumers=load, max_hops=hops),
                    results.estimate(metric, consumers=load, max_hops=hops),
                )
                for hops in HOPS
            ]
            found[f"{load} %"] = max(ratios, key=lambda one: abs(math.log(one.value)))
        return found

    return measure


def _half_widths(results: Results) -> Values:
    """The mean relative half-width of the wait in one run of 10⁶ objects, at the worst point of each load."""
    found = {}
    for load in LOADS:
        relative = []
        for point in results.points(consumers=load):
            results.values("wait", **point)  # Gone if the point is missing
            rows = results.by_seed(point, "wait").values()
            relative.append(sum((row.half_width or 0.0) / row.value for row in rows) / len(rows))
        found[f"{load} %"] = max(relative)
    return found


def _against_model(types: str) -> Callable[[Results], Values]:
    return lambda results: {
        f"h_max {hops}": quotient(
            modelled("wait", types=types, max_hops=hops), results.estimate("wait", types=types, max_hops=hops)
        )
        for hops in FEW_HOPS
    }


def _best_share(results: Results) -> Values:
    """The share of probes with the least wait, less the fast producers' share of production."""
    found = {}
    for types, shares in SHARES.items():
        waits = {share: results.estimate("wait", types=shared(types, share)).value for share in shares}
        name = "67/50" if types == TWICE else "50/10"
        found[name] = abs(min(waits, key=lambda share: waits[share]) - production_share(types))
    return found


def _reach(reach_sets: str, *, exclude_visited: bool) -> Callable[[Results], Values]:
    """W with one producer more in reach than probes, over W with all in reach, at three probes."""
    return lambda results: ratio_by_name(
        results,
        {"reach": 4, "max_hops": 3, "reach_sets": reach_sets, "exclude_visited": exclude_visited},
        {"reach": 0},
    )


def ratio_by_name(results: Results, of: Mapping[str, Any], to: Mapping[str, Any]) -> Values:
    return {"": quotient(results.estimate("wait", **of), results.estimate("wait", **to))}


def _enough_probes(by_load: Results, uneven: Results) -> Values:
    """The throughput with three probes over that with twenty (ten where producers are uneven)."""
    found: dict[str, Estimate | float] = dict(_compared("throughput", 3, 20, LOADS)(by_load))
    three, ten = (uneven.estimate("throughput", types=TWICE, max_hops=hops) for hops in (3, 10))
    return {**found, "67/50 at 100 %": quotient(three, ten)}


CLAIMS = (
    Claim(
        name="000-few-probes",
        text="At a load of 100 % or less, fewer than 2 probes are made on average, whatever h_max is.",
        source="section 4.1.1, figure 2",
        experiments=("000-fig2",),
        measure=lambda results: {
            f"{load} %": max(
                (results.estimate("h_avg", consumers=load, max_hops=hops) for hops in HOPS),
                key=lambda estimate: estimate.value,
            )
            for load in (50, 100)
        },
        expect=AtMost(2),
        unit="probes",
    ),
    Claim(
        name="000-probes-grow",
        text="Above 100 %, h_avg grows in proportion to h_max.",
        source="section 4.1.1, figure 2",
        experiments=("000-fig2",),
        measure=_compared("h_avg", 10, 5, (150, 200)),
        expect=Between(1.6, 2.0),
        note="The value is h_avg at h_max = 10 over that at 5: proportion would be 2.",
        why_not="It grows, but more slowly: a request that finds an object early stops probing.",
    ),
    Claim(
        name="000-below-four",
        text="Even under high load h_max = 5 means h_avg < 4.",
        source="section 4.1.1, figure 2",
        experiments=("000-fig2",),
        measure=_by_load("h_avg", (150, 200), max_hops=5),
        expect=AtMost(4),
        unit="probes",
    ),
    Claim(
        name="000-two-ticks",
        text="At loads below 100 % the wait quickly approaches 2 ticks.",
        source="section 4.1.1, figure 3",
        experiments=("000-fig3",),
        measure=_by_load("wait", (50,), max_hops=3),
        expect=about(2, within=0.02),
        unit="ticks",
    ),
    Claim(
        name="000-two-ticks-at-100",
        text="At a load of 100 % the wait quickly approaches 2 ticks.",
        source="section 4.1.1, figure 3",
        experiments=("000-fig3",),
        measure=lambda results: {
            f"h_max {hops}": results.estimate("wait", consumers=100, max_hops=hops) for hops in (5, 20)
        },
        expect=about(2, within=0.1),
        unit="ticks",
        why_not="At exactly 100 % about half of the producers are empty at any time, so that nearly 2 probes are made "
        "and some requests still wait: 3 ticks are the least.",
    ),
    Claim(
        name="000-limit-above",
        text="Above 100 % the wait quickly approaches M/(Nλ) − 1/μ.",
        source="section 4.1.1, figure 3",
        experiments=("000-fig3",),
        measure=_limits,
        expect=about(1, within=0.03),
        note="The value is W at h_max = 5 over the limit.",
    ),
    Claim(
        name="000-three-near-asymptote",
        text="With h_max = 3 the wait is close to its asymptote, at all loads but 100 %.",
        source="section 4.1.1, figure 3",
        experiments=("000-fig3",),
        measure=_compared("wait", 3, 20, (50, 150, 200)),
        expect=about(1, within=0.1),
        note="The value is W at h_max = 3 over that at 20.",
    ),
    Claim(
        name="000-three-near-asymptote-at-100",
        text="With h_max = 3 the wait is close to its asymptote at a load of 100 % too.",
        source="section 4.1.1, figure 3 (“in all cases”)",
        experiments=("000-fig3",),
        measure=_compared("wait", 3, 20, (100,)),
        expect=about(1, within=0.1),
        why_not="It is more than twice the asymptote; in throughput the difference is some 4 %, since consuming takes "
        "100 ticks.",
    ),
    Claim(
        name="000-five-gains",
        text="Near 100 %, h_max = 5 gives about 2.8 % over h_max = 3.",
        source="section 4.1.1; conclusion 2 says 3 %",
        experiments=("000-fig3",),
        measure=_compared("throughput", 5, 3, (100,)),
        expect=Between(1.023, 1.033),
        note="In throughput; the wait falls by two fifths.",
    ),
    Claim(
        name="000-fig2-agrees",
        text="The models' probes agree closely with the simulation.",
        source="section 4.1.1, figure 2",
        experiments=("000-fig2",),
        measure=_agreement("h_avg"),
        expect=about(1, within=0.05),
        why_not="At 100 % and many probes the model has too few: real requests meet empty producers in clusters, since "
        "one that misses tries again at once.",
    ),
    Claim(
        name="000-fig3-agrees",
        text="The models' waits agree closely with the simulation.",
        source="section 4.1.1, figure 3",
        experiments=("000-fig3",),
        measure=_agreement("wait"),
        expect=about(1, within=0.05),
        why_not="At 100 % the model is up to an eighth low: total stock and demand drift, so that objects are scarce "
        "everywhere at once, which independent producers do not show.",
    ),
    Claim(
        name="000-converges",
        text="At a load of 200 % and h_max = 1 the model does not converge.",
        source="section 4.1.1, figure 3",
        experiments=("000-fig3",),
        measure=lambda results: {
            "residual": modelled("residual", consumers=200, max_hops=1),
            "model over simulation − 1": abs(
                modelled("wait", consumers=200, max_hops=1) / results.estimate("wait", consumers=200, max_hops=1).value
                - 1
            ),
        },
        expect=AtLeast(0.1),
        why_not="Plain iteration does not; damped iteration or bracketing does, and agrees with the simulation.",
    ),
    Claim(
        name="000-intervals",
        text="With 10⁶ objects the 95 % intervals are within 2 %.",
        source="section 3",
        experiments=("000-fig3",),
        measure=_half_widths,
        expect=AtMost(0.02),
        note="Of the wait, for one run of 10⁶ objects, at each load's worst h_max, by 20 batch means.",
        why_not="Where few requests wait long (50 %, h_max = 1) and where stock drifts (100 %) a run of 10⁶ objects "
        "knows the wait within about 3 %; the figures repeat runs until it is within 2 %.",
    ),
    Claim(
        name="000-three-for-blocking",
        text="Most of what more probes do against full producers is done by h_max = 3.",
        source="section 4.1.1, figure 4",
        experiments=("000-fig4",),
        measure=_gained_by_load("producer_full", "max_hops", 3, 20),
        expect=AtLeast(0.8),
        note="The value is the part of the fall in p(f) from h_max = 1 to 20.",
    ),
    Claim(
        name="000-five-buffers",
        text="Most of what buffers do for the producers' utilization is done by five.",
        source="section 4.1.1, figure 5; conclusion 3",
        experiments=("000-fig5",),
        measure=_gained_by_load("producer_utilisation", "buffers", 5, 20),
        expect=AtLeast(0.8),
        note="h_max = 5; the value is the part of the gain from f = 1 to 20.",
    ),
    Claim(
        name="000-more-buffers",
        text="Additional buffers give a small additional throughput.",
        source="conclusion 3",
        experiments=("000-fig5",),
        measure=lambda results: {
            f"{load} %": quotient(
                results.estimate("throughput", consumers=load, buffers=20),
                results.estimate("throughput", consumers=load, buffers=5),
            )
            for load in LOADS
        },
        expect=Between(0.995, 1.05),
        note="f = 20 over f = 5.",
    ),
    Claim(
        name="000-uniform-pessimistic",
        text="With uniform production times the model is somewhat pessimistic: simulated waits are lower.",
        source="section 4.1.1, figure 6",
        experiments=("000-fig6",),
        measure=lambda results: {
            production: quotient(
                results.estimate("wait", production=production, consumers=100, max_hops=3),
                modelled("wait", production=production, consumers=100, max_hops=3),
            )
            for production in PRODUCTIONS[:2]
        },
        expect=AtMost(1),
        note="M = 100, h_max = 3, simulated over modelled. The paper's [50, 100] also makes objects faster: its load "
        "is 75 %, where waits are near 2 ticks anyway; with the mean kept, less variance halves the wait.",
    ),
    Claim(
        name="000-fast-half",
        text="Half of the producers at twice the rate make 67 % of the objects; a tenth at nine times makes 50 %.",
        source="section 4.2.1",
        experiments=(),
        measure=lambda: {
            "67/50": production_share(TWICE) / (2 / 3),
            "50/10": production_share(NINE_TIMES) / 0.5,
        },
        expect=about(1, within=0.005),
        note="Of what they make when nothing stops them; the value is the share over the paper's.",
    ),
    Claim(
        name="000-moderately-uneven",
        text="With moderately uneven producers (67/50) most of the benefit of more probes is had with h_max = 3.",
        source="section 4.2.1, figure 7",
        experiments=("000-fig7",),
        measure=_gained("wait", "max_hops", 3, 10, types=TWICE),
        expect=AtLeast(0.8),
        note="The value is the part of the fall in W from h_max = 1 to 10.",
    ),
    Claim(
        name="000-highly-uneven",
        text="With highly uneven producers (50/10) even 10 probes do not perform well.",
        source="section 4.2.1, figure 7; conclusion 4",
        experiments=("000-fig7",),
        measure=lambda results: quotient(
            results.estimate("wait", types=NINE_TIMES, max_hops=10), results.estimate("wait", types="", max_hops=10)
        ),
        expect=AtLeast(3),
        note="The value is W over that of alike producers.",
    ),
    Claim(
        name="000-never-fast",
        text="After 10 probes 35 % of the consumers have not found a fast producer.",
        source="section 4.2.1",
        experiments=(),
        measure=lambda: 0.9**10,
        expect=about(0.35, within=0.01),
        note="Of requests that make 10 probes, by arithmetic: 0.9¹⁰.",
    ),
    Claim(
        name="000-fig7-agrees",
        text="Simulated waits are close to the model's for both kinds of uneven producers.",
        source="section 4.2.1, figure 7",
        experiments=("000-fig7",),
        measure=lambda results: {
            f"{name}, {hops}": value
            for name, types in (("67/50", TWICE), ("50/10", NINE_TIMES))
            for hops, value in _against_model(types)(results).items()
        },
        expect=about(1, within=0.12),
        note="The value is the corrected model's W over the simulated one.",
        why_not="With 67/50 and many probes the model is up to an eighth low, as it is for alike producers at 100 %.",
    ),
    Claim(
        name="000-fig7-pessimistic",
        text="The model is somewhat pessimistic for highly uneven producers.",
        source="section 4.2.1, figure 7",
        experiments=("000-fig7",),
        measure=_against_model(NINE_TIMES),
        expect=AtLeast(1),
        why_not="As corrected, the model is at or below the simulation.",
    ),
    Claim(
        name="000-matched-access",
        text="Waits are least when the share of probes for fast producers is their share of what is made.",
        source="section 4.2.1, figure 8; conclusion 4",
        experiments=("000-fig8",),
        measure=_best_share,
        expect=AtMost(0.1),
        note="The value is how far off the best share on our grid is; waits are flat around it.",
    ),
    Claim(
        name="000-reach-random",
        text="Restricting each consumer to more than h_max producers costs little: with random sets.",
        source="section 4.3.1, figure 9; conclusion 5",
        experiments=("000-fig9",),
        measure=_reach("random", exclude_visited=False),
        expect=AtMost(1.15),
        why_not="Some producers are then in the reach of few consumers or none, and stand full while others are empty.",
    ),
    Claim(
        name="000-reach-balanced",
        text="Restricting each consumer to more than h_max producers costs little: with balanced sets.",
        source="section 4.3.1, figure 9; conclusion 5",
        experiments=("000-fig9",),
        measure=_reach("balanced", exclude_visited=False),
        expect=AtMost(1.15),
        why_not="A request then often probes the same empty producer twice.",
    ),
    Claim(
        name="000-reach-fresh",
        text="Restricting each consumer to more than h_max producers costs little: balanced, no producer probed twice.",
        source="section 4.3.1, figure 9; conclusion 5",
        experiments=("000-fig9",),
        measure=_reach("balanced", exclude_visited=True),
        expect=AtMost(1.15),
        note="h_max = 3, reach 4; the value is W over that with all 100 in reach.",
    ),
    Claim(
        name="000-three-probes",
        text="h_max = 3 works well for most loads and for moderately unbalanced producers.",
        source="conclusion 1",
        experiments=("000-fig3", "000-fig7"),
        measure=_enough_probes,
        expect=AtLeast(0.95),
        note="In throughput, over that with 20 probes (10 where producers are uneven).",
        why_not="With moderately uneven producers at 100 % three probes give up 7 % of the throughput of ten.",
    ),
    Claim(
        name="000-fewer-messages",
        text="With h_max = 5 fewer messages are sent than with the queue manager.",
        source="conclusion 2",
        experiments=("000-messages",),
        measure=lambda results: {
            f"{load} %": quotient(
                results.estimate("messages_per_object", design="stochastic", max_hops=5, consumers=load),
                results.estimate("messages_per_object", design="manager", consumers=load),
            )
            for load in LOADS
        },
        expect=AtMost(1),
    ),
    Claim(
        name="000-manager-messages",
        text="The queue manager needs three control messages an object besides the request and the reply.",
        source="section 2 (section 4.1.1 counts the request as a fourth)",
        experiments=("000-messages",),
        measure=lambda results: sum(
            results.estimate(f"messages.{kind}", design="manager", consumers=100).value
            for kind in ("inform", "ask", "answer")
        ),
        expect=about(3, within=0.005),
    ),
    Claim(
        name="000-multicast-messages",
        text="Multicasting lengths takes many messages: 2M + 2 an object.",
        source="section 2",
        experiments=("000-messages",),
        measure=lambda results: {
            f"{load} %": quotient(
                results.estimate("messages_per_object", design="multicast", consumers=load),
                2.0 * load + 2.0,
            )
            for load in LOADS
        },
        expect=about(1, within=0.05),
        note="The value is the messages over 2M + 2.",
        why_not="Above 100 % consumers wait: all rush to each object that is announced, and most of them miss; those "
        "that then wait at a producer get their object without a notice.",
    ),
)

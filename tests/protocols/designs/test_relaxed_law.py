"""The law of the relaxed queue against a brute-force chain, closed forms and published numbers."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.core.errors import Invalid
from headrace.protocols.designs import relaxed_law as law

LONGEST = 60
"""The chain's longest gap. In the cases below no gap has a mean above 4, so (3/4)**60 = 3e-8 is cut."""


def _landings(tops: tuple[int, ...], popped: int) -> list[tuple[float, int]]:
    """Where the popped node's next item lies: it owns a free place with 1/(nodes whose top is before)."""
    others = sorted(top for node, top in enumerate(tops) if node != popped)
    landings, left, place = [], 1.0, tops[popped] + 1
    while left > 1e-14:
        if place not in others:
            owned = 1 / (1 + sum(top < place for top in others))
            landings.append((left * owned, place))
            left *= 1 - owned
        place += 1
    return landings


def _chain(nodes: int, peeks: int, *, distinct: bool) -> list[float]:
    """The rank error's distribution, from the stationary chain of the gaps between sorted tops."""
    draws = itertools.combinations if distinct else lambda of, d: itertools.product(of, repeat=d)
    best = [min(drawn) for drawn in draws(range(nodes), peeks)]
    chosen = np.bincount(best, minlength=nodes) / len(best)
    states = list(itertools.product(range(1, LONGEST + 1), repeat=nodes - 1))
    number = {gaps: index for index, gaps in enumerate(states)}
    source, target, weight = [], [], []
    for gaps, index in number.items():
        tops = (0, *itertools.accumulate(gaps))
        for popped in np.flatnonzero(chosen):
            rest = [top for node, top in enumerate(tops) if node != popped]
            for share, place in _landings(tops, int(popped)):
                # What was popped is gone, so all beyond it move up by one.
                after = sorted(top - (top > tops[popped]) for top in (*rest, place))
                key = tuple(min(LONGEST, b - a) for a, b in itertools.pairwise(after))
                source.append(index)
                target.append(number[key])
                weight.append(chosen[popped] * share)
    at, to, by = np.array(source), np.array(target), np.array(weight)
    mass = np.full(len(states), 1 / len(states))
    change = 1.0
    while change > 1e-12:
        after_step = np.bincount(to, mass[at] * by, minlength=len(states))
        change, mass = np.abs(after_step - mass).sum(), after_step / after_step.sum()
    ranks = np.zeros(LONGEST * nodes)
    for gaps, index in number.items():
        for popped, top in enumerate((0, *itertools.accumulate(gaps))):
            ranks[top] += chosen[popped] * mass[index]
    return list(ranks)


@pytest.mark.parametrize(("nodes", "peeks", "distinct"), [(2, 2, False), (3, 2, True), (3, 2, False), (3, 3, False)])
def test_the_law_is_that_of_the_brute_force_chain(nodes: int, peeks: int, distinct: bool) -> None:
    chain = _chain(nodes, peeks, distinct=distinct)
    survival = list(itertools.islice(law.survival(nodes, peeks, distinct=distinct), 40))
    expected = [1 - sum(chain[: rank + 1]) for rank in range(40)]
    assert survival == pytest.approx(expected, abs=2e-6)
    assert law.mean(nodes, peeks, distinct=distinct) == pytest.approx(
        sum(rank * share for rank, share in enumerate(chain)), abs=2e-5
    )


@pytest.mark.parametrize(("nodes", "peeks", "expected"), [(20, 2, [11, 34, 61]), (100, 10, [7, 23, 45])])
def test_percentiles_of_the_papers_own_set_ups(nodes: int, peeks: int, expected: list[int]) -> None:
    assert law.percentiles(nodes, peeks, (0.5, 0.9, 0.99)) == expected


@given(st.integers(min_value=2, max_value=3000))
def test_two_distinct_peeks_have_a_closed_mean(nodes: int) -> None:
    assert law.mean(nodes, 2) == pytest.approx((nodes - 2) * (5 * nodes - 3) / (6 * nodes), rel=1e-9)


@given(st.integers(min_value=2, max_value=40), st.integers(min_value=2, max_value=40), st.booleans())
def test_survival_falls_from_the_share_missed_and_sums_to_the_mean(nodes: int, peeks: int, distinct: bool) -> None:
    peeks = min(peeks, nodes)
    survival = list(itertools.takewhile(lambda share: share > 1e-12, law.survival(nodes, peeks, distinct=distinct)))
    assert sum(survival) == pytest.approx(law.mean(nodes, peeks, distinct=distinct), abs=1e-6)
    assert all(a >= b for a, b in itertools.pairwise(survival))
    assert (survival or [0.0])[0] == pytest.approx(
        1 - peeks / nodes if distinct else (1 - 1 / nodes) ** peeks, abs=1e-12
    )


@given(st.integers(min_value=3, max_value=200))
def test_another_peek_or_a_draw_without_repeats_is_never_worse(nodes: int) -> None:
    means = [law.mean(nodes, peeks) for peeks in range(2, min(nodes, 8) + 1)]
    assert all(a > b for a, b in itertools.pairwise(means))
    assert law.mean(nodes, 2, distinct=False) > means[0]


@pytest.mark.parametrize(
    ("nodes", "peeks", "sentence"),
    [
        (5, 6, "use at most 5"),
        (5, 1, "use at least 2"),
        (5, 0, "needs at least 1"),
        (0, 2, "needs at least 1"),
    ],
)
def test_what_has_no_law_is_refused(nodes: int, peeks: int, sentence: str) -> None:
    with pytest.raises(Invalid, match=sentence):
        law.mean(nodes, peeks)

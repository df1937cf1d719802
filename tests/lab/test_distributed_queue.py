"""The distributed queue as it is told: types, laws of production, reach, and refusals in a sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.core.errors import Invalid
from headrace.lab.distributed_queue import PARAMETERS, ProducerType, reach_sets, understand
from headrace.lab.parameters import complete


def system(**given: Any) -> Any:
    return understand(complete(PARAMETERS, given))


def test_the_plain_system_is_one_type() -> None:
    plain = system()
    assert plain.types == (ProducerType(100, 0.01, 1.0),)
    assert plain.load == pytest.approx(1)
    assert not plain.limited_reach


def test_types_are_probed_evenly_by_their_share_or_by_their_rates() -> None:
    assert [kind.share for kind in system(types="10:0.05,90:1/180").types] == pytest.approx([0.1, 0.9])
    assert [kind.share for kind in system(types="10:0.05:2/3,90:1/180:1/3").types] == pytest.approx([2 / 3, 1 / 3])
    by_rates = system(types="10:0.05,90:1/180", access="rates")
    assert [kind.share for kind in by_rates.types] == pytest.approx([0.5, 0.5])
    assert by_rates.load == pytest.approx(1)


def test_uniform_production_says_its_own_mean() -> None:
    assert system(production="uniform:50:100").types[0].rate == pytest.approx(1 / 75)


@pytest.mark.parametrize(
    ("given_", "sentence"),
    [
        ({"producers": 0}, "--producers is 0: it must be at least 1"),
        ({"produce_rate": 0.0}, "--produce-rate is 0: it must be above 0"),
        ({"consume_rate": -1.0}, "--consume-rate is -1: it must be above 0"),
        ({"message_time": -1.0}, "--message-time is -1.0: it must be at least 0"),
        ({"reach": 101}, "--reach is 101: it must be at most the 100 producers"),
        ({"exclude_visited": True, "reach": 2}, "--max-hops is 3: with --exclude-visited it must be at most the 2"),
        ({"production": "uniform:9:3"}, "--production is 'uniform:9:3': it must be"),
        ({"production": "gamma:0"}, "--production is 'gamma:0': it must be"),
        ({"production": "weibull:2"}, "--production is 'weibull:2': it must be"),
        ({"production": "uniform:inf:nan"}, "--production is 'uniform:inf:nan': it must be"),
        ({"types": "10:0.05"}, "--types has 10 producers and --producers is 100: make them equal"),
        ({"types": "100"}, "--types has '100': each must be COUNT:RATE"),
        ({"types": "100:1/0"}, "--types has '100:1/0': each must be COUNT:RATE"),
        ({"types": "100:-1"}, "--types has '100:-1': COUNT and RATE must be above 0"),
        ({"types": "50:1:0.5,50:1:0.6"}, "--types has SHAREs that add up to 1.1: they must add up to 1"),
        ({"types": "50:1:0.5,50:1"}, "--types gives a SHARE to some types only"),
        ({"types": "100:1:1", "access": "rates"}, "--types gives SHAREs and --access is rates"),
        ({"types": "100:1", "production": "uniform:1:2"}, "--production uniform:FROM:TO sets every producer's times"),
        ({"design": "hub", "reach": 4}, "--reach is for --design stochastic: leave it out with hub"),
        ({"design": "multicast", "producers": 50_000, "consumers": 50_000}, "their product must be at most 20,000,000"),
        ({"access": "learned", "producers": 50_000, "consumers": 50_000}, "their product must be at most 20,000,000"),
        ({"design": "hub", "producers": 50_000, "buffers": 5_000}, "it must be at most 20,000,000"),
        ({"design": "manger"}, "Did you mean 'manager'?"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_sentence(given_: dict[str, Any], sentence: str) -> None:
    with pytest.raises(Invalid) as refusal:
        system(**given_)
    assert sentence in str(refusal.value)


@given(st.integers(1, 12), st.integers(1, 20), st.integers(1, 12), st.sampled_from(["random", "balanced"]))
def test_reach_sets_are_distinct_producers_and_balanced_ones_are_dealt_evenly(
    producers: int, consumers: int, reach: int, kind: str
) -> None:
    reach = min(reach, producers)
    told = system(producers=producers, consumers=consumers, reach=reach, reach_sets=kind)
    sets = reach_sets(told, 5)
    assert sets.shape == (consumers, reach)
    assert all(len(set(row)) == reach for row in sets.tolist())
    if kind == "balanced":
        served = np.bincount(sets.ravel(), minlength=producers)
        assert served.max() - served.min() <= 1


def test_reach_sets_are_the_seeds() -> None:
    told = system(reach=4, reach_sets="random")
    assert (reach_sets(told, 1) == reach_sets(told, 1)).all()
    assert (reach_sets(told, 1) != reach_sets(told, 2)).any()

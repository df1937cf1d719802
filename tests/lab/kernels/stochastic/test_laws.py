"""What holds for any run of the distributed queue, and the compiled code against the same source as plain Python."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.lab.distributed_queue import DESIGNS
from headrace.lab.kernels.stochastic import PARAMETERS, measure
from headrace.lab.parameters import complete

SMALL = {"producers": 6, "consumers": 7, "objects": 1_000, "message_time": 3.0, "buffers": 2}
SYSTEMS: tuple[dict[str, Any], ...] = (
    {},
    {"wait": "shortest", "processing_time": 2.0},
    {"wait": "late", "processing_time": 1.0, "consumers": 12},
    {"access": "learned", "types": "2:0.05,4:1/180", "wait": "late"},
    {"reach": 4, "reach_sets": "random", "exclude_visited": True, "production": "gamma:0.5"},
    {"reach": 3, "reach_sets": "balanced", "message_distribution": "deterministic", "production": "uniform:50:100"},
    {"design": "hub", "processing_time": 2.0, "production": "gamma:2"},
    {"design": "manager", "processing_time": 1.0},
    {"design": "multicast", "processing_time": 1.0, "production": "deterministic"},
)

PLAIN = """
import json, sys
from headrace.lab.kernels.stochastic import PARAMETERS, measure
from headrace.lab.parameters import complete
import numba
assert numba.config.DISABLE_JIT
import warnings
warnings.simplefilter("ignore")  # 64-bit words wrap around, as they should
print(json.dumps([measure(complete(PARAMETERS, given), 7) for given in json.load(sys.stdin)]))
"""


def simulated(seed: int = 1, **given: Any) -> dict[str, Any]:
    return measure(complete(PARAMETERS, given), seed)


def test_compiled_code_does_what_its_source_does() -> None:
    asked = [{**SMALL, **system} for system in SYSTEMS]
    plain = subprocess.run(
        [sys.executable, "-c", PLAIN],
        input=json.dumps(asked),
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    for given_, expected in zip(asked, json.loads(plain.stdout), strict=True):
        measured = simulated(7, **given_)
        assert measured.keys() == expected.keys()
        assert measured["messages"] == expected["messages"], given_
        for name in measured.keys() - {"messages"}:
            assert measured[name] == pytest.approx(expected[name], rel=1e-9, abs=1e-12), (given_, name)


systems = st.fixed_dictionaries(
    {
        "design": st.sampled_from(DESIGNS),
        "producers": st.integers(1, 12),
        "consumers": st.integers(1, 12),
        "buffers": st.integers(1, 4),
        "max_hops": st.integers(1, 5),
        "produce_rate": st.floats(0.001, 1.0),
        "consume_rate": st.floats(0.001, 1.0),
        "message_time": st.sampled_from([0.0, 0.5, 5.0]),
        "processing_time": st.sampled_from([0.0, 0.3]),
        "message_distribution": st.sampled_from(["exponential", "deterministic"]),
        "production": st.sampled_from(["exponential", "deterministic", "gamma:0.7"]),
        "wait": st.sampled_from(["at-last", "shortest", "late"]),
        "access": st.sampled_from(["uniform", "learned"]),
    }
).map(lambda given: given if given["design"] == "stochastic" else given | {"wait": "at-last", "access": "uniform"})


@settings(max_examples=60, deadline=None)
@given(systems, st.integers(0, 2**32))
def test_the_numbers_of_any_run_fit_together(system: dict[str, Any], seed: int) -> None:
    objects = 1_000
    edge = (system["consumers"] + 1) / objects  # requests that began before the count or end after it
    measured = simulated(seed, **system, objects=objects)
    for name in ("producer_full", "producer_empty", "producer_utilisation", "consumer_utilisation"):
        assert -1e-9 <= measured[name] <= 1 + 1e-9, name
    assert 0 <= measured["blocked"] <= 1 + edge
    assert measured["wait"] >= 0
    assert measured["throughput"] == pytest.approx(objects / measured["ticks"])
    assert measured["producer_utilisation"] == pytest.approx(1 - measured["producer_full"])
    assert measured["messages_per_object"] == pytest.approx(sum(measured["messages"].values()))
    assert measured["messages"]["object"] == pytest.approx(1)
    assert measured["h_avg"] >= 1 - edge
    if system["design"] == "stochastic":
        assert measured["h_avg"] <= system["max_hops"] * (1 + edge)
        assert measured["blocked"] <= measured["producer_empty"] * measured["h_avg"] + edge


@pytest.mark.parametrize("design", DESIGNS)
def test_the_same_seed_gives_the_same_numbers_and_another_seed_others(design: str) -> None:
    given_ = {**SMALL, "design": design}
    assert simulated(3, **given_) == simulated(3, **given_)
    assert simulated(3, **given_)["wait"] != simulated(4, **given_)["wait"]


@pytest.mark.parametrize("consumers", [50, 150])
def test_production_and_consumption_balance(consumers: int) -> None:
    """T = N λ U_p = M μ U_c (section 4.1)."""
    measured = simulated(consumers=consumers, objects=200_000)
    slack = 3 * measured["throughput_ci95"]
    assert measured["throughput"] == pytest.approx(100 * 0.01 * measured["producer_utilisation"], abs=slack)
    assert measured["throughput"] == pytest.approx(consumers * 0.01 * measured["consumer_utilisation"], abs=slack)


def test_messages_an_object_are_as_the_designs_say() -> None:
    stock = 100 * 5 / 5_000  # what is stored at the end was put or announced, and not yet taken
    manager = simulated(design="manager", objects=5_000)["messages"]
    assert manager == pytest.approx(dict.fromkeys(("inform", "ask", "answer", "fetch", "object"), 1), abs=stock)
    hub = simulated(design="hub", objects=5_000)["messages"]
    assert hub == pytest.approx(dict.fromkeys(("put", "ask", "room", "object"), 1), abs=stock)
    told = simulated(design="multicast", producers=10, consumers=10, objects=5_000)
    direct = told["messages"]["notice"] / (2 * 10)  # an object that goes straight to a waiting request is not announced
    assert 0.8 < direct <= 1.01
    assert told["messages"]["request"] == pytest.approx(1 + told["messages"]["miss"], abs=0.01)


def test_more_letters_than_there_was_room_for_change_nothing_but_their_number() -> None:
    """One producer's notices to many consumers, under way for long: the pool of letters grows on the way."""
    measured = simulated(design="multicast", producers=4, consumers=20, message_time=500.0, objects=1_000)
    assert measured["messages"]["notice"] == pytest.approx(40, rel=0.1)

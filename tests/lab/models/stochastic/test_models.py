"""Models 1, 2 and 3 and the pool model: exact cases, the paper's misprints, convergence, and the simulator beside."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.core.errors import Invalid
from headrace.lab.kernels.stochastic import PARAMETERS as SIMULATED
from headrace.lab.kernels.stochastic import measure
from headrace.lab.models.stochastic import PARAMETERS, check, solve
from headrace.lab.models.stochastic.producer import FORMS, READINGS
from headrace.lab.parameters import complete
from tests.lab.exact_chain import Probing


def predicted(**given: Any) -> dict[str, Any]:
    return solve(complete(PARAMETERS, given))


def simulated(**given: Any) -> dict[str, Any]:
    return measure(complete(SIMULATED, {"objects": 200_000, **given}), 1)


ONE = {"producers": 1, "consumers": 1, "max_hops": 1, "message_time": 0.0}


def test_the_corrected_state_dependent_form_is_exact_for_one_of_each_and_the_printed_one_is_not() -> None:
    exact = 100 / 6  # of 6 states without a waiting request, all alike, a request finds the one without object
    assert predicted(**ONE, reading="corrected")["wait"] == pytest.approx(exact)
    assert predicted(**ONE, reading="printed")["wait"] == pytest.approx(11.28, abs=0.005)
    measured = simulated(**ONE, objects=1_000_000)
    assert measured["wait"] == pytest.approx(exact, abs=2 * measured["wait_ci95"])


def test_state_dependent_arrivals_mislead_where_others_wait_elsewhere_and_eq_4_does_not() -> None:
    system = {"producers": 5, "consumers": 8, "max_hops": 1}
    measured = simulated(**system, objects=1_000_000)["wait"]
    assert predicted(**system, form="state-dependent")["wait"] == pytest.approx(0.84 * measured, rel=0.02)
    assert predicted(**system, form="approximate")["wait"] == pytest.approx(measured, rel=0.02)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("chain", "slack"),
    [
        (Probing((0.1,) * 2, (0.5,) * 2, consumers=3, buffers=2, max_hops=2, consume_rate=0.1, message_time=1.0), 0.25),
        (
            Probing((0.1,) * 3, (1 / 3,) * 3, consumers=3, buffers=3, max_hops=2, consume_rate=0.05, message_time=1.0),
            0.2,
        ),
    ],
    ids=["two and three", "three and three"],
)
def test_models_are_near_the_exact_chains_of_small_systems(chain: Probing, slack: float, form: str) -> None:
    """Few consumers are far from the Poisson process that the models take them for: hence the slack."""
    exact = chain.solve()
    found = predicted(
        producers=len(chain.rates),
        consumers=chain.consumers,
        buffers=chain.buffers,
        max_hops=chain.max_hops,
        produce_rate=chain.rates[0],
        consume_rate=chain.consume_rate,
        message_time=chain.message_time,
        form=form,
    )
    for name in ("throughput", "h_avg", "wait", "producer_empty"):
        assert found[name] == pytest.approx(exact[name], rel=slack), name


@pytest.mark.parametrize(
    ("system", "slack"),
    [
        ({"consumers": 50}, 0.01),
        ({"consumers": 100}, 0.08),
        ({"consumers": 150}, 0.02),
        ({"consumers": 200, "max_hops": 1}, 0.05),
        ({"consumers": 200, "max_hops": 5}, 0.02),
        ({"types": "50:2/150,50:1/150"}, 0.05),
        ({"types": "10:0.05,90:1/180"}, 0.05),
        ({"reach": 10, "reach_sets": "random"}, 0.2),
    ],
    ids=str,
)
def test_models_are_near_the_simulator_at_the_papers_size(system: dict[str, Any], slack: float) -> None:
    found, measured = predicted(**system), simulated(**system)
    assert found["wait"] == pytest.approx(measured["wait"], rel=slack)
    assert found["h_avg"] == pytest.approx(measured["h_avg"], rel=0.03)
    assert found["throughput"] == pytest.approx(measured["throughput"], rel=0.02)
    assert found["wait_p99"] == pytest.approx(measured["wait_p99"], rel=0.25)
    assert found["messages"].keys() == measured["messages"].keys()
    assert found.keys() >= measured.keys() - {"objects", "ticks"} - {n for n in measured if n.endswith("_ci95")}


def test_the_papers_case_that_did_not_converge_does() -> None:
    for form in FORMS:
        for reading in READINGS:
            found = predicted(consumers=200, max_hops=1, form=form, reading=reading)
            assert found["residual"] < 1e-7
            assert found["wait"] == pytest.approx(150, abs=5)


@pytest.mark.parametrize("form", FORMS)
def test_types_that_are_alike_are_model_1(form: str) -> None:
    one, two = predicted(form=form), predicted(form=form, types="30:0.01,70:0.01")
    assert (one["model"], two["model"]) == (1, 2)
    for name in ("wait", "h_avg", "throughput", "wait_p99"):
        assert two[name] == pytest.approx(one[name], rel=1e-6)


def test_reach_that_is_nearly_all_is_nearly_model_1() -> None:
    for sets in ("balanced", "random"):
        found = predicted(reach=99, reach_sets=sets)
        assert found["model"] == 3
        assert found["wait"] == pytest.approx(predicted()["wait"], rel=0.02)


systems = st.fixed_dictionaries(
    {
        "producers": st.sampled_from([1, 2, 5, 40]),
        "consumers": st.integers(1, 300),
        "buffers": st.sampled_from([1, 2, 5, 30]),
        "max_hops": st.sampled_from([1, 2, 3, 10]),
        "produce_rate": st.floats(0.001, 0.2),
        "consume_rate": st.floats(0.001, 0.2),
        "message_time": st.sampled_from([0.0, 1.0, 10.0]),
        "form": st.sampled_from(FORMS),
    }
)


@settings(max_examples=80, deadline=None)
@given(systems)
def test_the_corrected_models_always_converge_and_balance(system: dict[str, Any]) -> None:
    """T = M μ U_c = N λ U_p, with W as corrected; eq. 4 loses the requests that meet a line of M."""
    found = predicted(**system)
    assert found["residual"] < 1e-7
    if system["form"] == "state-dependent":
        consumed = system["consumers"] * system["consume_rate"] * found["consumer_utilisation"]
        assert consumed == pytest.approx(found["throughput"], rel=1e-5)
    assert 1 - 1e-9 <= found["h_avg"] <= system["max_hops"] + 1e-9
    assert found["wait_p99"] >= 0


@pytest.mark.parametrize("design", ["hub", "manager", "multicast"])
@pytest.mark.parametrize("consumers", [10, 20, 40])
def test_the_pool_model_is_near_the_simulator(design: str, consumers: int) -> None:
    system = {"design": design, "producers": 20, "consumers": consumers, "max_hops": 50}
    found, measured = predicted(**system), simulated(**system, objects=40_000)
    assert found["throughput"] == pytest.approx(measured["throughput"], rel=0.03)
    near = 0.3 + 2 * measured["wait_ci95"]  # of 40,000 objects the wait is not known well
    assert found["wait"] == pytest.approx(measured["wait"], rel=0.1, abs=near)
    assert found["producer_full"] == pytest.approx(measured["producer_full"], abs=0.03)


def test_a_hub_of_producers_with_one_buffer_is_exact_without_message_time() -> None:
    system = {"design": "hub", "producers": 3, "consumers": 6, "buffers": 1, "message_time": 0.0}
    measured = simulated(**system)
    assert predicted(**system)["wait"] == pytest.approx(measured["wait"], abs=2 * measured["wait_ci95"])


@pytest.mark.parametrize(
    ("given_", "sentence"),
    [
        ({"wait": "late"}, "no model covers --wait late"),
        ({"access": "learned"}, "no model covers --access learned"),
        ({"exclude_visited": True}, "no model covers --exclude-visited"),
        ({"form": "exact"}, "--form is 'exact': it must be one of"),
        ({"consumers": 0}, "--consumers is 0"),
        ({"producers": 9_000, "consumers": 9_000, "reach": 3, "reach_sets": "random"}, "they are modelled one by one"),
    ],
)
def test_what_no_model_covers_is_refused(given_: dict[str, Any], sentence: str) -> None:
    with pytest.raises(Invalid) as refusal:
        check(complete(PARAMETERS, given_))
    assert sentence in str(refusal.value)


@pytest.mark.parametrize(
    ("given_", "note"),
    [
        (
            {"form": "approximate", "producers": 2, "consumers": 100, "max_hops": 1},
            "the approximate form is out of its range",
        ),
        ({"production": "uniform:50:100"}, "production times are taken as exponential"),
        ({"reading": "printed"}, "the printed equations let production and consumption differ"),
        ({"processing_time": 0.1}, "queueing for it is left out"),
        ({"design": "hub", "processing_time": 0.6}, "the hub is"),
        ({"design": "multicast", "consumers": 145}, "notices are too few"),
    ],
)
def test_a_form_out_of_its_range_says_so(given_: dict[str, Any], note: str) -> None:
    assert any(note in said for said in predicted(**given_)["notes"])


def test_a_multicast_that_is_announced_to_idle_consumers_is_in_its_range() -> None:
    system = {"design": "multicast", "consumers": 60}
    modelled = predicted(**system)
    assert not any("too few" in said for said in modelled["notes"])
    assert modelled["messages_per_object"] == pytest.approx(
        simulated(**system, objects=20_000)["messages_per_object"], rel=0.05
    )

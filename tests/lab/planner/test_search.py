"""Plans meet their targets in simulation, are the cheapest that do, and say what would do where none does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headrace.lab.planner import picture
from headrace.lab.planner.search import Plan, plan
from headrace.lab.planner.telling import as_data, as_text
from headrace.lab.planner.workload import read, understand

EXAMPLES = Path(__file__).parents[3] / "examples" / "workloads"


def planned(targets: dict[str, float], limits: dict[str, Any] | None = None, **workload: Any) -> Plan:
    plain = {"producers": 20, "consumers": 20, "produce_rate": 10.0, "consume_rate": 10.0, "item_bytes": 100_000}
    document = {"workload": plain | workload, "targets": targets, "limits": limits or {}}
    return plan(understand(document, title="test"))


@pytest.mark.parametrize("design", ["stochastic", "manager", "hub", "multicast"])
def test_each_examples_plan_is_its_design_and_keeps_its_targets(design: str) -> None:
    found = plan(read(EXAMPLES / f"{design}.toml"))
    assert found.chosen.design == design
    assert not found.missed
    values = found.figures.by_target()
    assert all(values[name] <= target for name, target in found.workload.targets.given().items())


def test_no_cheaper_candidate_that_was_simulated_meets_the_targets() -> None:
    found = planned({"mean_wait_seconds": 0.004, "messages_per_item": 4.5})
    assert not found.missed
    for figures in found.simulated.values():
        values = figures.by_target()
        fits = values["mean_wait_seconds"] <= 0.004 and values["messages_per_item"] <= 4.5
        if fits and figures.throughput > 0.95 * found.figures.throughput:
            assert found.figures.messages_per_item.value <= figures.messages_per_item.value + 0.25


def test_a_target_that_nothing_meets_is_named_with_what_would_do() -> None:
    found = planned({"mean_wait_seconds": 0.02}, consumers=40, limits={"designs": ["stochastic", "manager"]})
    assert found.missed == ("mean_wait_seconds",)
    changes = [remedy.change for remedy in found.remedies]
    assert any(change.startswith("mean_wait_seconds of 0.") for change in changes)
    assert any("producers instead of 20" in change for change in changes)
    assert any("consumers instead of 40" in change for change in changes)
    for remedy in found.remedies[1:]:
        assert remedy.figures.mean_wait_seconds.value <= 0.02
    text = as_text(found)
    assert "nothing meets mean_wait_seconds" in text
    assert "What would do" in text
    assert as_data(found)["met"] is False


def test_uneven_producers_are_probed_by_learned_rates() -> None:
    sources = [{"producers": 2, "produce_rate": 45.0}, {"producers": 18, "produce_rate": 5.0}]
    workload = {"sources": sources, "consumers": 18, "consume_rate": 10.0}
    document = {"workload": workload, "targets": {"mean_wait_seconds": 0.006}, "limits": {"designs": ["stochastic"]}}
    found = plan(understand(document, title="uneven"))
    assert not found.missed
    assert found.chosen.access == "learned"
    assert "access" in as_data(found)["reasons"]


def test_a_limit_of_connections_gives_balanced_reach() -> None:
    found = planned({}, limits={"connections": 5, "designs": ["stochastic"]})
    assert found.chosen.options()["reach"] == 5
    assert found.chosen.options()["reach_sets"] == "balanced"


def test_a_hub_whose_link_cannot_carry_the_items_is_out() -> None:
    found = planned({}, item_bytes=1_000_000, bandwidth_bytes_per_second=100e6)
    assert all(candidate.design != "hub" for candidate in found.simulated)
    assert "hub cannot carry the items" in " ".join(as_text(found).split())


def test_every_choice_has_its_reason() -> None:
    told = as_data(planned({"p99_wait_seconds": 0.1}))
    assert {"load", "design", "buffers"} <= told["reasons"].keys()
    assert all(len(reason) > 20 for reason in told["reasons"].values())


def test_the_picture_shows_every_design_and_the_choice(tmp_path: Path) -> None:
    found = planned({"mean_wait_seconds": 0.01})
    picture.save(found, tmp_path / "plan.svg")
    drawn = (tmp_path / "plan.svg").read_text()
    for label in ("stochastic, model", "manager, simulated", "the plan", "target"):
        assert label in drawn

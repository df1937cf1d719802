"""All scenarios by name, and one way to run the plan of any of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from headrace.sim.network_run import NetworkRun
from headrace.sim.network_workloads import NETWORK_SCENARIOS, make_network_plan
from headrace.sim.run import Result, Run
from headrace.sim.steps import Plan
from headrace.sim.workloads import SCENARIOS, Scenario, make_plan

ALL: Final[Mapping[str, Scenario]] = {**SCENARIOS, **NETWORK_SCENARIOS}


def plan_of(name: str, seed: int) -> Plan:
    """The plan of one seed of a scenario."""
    return make_network_plan(name, seed) if name in NETWORK_SCENARIOS else make_plan(name, seed)


def carry_out(plan: Plan, *, story: list[str] | None = None) -> Result:
    """Run a plan, with a network or without."""
    return (Run if plan.weather is None else NetworkRun)(plan, story=story).go()

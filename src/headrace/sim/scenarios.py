"""All scenarios by name, and one way to run the plan of any of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from headrace.sim.market_run import MarketRun
from headrace.sim.market_steps import MarketPlan
from headrace.sim.market_workloads import MARKET_SCENARIOS, MarketScenario, make_market_plan
from headrace.sim.network_run import NetworkRun
from headrace.sim.network_workloads import NETWORK_SCENARIOS, make_network_plan
from headrace.sim.run import Result, Run
from headrace.sim.steps import Plan
from headrace.sim.workloads import SCENARIOS, Scenario, make_plan

AnyPlan = Plan | MarketPlan

ALL: Final[Mapping[str, Scenario | MarketScenario]] = {**SCENARIOS, **NETWORK_SCENARIOS, **MARKET_SCENARIOS}


def plan_of(name: str, seed: int) -> AnyPlan:
    """The plan of one seed of a scenario."""
    if name in MARKET_SCENARIOS:
        return make_market_plan(name, seed)
    return make_network_plan(name, seed) if name in NETWORK_SCENARIOS else make_plan(name, seed)


def carry_out(plan: AnyPlan, *, story: list[str] | None = None) -> Result:
    """Run a plan: of the parties of a design, or of a node, with a network or without."""
    if isinstance(plan, MarketPlan):
        return MarketRun(plan, story=story).go()
    return (Run if plan.weather is None else NetworkRun)(plan, story=story).go()

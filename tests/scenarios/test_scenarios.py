"""The simulator over every scenario, a few seeds of each; `headrace sim run` takes as many as you like."""

from __future__ import annotations

import pytest

from headrace.sim.run import Run
from headrace.sim.workloads import SCENARIOS, make_plan

SEEDS = 16


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("seed", range(SEEDS))
def test_nothing_is_lost_unexpected_or_unexplained(scenario: str, seed: int) -> None:
    result = Run(make_plan(scenario, seed)).go()
    assert result.verdict.is_good, result.verdict.first

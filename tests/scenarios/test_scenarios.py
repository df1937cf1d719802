"""The simulator over every scenario, a few seeds of each; `headrace sim run` takes as many as you like."""

from __future__ import annotations

import pytest

from headrace.sim.scenarios import ALL, carry_out, plan_of

SEEDS = 16


@pytest.mark.parametrize("scenario", ALL)
@pytest.mark.parametrize("seed", range(SEEDS))
def test_nothing_is_lost_unexpected_or_unexplained(scenario: str, seed: int) -> None:
    result = carry_out(plan_of(scenario, seed))
    assert result.verdict.is_good, result.verdict.first

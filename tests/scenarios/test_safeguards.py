"""Each safeguard that is taken away is missed, on the invariant it guards, where nothing is broken with it."""

from __future__ import annotations

import pytest

from headrace.sim.safeguards import SAFEGUARDS, Safeguard, caught_at
from headrace.sim.scenarios import carry_out, plan_of


@pytest.mark.parametrize("safeguard", SAFEGUARDS, ids=lambda safeguard: safeguard.name)
def test_a_safeguard_that_is_away_is_missed(safeguard: Safeguard) -> None:
    seed = caught_at(safeguard, range(100))
    assert seed is not None
    assert carry_out(plan_of(safeguard.scenario, seed)).verdict.is_good

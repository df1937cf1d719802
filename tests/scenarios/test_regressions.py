"""Seeds that once failed, and what they found. The mended behaviour has its own small test beside the code."""

from __future__ import annotations

import pytest

from headrace.sim.scenarios import carry_out, plan_of

FOUND = [
    ("calm", 2, "a named pop at its limit kept the node busy for ever"),
    ("calm", 3, "a name was ended twice in one batch"),
    ("calm", 4, "a pop was repeated under its name before the first was written"),
    ("calm", 51, "an item stayed held though there was room among the dead"),
    ("crashes", 1, "extending a named pop gave its items a lease's time"),
    ("crashes", 3, "a snapshot left out an item that was held after it expired"),
    ("leases", 3, "a lease that was extended expired twice at once"),
    ("time", 48, "a late commit of a dead item buried none that was held"),
    ("disk", 11, "a node without room for its claim served for ever without it"),
    ("disk", 36, "a waiting pop was forgotten when a full disk took a decision back"),
    ("storm", 42, "a purge decided with a revival left one state live and another in recovery"),
]


@pytest.mark.parametrize(("scenario", "seed", "found"), FOUND)
def test_what_was_found_stays_mended(scenario: str, seed: int, found: str) -> None:
    result = carry_out(plan_of(scenario, seed))
    assert result.verdict.is_good, (found, result.verdict.first)

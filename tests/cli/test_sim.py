from __future__ import annotations

import json

from click.testing import CliRunner

from headrace.cli.sim import sim
from headrace.sim import campaign
from headrace.sim.safeguards import SAFEGUARDS


def test_a_run_prints_what_was_found_as_json() -> None:
    done = CliRunner().invoke(sim, ["run", "--scenario", "calm", "--seeds", "3:5", "--json"])
    assert done.exit_code == 0
    found = json.loads(done.stdout)
    assert list(found)[:6] == ["runs", "lost", "unexpected", "unexplained_duplicates", "failed_seeds", "faults"]
    assert (found["runs"], found["lost"], found["failed_seeds"]) == (2, 0, [])


def test_jobs_change_nothing_but_the_time() -> None:
    alone = campaign.run_all(["calm", "crashes"], range(3)).as_json()
    assert campaign.run_all(["calm", "crashes"], range(3), jobs=2).as_json() == alone


def test_a_scenario_that_does_not_exist_is_named_with_the_nearest() -> None:
    done = CliRunner().invoke(sim, ["run", "--scenario", "crashs"])
    assert "Did you mean 'crashes'?" in str(done.exception)


def test_seeds_that_are_none_are_usage_errors() -> None:
    for seeds in ("3:3", "x:y", "-2:1"):
        done = CliRunner().invoke(sim, ["run", "--seeds", seeds])
        assert done.exit_code == 2
        assert "A:B" in done.stderr


def test_a_failing_seed_is_listed_and_the_exit_code_says_so() -> None:
    safeguard = next(safeguard for safeguard in SAFEGUARDS if safeguard.name == "stale leases are refused")
    with safeguard.off():
        run = CliRunner().invoke(sim, ["run", "--scenario", "leases", "--seeds", "0:1", "--json"])
        told = CliRunner().invoke(sim, ["replay", "--scenario", "leases", "--seed", "0", "--json"])
    assert run.exit_code == told.exit_code == 1
    assert json.loads(run.stdout)["failed_seeds"] == [0]
    failure = json.loads(told.stdout)
    assert failure["invariant"] == "fencing"
    assert failure["steps"] < failure["steps_before"]


def test_a_seed_that_breaks_nothing_is_replayed_with_one_sentence() -> None:
    done = CliRunner().invoke(sim, ["replay", "--scenario", "calm", "--seed", "0"])
    assert (done.exit_code, done.stdout) == (0, "nothing is broken in seed 0 of calm\n")

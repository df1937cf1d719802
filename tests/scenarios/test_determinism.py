"""One seed is one run, whatever the interpreter does with its hashes."""

from __future__ import annotations

import os
import subprocess
import sys

from headrace.sim.run import Run
from headrace.sim.workloads import SCENARIOS, make_plan

PRINT_TRACES = """
from headrace.sim.run import Run
from headrace.sim.workloads import SCENARIOS, make_plan
for name in SCENARIOS:
    for seed in (3, 4):
        print(Run(make_plan(name, seed)).go().trace)
"""


def traces(hash_seed: str) -> list[str]:
    environment = os.environ | {"PYTHONHASHSEED": hash_seed}
    done = subprocess.run(
        [sys.executable, "-c", PRINT_TRACES], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def test_a_seed_has_one_trace_under_any_hash_seed() -> None:
    first = traces("1")
    assert first == traces("2")
    assert len(set(first)) == len(first) == 2 * len(SCENARIOS)


def test_a_story_changes_nothing_of_the_run() -> None:
    story: list[str] = []
    assert Run(make_plan("storm", 5), story=story).go().trace == Run(make_plan("storm", 5)).go().trace
    assert story


def test_every_fault_really_fires() -> None:
    fired = set()
    for name in SCENARIOS:
        for seed in range(6):
            fired |= Run(make_plan(name, seed)).go().faults.keys()
    assert fired >= {
        "torn_write",
        "lost_write",
        "short_write",
        "disk_full",
        "write_error",
        "sync_error",
        "create_error",
        "bit_flip",
        "damage_found",
        "lost_name",
        "lost_size",
        "stale_blocks",
        "crash",
        "kill",
        "power_cut",
        "pause",
        "clock_step",
        "snapshot",
        "reopened",
        "lost_answer",
        "disconnect",
        "client_died",
        "stop",
    }

"""One seed is one run, whatever the interpreter does with its hashes."""

from __future__ import annotations

import os
import subprocess
import sys

from headrace.sim.scenarios import ALL, carry_out, plan_of

PRINT_TRACES = """
from headrace.sim.scenarios import ALL, carry_out, plan_of
for name in ALL:
    for seed in (3, 4):
        print(carry_out(plan_of(name, seed)).trace)
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
    assert len(set(first)) == len(first) == 2 * len(ALL)


def test_a_story_changes_nothing_of_the_run() -> None:
    story: list[str] = []
    assert carry_out(plan_of("storm", 5), story=story).trace == carry_out(plan_of("storm", 5)).trace
    assert story


def test_every_fault_really_fires() -> None:
    fired = set()
    for name in ALL:
        for seed in range(6):
            fired |= carry_out(plan_of(name, seed)).faults.keys()
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

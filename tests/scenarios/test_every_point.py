"""One small workload: a crash at each fault point of its disk and of its recoveries, and writes torn at each byte."""

from __future__ import annotations

import msgspec
import pytest

from headrace.core.commands import Add, Pop
from headrace.core.items import Item, encode_item
from headrace.core.limits import Limits
from headrace.sim.process import Pace
from headrace.sim.run import Result, Run
from headrace.sim.steps import Ask, CrashAt, Plan, Settle, Step
from headrace.sim.world import START_US, WALL_US

LIMITS = Limits()
PACE = Pace(sync_wait_us=0, sync_us=3_000, snapshot_records=8, part_us=100)
GAP_US = 2_000


def items(number: int) -> list[bytes]:
    return [encode_item(Item(b"x" * 40), number.to_bytes(16, "big"), WALL_US, LIMITS)]


def small_plan(crash: CrashAt) -> Plan:
    steps = []
    for n in range(12):
        at_us = START_US + 30_000 + n * 3 * GAP_US
        steps.append(Step(at_us, 0, Ask(Add("q", items(2 * n + 1)))))
        steps.append(Step(at_us + GAP_US, 1, Ask(Pop(["q"], lease_us=60_000_000))))
        steps.append(Step(at_us + 2 * GAP_US, 1, Settle("commit", 0, added=[("r", items(2 * n + 2))])))
    return Plan("every-point", 0, LIMITS, PACE, 2, ["q", "r"], [Step(START_US + 30_000, -1, crash), *steps])


def run(crash: CrashAt) -> Result:
    result = Run(small_plan(crash)).go()
    assert result.verdict.is_good, (crash, result.verdict.first)
    return result


@pytest.mark.parametrize("power", [False, True])
def test_a_crash_at_each_fault_point_loses_nothing(power: bool) -> None:
    point = 1
    while run(CrashAt(point, power)).faults["crash"]:
        point += 1
    assert point > 100


def test_a_crash_at_each_fault_point_of_a_recovery_loses_nothing() -> None:
    point = 1
    while run(CrashAt(60, True, [point])).faults["crash"] == 2:
        point += 1
    assert point > 15


@pytest.mark.parametrize("power", [False, True])
def test_a_write_torn_at_each_byte_loses_nothing(power: bool) -> None:
    torn = 0
    for point in (3, 20, 41):
        for byte in range(240):
            torn += run(CrashAt(point, power, tear_at=byte)).faults["torn_write"]
    assert torn > 200


def test_the_small_workload_writes_snapshots_and_several_segments() -> None:
    plan = small_plan(CrashAt(100_000, False))
    assert Run(msgspec.structs.replace(plan, steps=plan.steps[1:])).go().faults["snapshot"] >= 4

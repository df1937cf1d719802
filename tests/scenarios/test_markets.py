"""The parties of the designs under faults; that nothing is broken, `test_scenarios` sees."""

from __future__ import annotations

from collections import Counter

from headrace.sim.scenarios import carry_out, plan_of

SEEDS = range(12)


def fired(scenario: str) -> Counter[str]:
    total = Counter[str]()
    for seed in SEEDS:
        total += carry_out(plan_of(scenario, seed)).faults
    return total


def test_probes_hand_overs_and_processes_of_the_stochastic_queue_meet_every_fault() -> None:
    assert fired("stochastic").keys() >= {
        *(f"{what}_{kind}" for what in ("lost", "doubled", "late") for kind in ("request", "forward", "object")),
        *(f"cut_{kind}" for kind in ("settled", "inquiry")),
        *("cut_in_hand_over", "vanished_waiting", "crashed_with_waiting", "crash", "torn_write", "repeated"),
    }


def test_links_hand_overs_and_state_messages_of_sites_meet_every_fault() -> None:
    assert fired("networked").keys() >= {
        *(f"{what}_{kind}" for what in ("lost", "doubled", "late") for kind in ("advert", "object", "settled")),
        *("cut_in_hand_over", "cut_advert", "withdrawn", "withdrawn_in_hand_over", "crash", "repeated"),
    }


def test_a_hub_meets_lost_puts_and_room_and_crashes() -> None:
    assert fired("hub").keys() >= {
        *(f"{what}_{kind}" for what in ("lost", "doubled", "late") for kind in ("put", "ask", "object", "room")),
        *("crashed_with_waiting", "vanished_waiting", "cut_put", "crash"),
    }


def test_tables_of_lengths_meet_lost_late_and_doubled_notices() -> None:
    assert fired("multicast").keys() >= {
        *(f"{what}_{kind}" for what in ("lost", "doubled", "late") for kind in ("notice", "request", "object")),
        *("crashed_with_waiting", "vanished_waiting", "cut_notice", "crash"),
    }

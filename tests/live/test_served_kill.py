"""The served node and its clients killed with -9 under load, again and again: the books balance at the end."""

from contextlib import ExitStack
from pathlib import Path

import pytest

import headrace
from tests.live.ledger import Fleet, Ledger, check_books, drain
from tests.live.node import Node

LIVES = 5
HOWS = ("threads", "tasks")


@pytest.mark.parametrize("durability", ["os", "fsync"])
def test_the_node_is_killed_in_a_loop_and_its_clients_notice_nothing(tmp_path: Path, durability: str) -> None:
    ledger = Ledger()
    with Node(tmp_path, durability=durability) as node, ExitStack() as stack:
        prepare(node)
        fleets = [Fleet(ledger, node.url, how, how, lease_seconds=60) for how in HOWS]
        for fleet in fleets:
            stack.callback(fleet.kill)
        for _ in range(LIVES):
            ledger.wait_for_more(300)
            node.kill()
            node.start()
        ledger.wait_for_more(300)
        for fleet in fleets:
            fleet.stop()
        with headrace.connect(node.url) as hr:
            drain(hr)
            check_books(hr, ledger)
            assert hr.stats("in").committed == len(ledger.promised)
        assert ledger.doubts == []
        assert ledger.refusals == []


def test_workers_are_killed_in_a_loop_and_their_work_is_done_by_others(tmp_path: Path) -> None:
    ledger = Ledger()
    with Node(tmp_path) as node, ExitStack() as stack:
        prepare(node)
        for life in range(LIVES):
            fleets = [Fleet(ledger, node.url, f"{how}-{life}", how, lease_seconds=1.0) for how in HOWS]
            for fleet in fleets:
                stack.callback(fleet.kill)
            ledger.wait_for_more(200 + 50 * life)
            fleets[life % 2].kill()
            ledger.wait_for_more(100)
            fleets[1 - life % 2].kill()
        with headrace.connect(node.url) as hr:
            drain(hr)
            check_books(hr, ledger)
            assert hr.stats("in").queued == hr.stats("in").leased == 0
        assert ledger.doubts == []


def test_the_node_and_its_workers_are_killed_by_turns(tmp_path: Path) -> None:
    ledger = Ledger()
    with Node(tmp_path, durability="fsync") as node, ExitStack() as stack:
        prepare(node)
        stays = Fleet(ledger, node.url, "stays", "threads", lease_seconds=1.0)
        stack.callback(stays.kill)
        for life in range(LIVES):
            goes = Fleet(ledger, node.url, f"goes-{life}", HOWS[life % 2], lease_seconds=1.0)
            stack.callback(goes.kill)
            ledger.wait_for_more(200)
            node.kill()
            goes.kill()
            node.start()
        ledger.wait_for_more(200)
        stays.stop()
        with headrace.connect(node.url) as hr:
            drain(hr)
            check_books(hr, ledger)
        assert ledger.doubts == []


def prepare(node: Node) -> None:
    with headrace.connect(node.url) as hr:
        hr.declare("in", capacity_items=200, max_crashes=10_000)

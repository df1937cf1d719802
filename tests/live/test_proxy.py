"""Clients that reach the node only through a proxy that delays, cuts, drops and resets; and books that balance."""

from contextlib import ExitStack
from pathlib import Path

import pytest

import headrace
from tests.live.ledger import Fleet, Ledger, check_books, drain
from tests.live.node import Node
from tests.live.proxy import FATES, Proxy


@pytest.mark.parametrize("seed", [1, 2])
def test_connections_are_cut_all_the_time_and_every_step_is_done_once(tmp_path: Path, seed: int) -> None:
    ledger = Ledger()
    with Node(tmp_path) as node, Proxy(node.port, seed=seed) as proxy, ExitStack() as stack:
        with headrace.connect(node.url) as hr:
            hr.declare("in", capacity_items=200, max_crashes=10_000)
            fleets = [Fleet(ledger, proxy.url, how, how, lease_seconds=60) for how in ("threads", "tasks")]
            for fleet in fleets:
                stack.callback(fleet.kill)
            while min(proxy.fates[fate] for fate in FATES) < 5:
                ledger.wait_for_more(50)
            node.kill()
            node.start()
            ledger.wait_for_more(50)
            proxy.honest = True
            for fleet in fleets:
                fleet.stop()
            drain(hr)
            check_books(hr, ledger)
            assert hr.stats("in").committed == len(ledger.promised)
        assert ledger.doubts == []
        assert ledger.refusals == []

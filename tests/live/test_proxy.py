"""Clients that reach the node only through a proxy that delays, cuts, drops and resets; and books that balance."""

import asyncio
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


def test_a_connection_that_is_up_and_says_nothing_is_given_up_for_a_new_one(tmp_path: Path) -> None:
    with Node(tmp_path) as node, Proxy(node.port, seed=0) as proxy:
        proxy.honest = True
        with headrace.connect(proxy.url, timeout=1.0) as hr:
            hr.add("q", b"before")
            proxy.mute = True
            with pytest.raises(headrace.OutcomeUnknown):
                hr.add("q", b"in doubt")
            proxy.mute = False
            hr.add("q", b"after")
            assert [item.body for item in hr.peek("q", 9)] == [b"before", b"after"]


def test_so_it_is_with_asyncio(tmp_path: Path) -> None:
    async def program(proxy: Proxy) -> list[bytes]:
        async with headrace.aconnect(proxy.url, timeout=1.0) as hr:
            await hr.add("q", b"before")
            proxy.mute = True
            with pytest.raises(headrace.OutcomeUnknown):
                await hr.add("q", b"in doubt")
            proxy.mute = False
            await hr.add("q", b"after")
            return [item.body for item in await hr.peek("q", 9)]

    with Node(tmp_path) as node, Proxy(node.port, seed=0) as proxy:
        proxy.honest = True
        assert asyncio.run(program(proxy)) == [b"before", b"after"]

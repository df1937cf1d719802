"""`headrace serve`, and every command on a node that is served."""

import re
import signal
from pathlib import Path

import pytest

from tests.cli.conftest import Headrace
from tests.cli.node import node


@pytest.mark.parametrize(("sign", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_it_stops_in_good_order_and_what_was_added_is_there(
    headrace: Headrace, tmp_path: Path, sign: signal.Signals, code: int
) -> None:
    with node(tmp_path / "data") as served:
        assert headrace(f"add q body --at {served.url}").code == 0
        assert served.end(sign) == (code, "")
    assert not (tmp_path / "data" / "serve.sock").exists()
    assert headrace("peek q --json").json["items"][0]["body"] == "body"


def test_every_command_on_a_node_reaches_it_by_address_and_by_directory(headrace: Headrace, tmp_path: Path) -> None:
    with node(tmp_path / "data") as served:
        for at in (served.url, str(tmp_path / "data")):
            (item_id,) = headrace(f"add q body --at {at} --json").json["ids"]
            assert headrace(f"why {item_id} --at {at} --json").json["state"] == "queued"
            assert headrace(f"peek q --at {at} --json").json["items"][0]["id"] == item_id
            (item,) = headrace(f"pop q --at {at} --json").json["items"]
            headrace(f"extend {item['receipt']} --seconds 50 --at {at}")
            assert headrace(f"abort {item['receipt']} --dead --at {at}").out == "1 item aborted\n"
            assert headrace(f"dead q --at {at} --json").json["total"] == 1
            assert headrace(f"revive q --at {at} --json").json == {"revived": 1}
            (item,) = headrace(f"pop q --at {at} --json").json["items"]
            assert headrace(f"commit {item['receipt']} --at {at} --json").json == {"committed": 1}
            assert headrace(f"pause q --at {at}").code == 0
            assert headrace(f"resume q --at {at}").code == 0
            assert headrace(f"add q --lines --at {at}", stdin=b"a\nb\n").out == "2 items added to q\n"
            assert headrace(f"purge q --at {at} --json").json == {"purged": 2}
            assert headrace(f"declare q --capacity-items 9 --at {at} --json").json["settings"]["capacity_items"] == 9
            (stats,) = headrace(f"queues --at {at} --json").json["queues"]
            assert headrace(f"stats q --at {at} --json").json == stats
            assert headrace(f"drop q --at {at}").code == 0
            assert headrace(f"pop q --at {at}").code == 3


def test_status_shows_the_queues(headrace: Headrace, tmp_path: Path) -> None:
    with node(tmp_path / "data") as served:
        headrace(f"add thumbs a b c --at {served.url}")
        headrace(f"pop thumbs --at {served.url}")
        ran = headrace(f"status --at {served.url}")
        assert re.search(
            r"^headrace://\S+ answers in [\d.]+ ms: 1 queue, 2 queued, 1 leased, 0 dead, the oldest", ran.out
        )
        assert re.search(r"^thumbs +2 +0 +0 +1 +0 +3 +0 +3 B ", ran.out, re.M)
        found = headrace(f"status --at {served.url} --json").json
        assert (found["queued"], found["leased"], found["queues"][0]["queue"]) == (2, 1, "thumbs")
        assert found["oldest_seconds"] >= 0


def test_a_directory_in_use_and_a_port_that_is_taken_are_one_sentence_each(headrace: Headrace, tmp_path: Path) -> None:
    with node(tmp_path / "data") as served:
        ran = headrace("serve --port 0")
        assert ran.code == 1
        assert re.fullmatch(rf"headrace: the directory '.*' is in use by process {served.process.pid} .*\n", ran.err)
        ran = headrace(f"serve --port {served.ready['port']} --at {tmp_path / 'other'}")
        assert ran.code == 1
        port = served.ready["port"]
        assert ran.err == (
            f"headrace: port {port} of 127.0.0.1 cannot be listened on: address already in use; choose another\n"
        )


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("--certificate x.pem", "TLS needs both a certificate and its private key"),
        ("--certificate x.pem --private-key x.key", "the certificate 'x.pem' and its key cannot be used"),
        ("--host 0.0.0.0", "listening on 0.0.0.0 opens this node to other machines, and needs TLS"),
        ("--at headrace://h", "headrace://h is an address: name the node's directory"),
        ("--connections 0", "0 is not in the range"),
    ],
)
def test_what_it_cannot_serve_by_is_one_sentence(headrace: Headrace, arguments: str, sentence: str) -> None:
    ran = headrace(f"serve --port 0 {arguments}")
    assert (ran.code, ran.out) == (2, "")
    assert sentence in ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize("url", ["headrace://127.0.0.1:1", "http://localhost", "headrace://a b:x", "headrace://t@h:1"])
def test_an_address_that_is_none_or_where_no_node_is(headrace: Headrace, url: str) -> None:
    ran = headrace(f"queues --timeout 0.2 --at '{url}'")
    assert (ran.code, ran.out) == (1 if url.endswith(":1") and "@" not in url else 2, "")
    assert ran.err.startswith("headrace: ")
    assert len(ran.err.splitlines()) == 1


def test_limits_hold_that_are_set_on_the_command_line(headrace: Headrace, tmp_path: Path) -> None:
    with node(tmp_path / "data", "--body-bytes", "10") as served:
        ran = headrace(f"add q 'longer than ten' --at {served.url}")
        assert ran.code == 2
        assert "more than the limit of 10" in ran.err

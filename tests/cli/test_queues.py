"""`queues`, `stats`, `declare`, `pause`, `resume`, `drop`, `dead`, `revive`, `purge` by the command line."""

import msgspec

from headrace.core.limits import QueueSettings
from tests.cli.conftest import Headrace


def kill(headrace: Headrace, body: str) -> str:
    """Add an item and have it die; its id."""
    (item_id,) = headrace(f"add q {body} --json").json["ids"]
    (item,) = headrace("pop q --json").json["items"]
    headrace(f"abort {item['receipt']} --dead --reason 'not a cat'")
    return str(item_id)


def test_queues_lists_all_with_their_figures(headrace: Headrace) -> None:
    headrace("add b 1 2")
    headrace("add a 1 --delay 60")
    headrace("pause b")
    listed = headrace("queues --json").json["queues"]
    assert [(queue["queue"], queue["queued"], queue["delayed"]) for queue in listed] == [("a", 1, 1), ("b", 2, 0)]
    table = headrace("queues").out.splitlines()
    assert table[0].split() == ["QUEUE", "QUEUED", "DELAYED", "LEASED", "DEAD", "SIZE", "OLDEST"]
    assert table[2].endswith("paused")


def test_stats_shows_a_ledger_that_balances(headrace: Headrace) -> None:
    headrace("add q a b c")
    (item,) = headrace("pop q --json").json["items"]
    headrace(f"commit {item['receipt']}")
    stats = headrace("stats q --json").json
    assert stats["added"] == stats["committed"] + stats["queued"] == 3
    assert stats["oldest"].endswith("Z")
    assert "committed     1" in headrace("stats q").out


def test_every_setting_can_be_declared_and_the_others_stay(headrace: Headrace) -> None:
    given = {
        "capacity_items": 10,
        "capacity_bytes": 1000,
        "lease_seconds": 5.0,
        "max_attempts": 3,
        "max_crashes": 2,
        "dead_items": 7,
        "keep_expired": True,
        "key_seconds": 60.0,
        "key_count": 9,
    }
    assert {*given, "paused"} == set(QueueSettings.__struct_fields__)
    flags = " ".join(
        f"--{name.replace('_', '-')}" + ("" if value is True else f" {value}") for name, value in given.items()
    )
    headrace(f"declare q {flags}")
    wanted = msgspec.structs.asdict(QueueSettings(**given))
    assert headrace("stats q --json").json["settings"] == wanted
    headrace("declare q --capacity-items none --no-keep-expired")
    assert headrace("stats q --json").json["settings"] == {**wanted, "capacity_items": None, "keep_expired": False}


def test_a_paused_queue_hands_nothing_out_until_it_is_resumed(headrace: Headrace) -> None:
    headrace("add q a")
    assert headrace("pause q --json").json == {"queue": "q", "paused": True}
    refused = headrace("pop q")
    assert (refused.code, refused.out) == (1, "")
    assert "queue 'q' is paused" in refused.err
    headrace("resume q")
    assert headrace("pop q").code == 0


def test_dead_items_are_listed_page_by_page_and_revived(headrace: Headrace) -> None:
    ids = [kill(headrace, body) for body in ("a", "b", "c")]
    page = headrace("dead q -n 2 --json").json
    assert [item["id"] for item in page["items"]] == ids[:2]
    assert page["total"] == 3
    rest = headrace(f"dead q --after {page['items'][-1]['place']} --json").json
    assert [item["id"] for item in rest["items"]] == ids[2:]
    assert "aborted: not a cat" in headrace("dead q").out
    assert headrace(f"revive q {ids[1]}").out == "1 item revived\n"
    assert headrace("revive q --json").json == {"revived": 2}
    assert headrace("dead q").out == "q has no dead items\n"


def test_purge_takes_what_is_named_and_nothing_else(headrace: Headrace) -> None:
    first, _ = (kill(headrace, body) for body in ("a", "b"))
    headrace("add q c d e")
    assert headrace(f"purge q {first} --json").json == {"purged": 1}
    assert headrace("purge q --dead --json").json == {"purged": 1}
    assert headrace("purge q").out == "3 items purged\n"
    assert headrace(f"purge q {first}").code == 3


def test_drop_says_what_went_with_the_queue(headrace: Headrace) -> None:
    headrace("add q a b")
    headrace("pop q")
    leased = headrace("drop q")
    assert (leased.code, leased.out) == (1, "")
    headrace("add other a b")
    assert headrace("drop other").out == "other is gone, and 2 items with it\n"
    assert headrace("stats other").code == 3


def test_an_unknown_queue_is_not_made_by_asking_for_it(headrace: Headrace) -> None:
    headrace("add thumbnails a")
    for command in ("stats", "pause", "resume", "drop", "dead", "revive", "purge"):
        ran = headrace(f"{command} thumbnail")
        assert (command, ran.code) == (command, 3)
        assert "Did you mean 'thumbnails'?" in ran.err
    assert len(headrace("queues --json").json["queues"]) == 1

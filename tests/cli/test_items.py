"""`add`, `pop`, `peek`, `commit`, `abort`, `extend`, `why` by the command line."""

import base64
from pathlib import Path

import pytest

from tests.cli.conftest import Headrace


def bodies(headrace: Headrace, queue: str = "q") -> list[str]:
    return [item["body"] for item in headrace(f"peek {queue} -n 100 --json").json["items"]]


def test_bodies_come_from_arguments_standard_input_a_file_and_lines(headrace: Headrace, tmp_path: Path) -> None:
    (tmp_path / "body").write_bytes(b"a file\n")
    (tmp_path / "lines").write_bytes(b"one\r\n\ntwo\nthree")
    assert len(headrace("add q a b --json").json["ids"]) == 2
    assert headrace("add q -", stdin=b"from\nstdin").code == 0
    assert headrace("add q", stdin=b"again").code == 0
    assert headrace(f"add q --file {tmp_path}/body").code == 0
    assert headrace(f"add q --lines --file {tmp_path}/lines --json").json == {"added": 3}
    assert headrace("add q --lines", stdin=b"four\n").out == "1 item added to q\n"
    assert bodies(headrace) == ["a", "b", "from\nstdin", "again", "a file\n", "one", "two", "three", "four"]


def test_bodies_that_are_no_text_come_back_in_base64(headrace: Headrace) -> None:
    headrace("add q", stdin=b"\xff\x00\x80")
    (item,) = headrace("peek q --json").json["items"]
    assert "body" not in item
    assert base64.b64decode(item["body_base64"]) == b"\xff\x00\x80"
    assert "<3 bytes: ff 00 80>" in headrace("peek q").out


def test_nothing_in_a_body_reaches_the_terminal_as_a_control_sequence(headrace: Headrace) -> None:
    headrace("add q", stdin=b"\x1b[2Jcat\n")
    assert "\x1b" not in headrace("peek q").out
    assert r"\x1b[2Jcat\n" in headrace("peek q").out


def test_the_options_of_add_arrive(headrace: Headrace) -> None:
    headrace("add q later --delay 60")
    headrace("add q also-later --not-before 2999-01-31T08:00:00+01:00")
    item_id = "01890a5d-ac96-774b-bcce-b302099a8057"
    headrace(f"add q now --priority -7 --key k --header lang=en --header a=b=c --expires 60 --id {item_id}")
    (item,) = headrace("peek q --json").json["items"]
    assert item.pop("added").endswith("Z")
    assert item == {
        "id": item_id,
        "queue": "q",
        "priority": -7,
        "key": "k",
        "headers": {"lang": "en", "a": "b=c"},
        "body": "now",
    }
    assert headrace("add q twice --key k --json").json == {"ids": [item_id]}
    assert headrace("stats q --json").json["delayed"] == 2


def test_an_item_goes_through_pop_and_commit_in_separate_processes_lives(headrace: Headrace) -> None:
    headrace("add q a b")
    popped = headrace("pop q --lease 300 --json").json
    (item,) = popped["items"]
    assert (item["body"], item["attempt"], item["lease_seconds"]) == ("a", 1, 300.0)
    assert bodies(headrace) == ["b"]
    assert headrace(f"extend {item['receipt']} --seconds 600").out == "1 item extended\n"
    assert headrace(f"commit {item['receipt']} --add next a-small --json").json == {"committed": 1}
    assert bodies(headrace, "next") == ["a-small"]
    assert headrace("stats q --json").json["committed"] == 1


def test_an_abort_gives_the_item_back_with_its_reason(headrace: Headrace) -> None:
    (item_id,) = headrace("add q a --json").json["ids"]
    (item,) = headrace("pop q --json").json["items"]
    assert headrace(f"abort {item['receipt']} --reason 'no colours' --json").json == {"aborted": 1}
    place = headrace(f"why {item_id} --json").json
    assert (place["state"], place["ahead"]) == ("queued", 0)
    assert [tried["reason"] for tried in place["attempts"]] == ["aborted: no colours"]
    assert "aborted: no colours" in headrace(f"why {item_id}").out
    (item,) = headrace("pop q --json").json["items"]
    assert item["attempt"] == 2
    headrace(f"abort {item['receipt']} --dead")
    assert headrace(f"why {item_id} --json").json["state"] == "dead"


def test_several_queues_conditions_and_names(headrace: Headrace) -> None:
    headrace("add low a --priority 5")
    headrace("add high b --priority 1")
    refused = headrace("pop low --at-least 3 --json")
    assert (refused.code, refused.json) == (3, {"items": [], "top": 5})
    assert "priority 5, less urgent than 3" in refused.err
    assert [item["body"] for item in headrace("pop low high -n 2 --json").json["items"]] == ["b", "a"]
    headrace("add named c d")
    first = headrace("pop named -n 2 --name batch --json").json
    again = headrace("pop named -n 2 --name batch --json").json
    assert [item["receipt"] for item in again["items"]] == [item["receipt"] for item in first["items"]]


def test_exit_code_3_says_why_nothing_is_there(headrace: Headrace) -> None:
    headrace("add thumbnails a")
    headrace("pop thumbnails")
    empty = headrace("peek thumbnails --json")
    assert (empty.code, empty.json) == (3, {"items": []})
    assert empty.err == "headrace: queue thumbnails has nothing to hand out (1 leased)\n"
    unknown = headrace("pop thumbnial")
    assert (unknown.code, unknown.out) == (3, "")
    assert unknown.err == "headrace: there is no queue 'thumbnial'. Did you mean 'thumbnails'?\n"
    lost = headrace("why 01890a5d-ac96-774b-bcce-b302099a8057 --json")
    assert (lost.code, lost.json["state"]) == (3, "unknown")
    assert headrace("commit thumbnails/1f-63").code == 3


def test_a_misspelt_directory_is_not_made(headrace: Headrace, tmp_path: Path) -> None:
    ran = headrace(f"peek q --at {tmp_path}/dta")
    assert ran.code == 3
    assert f"there are no queues in '{tmp_path}/dta'" in ran.err
    assert not (tmp_path / "dta").exists()
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.png").touch()
    for command in ("queues", "verify", "repair", "pop q"):
        assert headrace(f"{command} --at {tmp_path}/photos").code == 3
    assert [path.name for path in (tmp_path / "photos").iterdir()] == ["cat.png"]


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("add ../etc a", "'../etc' cannot be a queue's name"),
        ("add a\N{GREEK SMALL LETTER ALPHA} a", r"'a\u03b1' cannot be a queue's name"),
        (f"add {'q' * 300} a", "cannot be a queue's name"),
        ("add q a --priority 1.5", "'1.5' is not a valid integer"),
        ("add q a --priority 9223372036854775808", "from -2**63 to 2**63-1; it is 9223372036854775808"),
        ("add q a --delay -1", "delay must be a number of seconds"),
        ("add q a --delay nan", "delay must be a number of seconds"),
        ("add q a --not-before tomorrow", "'tomorrow' is not a time such as"),
        ("add q a --header lang", "'lang' is not NAME=VALUE"),
        ("add q a --id 7", "'7' is not an item's id"),
        ("add q a b --key k", "give one BODY"),
        ("add q --lines --key k", "do not go with --lines"),
        ("add q a --file b", "not both"),
        ("add q --file /no/such/file", "'/no/such/file' cannot be read: no such file or directory"),
        ("add q a --prioriti 3", "No such option"),
        ("pop q --lease 0", "lease must be a number of seconds"),
        ("pop q -n 0", "n must be a whole number from 1"),
        ("pop q q", "a queue is named twice"),
        ("commit 17", "'17' is not a receipt"),
        ("why cat.png", "'cat.png' is not an item's id"),
        ("declare q --max-attempts 0", "max_attempts must be a whole number from 1"),
        ("declare q --capacity-items many", "'many' is not a whole number, nor 'none'"),
        ("peak q", "Did you mean 'peek'?"),
        ("peek q --at ''", "say where the node is: --at DIR or --at headrace://host:port, or set HEADRACE_AT"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(headrace: Headrace, command: str, sentence: str) -> None:
    headrace("add q a")
    ran = headrace(command)
    assert (ran.code, ran.out) == (2, "")
    assert sentence in ran.err
    assert "Traceback" not in ran.err


def test_a_body_over_the_limit_is_refused_and_the_lines_before_it_are_in(headrace: Headrace) -> None:
    lines = b"small\n" * 1000 + b"x" * (1 << 20) + b"y\n"
    ran = headrace("add q --lines", stdin=lines)
    assert ran.code == 2
    assert "the body has 1,048,577 bytes, more than the limit of 1,048,576" in ran.err
    assert "(1,000 items before were added)" in ran.err
    assert headrace("stats q --json").json["queued"] == 1000
    assert headrace("add q", stdin=b"x" * (1 << 20)).code == 0


def test_a_full_queue_is_a_failure(headrace: Headrace) -> None:
    headrace("declare q --capacity-items 1")
    assert headrace("add q a").code == 0
    ran = headrace("add q b")
    assert (ran.code, ran.out) == (1, "")
    assert "q" in ran.err

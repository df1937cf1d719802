"""`headrace demo`: its books find what is wrong, and a real run finds nothing."""

from typing import Any

import pytest

from headrace.cli.demo import Books
from tests.cli.conftest import Headrace

ADDED = [["adding", "0", 0, 2], ["added", "0", 0, 2]]
FIRST_DONE = [["got", "0.0", 1, []], ["committing", "0.0"], ["committed", "0.0"]]
SECOND_DONE = [["got", "0.1", 1, []], ["committing", "0.1"], ["committed", "0.1"]]


def verdict(*reports: Any, added: int = 2, committed: int = 2, queued: int = 0) -> dict[str, Any]:
    books = Books()
    for report in reports:
        books.note(report)
    return books.verdict({"added": added, "committed": committed, "queued": queued, "leased": 0, "dead": 0})


def test_books_that_agree_with_the_ledger_are_well() -> None:
    found = verdict(*ADDED, *FIRST_DONE, *SECOND_DONE)
    assert found["ok"]
    assert found["added"] == {"promised": 2, "in_doubt": 0, "ledger": 2}


def test_an_item_that_was_promised_and_never_came_is_lost() -> None:
    found = verdict(*ADDED, *FIRST_DONE, added=1, committed=1)
    assert (found["lost"], found["ok"]) == (1, False)


def test_what_was_not_answered_before_a_kill_may_or_may_not_have_happened() -> None:
    asked = ["adding", "0", 2, 5]
    for added in (2, 7):
        found = verdict(*ADDED, asked, *FIRST_DONE, *SECOND_DONE, added=added, committed=added)
        assert found["agrees"] is (added == 2)  # the five were never handed out to be committed
    unanswered = [["got", "0.1", 1, []], ["committing", "0.1"]]
    assert verdict(*ADDED, *FIRST_DONE, *unanswered)["ok"]


def test_an_item_that_comes_back_after_its_commit_is_unexpected() -> None:
    found = verdict(*ADDED, *FIRST_DONE, *SECOND_DONE, ["got", "0.0", 2, ["worker crashed"]])
    assert (found["unexpected"], found["ok"]) == (1, False)


def test_an_item_that_nobody_added_is_unexpected() -> None:
    assert verdict(*ADDED, *FIRST_DONE, *SECOND_DONE, ["got", "9.9", 1, []])["unexpected"] == 1


@pytest.mark.parametrize(
    ("attempt", "reasons"), [(2, []), (2, [""]), (3, ["worker crashed"]), (1, [])], ids=["none", "empty", "few", "same"]
)
def test_a_delivery_that_is_repeated_without_its_reasons_is_unexplained(attempt: int, reasons: list[str]) -> None:
    found = verdict(*ADDED, ["got", "0.0", 1, []], ["got", "0.0", attempt, reasons])
    assert (found["unexplained"], found["ok"]) == (1, False)


def test_what_is_left_in_the_queue_is_not_well() -> None:
    assert not verdict(*ADDED, *FIRST_DONE, committed=1, queued=1)["ok"]


def test_a_queue_that_is_killed_under_load_loses_nothing(headrace: Headrace) -> None:
    ran = headrace("demo --kills 2 --durability os --once")
    found = ran.json
    assert (ran.code, ran.err, found["ok"]) == (0, "", True)
    assert found["added"]["ledger"] == found["committed"]["ledger"] > 0
    assert sum(found["handed_out_again"].values()) > 0

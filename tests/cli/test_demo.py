"""`headrace demo`: its books find what is wrong, and a real run finds nothing."""

from typing import Any

import pytest

from headrace.cli.demo_app import answer_to
from headrace.cli.demo_books import Books
from tests.cli.conftest import Headrace

PRODUCER, WORKER, OTHER = 1, 2, 3


def added(name: str) -> list[Any]:
    return [["adding", name, 1.0, PRODUCER], ["added", name, 2.0, PRODUCER]]


def done(name: str, *, at: float = 3.0, by: int = WORKER) -> list[Any]:
    return [["began", name, at, by], ["done", name, at + 0.1, by]]


def result(name: str, *, at: float = 4.0) -> list[Any]:
    return [["result", name, at, PRODUCER, answer_to(name)]]


def verdict(*reports: Any, killed: Any = (), ledger: int = 2, **more: int) -> dict[str, Any]:
    books = Books()
    for report in [*added("a"), *added("b"), *done("a"), *result("a"), *reports]:
        books.note(report)
    for pid, time in killed:
        books.note_kill(pid, time)
    return books.verdict({"added": ledger, "committed": ledger, "queued": 0, "leased": 0, "dead": 0, **more})


B_DONE = [*done("b"), *result("b")]


def test_books_that_agree_with_the_ledger_are_well() -> None:
    found = verdict(*B_DONE)
    assert found["ok"]
    assert found["added"] == {"promised": 2, "in_doubt": 0, "ledger": 2}


@pytest.mark.parametrize("reports", [[], done("b"), result("b")], ids=["nothing", "no result", "no work"])
def test_what_was_promised_and_not_done_or_not_answered_is_lost(reports: list[Any]) -> None:
    found = verdict(*reports)
    assert (found["lost"], found["ok"]) == (1, False)


def test_an_add_that_was_not_answered_may_or_may_not_have_happened() -> None:
    asked = ["adding", "c", 1.0, PRODUCER]
    assert verdict(*B_DONE, asked)["agrees"]
    assert verdict(*B_DONE, asked, ledger=3)["agrees"]
    assert not verdict(*B_DONE, asked, ledger=4)["agrees"]


def test_a_name_that_nobody_added_is_unexpected() -> None:
    assert verdict(*B_DONE, *done("z"))["unexpected"] == 1


def test_a_name_that_is_begun_again_after_its_result_came_is_unexpected() -> None:
    found = verdict(*B_DONE, *done("b", at=5.0, by=OTHER), killed=[(WORKER, 6.0)])
    assert (found["unexpected"], found["ok"]) == (1, False)


def test_a_result_that_is_not_that_of_its_task_is_wrong() -> None:
    assert verdict(*done("b"), ["result", "b", 4.0, PRODUCER, 0])["wrong"] == 1


@pytest.mark.parametrize(
    ("reports", "killed", "again", "unexplained"),
    [
        ([["began", "b", 2.5, OTHER], ["failed", "b", 2.6, OTHER]], [], {"the task failed": 1}, 0),
        ([["began", "b", 2.5, OTHER]], [(OTHER, 2.7)], {"its worker was killed": 1}, 0),
        ([["began", "b", 2.5, OTHER]], [(WORKER, 2.7)], {}, 1),
        ([["began", "b", 2.5, OTHER]], [], {}, 1),
    ],
    ids=["failed", "killed", "another killed", "no reason"],
)
def test_what_is_begun_again_needs_a_reason_that_the_demo_knows(
    reports: list[Any], killed: Any, again: dict[str, int], unexplained: int
) -> None:
    found = verdict(*reports, *B_DONE, killed=killed)
    assert (found["handed_out_again"], found["unexplained"], found["ok"]) == (again, unexplained, not unexplained)


def test_what_is_left_in_the_queue_is_not_well() -> None:
    assert not verdict(*B_DONE, queued=1)["ok"]
    assert not verdict(*B_DONE, committed=1)["ok"]


def test_a_node_and_workers_that_are_killed_under_load_lose_nothing(headrace: Headrace) -> None:
    ran = headrace("demo --kills 1 --workers 2 --producers 1 --durability os --once")
    found = ran.json
    assert (ran.code, ran.err, found["ok"]) == (0, "", True)
    assert found["added"]["ledger"] == found["committed"]["ledger"] > 0
    assert found["kills"] == {"node": 1, "worker": 1}

"""What becomes of an attempt, decided without a worker."""

import datetime as dt

import pytest

import headrace
from headrace.client.shapes import Place, Tried
from headrace.work.attempts import (
    Begun,
    begin,
    carry_out,
    failed,
    failures_before,
    job_of,
    may_be_last,
    succeeded,
    verdict_on,
)
from headrace.work.failures import Failure
from headrace.work.messages import decode_reply

BROKEN = Failure("ValueError", "broken")
MOMENT = dt.datetime(2030, 1, 1, tzinfo=dt.UTC)


def begun(attempt: int = 1, reply_to: str = "replies.x") -> Begun:
    return Begun("q", 1, 1, "id", "task", attempt, reply_to, 60.0)


def place(*reasons: str) -> Place:
    tried = [Tried(MOMENT, MOMENT, reason) for reason in reasons]
    return Place("id", "leased", "q", 0, 0, None, None, None, [*tried, Tried(MOMENT, None, "")])


@pytest.fixture
def task(app: headrace.App) -> headrace.Task[[int], int]:
    @app.task(queue="q", retries=2, backoff=headrace.Backoff(1, 60))
    def task(n: int) -> int:
        return 2 * n

    return task


def test_a_success_is_told_in_the_step_that_commits() -> None:
    verdict = succeeded(begun(), 4)
    ((queue, item),) = verdict.reply
    assert verdict.done
    assert (queue, item.expires) == ("replies.x", 60.0)
    assert decode_reply(item.body).failure is None
    assert succeeded(begun(reply_to=""), 4).reply == []


def test_a_failure_is_tried_again_until_its_retries_are_used_up(task: headrace.Task[[int], int]) -> None:
    for earlier, most_seconds in ((0, 1), (1, 2)):
        verdict = failed(begun(), task, BROKEN, earlier=earlier)
        assert not verdict.dead
        assert most_seconds / 2 <= verdict.delay <= most_seconds
        assert verdict.reply == []
    verdict = failed(begun(), task, BROKEN, earlier=2)
    assert (verdict.dead, verdict.reason) == (True, "ValueError: broken")
    assert decode_reply(verdict.reply[0][1].body).failure == BROKEN


def test_what_was_handed_back_and_what_crashed_uses_no_retry_up() -> None:
    story = place("closed: its worker was stopped", "aborted: ValueError", "worker crashed", "lease expired")
    assert failures_before(begun(attempt=5), story) == 2
    assert failures_before(begun(attempt=5), None) == 4


def test_the_story_is_asked_for_only_where_it_matters(task: headrace.Task[[int], int]) -> None:
    assert [may_be_last(begun(attempt), task) for attempt in (1, 2, 3, 4)] == [False, False, True, True]
    task.retries = 0
    assert not may_be_last(begun(), task)


def test_an_unknown_task_is_left_for_a_newer_worker() -> None:
    verdict = failed(begun(), None, BROKEN, earlier=7)
    assert not verdict.dead
    assert verdict.delay > 0


def test_an_item_from_its_submit_to_its_reply(app: headrace.App, task: headrace.Task[[int], int]) -> None:
    result = task.submit(4)
    (lease,) = app.handle.pop("q")
    began = begin(lease)
    assert (began.id, began.task, began.attempt) == (result.id, "task", 1)
    assert job_of(app, lease) == (task, [4], {})
    carry_out(app.handle, lease, succeeded(began, 8))
    assert result.result(timeout=60) == 8


def test_an_item_that_fails_for_good_is_dead_and_its_caller_told(
    app: headrace.App, task: headrace.Task[[int], int]
) -> None:
    task.retries = 0
    result = task.submit(4)
    (lease,) = app.handle.pop("q")
    began = begin(lease)
    carry_out(app.handle, lease.receipt, verdict_on(app.handle, began, task, BROKEN))
    with pytest.raises(headrace.TaskFailed, match="ValueError: broken"):
        result.result(timeout=60)
    assert result.why().state == "dead"


def test_a_reply_that_does_not_fit_its_hint_is_said(app: headrace.App, task: headrace.Task[[int], int]) -> None:
    result = task.submit(4)
    (lease,) = app.handle.pop("q")
    carry_out(app.handle, lease, succeeded(begin(lease), "eight"))
    with pytest.raises(headrace.Invalid, match="the result of task 'task' is not what its hint says"):
        result.result(timeout=60)

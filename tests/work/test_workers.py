"""Workers as real processes: what comes back, what fails, what is stopped, what crashes, what takes too long."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Iterator
from concurrent.futures import as_completed
from pathlib import Path
from types import ModuleType

import pytest

import headrace
from tests.work.workers import PATIENCE_SECONDS, Gate, tasks_on_a_node, wait_for_line, worker

pytestmark = pytest.mark.live


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """The tasks on a node of which one process takes care, with one thread and a loop."""
    with tasks_on_a_node(tmp_path_factory.mktemp("node")) as tasks, worker("--processes", "1"):
        yield tasks


@pytest.fixture
def idle_tasks(tmp_path: Path) -> Iterator[ModuleType]:
    """The tasks on a node of their own, without a worker."""
    with tasks_on_a_node(tmp_path / "node") as tasks:
        yield tasks


def test_results_come_back(tasks: ModuleType) -> None:
    results = [tasks.double.submit(n, priority=n) for n in range(50)]
    assert [result.result(PATIENCE_SECONDS) for result in results] == [2 * n for n in range(50)]
    assert results[0].why().state == "unknown"
    pid, in_main = tasks.where.submit().result(PATIENCE_SECONDS)
    assert pid != os.getpid()
    assert in_main


def test_an_executor_runs_tasks_at_workers(tasks: ModuleType) -> None:
    with headrace.Executor(tasks.app) as executor:
        assert list(executor.map(tasks.double, range(10), timeout=PATIENCE_SECONDS)) == [2 * n for n in range(10)]
        futures = [executor.submit(tasks.double, n) for n in range(10)]
        assert {future.result() for future in as_completed(futures, PATIENCE_SECONDS)} == {2 * n for n in range(10)}


def test_what_fails_is_tried_again_as_often_as_it_says_and_then_dead(tasks: ModuleType, tmp_path: Path) -> None:
    result = tasks.broken.submit(str(tmp_path / "tries"))
    with pytest.raises(headrace.TaskFailed, match="task 'broken' failed: ValueError: broken") as caught:
        result.result(PATIENCE_SECONDS)
    assert 'raise ValueError("broken")' in caught.value.traceback
    assert (tmp_path / "tries").read_text() == 3 * "tried\n"
    place = result.why()
    assert place.state == "dead"
    assert [tried.reason for tried in place.attempts] == 3 * ["aborted: ValueError: broken"]


def test_a_result_that_is_too_large_fails_the_task(tasks: ModuleType) -> None:
    result = tasks.huge.submit()
    with pytest.raises(headrace.TaskFailed, match="the result of task 'huge' cannot be sent"):
        result.result(PATIENCE_SECONDS)
    assert result.why().state == "dead"


def test_a_soft_timeout_is_raised_in_the_task(tasks: ModuleType) -> None:
    assert tasks.patient.submit(tidy=True).result(PATIENCE_SECONDS) == "tidied up"
    with pytest.raises(headrace.TaskFailed, match="SoftTimeout: the task's soft timeout has passed"):
        tasks.patient.submit(tidy=False).result(PATIENCE_SECONDS)
    assert tasks.quick.submit().result(PATIENCE_SECONDS) == "quick"


def test_async_tasks_run_together(tasks: ModuleType) -> None:
    results = [tasks.together.submit(30) for _ in range(250)]  # more than are run at a time
    assert [result.result(PATIENCE_SECONDS) for result in results] == [30] * 250
    assert tasks.double_async.submit(4).result(PATIENCE_SECONDS) == 8


def test_async_tasks_that_take_too_long_are_cancelled(tasks: ModuleType) -> None:
    with pytest.raises(headrace.TaskFailed, match=r"TimedOut: it took longer than its timeout of 0.2 s"):
        tasks.hang_async.submit().result(PATIENCE_SECONDS)
    with pytest.raises(headrace.TaskFailed, match="SoftTimeout"):
        tasks.patient_async.submit().result(PATIENCE_SECONDS)


def test_a_task_that_kills_its_worker_is_counted_apart_and_set_aside(tasks: ModuleType) -> None:
    result = tasks.crash.submit()
    with pytest.raises(headrace.TaskFailed, match="WorkerCrashed: its worker process was killed by SIGKILL"):
        result.result(PATIENCE_SECONDS)
    place = result.why()
    assert place.state == "dead"
    assert [tried.reason for tried in place.attempts] == 3 * ["worker crashed: the process was killed by SIGKILL"]
    assert tasks.double.submit(4).result(PATIENCE_SECONDS) == 8


def test_an_item_that_no_submit_made_waits_for_who_knows_it(tasks: ModuleType) -> None:
    id = tasks.app.handle.add("plain", b"what is this")
    while not (place := tasks.app.handle.why(id)).attempts or place.state == "leased":
        tasks.double.submit(1).result(PATIENCE_SECONDS)
    assert place.state == "delayed"
    assert "aborted: Invalid: the body of this item is not what a task's submit makes" in place.attempts[0].reason


def test_a_hard_timeout_kills_the_process_and_counts_for_its_own_task_only(
    idle_tasks: ModuleType, tmp_path: Path
) -> None:
    gate = Gate(tmp_path)
    with worker("--processes", "1", "--threads", "2"):
        sibling = idle_tasks.gate.submit(gate.path)
        gate.wait()
        late = idle_tasks.hang.submit()
        with pytest.raises(headrace.TaskFailed, match="TimedOut: it took longer than its timeout of 1 s"):
            late.result(PATIENCE_SECONDS)
        reasons = [tried.reason for tried in late.why().attempts]
        assert reasons == 2 * ["aborted: TimedOut: it took longer than its timeout of 1 s"]
        gate.open()
        gate.wait()
        tried = [attempt.reason for attempt in sibling.why().attempts if attempt.ended]
        assert set(tried) == {"closed: its worker was stopped"}
        gate.open()
        assert sibling.result(PATIENCE_SECONDS)


def test_soft_timeouts_reach_tasks_in_threads(idle_tasks: ModuleType) -> None:
    with worker("--processes", "1", "--threads", "2"):
        assert not idle_tasks.where.submit().result(PATIENCE_SECONDS)[1]
        assert idle_tasks.patient.submit(tidy=True).result(PATIENCE_SECONDS) == "tidied up"
        assert idle_tasks.quick.submit().result(PATIENCE_SECONDS) == "quick"


def test_told_to_stop_a_worker_takes_nothing_more_and_finishes_what_it_has(
    idle_tasks: ModuleType, tmp_path: Path
) -> None:
    gate = Gate(tmp_path)
    with worker("--processes", "1", "--log-level", "INFO") as process:
        running = idle_tasks.gate.submit(gate.path)
        gate.wait()
        waiting = idle_tasks.double.submit(1)
        process.send_signal(signal.SIGTERM)
        wait_for_line(process, "stopping")
        gate.open()
        assert process.wait(PATIENCE_SECONDS) == 0
        assert running.result(PATIENCE_SECONDS) > 0
        place = waiting.why()
        assert (place.state, place.attempts) == ("queued", [])


def test_what_is_not_finished_within_the_grace_is_handed_back_uncounted(idle_tasks: ModuleType, tmp_path: Path) -> None:
    gate = Gate(tmp_path)
    with worker("--processes", "1", "--grace", "0.1") as process:
        result = idle_tasks.gate.submit(gate.path)
        gate.wait()
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_SECONDS) == 1
    place = result.why()
    assert place.state == "queued"
    assert [tried.reason for tried in place.attempts] == ["closed: its worker was stopped"]


def test_nothing_is_lost_when_workers_are_killed_under_load(idle_tasks: ModuleType) -> None:
    with worker("--processes", "2", "--threads", "2"):
        results = [idle_tasks.where.submit(0.005) for _ in range(600)]
        killed = set()
        for result in results:
            pid, _ = result.result(PATIENCE_SECONDS)
            if pid not in killed and len(killed) < 5:
                killed.add(pid)
                os.kill(pid, signal.SIGKILL)
    stats = idle_tasks.app.handle.stats("plain")
    assert (stats.added, stats.committed, stats.queued, stats.dead) == (600, 600, 0, 0)
    assert len(killed) == 5


def test_workers_whose_supervisor_is_killed_end_by_themselves(idle_tasks: ModuleType) -> None:
    with worker("--processes", "1") as process:
        pid, _ = idle_tasks.where.submit().result(PATIENCE_SECONDS)
        ended = os.pidfd_open(pid)
        process.kill()
        assert select.select([ended], [], [], PATIENCE_SECONDS)[0] == [ended]
        os.close(ended)

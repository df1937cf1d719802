"""Tasks, their options, and the testing mode."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import headrace
from headrace.work.messages import decode_call


@pytest.fixture
def inline() -> headrace.App:
    return headrace.App("headrace://nowhere", inline=True)


def test_a_task_that_is_called_runs_here(inline: headrace.App) -> None:
    @inline.task(queue="thumbs")
    def thumbnail(path: str, width: int = 200) -> str:
        return f"{path}@{width}"

    assert thumbnail("cat.png") == "cat.png@200"
    assert thumbnail.name == thumbnail.__name__ == "thumbnail"


def test_inline_a_submitted_task_runs_at_once(inline: headrace.App) -> None:
    @inline.task
    def thumbnail(path: str, width: int = 200) -> str:
        return f"{path}@{width}"

    assert thumbnail.submit("cat.png", priority=3).result(timeout=60) == "cat.png@200"
    assert thumbnail.options(priority=3, delay=5).submit("cat.png", width=100).result() == "cat.png@100"


def test_inline_for_a_while_needs_no_node() -> None:
    app = headrace.App("headrace://nowhere")

    @app.task
    def double(n: int) -> int:
        return 2 * n

    with app.inline():
        assert double.submit(4).result() == 8


def test_inline_an_exception_is_told_as_by_a_worker(inline: headrace.App) -> None:
    @inline.task
    def bad(x: int) -> None:
        raise KeyError("which")

    with pytest.raises(headrace.TaskFailed, match="task 'bad' failed: KeyError: 'which'") as caught:
        bad.submit(1).result()
    assert caught.value.type == "KeyError"
    assert 'raise KeyError("which")' in caught.value.traceback


def test_inline_an_async_task_runs_even_below_a_running_loop(inline: headrace.App) -> None:
    @inline.task
    async def double(n: int) -> int:
        await asyncio.sleep(0)
        return 2 * n

    async def program() -> Any:
        return double.submit(4).result()

    assert asyncio.run(program()) == 8


def test_inline_a_task_that_wants_to_end_the_process_has_failed(inline: headrace.App) -> None:
    @inline.task
    def leave() -> None:
        raise SystemExit(3)

    @inline.task
    async def leave_async() -> None:
        raise SystemExit(3)

    for task in (leave, leave_async):
        with pytest.raises(headrace.TaskFailed, match="failed: SystemExit: 3"):
            task.submit().result()


def test_inline_what_cannot_be_sent_fails_as_it_would_elsewhere(inline: headrace.App) -> None:
    @inline.task
    def socket() -> Any:
        return object()

    with pytest.raises(headrace.TaskFailed, match="Encoding objects of type object is unsupported"):
        socket.submit().result()


def test_a_keyword_that_is_both_is_refused_when_the_task_is_made(inline: headrace.App) -> None:
    with pytest.raises(headrace.Invalid, match="a parameter 'priority', which is an option of submit too"):

        @inline.task
        def mail(priority: int) -> None: ...


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"retry": 5}, "'retry' is no option of a task. Did you mean 'retries'?"),
        ({"retries": -1}, "retries must be a whole number from 0"),
        ({"retries": True}, "retries must be a whole number from 0"),
        ({"queue": "a b"}, "'a b' cannot be a queue's name"),
        ({"timeout": 0}, "the timeout of task 'task' must be a number of seconds"),
        ({"timeout": 3, "soft_timeout": 3}, "kills the worker before that: make it shorter"),
        ({"backoff": 3}, "is a headrace.Backoff; it is 3"),
        ({"name": "x" * 201}, "a task's name is text of 1 to 200 bytes"),
        ({"result_ttl": -1}, "the result_ttl of task 'task' must be"),
    ],
)
def test_options_that_make_no_sense_are_named(inline: headrace.App, options: dict[str, Any], sentence: str) -> None:
    def task() -> None: ...

    with pytest.raises(headrace.Invalid, match=sentence):
        inline.task(**options)(task)


def test_a_backoff_doubles_up_to_its_most() -> None:
    backoff = headrace.Backoff(1, 60)
    for failures, most in ((1, 1), (2, 2), (6, 32), (7, 60), (1000, 60)):
        assert most / 2 <= backoff.seconds(failures) <= most
    with pytest.raises(headrace.Invalid, match="the longest pause of a backoff"):
        headrace.Backoff(5, 1)


def test_two_tasks_of_one_name_are_refused(inline: headrace.App) -> None:
    def task() -> None: ...

    inline.task(task)
    with pytest.raises(headrace.Invalid, match="there are two tasks 'task'"):
        inline.task(task)
    inline.task(name="other")(task)


def test_plain_and_async_tasks_have_queues_of_their_own(inline: headrace.App) -> None:
    @inline.task
    def plain() -> None: ...

    @inline.task
    async def asynchronous() -> None: ...

    assert (plain.queue, asynchronous.queue) == ("tasks", "async-tasks")
    with pytest.raises(headrace.Invalid, match="queue 'tasks' would have plain tasks and async ones"):

        @inline.task(queue="tasks")
        async def other() -> None: ...


@pytest.mark.parametrize(
    ("args", "kwargs", "sentence"),
    [
        ((), {}, "missing a required argument: 'path'"),
        (("a", "wide"), {}, r"Expected `int`, got `str` - at `\$.width`"),
        (("a",), {"widht": 3}, "unexpected keyword argument 'widht'. Did you mean 'width'?"),
        (("a",), {"prioritty": 3}, "Did you mean 'priority'?"),
        ((object(),), {}, "cannot be sent: Encoding objects of type object"),
        ((2**70,), {}, "cannot be sent"),
    ],
)
def test_wrong_arguments_are_refused_where_they_are_passed(
    inline: headrace.App, args: tuple[Any, ...], kwargs: dict[str, Any], sentence: str
) -> None:
    @inline.task
    def thumbnail(path: str, width: int = 200) -> None: ...

    with pytest.raises(headrace.Invalid, match=sentence):
        thumbnail.submit(*args, **kwargs)


def test_an_option_of_a_wrong_name_is_named(inline: headrace.App) -> None:
    @inline.task
    def task() -> None: ...

    with pytest.raises(headrace.Invalid, match=r"'prio' is no option of a call.* Did you mean 'priority'\?"):
        task.options(prio=3)


def test_what_is_submitted_is_an_item_with_its_options(app: headrace.App) -> None:
    @app.task(queue="thumbs", priority=5)
    def thumbnail(path: str, width: int = 200) -> str: ...  # type: ignore[empty-body]

    first = thumbnail.submit("cat.png", priority=3, key="cat")
    thumbnail.submit("dog.png")
    lease, other = app.handle.pop("thumbs", 2)
    assert (lease.id, lease.priority, lease.key, other.priority) == (first.id, 3, "cat", 5)
    call = decode_call(lease.body)
    assert call.task == "thumbnail"
    assert thumbnail.parameters.decode(call.arguments) == (["cat.png"], {})


def test_a_key_that_is_held_adds_nothing(app: headrace.App) -> None:
    @app.task
    def task() -> None: ...

    one, other = task.submit(key="k"), task.submit(key="k")
    assert one.id == other.id
    assert one.future is other.future
    assert app.handle.stats("tasks").queued == 1


def test_no_result_is_asked_for_when_it_would_not_be_kept(app: headrace.App) -> None:
    @app.task(result_ttl=0)
    def task() -> None: ...

    result = task.submit()
    (lease,) = app.handle.pop("tasks")
    assert decode_call(lease.body).reply_to == ""
    with pytest.raises(headrace.Invalid, match="nobody is told the result of 'task'"):
        result.result()


def test_what_did_not_come_in_time_is_said_with_where_the_item_is(app: headrace.App) -> None:
    @app.task
    def task() -> None: ...

    first, second = task.submit(), task.submit()
    with pytest.raises(TimeoutError, match=r"no result of 'task' in 0.01 s: its item .* is queued in 'tasks', 1 ahead"):
        second.result(timeout=0.01)
    assert not first.done()


def test_a_result_of_an_item_that_is_gone_fails(app: headrace.App) -> None:
    @app.task
    def task() -> None: ...

    result = task.submit()
    app.handle.purge("tasks")
    with pytest.raises(headrace.TaskFailed, match="its item was purged, or expired"):
        result.result()


def test_a_result_of_an_item_that_died_unanswered_tells_its_story(app: headrace.App) -> None:
    @app.task
    def task() -> None: ...

    result = task.submit()
    (lease,) = app.handle.pop("tasks")
    lease.abort(dead=True, reason="by hand")
    with pytest.raises(headrace.TaskFailed, match="dead after 1 attempts: aborted: by hand") as caught:
        result.result()
    assert "aborted: by hand" in caught.value.traceback


def test_what_is_queued_can_be_cancelled_and_what_has_begun_cannot(app: headrace.App) -> None:
    @app.task
    def task() -> None: ...

    first, second = task.submit(), task.submit()
    (lease,) = app.handle.pop("tasks")
    assert lease.id == first.id
    assert not first.cancel()
    assert second.cancel()
    assert second.done()
    assert app.handle.stats("tasks").queued == 0


def test_closing_an_app_takes_its_reply_queue_away(app: headrace.App) -> None:
    @app.task
    def task() -> None: ...

    hr = app.handle
    task.submit()
    (lease,) = hr.pop("tasks")
    reply_to = decode_call(lease.body).reply_to
    lease.commit(add=[(reply_to, b"a reply")])
    assert reply_to in [stats.queue for stats in hr.queues()]
    app.close()
    assert reply_to not in [stats.queue for stats in hr.queues()]


def test_an_app_of_a_directory_opens_it_when_it_is_needed(tmp_path: Path) -> None:
    with headrace.App(tmp_path / "data") as app:

        @app.task
        def task() -> None: ...

        assert not (tmp_path / "data").exists()
        task.submit()
        assert app.handle.stats("tasks").queued == 1


@pytest.fixture
def executor(inline: headrace.App) -> Iterator[headrace.Executor]:
    with headrace.Executor(inline) as executor:
        yield executor


def test_an_executor_runs_tasks_of_its_app_and_nothing_else(inline: headrace.App, executor: headrace.Executor) -> None:
    @inline.task
    def double(n: int) -> int:
        return 2 * n

    assert list(executor.map(double, range(3))) == [0, 2, 4]
    assert executor.submit(double.function, 4).result() == 8
    with pytest.raises(headrace.Invalid, match=r"print is no task of this app.*decorate it with @app.task"):
        executor.submit(print, "a")


def test_an_executor_that_is_shut_down_takes_nothing(inline: headrace.App, executor: headrace.Executor) -> None:
    @inline.task
    def task() -> None: ...

    executor.shutdown()
    with pytest.raises(RuntimeError, match="after shutdown"):
        executor.submit(task)


def test_an_executor_cancels_what_has_not_begun(app: headrace.App) -> None:
    @app.task
    def task() -> None: ...

    executor = headrace.Executor(app)
    futures = [executor.submit(task) for _ in range(3)]
    executor.shutdown(cancel_futures=True)
    assert all(future.cancelled() for future in futures)
    assert app.handle.stats("tasks").queued == 0

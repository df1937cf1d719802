"""What is checked before any process is started, and how the command says it."""

import sys
from pathlib import Path

import pytest

import headrace
from headrace.work.loading import load_app
from headrace.work.supervisor import prepare
from tests.server.serve import served


def test_an_app_of_this_process_alone_has_no_workers(app: headrace.App) -> None:
    @app.task
    def task() -> None: ...

    with pytest.raises(headrace.Invalid, match="where no other can work for it: serve the directory"):
        prepare(app, [])


def test_an_app_without_tasks_is_refused(app: headrace.App) -> None:
    with pytest.raises(headrace.Invalid, match="this app has no tasks"):
        prepare(app, [])


def test_queues_are_sorted_by_what_their_tasks_are(tmp_path: Path) -> None:
    with served(tmp_path) as node, headrace.App(f"headrace://127.0.0.1:{node.port}") as app:

        @app.task(queue="thumbs", retries=30)
        def plain() -> None: ...

        @app.task
        async def asynchronous() -> None: ...

        assert prepare(app, []) == (("thumbs",), ("async-tasks",))
        assert prepare(app, ["async-tasks"]) == ((), ("async-tasks",))
        with pytest.raises(headrace.Invalid, match="no task of this app is on queue 'thumb'"):
            prepare(app, ["thumb"])
        assert app.handle.stats("thumbs").settings.max_attempts == 31


def test_a_directory_that_another_process_serves_has_workers_through_its_socket(tmp_path: Path) -> None:
    with served(tmp_path), headrace.App(tmp_path) as app:

        @app.task
        def task() -> None: ...

        assert prepare(app, []) == (("tasks",), ())


@pytest.mark.parametrize(
    ("reference", "sentence"),
    [
        ("app", "'app' does not name an app: say module:app"),
        ("nowhere_at_all:app", "there is no module 'nowhere_at_all'"),
        ("tests.work.nowhere:app", r"there is no module 'tests\.work\.nowhere'"),
        ("tests.work.tasks:ap", "has no app 'ap'. Did you mean 'app'?"),
        ("tests.work.tasks:double", "has no app 'double'. Its apps: app"),
    ],
)
def test_an_app_that_is_not_there_is_named(reference: str, sentence: str) -> None:
    with pytest.raises(headrace.Invalid, match=sentence):
        load_app(reference)


def test_the_command_says_it_in_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from headrace.cli import main

    path = list(sys.path)
    with pytest.raises(SystemExit) as left:
        main(["work", "tests.work.nowhere:app"])
    assert left.value.code == 2
    assert capsys.readouterr().err.startswith("headrace: there is no module 'tests.work.nowhere'")
    sys.path[:] = path

"""The access tokens of callers and workers allow no more than they need."""

from pathlib import Path

import pytest

import headrace
from headrace.server.access import Tokens
from headrace.work.supervisor import prepare
from tests.work.workers import PATIENCE_SECONDS, tasks_on_a_node, worker

pytestmark = pytest.mark.live

CALLER = ["add:plain", "pop:replies.*", "commit:replies.*"]
WORKER = ["pop:plain", "commit:plain", "add:replies.*"]


def test_callers_and_workers_need_only_their_own_scopes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    caller, works = (Tokens(str(tmp_path)).issue(name, scopes) for name, scopes in (("c", CALLER), ("w", WORKER)))
    monkeypatch.setenv("HEADRACE_TOKEN", works)
    with tasks_on_a_node(tmp_path) as tasks, worker("--processes", "1", "--queues", "plain"):
        tasks.app.token = caller
        assert tasks.double.submit(4).result(PATIENCE_SECONDS) == 8
        with pytest.raises(headrace.TaskFailed, match="ValueError: broken"):
            tasks.broken.submit(str(tmp_path / "tries")).result(PATIENCE_SECONDS)
        assert (tmp_path / "tries").read_text() == 3 * "tried\n"
        with pytest.raises(headrace.Forbidden, match="does not allow pop on queue 'plain'"):
            prepare(tasks.app, ["plain"])

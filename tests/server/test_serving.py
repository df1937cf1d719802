"""A node that is served: what it does when its disk fails, and when its tokens change."""

import asyncio
import errno
from pathlib import Path

import pytest

import headrace
from headrace.server.access import Tokens
from tests.server.serve import served


def test_a_node_whose_disk_fails_says_so_and_is_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.EIO, "the disk is gone")

    with served(tmp_path) as serving, headrace.connect(f"headrace://127.0.0.1:{serving.port}") as hr:
        hr.add("q", b"kept")
        assert not serving.ended.is_set()
        assert serving.binary is not None
        monkeypatch.setattr("os.fdatasync", fail)
        monkeypatch.setattr("os.fsync", fail)
        with pytest.raises(headrace.HeadraceError):
            hr.add("q", b"not promised")
        asyncio.run_coroutine_threadsafe(serving.ended.wait(), serving.binary.loop).result()
        monkeypatch.undo()
    with headrace.open(tmp_path) as hr:
        assert hr.peek("q")[0].body == b"kept"


def test_the_first_token_ends_the_connections_without_one_but_for_the_local_socket(tmp_path: Path) -> None:
    with served(tmp_path) as serving:
        stranger = headrace.connect(f"headrace://127.0.0.1:{serving.port}")
        local = headrace.open(tmp_path)
        stranger.add("q", b"")
        Tokens(str(tmp_path)).issue("bob", ["pop"])
        with pytest.raises(headrace.Forbidden):
            stranger.pop("empty", wait=None)
        local.add("q", b"")
        local.close()
        stranger.close()

"""`headrace access`: tokens are issued, shown once, hold at once, and are worthless at once when revoked."""

import json
import os
from pathlib import Path

import pytest

import headrace as library
from tests.cli.conftest import Headrace
from tests.cli.node import node


def test_a_token_is_shown_once_and_its_hash_is_kept(headrace: Headrace, tmp_path: Path) -> None:
    ran = headrace("access issue bob --scope pop:thumbs-* --scope commit --json")
    token = ran.json["token"]
    assert token not in (tmp_path / "data" / "access.json").read_text()
    assert os.stat(tmp_path / "data" / "access.json").st_mode & 0o777 == 0o600
    assert headrace("access list --json").json == {"tokens": [{"name": "bob", "scopes": ["pop:thumbs-*", "commit"]}]}
    assert headrace("access revoke bob").out == "bob is revoked\n"
    assert headrace("access list --json").json == {"tokens": []}


@pytest.mark.parametrize(
    ("command", "code", "sentence"),
    [
        ("issue bob --scope push", 2, "'push' is not a scope: use one of add, pop, commit, admin"),
        ("issue bob", 2, "Missing option '--scope'"),
        ("issue 'b ob' --scope add", 2, "'b ob' cannot be a token's name"),
        ("revoke bob", 3, "there is no directory"),
    ],
)
def test_bad_input_is_one_sentence(headrace: Headrace, command: str, code: int, sentence: str) -> None:
    ran = headrace(f"access {command}")
    assert (ran.code, ran.out) == (code, "")
    assert sentence in ran.err


def test_a_token_comes_from_a_file_or_the_environment_and_allows_what_its_scopes_say(
    headrace: Headrace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = headrace("access issue bob --scope add:in --json").json["token"]
    (tmp_path / "token").write_text(token + "\n")
    with node(tmp_path / "data") as served:
        ran = headrace(f"add in x --at {served.url}")
        assert (ran.code, "access token" in ran.err) == (1, True)
        assert headrace(f"add in x --at {served.url} --token-file {tmp_path}/token").code == 0
        ran = headrace(f"add in x --at {served.url} --token-file {tmp_path}/nowhere")
        assert (ran.code, "nowhere' cannot be read" in ran.err) == (2, True)
        monkeypatch.setenv("HEADRACE_TOKEN", token)
        assert headrace(f"add in x --at {served.url}").code == 0
        ran = headrace(f"add out x --at {served.url}")
        assert (ran.code, "does not allow add on queue 'out'" in ran.err) == (1, True)
        assert headrace("add out x").code == 0  # the directory's own socket asks for none


def test_who_may_only_work_is_told_that_there_is_none(
    headrace: Headrace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    headrace("declare q")
    monkeypatch.setenv("HEADRACE_TOKEN", headrace("access issue bob --scope pop --json").json["token"])
    with node(tmp_path / "data") as served:
        ran = headrace(f"pop q --at {served.url}")
        assert (ran.code, ran.err) == (3, "headrace: queue q has nothing to hand out\n")


def test_a_revoked_token_ends_the_connections_that_came_in_by_it(headrace: Headrace, tmp_path: Path) -> None:
    tokens = {
        name: headrace(f"access issue {name} --scope pop --scope add --json").json["token"] for name in ("bob", "eve")
    }
    with node(tmp_path / "data") as served:
        bob, eve = (library.connect(served.url, token=tokens[name]) for name in ("bob", "eve"))
        bob.add("q", b"1")
        headrace("access revoke eve")
        with pytest.raises(library.Forbidden, match="revoked"):
            eve.pop("other", wait=None)  # waits for ever, were it not hung up on
        bob.add("q", b"2")
        assert json.loads(headrace("stats q --json").out)["queued"] == 2
        bob.close()
        eve.close()

"""`headrace.toml`: what it sets, what comes before it, and what is said of a mistake in it."""

import re
from pathlib import Path

import pytest

from headrace.cli.configuration import settings
from headrace.cli.pages import DOCS
from tests.cli.conftest import Headrace


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current directory of the test's own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_flag_comes_before_the_environment_that_before_the_file(
    headrace: Headrace, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HEADRACE_AT")
    (here / "headrace.toml").write_text('[client]\nat = "from-file"\njson = true\n')
    assert list(headrace("add q x").json) == ["ids"]
    monkeypatch.setenv("HEADRACE_AT", "from-environment")
    headrace("add q x")
    headrace("add q x --at from-flag")
    assert {path.name for path in here.iterdir() if path.is_dir()} == {"from-file", "from-environment", "from-flag"}


def test_a_file_is_named_by_option_or_environment(
    headrace: Headrace, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "mine.toml").write_text("[client]\njson = true\n")
    assert not headrace("add q x").out.startswith("{")
    assert headrace("add q x --config mine.toml").out.startswith("{")
    monkeypatch.setenv("HEADRACE_CONFIG", "mine.toml")
    assert headrace("add q x").out.startswith("{")
    ran = headrace("add q x --config nowhere.toml")
    assert (ran.code, ran.err) == (2, "headrace: nowhere.toml cannot be read: No such file or directory\n")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[serve]\nprot = 1", "headrace.toml sets 'prot' in [serve], which is no setting there. Did you mean 'port'?"),
        ("[serv]\nport = 1", "headrace.toml has a section [serv], which is none of ours. Did you mean 'serve'?"),
        ("port = 1", "'port' in headrace.toml stands in no section: write it below one of [client], [serve], "),
        ("[serve]\nport = '1'", "'port' in [serve] of headrace.toml is to be a whole number; it is '1'"),
        ("[limits]\nconnections = true", "'connections' in [limits] of headrace.toml is to be a whole number; it is T"),
        ("[client]\njson = 1", "'json' in [client] of headrace.toml is to be true or false; it is 1"),
        ("[serve]\nport = 99999", "'port' in [serve] of headrace.toml cannot be: 99999 is not in the range"),
        ("[serve]\ndurability = 'fast'", "'durability' in [serve] of headrace.toml cannot be: 'fast' is not one of"),
        ("[serve]\nallow_host = 'a'", "'allow_host' in [serve] of headrace.toml is to be a list of strings; it is 'a'"),
        ("[client]\ntoken = 'x'", "headrace.toml sets 'token' in [client], which is no setting there. Did you mean"),
        ("[serve", "headrace.toml is not TOML: "),
    ],
)
def test_a_mistake_is_one_sentence_whichever_command_meets_it(
    headrace: Headrace, here: Path, text: str, sentence: str
) -> None:
    (here / "headrace.toml").write_text(text + "\n")
    ran = headrace("queues")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"headrace: {sentence}")
    assert len(ran.err.splitlines()) == 1


def test_serve_takes_its_settings_and_the_limits_from_the_file(headrace: Headrace, here: Path) -> None:
    (here / "headrace.toml").write_text('[serve]\nat = "mine"\nhost = "0.0.0.0"\n[limits]\nbody_bytes = 10\n')
    ran = headrace("serve")
    assert (ran.code, "listening on 0.0.0.0 opens this node" in ran.err) == (2, True)


@pytest.mark.parametrize("section", ["serve", "limits", "up", "work"])
def test_the_environment_that_the_page_names_is_what_the_command_reads(
    headrace: Headrace, monkeypatch: pytest.MonkeyPatch, section: str
) -> None:
    page = (DOCS / "configuration.md").read_text().split(f"## [{section}]\n")[1].split("\n## ")[0]
    numbers = re.findall(r"^\| `(\w+)` \| a (?:whole )?number \|[^|]*\| `(\w+)` \|", page, re.M)
    assert numbers
    for name, variable in numbers:
        with monkeypatch.context() as patch:
            patch.setenv(variable, "none")
            ran = headrace("serve" if section == "limits" else f"{section}{' x:y' if section == 'work' else ''}")
        assert (ran.code, f"--{name.replace('_', '-')}'" in ran.err) == (2, True), ran.err


def test_every_setting_is_documented() -> None:
    page = (DOCS / "configuration.md").read_text()
    for section, options in settings().items():
        part = page.split(f"## [{section}]\n")[1].split("\n## ")[0]
        assert [name for name, option in options.items() if f"| `{name}` |" not in part or not option.help] == []

"""`headrace plan`: exit codes and what it prints."""

import json
from pathlib import Path

import pytest

from headrace.cli import main

TINY = """
[workload]
producers = 2
consumers = 2
produce_rate = 10.0
consume_rate = 10.0

[limits]
designs = ["manager"]
"""


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as leaving:
        main(["plan", *arguments])
    captured = capsys.readouterr()
    assert isinstance(leaving.value.code, int)
    return leaving.value.code, captured.out, captured.err


def test_a_plan_is_printed_as_text_or_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "tiny.toml"
    path.write_text(TINY)
    code, out, _ = run(capsys, str(path), "--picture", str(tmp_path / "plan.png"))
    assert code == 0
    assert "tiny: the plan" in out
    assert (tmp_path / "plan.png").stat().st_size > 1_000
    code, out, _ = run(capsys, str(path), "--json")
    assert (code, json.loads(out)["configuration"]["design"]) == (0, "manager")


def test_targets_that_nothing_meets_are_a_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "tiny.toml"
    path.write_text(TINY + "\n[targets]\nmessages_per_item = 1\n")
    code, out, _ = run(capsys, str(path))
    assert code == 1
    assert "nothing meets messages_per_item" in out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [(["absent.toml"], "there is no file"), (["absent.toml", "--picture", "plan.gif"], "its name must end in")],
)
def test_what_makes_no_sense_is_a_usage_error(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = run(capsys, *arguments)
    assert code == 2
    assert sentence in err

"""`headrace simulate`: seeds, series and errors, by the command line."""

import json
import shlex
from pathlib import Path

import pytest

from headrace.cli import main


def _run(capsys: pytest.CaptureFixture[str], command: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as left:
        main(["simulate", *shlex.split(command)])
    out, err = capsys.readouterr()
    assert isinstance(left.value.code, int)
    return left.value.code, out, err


def test_several_seeds_against_another_policy_in_json(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    command = "networked --topology ring:5 --policy paper --until 8 --seeds 1:3 --against isolated --json"
    code, out, err = _run(capsys, f"{command} --series {tmp_path}")
    measured = json.loads(out)
    assert (code, err) == (0, "")
    wanted = {"mean", "min", "max", "std", "p99", "requests", "forwarded_share", "hops_max", "hops", "queue_seen_max"}
    for part in (measured["overall"], *measured["populations"].values()):
        assert wanted | {"speedup"} <= set(part)
        assert {"mean", "mean_ci95", "max", "max_ci95", "std", "std_ci95"} <= set(part["speedup"])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["seed-1.csv", "seed-2.csv", "seed-3.csv"]


def test_one_seed_prints_whole_numbers_and_no_intervals(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = _run(capsys, "networked --until 5 --seeds 7 --json")
    assert code == 0
    assert "mean_ci95" not in json.loads(out)["overall"]
    assert _run(capsys, "networked --until 5 --seed 7 --json")[1] == out


@pytest.mark.parametrize("seeds", ["5:1", "one", "1:2:3", "", ":", "1-10"])
def test_seeds_that_make_no_sense_are_refused(capsys: pytest.CaptureFixture[str], seeds: str) -> None:
    code, out, err = _run(capsys, f"networked --seeds '{seeds}'")
    assert (code, out) == (2, "")
    assert "FIRST:LAST" in err


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        ("--topology ring:1", "has no neighbour"),
        ("--topology rig:5", "--topology is 'rig:5'"),
        ("--until 0.1", "not after --start"),
        ("--policy pape", "Did you mean 'paper'?"),
        ("--against nobody", "--against is 'nobody'"),
        ("--servers 0", "--servers is 0: it must be at least 1"),
        ("--users nan", "--users is nan: it must be a number"),
        ("--hop-limits 3", "No such option"),
        ("--until 2 --series /dev/null/series", "--series /dev/null/series cannot be written"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(
    capsys: pytest.CaptureFixture[str], argv: str, sentence: str
) -> None:
    code, out, err = _run(capsys, f"networked {argv}")
    assert (code, out) == (2, "")
    assert sentence in err
    assert "Traceback" not in err


def test_a_file_of_links_is_a_topology(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "sites.txt"
    path.write_text("0 1\n1 2\n")
    code, out, _ = _run(capsys, f"networked --topology {path} --until 5 --json")
    assert code == 0
    assert list(json.loads(out)["populations"]) == ["0", "1", "2"]
    path.write_text("0 1\n3 1\n")
    code, out, err = _run(capsys, f"networked --topology {path} --until 5 --json")
    assert (code, out) == (2, "")
    assert "cluster 2 of --topology" in err

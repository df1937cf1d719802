import json
import subprocess
import sys
from pathlib import Path

import pytest

from headrace.cli import main
from headrace.lab.papers import Scale
from tests.lab.tables import make_table

pytestmark = pytest.mark.usefixtures("toy_paper")


def lab(*words: str, code: int = 0) -> None:
    with pytest.raises(SystemExit) as left:
        main(["lab", *words])
    assert left.value.code == code


def test_list_names_papers_and_experiments(capsys: pytest.CaptureFixture[str]) -> None:
    lab("list")
    said = capsys.readouterr().out
    assert "900  A. Nobody: On levels & their <noise> (1999)" in said
    assert "  900-level   The level (figure 1)" in said
    assert "3 claims" in said
    lab("list", "--json")
    assert [each["experiment"] for each in json.loads(capsys.readouterr().out)] == ["900-level", "900-broken"]


def test_an_unknown_experiment_gets_the_nearest_right_name(capsys: pytest.CaptureFixture[str]) -> None:
    lab("run", "900-levle", code=2)
    assert "there is no experiment '900-levle'. Did you mean '900-level'?" in capsys.readouterr().err


def test_a_master_that_is_none_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    lab("run", "900-level", "--master", "locla", "--out", str(tmp_path), code=2)
    assert "Did you mean 'local" in capsys.readouterr().err


def test_an_unreachable_master_is_one_sentence_unless_more_is_asked_for(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    words = ("run", "900-level", "--master", "spark://127.0.0.1:1", "--out", str(tmp_path))
    lab(*words, code=1)
    said = capsys.readouterr().err
    assert said.startswith("headrace: nothing answers at --master spark://127.0.0.1:1")
    assert said.count("\n") == 1
    lab(*words, "--debug", code=1)
    assert "Traceback" in capsys.readouterr().err


def test_what_is_there_already_needs_no_spark(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    make_table("900-level", scale=Scale.QUICK, folder=tmp_path)
    # At this master nobody answers, and nobody is asked.
    lab(
        *("run", "900-level", "--scale", "quick", "--out", str(tmp_path)),
        *("--master", "spark://127.0.0.1:1", "--json"),
    )
    (done,) = json.loads(capsys.readouterr().out)
    assert done["computed_runs"] == 0
    assert done["points"] == 3
    assert Path(done["table"]).exists()


@pytest.mark.parametrize("command", ["run 900-level --scale quick", "report --scale quick"])
def test_a_table_of_another_version_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, command: str
) -> None:
    make_table("900-level", scale=Scale.QUICK, folder=tmp_path, stamp="0.0.1+00000000")
    lab(*command.split(), "--out", str(tmp_path), code=2)
    said = capsys.readouterr().err
    assert "was computed by version 0.0.1+00000000" in said
    assert f"headrace lab run 900-level --scale quick --out {tmp_path} --fresh" in said


def test_a_report_needs_a_table(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    lab("report", "--out", str(tmp_path), code=3)
    assert "headrace lab run all --scale paper" in capsys.readouterr().err


def test_a_report_is_a_page_or_its_claims_as_json(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    make_table("900-level", scale=Scale.QUICK, folder=tmp_path)
    lab("report", "--scale", "quick", "--out", str(tmp_path))
    assert capsys.readouterr().out.strip() == str(tmp_path / "quick" / "report.html")
    lab("report", "--scale", "quick", "--out", str(tmp_path), "--json")
    verdicts = {each["claim"]: each["verdict"] for each in json.loads(capsys.readouterr().out)}
    assert verdicts == {
        "900-about-ten": "confirmed",
        "900-above-twenty": "not confirmed",
        "900-below-fifty": "not measured",
    }


@pytest.mark.parametrize(
    ("words", "module", "extra"),
    [("list", "matplotlib", "lab"), ("run 900-level", "pyspark", "spark"), ("report", "pyarrow", "spark")],
)
def test_without_an_extra_the_command_says_how_to_get_it(words: str, module: str, extra: str) -> None:
    code = (
        f"import sys; sys.modules[{module!r}] = None; from headrace.lab.experiments import PAPERS;"
        f"PAPERS['900'] = 'tests.lab.experiments.toy'; from headrace.cli import main; main(['lab', *{words.split()}])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr == f"headrace: this needs {module}: pip install 'headrace[{extra}]'\n"
    assert done.returncode == 1

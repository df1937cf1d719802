"""`simulate` and `model`: groups made from registries, before any kernel is imported."""

import importlib
import json
import sys
import types

import click
import pytest
from click.testing import CliRunner

from headrace.cli.extras import needing
from headrace.cli.measured import MeasuredGroup
from headrace.core.errors import Unavailable
from headrace.lab.parameters import Parameter, complete


@pytest.fixture
def group(monkeypatch: pytest.MonkeyPatch) -> click.Group:
    coin = types.ModuleType("tests_coin", "A coin, for this test.")
    coin.PARAMETERS = (
        Parameter("bias", 0.5, "How often heads."),
        Parameter("heads_only", False, "No tails."),
    )  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tests_coin", coin)
    return MeasuredGroup(
        "toss",
        modules={"coin": "tests_coin"},
        run=lambda module, options: {
            "bias": complete(module.PARAMETERS, options)["bias"],
            "bias_ci95": 0.25,
            "by": {"tails": 3},
            "notes": ["fair", "thin"],
        },
        help="Toss.",
    )


def test_options_come_from_parameters_and_json_is_exact(group: click.Group) -> None:
    result = CliRunner().invoke(group, ["coin", "--bias", "0.25", "--heads-only", "--json"])
    assert json.loads(result.output) == {"bias": 0.25, "bias_ci95": 0.25, "by": {"tails": 3}, "notes": ["fair", "thin"]}


def test_people_get_a_table_with_half_widths_beside(group: click.Group) -> None:
    result = CliRunner().invoke(group, ["coin"])
    assert result.output == "bias      0.5 ± 0.25\nby.tails  3\nnotes     fair; thin\n"


def test_a_wrong_name_is_met_with_the_nearest_right_one(group: click.Group) -> None:
    result = CliRunner().invoke(group, ["coim"])
    assert result.exit_code == 2
    assert "Did you mean 'coin'?" in result.output
    assert "There is coin." in CliRunner().invoke(group, ["dice"]).output


def test_a_missing_extra_is_one_sentence_with_its_command() -> None:
    sentence = r"this needs absent_module: pip install 'headrace\[lab\]'"
    with pytest.raises(Unavailable, match=sentence), needing("lab"):
        importlib.import_module("absent_module")

import json

from click.testing import CliRunner

from headrace.cli import cli
from headrace.lab.models import relaxed
from headrace.lab.parameters import complete


def test_the_command_prints_the_law() -> None:
    result = CliRunner().invoke(cli, ["model", "relaxed", "--nodes", "20", "--peeks", "2", "--json"])
    printed = json.loads(result.output)
    assert list(printed) == ["mean", "p50", "p90", "p99", "share_at_0"]
    assert round(printed["mean"], 9) == 14.55
    assert (printed["p50"], printed["p90"], printed["p99"]) == (11, 34, 61)
    assert round(printed["share_at_0"], 9) == 0.1


def test_ten_thousand_nodes_are_solved() -> None:
    solved = relaxed.solve(complete(relaxed.PARAMETERS, {"nodes": 10_000, "peeks": 10}))
    # The error is linear in the nodes (eq. 1): 100 nodes have a hundredth of it, but for rounding.
    assert [round(solved[name] / 100) for name in ("p50", "p90", "p99")] == [8, 24, 48]

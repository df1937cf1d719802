"""Workloads read from TOML, and refused in a sentence where they make no sense."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headrace.core.errors import Invalid
from headrace.lab.planner.workload import ItemSource, read, understand

PLAIN: dict[str, Any] = {"producers": 4, "consumers": 3, "produce_rate": 2.0, "consume_rate": 3.0}


def test_a_plain_workload_needs_four_numbers() -> None:
    workload = understand({"workload": PLAIN}, title="plain")
    assert workload.title == "plain"
    assert workload.sources == (ItemSource(4, 2.0),)
    assert workload.load == pytest.approx(9 / 8)
    assert workload.targets.given() == {}


def test_a_body_on_the_wire_is_part_of_its_consumption() -> None:
    given = PLAIN | {"item_bytes": 1_000, "bandwidth_bytes_per_second": 3_000}
    workload = understand({"workload": given}, title="wide")
    assert workload.body_seconds == pytest.approx(1 / 3)
    assert workload.load == pytest.approx(3 / (2 / 3) / 8)


def test_uneven_producers_are_sources() -> None:
    given = {
        "consumers": 3,
        "consume_rate": 3.0,
        "sources": [{"producers": 1, "produce_rate": 9.0}, {"producers": 2, "produce_rate": 1}],
    }
    assert understand({"workload": given}, title="uneven").make_rate == pytest.approx(11)


@pytest.mark.parametrize(
    ("document", "sentence"),
    [
        ({"workload": PLAIN | {"producers": 0}}, "workload.producers is 0: it must be at least 1"),
        ({"workload": PLAIN | {"producers": 2.5}}, "workload.producers is 2.5: it must be a whole number"),
        ({"workload": PLAIN | {"consume_rate": -1}}, "workload.consume_rate is -1: it must be above 0"),
        ({"workload": PLAIN | {"consume_rate": "fast"}}, "workload.consume_rate is 'fast': it must be a number"),
        ({"workload": PLAIN | {"consumer": 1}}, "an unknown key 'consumer'. Did you mean 'consumers'?"),
        ({"workload": {"consumers": 1}}, "the workload has no workload.producers"),
        ({"workload": PLAIN, "target": {}}, "an unknown key 'target'. Did you mean 'targets'?"),
        ({"workload": PLAIN, "targets": {"mean_wait": 1}}, "Did you mean 'mean_wait_seconds'?"),
        ({"workload": PLAIN, "targets": {"memory_bytes": 0}}, "targets.memory_bytes is 0: it must be above 0"),
        ({"workload": PLAIN, "limits": {"designs": ["hubb"]}}, "limits.designs has 'hubb'"),
        ({"workload": PLAIN, "limits": {"designs": []}}, "limits.designs must be a list"),
        ({"workload": PLAIN, "limits": {"connections": 5}}, "limits.connections is 5: there are 4 producers"),
        ({"workload": PLAIN | {"sources": [{"producers": 1, "produce_rate": 1}]}}, "give one of the two"),
        ({"workload": 3}, "workload must be a table"),
        ({"workload": PLAIN | {"production": "uniform:1:2"}}, "workload.production uniform"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_sentence(document: dict[str, Any], sentence: str) -> None:
    with pytest.raises(Invalid) as refusal:
        understand(document, title="wrong")
    assert sentence in str(refusal.value)


def test_a_file_that_is_not_there_or_not_toml_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="there is no file"):
        read(tmp_path / "absent.toml")
    (tmp_path / "broken.toml").write_text("producers =")
    with pytest.raises(Invalid, match="is not TOML"):
        read(tmp_path / "broken.toml")

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headrace.core.errors import Damaged, Invalid, Unavailable
from headrace.spark.engine.table import SCHEMA, Table
from headrace.spark.plan.results import Row


def row(seed: int, version: str = "1+a") -> Row:
    return Row("test", "abc", '{"nodes":5}', seed, "mean", 0.5, None, version, 0.1)


def test_parts_and_the_finished_table_hold_the_same_rows(tmp_path: Path) -> None:
    table = Table(tmp_path, "test")
    assert not table.exists
    table.add([row(2)])
    table.add([row(1)])
    assert table.exists
    rows = table.read("1+a")
    assert sorted(each.seed for each in rows) == [1, 2]
    table.finish(rows)
    assert table.read("1+a") == [row(1), row(2)]
    assert [path.name for path in tmp_path.iterdir()] == ["test.parquet"]


def test_the_file_is_tidy_and_says_what_it_was_made_with(tmp_path: Path) -> None:
    table = Table(tmp_path, "test")
    table.finish([row(1)])
    assert pq.read_schema(table.path).equals(SCHEMA)
    assert {"python", "numpy", "numba", "pyspark"} == set(table.made_with())


def test_rows_of_another_version_are_refused_with_the_way_out(tmp_path: Path) -> None:
    table = Table(tmp_path, "test")
    table.finish([row(1)])
    with pytest.raises(Invalid, match=r"version 1\+a, and this is 2\+b: .*--fresh"):
        table.read("2+b")
    table.discard()
    assert table.read("2+b") == []


def test_a_file_that_is_no_table_is_named(tmp_path: Path) -> None:
    table = Table(tmp_path, "test")
    table.path.write_bytes(b"not parquet")
    with pytest.raises(Damaged, match=r"test\.parquet cannot be read"):
        table.read("1+a")
    pq.write_table(pa.table({"x": [1]}), table.path)
    with pytest.raises(Invalid, match="not a table of experiments"):
        table.read("1+a")


def test_a_part_cut_short_by_a_crash_is_not_seen(tmp_path: Path) -> None:
    table = Table(tmp_path, "test")
    table.add([row(1)])
    (tmp_path / "test.parts" / "_000001.parquet").write_bytes(b"half")
    assert table.read("1+a") == [row(1)]
    table.finish(table.read("1+a"))
    assert [path.name for path in tmp_path.iterdir()] == ["test.parquet"]


def test_a_table_is_computed_by_one_run_at_a_time(tmp_path: Path) -> None:
    table = Table(tmp_path, "test")
    with table.held():
        with pytest.raises(Unavailable, match="another run is computing"), Table(tmp_path, "test").held():
            pass
        table.add([row(1)])
        table.finish(table.read("1+a"))
    with table.held():
        assert table.read("1+a") == [row(1)]

"""The table of an experiment: one Parquet file, tidy, a row for each metric of each run.

While a sweep runs, its results are kept as parts beside it, each written whole and then named, so that whenever it is
interrupted nothing that was measured is lost; at the end they become one file. Every row bears the version that
computed it, and rows of different versions are never mixed.
"""

from __future__ import annotations

import fcntl
import json
import os
import platform
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from headrace.core.errors import Damaged, Invalid, Unavailable
from headrace.spark.plan.results import Row

SCHEMA = pa.schema(
    [
        ("experiment", pa.string()),
        ("point", pa.string()),
        ("parameters", pa.string()),
        ("seed", pa.int64()),
        ("metric", pa.string()),
        ("value", pa.float64()),
        ("half_width", pa.float64()),
        ("version", pa.string()),
        ("seconds", pa.float64()),
    ]
)

_MADE_WITH = ("numpy", "numba", "pyspark")


@dataclass(frozen=True, slots=True)
class Table:
    """The table of one experiment in a folder. `command` is what computes it, for messages."""

    folder: Path
    name: str
    command: str = "headrace lab run"

    @property
    def path(self) -> Path:
        return self.folder / f"{self.name}.parquet"

    @property
    def exists(self) -> bool:
        """Whether anything has been measured yet."""
        return self.path.exists() or bool(self._parts())

    def read(self, version: str) -> list[Row]:
        """All rows. Those of another version are refused: they may be other numbers."""
        rows = []
        for path in [*([self.path] if self.path.exists() else []), *self._parts()]:
            rows += _read(path)
        for row in rows:
            if row.version != version:
                raise Invalid(
                    f"{self.path} was computed by version {row.version}, and this is {version}: "
                    f"compute it anew with `{self.command} --fresh`"
                )
        # A crash between finishing and dropping the parts leaves rows in both.
        return list({(row.point, row.seed, row.metric): row for row in rows}.values())

    @contextmanager
    def held(self) -> Iterator[None]:
        """Nobody else computes this table meanwhile; Unavailable if somebody does already."""
        self._folder_of_parts.mkdir(parents=True, exist_ok=True)
        folder = os.open(self._folder_of_parts, os.O_RDONLY)
        try:
            _lock(folder, self.path)
            yield
        finally:
            os.close(folder)

    def add(self, rows: Sequence[Row]) -> None:
        """Keep rows at once, as a part."""
        self._folder_of_parts.mkdir(parents=True, exist_ok=True)
        _write(self._folder_of_parts / f"{len(self._parts()):06}.parquet", rows)

    def finish(self, rows: Sequence[Row]) -> None:
        """Make one file of all rows and drop the parts."""
        self.folder.mkdir(parents=True, exist_ok=True)
        _write(self.path, sorted(rows, key=lambda row: (row.point, row.seed, row.metric)))
        self._drop_parts()

    def discard(self) -> None:
        """Forget all that was measured."""
        self.path.unlink(missing_ok=True)
        self._drop_parts()

    def made_with(self) -> Mapping[str, str]:
        """The versions of Python and of the libraries that the table was finished with."""
        said: dict[str, str] = json.loads(pq.read_schema(self.path).metadata[b"made_with"])
        return said

    @property
    def _folder_of_parts(self) -> Path:
        return self.folder / f"{self.name}.parts"

    def _parts(self) -> list[Path]:
        return sorted(self._folder_of_parts.glob("[0-9]*.parquet"))

    def _drop_parts(self) -> None:
        if self._folder_of_parts.exists():
            shutil.rmtree(self._folder_of_parts)


def _lock(folder: int, path: Path) -> None:
    """Take the lock of an open folder; closing it gives the lock back."""
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise Unavailable(f"another run is computing {path}: wait for it, or choose another --out") from error


def _write(path: Path, rows: Sequence[Row]) -> None:
    columns = zip(*(msgspec.structs.astuple(row) for row in rows), strict=True)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)]
    schema = SCHEMA.with_metadata({"made_with": json.dumps(_versions())})
    aside = path.with_name(f"_{path.name}")
    pq.write_table(pa.Table.from_arrays(arrays, schema=schema), aside, compression="zstd")
    os.replace(aside, path)


def _read(path: Path) -> list[Row]:
    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowInvalid) as error:
        raise Damaged(f"{path} cannot be read as Parquet: remove it and run the experiment again") from error
    if not table.schema.equals(SCHEMA):
        raise Invalid(f"{path} is not a table of experiments, or one of another layout: move it elsewhere")
    return [Row(*values) for values in zip(*(column.to_pylist() for column in table.columns), strict=True)]


def _versions() -> dict[str, str]:
    return {"python": platform.python_version()} | {name: metadata.version(name) for name in _MADE_WITH}

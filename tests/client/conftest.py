from collections.abc import Iterator
from pathlib import Path

import pytest

import headrace


@pytest.fixture
def hr() -> Iterator[headrace.Headrace]:
    """A node that keeps nothing."""
    with headrace.open(":memory:") as handle:
        yield handle


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[headrace.Headrace]:
    """A node on files."""
    with headrace.open(tmp_path / "data", durability="os") as handle:
        yield handle

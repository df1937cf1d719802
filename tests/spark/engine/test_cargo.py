import zipfile
from pathlib import Path

import pytest

from headrace.spark.engine.cargo import pack


def test_the_same_sources_make_the_same_archive(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    first = pack(["headrace"])
    content = first.read_bytes()
    first.unlink()
    assert pack(["headrace", "headrace"]) == first
    assert first.read_bytes() == content
    assert "headrace/spark/engine/worker.py" in zipfile.ZipFile(first).namelist()

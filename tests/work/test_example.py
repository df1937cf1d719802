"""The example does what it says."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "thumbnails.py"


@pytest.fixture
def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("thumbnails", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_thumbnails_are_made_and_failures_told(
    example: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = tmp_path / "cat.png"
    picture.write_bytes(bytes(300))
    with example.app.inline():
        example.main([str(picture), str(tmp_path / "dog.png")])
    out, err = capsys.readouterr()
    assert out == f"{picture}.100.thumb\n"
    assert Path(f"{picture}.100.thumb").stat().st_size == 100
    assert err.startswith(f"{tmp_path}/dog.png: task 'thumbnail' failed: FileNotFoundError")

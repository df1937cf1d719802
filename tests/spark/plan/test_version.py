import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import headrace
from headrace.core.errors import Invalid
from headrace.spark.plan import version as module
from headrace.spark.plan.version import version


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package of a kernel, a module it leads to, and one that it does not."""
    root = tmp_path / "versioned"
    root.mkdir()
    (root / "__init__.py").write_text("")
    (root / "kernel.py").write_text("from versioned import near\nfrom . import relative\nimport json\n")
    (root / "near.py").write_text("from versioned.far import VALUE\n")
    (root / "far.py").write_text("VALUE = 1\n")
    (root / "relative.py").write_text("")
    (root / "other.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    yield root
    for name in [name for name in sys.modules if name.startswith("versioned")]:
        del sys.modules[name]
    _forget()


def _forget() -> None:
    module.version.cache_clear()
    module._find.cache_clear()


@pytest.mark.parametrize(
    ("changed", "matters"), [("kernel", True), ("near", True), ("far", True), ("relative", True), ("other", False)]
)
def test_a_version_changes_with_the_source_that_a_kernel_leads_to(package: Path, changed: str, matters: bool) -> None:
    _forget()
    before = version("versioned.kernel")
    _forget()
    assert version("versioned.kernel") == before
    assert before.startswith(f"{headrace.__version__}+")
    with (package / f"{changed}.py").open("a") as source:
        source.write("# changed\n")
    _forget()
    assert (version("versioned.kernel") != before) is matters


def test_what_is_no_module_is_refused() -> None:
    with pytest.raises(Invalid, match=r"no kernel 'headrace\.nowhere'"):
        version("headrace.nowhere")

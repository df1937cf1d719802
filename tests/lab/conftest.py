import pytest

from headrace.lab.experiments import PAPERS


@pytest.fixture
def toy_paper(monkeypatch: pytest.MonkeyPatch) -> None:
    """The toy paper is the only one that there is."""
    for name in list(PAPERS):
        monkeypatch.delitem(PAPERS, name)
    monkeypatch.setitem(PAPERS, "900", "tests.lab.experiments.toy")

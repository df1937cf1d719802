import pytest
from hypothesis import settings

# How long an example takes says more about the machine than about the code.
settings.register_profile("house", deadline=None)
settings.load_profile("house")


@pytest.fixture
def toy_paper(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lab's only paper is the toy one."""
    from headrace.lab.experiments import PAPERS

    for name in list(PAPERS):
        monkeypatch.delitem(PAPERS, name)
    monkeypatch.setitem(PAPERS, "900", "tests.lab.experiments.toy")

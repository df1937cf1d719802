from collections.abc import Iterator

import pytest

import headrace


@pytest.fixture
def app() -> Iterator[headrace.App]:
    """An app on a node that keeps nothing."""
    with headrace.open(":memory:") as hr, headrace.App(hr) as app:
        yield app

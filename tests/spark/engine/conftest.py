from collections.abc import Iterator

import pytest

from headrace.spark.engine.session import Session, session


@pytest.fixture(scope="session")
def running() -> Iterator[Session]:
    """One Spark for all tests: it takes seconds to start."""
    with session("local[2]") as started:
        yield started

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this room is marked `live`."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.live)

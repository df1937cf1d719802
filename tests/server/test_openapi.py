"""The document is truthful: what it allows is taken, what it does not is refused, and nothing is a 5xx."""

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode

from headrace.server.rest import OPERATIONS
from tests.server.serve import served


@pytest.fixture(scope="module")
def schema(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with served(tmp_path_factory.mktemp("openapi"), durability="os") as node:
        yield schemathesis.openapi.from_url(f"http://127.0.0.1:{node.rest_port}/openapi.json")


CASES = [
    pytest.param(operation, mode, id=f"{operation.name}-{mode.value}")
    for operation in OPERATIONS
    for mode in GenerationMode
    if mode is GenerationMode.POSITIVE or operation.takes or "{" in operation.path  # else nothing can be wrong
]


@pytest.mark.parametrize(("operation", "mode"), CASES)
def test_what_the_document_says_is_so(schema: Any, operation: Any, mode: GenerationMode) -> None:
    described = schema[operation.path][operation.method]

    @given(case=described.as_strategy(generation_mode=mode))
    @settings(max_examples=10, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    def check(case: Any) -> None:
        if mode is GenerationMode.POSITIVE and isinstance(case.body, dict) and "wait" in case.body:
            case.body["wait"] = 0  # an empty queue would be waited for
        case.call_and_validate(timeout=30)

    check()

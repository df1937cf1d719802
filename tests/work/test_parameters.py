"""Arguments as bytes, and back."""

import dataclasses
import datetime as dt
import enum
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.core.errors import Invalid
from headrace.work.parameters import Parameters

SENDABLE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def everything(first: Any, second: Any = 2, /, third: Any = 3, *rest: Any, named: Any = 4, **more: Any) -> None: ...


def there_and_back(function: Any, *args: Any, **kwargs: Any) -> tuple[list[Any], dict[str, Any]]:
    parameters = Parameters("task", function)
    return parameters.decode(parameters.encode(args, kwargs, beside=()))


@given(
    args=st.lists(SENDABLE, min_size=1, max_size=5),
    named=SENDABLE,
    more=st.dictionaries(st.sampled_from("xyz"), SENDABLE),
)
def test_arguments_arrive_as_they_were_passed(args: list[Any], named: Any, more: dict[str, Any]) -> None:
    assert there_and_back(everything, *args, named=named, **more) == (args, {"named": named, **more})


def test_what_was_left_out_is_left_to_the_default_of_the_worker() -> None:
    assert there_and_back(everything, 1) == ([1], {})
    assert there_and_back(everything, 1, third=5) == ([1], {"third": 5})


class Color(enum.Enum):
    RED = "red"


@dataclasses.dataclass
class Size:
    width: int
    height: int = 3


class Point(msgspec.Struct):
    x: float


def test_values_arrive_with_their_types() -> None:
    def typed(
        size: Size, point: Point, color: Color, when: dt.datetime, pair: tuple[int, str], some: list[Size] | None = None
    ) -> None: ...

    given = [Size(1), Point(1.5), Color.RED, dt.datetime(2030, 1, 1, tzinfo=dt.UTC), (1, "a"), [Size(2, 2)]]
    assert there_and_back(typed, *given) == (given, {})


def test_a_type_that_cannot_be_sent_is_named() -> None:
    def of_path(paths: list[Path]) -> None: ...

    def to_path() -> dict[str, Path]: ...  # type: ignore[empty-body]

    with pytest.raises(Invalid, match="its parameter 'paths' has the type Path, which cannot be sent"):
        Parameters("task", of_path).check()
    with pytest.raises(Invalid, match="its result has the type Path, which cannot be sent"):
        Parameters("task", to_path).check()


def test_a_hint_that_cannot_be_resolved_is_named() -> None:
    def lost(size: "Nowhere") -> None: ...  # type: ignore[name-defined] # noqa: F821

    with pytest.raises(Invalid, match="the type hints of task 'task' cannot be resolved: name 'Nowhere'"):
        Parameters("task", lost).check()


def test_an_argument_that_the_worker_does_not_know_is_refused() -> None:
    def older(path: str) -> None: ...

    newer = Parameters("task", everything).encode((1,), {"path": "a"}, beside=())
    with pytest.raises(Invalid, match="the arguments do not fit task 'task'"):
        Parameters("task", older).decode(newer)

from typing import Any

import pytest

from headrace.core.errors import Invalid
from headrace.lab.parameters import Parameter, complete

PARAMETERS = (
    Parameter("max_hops", 3, "Probes at most.", least=1, most=20),
    Parameter("rate", 0.5, "Items a tick.", least=0),
    Parameter("policy", "best", "Which.", choices=("best", "top-two")),
    Parameter("merged", False, "Whether."),
)


def test_defaults_fill_what_is_not_given_and_a_whole_number_serves_as_a_float() -> None:
    assert complete(PARAMETERS, {"rate": 2}) == {
        "max_hops": 3,
        "rate": 2.0,
        "policy": "best",
        "merged": False,
    }
    assert isinstance(complete(PARAMETERS, {"rate": 2})["rate"], float)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"max_hop": 3}, "there is no parameter 'max_hop'. Did you mean 'max_hops'?"),
        ({"max_hops": 0}, "--max-hops is 0: it must be at least 1"),
        ({"max_hops": 21}, "--max-hops is 21: it must be at most 20"),
        ({"max_hops": 2.0}, "--max-hops is 2.0: it must be a whole number"),
        ({"max_hops": True}, "--max-hops is True: it must be a whole number"),
        ({"rate": float("nan")}, "--rate is nan: it must be a number"),
        ({"rate": "fast"}, "--rate is 'fast': it must be a number"),
        ({"merged": 1}, "--merged is 1: it must be true or false"),
        (
            {"policy": "bets"},
            "--policy is 'bets': it must be one of best, top-two. Did you mean 'best'?",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_sentence(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(Invalid) as refused:
        complete(PARAMETERS, given)
    assert str(refused.value) == sentence

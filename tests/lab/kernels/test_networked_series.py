"""Networked clusters over time: the series agree with the simulation that they come from."""

from typing import Any

import numpy as np
import pytest

from headrace.core.errors import Invalid
from headrace.lab.kernels import networked, networked_series
from headrace.lab.parameters import complete


def _parameters(**given: Any) -> dict[str, Any]:
    parameters = complete(networked_series.PARAMETERS, {"topology": "ring:3", "until": 20.0, **given})
    networked_series.check(parameters)
    return parameters


def test_series_are_the_samples_of_the_simulation() -> None:
    parameters = _parameters(every=0.5)
    measured = networked_series.measure(parameters, 2)
    _, _, samples = networked.run(parameters, 2, sample_times=np.arange(0.0, 20.0, 0.5))
    for k in range(3):
        assert measured["queued"][str(k)] == samples.queued[:, k].tolist()
        assert measured["reach"][str(k)] == samples.reach[:, k].tolist()
        assert measured["accept"][str(k)] == pytest.approx(5 / (5 + samples.queued[:, k]))


def test_a_burst_crowds_an_isolated_queue_for_longer_and_drains_later() -> None:
    alone, networked_ = (networked_series.measure(_parameters(policy=policy), 1) for policy in ("isolated", "paper"))
    for k in "012":
        assert alone["crowded"][k] > 2 * networked_["crowded"][k]
        assert alone["drained"][k] > 2 * networked_["drained"][k]
    assert alone["accept_in_burst"]["own"] < networked_["accept_in_burst"]["own"]


def test_the_shared_queue_is_what_every_cluster_shows() -> None:
    measured = networked_series.measure(_parameters(policy="shared", users=40.0), 1)
    assert measured["queued"]["0"] == measured["queued"]["2"]
    assert max(measured["queued"]["0"]) > 0


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"until": 14.0}, "the last burst ends at 14.3"),
        ({"burst_length": 0.0}, "--burst-length is 0"),
        ({"burst_length": 3.0}, "at most --burst-first, 2.3"),
        ({"topology": "ring:1"}, "has no neighbour"),
        ({"every": 0.001}, "--every is 0.001"),
    ],
)
def test_bursts_that_could_not_be_seen_are_refused(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(Invalid, match=sentence):
        _parameters(**given)

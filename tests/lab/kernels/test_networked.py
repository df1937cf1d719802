"""The kernel `networked`: what it measures, what it refuses, and that it is the model and not something like it."""

import csv
import json
import math
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bench.networked import Answer, Clusters, Neighbours, ring

from headrace.core.errors import Invalid
from headrace.core.estimates import student
from headrace.lab.kernels import networked
from headrace.lab.parameters import complete


def _parameters(**given: Any) -> dict[str, Any]:
    parameters = complete(networked.PARAMETERS, given)
    networked.check(parameters)
    return parameters


def test_measurements_are_the_same_for_the_same_seed_and_differ_by_seed() -> None:
    parameters = _parameters(until=10.0)
    assert networked.measure(parameters, 4) == networked.measure(parameters, 4)
    assert networked.measure(parameters, 4) != networked.measure(parameters, 5)


def test_populations_make_up_the_whole() -> None:
    measured = networked.measure(_parameters(topology="star:4"), 2)
    whole, parts = measured["overall"], list(measured["populations"].values())
    assert list(measured["populations"]) == ["0", "1", "2", "3"]
    assert whole["requests"] == sum(part["requests"] for part in parts) == sum(whole["hops"].values())
    assert whole["mean"] * whole["requests"] == pytest.approx(sum(part["mean"] * part["requests"] for part in parts))
    assert whole["max"] == max(part["max"] for part in parts)
    assert whole["min"] == min(part["min"] for part in parts) == pytest.approx(0.046)
    assert whole["hops_max"] == max(map(int, whole["hops"]))
    assert whole["forwarded_share"] == pytest.approx(1 - whole["hops"]["0"] / whole["requests"])


def test_the_same_requests_come_under_every_policy() -> None:
    asked = [networked.run(_parameters(policy=policy), 3)[0].times for policy in networked.POLICIES]
    assert all(np.array_equal(asked[0], other) for other in asked[1:])


def test_the_shared_queue_is_one_queue_before_all_servers() -> None:
    asked, served, _ = networked.run(_parameters(policy="shared", users=22.0), 1)
    expected = list(asked.times[:25])
    for time, free in zip(asked.times[25:], served.started[:-25], strict=True):
        expected.append(max(time, free + 0.04))
    assert served.started == pytest.approx(expected, abs=1e-9)
    assert (served.started > asked.times).any()


def test_no_policy_beats_the_shared_queue() -> None:
    for seed in range(5):
        bound = networked.measure(_parameters(policy="shared"), seed)["overall"]
        for policy in ("paper", "cost", "isolated"):
            met = networked.measure(_parameters(policy=policy), seed)["overall"]
            assert met["mean"] > bound["mean"]
            assert met["max"] > bound["max"]


def test_delivery_that_occupies_its_server_lowers_the_capacity() -> None:
    overlap, occupy = (
        networked.measure(_parameters(policy="isolated", delivery=delivery), 1)["overall"]
        for delivery in ("overlap", "occupy")
    )
    assert occupy["min"] == pytest.approx(overlap["min"])
    assert occupy["mean"] > 1.1 * overlap["mean"]


def test_speed_ups_are_over_the_same_requests() -> None:
    measured = networked.measure(_parameters(against="isolated"), 6)
    alone = networked.measure(_parameters(policy="isolated"), 6)
    for part, other in (
        (measured["overall"], alone["overall"]),
        (measured["populations"]["2"], alone["populations"]["2"]),
    ):
        for of in ("mean", "max", "std", "p99", "min"):
            assert part["speedup"][of] == other[of] / part[of]
    assert measured["overall"]["speedup"]["min"] == pytest.approx(1)


def test_a_population_without_requests_has_no_times() -> None:
    measured = networked.measure(_parameters(users=0.0, until=4.0, against="isolated"), 1)
    assert measured["populations"]["4"] == {"requests": 0, "hops": {}, "speedup": {}}
    assert measured["populations"]["0"]["requests"] > 0
    json.dumps(measured, allow_nan=False)


def test_seeds_combine_into_means_with_intervals_extremes_and_sums() -> None:
    parameters = _parameters(until=12.0, against="isolated")
    each = [networked.measure(parameters, seed) for seed in range(1, 6)]
    combined = networked.combine(each)
    means = [one["overall"]["mean"] for one in each]
    assert combined["overall"]["mean"] == pytest.approx(np.mean(means))
    assert combined["overall"]["mean_ci95"] == pytest.approx(student(4) * np.std(means, ddof=1) / 5**0.5)
    ratios = [one["populations"]["1"]["speedup"]["max"] for one in each]
    assert combined["populations"]["1"]["speedup"]["max"] == pytest.approx(np.mean(ratios))
    assert combined["populations"]["1"]["speedup"]["max_ci95"] > 0
    assert combined["overall"]["requests"] == sum(one["overall"]["requests"] for one in each)
    assert combined["overall"]["hops"]["1"] == sum(one["overall"]["hops"]["1"] for one in each)
    assert combined["overall"]["hops_max"] == max(one["overall"]["hops_max"] for one in each)
    assert combined["overall"]["min"] == min(one["overall"]["min"] for one in each)


def test_a_series_tells_queue_p_and_r_of_each_cluster_at_every_exchange(tmp_path: Path) -> None:
    networked.write_series(_parameters(until=6.0), 3, tmp_path)
    with (tmp_path / "seed-3.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 5 * 120
    assert {row["cluster"] for row in rows} == set("01234")
    for row in rows:
        assert float(row["accept"]) == pytest.approx(5 / (5 + int(row["queued"])), rel=1e-5)
        assert 0 <= float(row["reach"]) <= 1
    burst = [int(row["queued"]) for row in rows if row["cluster"] == "0" and 2.5 < float(row["time"]) < 4.3]
    assert max(burst) > 4


def test_the_shared_queue_has_a_series_of_one_queue_that_reaches_itself(tmp_path: Path) -> None:
    networked.write_series(_parameters(until=3.0, policy="shared", users=60.0), 1, tmp_path / "new")
    with (tmp_path / "new" / "seed-1.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["cluster"] for row in rows} == {"0"}
    assert all(float(row["reach"]) == pytest.approx(float(row["accept"]), abs=1e-5) for row in rows)
    assert min(float(row["accept"]) for row in rows) < 1


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"until": 0.2}, "--until is 0.2, not after --start 0.3"),
        ({"service": 0.0}, "--service is 0: it must be above 0"),
        ({"exchange": 0}, "--exchange is 0.0: it must be at least 0.001"),
        ({"users": 0.0, "burst_users": 0.0}, "nobody would ask"),
        ({"users": -1.0}, "--users is -1.0: it must be at least 0"),
        ({"servers": 0}, "--servers is 0: it must be at least 1"),
        ({"topology": "ring:1"}, "cluster 0 of --topology ring:1 has no neighbour"),
        ({"topology": "grid:1x1", "policy": "cost"}, "has no neighbour"),
        ({"topology": "ring:1", "policy": "isolated", "against": "paper"}, "has no neighbour"),
        ({"topology": "rng:5"}, "--topology is 'rng:5'"),
        ({"policy": "papper"}, "Did you mean 'paper'"),
        ({"until": 1e9}, "lower --until"),
        ({"delivery": "never"}, "one of overlap, occupy"),
    ],
)
def test_what_makes_no_sense_is_refused_by_option(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(Invalid, match=sentence):
        _parameters(**given)


def test_a_single_cluster_may_stand_alone() -> None:
    assert networked.measure(_parameters(topology="ring:1", policy="isolated"), 1)["overall"]["requests"] > 1000


@pytest.mark.parametrize("policy", ["paper", "cost"])
def test_compiled_and_plain_python_give_the_same_numbers(policy: str) -> None:
    """The whole path, decisions and random streams included, run once more as plain Python in another process."""
    given = {"policy": policy, "until": 5.0, "topology": "ring:4"}
    script = (
        "import json, sys; from headrace.lab.kernels import networked; from headrace.lab.parameters import complete; "
        "given = json.loads(sys.argv[1]); "
        "print(json.dumps(networked.measure(complete(networked.PARAMETERS, given), 9)))"
    )
    plain = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script, json.dumps(given)],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    compiled = networked.measure(_parameters(**given), 9)
    assert compiled["overall"]["hops_max"] >= 1
    assert _flat(json.loads(plain.stdout)) == pytest.approx(_flat(compiled), rel=1e-12)


def _flat(measured: dict[str, Any], prefix: str = "") -> dict[str, float]:
    flat: dict[str, float] = {}
    for name, value in measured.items():
        flat |= _flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {prefix + name: value}
    return flat


# SimPy programs against the kernel, four statistics over independent seeds of each. With both variances taken from the
# samples, a statistic is called different beyond z = 3.9 standard errors (one false alarm in 10,000). Power 0.9 then
# means that a true difference of 3.9 + 1.28 standard errors is found.
PLAIN_RUNS, RUNS = 40, 400
ALARM, POWER = 3.9, 1.28
STATISTICS = ("mean", "std", "p99", "forwarded")


class ByCost(Clusters):
    """Policy `cost` from its description: what clusters tell is (backlog, cheapest other way on, requests received)."""

    def __init__(self, neighbours: Neighbours, *, until: float, seed: int) -> None:
        super().__init__(neighbours, until=until, seed=seed)
        self.heard = {k: dict.fromkeys(others, (-5.0, math.inf, 0.0)) for k, others in neighbours.items()}
        self.sent: Counter[tuple[int, int]] = Counter()
        self.received: Counter[tuple[int, int]] = Counter()

    def through(self, k: int, y: int) -> float:
        backlog, beyond, received = self.heard[k][y]
        unseen = self.sent[k, y] - received
        return 0.035 + min(2 * 0.008 * max(0, backlog + unseen + 0.5), beyond + 2 * 0.008 * unseen / 4)

    def state(self, k: int, y: int) -> tuple[float, ...]:
        ways = [self.through(k, z) for z in self.neighbours[k] if z != y]
        return len(self.queues[k]) - self.idle[k], min(ways, default=math.inf), self.received[y, k]

    def forward(self, k: int, hops: int) -> int | None:
        here = 2 * 0.008 * (len(self.queues[k]) + 0.5) - 0.035 * hops
        costs = {y: self.through(k, y) for y in self.neighbours[k]}
        if min(costs.values()) >= here:
            return None
        chosen = self.random.choice([y for y, cost in costs.items() if cost == min(costs.values())])
        self.sent[k, chosen] += 1
        return chosen

    def landed(self, k: int, y: int) -> None:
        self.received[k, y] += 1


def _statistics(answers: list[Answer]) -> list[float]:
    times = np.array([answer.system_time for answer in answers])
    hops = np.array([answer.hops for answer in answers])
    return [times.mean(), times.std(), float(np.quantile(times, 0.99)), float((hops > 0).mean())]


def _by_kernel(**given: Any) -> np.ndarray:
    parameters = _parameters(until=12.0, **given)
    runs = [networked.measure(parameters, seed)["overall"] for seed in range(RUNS)]
    return np.array([[run["mean"], run["std"], run["p99"], run["forwarded_share"]] for run in runs])


def _apart(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How many standard errors the means lie apart, and the relative difference that would be found."""
    error = np.sqrt(first.var(axis=0, ddof=1) / len(first) + second.var(axis=0, ddof=1) / len(second))
    return np.abs(first.mean(axis=0) - second.mean(axis=0)) / error, (ALARM + POWER) * error / first.mean(axis=0)


@pytest.mark.parametrize(("policy", "program"), [("paper", Clusters), ("cost", ByCost)])
def test_the_kernel_equals_an_independent_program_in_distribution(policy: str, program: type[Clusters]) -> None:
    plain = np.array([_statistics(program(ring(5), until=12.0, seed=seed).run()) for seed in range(PLAIN_RUNS)])
    apart, found = _apart(plain, _by_kernel(policy=policy))
    assert dict(zip(STATISTICS, apart, strict=True)) == pytest.approx(dict.fromkeys(STATISTICS, 0), abs=ALARM)
    # Stated power: with probability 0.9, differences of 6 % in the mean, and 20 % in the rest, would be found.
    assert found[0] < 0.06
    assert np.all(found < 0.20)
    # And a model that is a little different, with links of 25 ms, is found out.
    assert _apart(plain, _by_kernel(policy=policy, link_delay=0.025))[0].max() > ALARM

"""The relaxed kernel: equal to a plain program in distribution, to its own source, to the law, and to its words."""

import json
import math
import os
import subprocess
import sys
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.cli import cli
from headrace.core.errors import Invalid
from headrace.lab.kernels import relaxed
from headrace.lab.kernels.relaxed_clients import PLACES, POLICIES
from headrace.lab.parameters import complete
from headrace.protocols.designs import relaxed_law
from tests.lab.kernels.plain_relaxed import Plain


def measure(seed: int = 1, **given: Any) -> dict[str, Any]:
    parameters = complete(relaxed.PARAMETERS, given)
    relaxed.check(parameters)
    return relaxed.measure(parameters, seed)


# Equal in distribution to a slow, plain program.
# Both run REPLICATIONS of each set-up; the means over replications of five figures are compared by a z test with a
# false alarm rate of ALPHA a set-up. Power: the test computes, from the spread it sees, the difference that it would
# find with probability POWER, and fails if that is more than SHOWN of the value: so at each set-up a difference of
# that size in any of the five would have been found with that probability. (Of a share below a tenth, SHOWN of a
# tenth.)

REPLICATIONS = 150
ALPHA, POWER, SHOWN = 1e-3, 0.99, 0.2
SMALL = {"nodes": 6, "backlog": 150, "peeks": 3, "pops": 300, "warmup": 100}
SETUPS: list[dict[str, Any]] = [
    {},
    {"draw": "replace", "keys": "growing", "place": "round-robin"},
    {"place": "fewest", "keys": "growing"},
    {"place": "peek-fewest-ahead", "peeks": 1, "add_peeks": 3},
    {"place": "peek-worst-top", "peeks": 2, "draw": "replace"},
    {"place": "peek-best-top"},
    *({"concurrency": 5, "interleave": "lockstep", "keys": "growing", "policy": policy} for policy in POLICIES),
    *({"concurrency": 7, "interleave": "free", "policy": policy, "peeks": 2} for policy in POLICIES[:-2]),
    {"concurrency": 3, "interleave": "free", "policy": "lock"},
    {"concurrency": 7, "interleave": "free", "policy": "retry", "peeks": 2},
    {"concurrency": 7, "interleave": "free", "policy": "top-two-scan", "keys": "growing", "draw": "replace"},
]


def _figures(ranks: np.ndarray, requests: float, overtaken: float) -> list[float]:
    return [ranks.mean(), (ranks == 0).mean(), (ranks > 3).mean(), requests, overtaken]


@pytest.mark.parametrize("setup", SETUPS, ids=lambda setup: "-".join(map(str, setup.values())) or "default")
def test_the_kernel_is_the_plain_program_in_distribution(setup: dict[str, Any]) -> None:
    options = complete(relaxed.PARAMETERS, SMALL | setup | {"histogram": 400})
    ours, plain = [], []
    for seed in range(REPLICATIONS):
        metrics = measure(seed, **options)
        shares = np.array(list(metrics["share_at"].values()))
        ours.append(
            [metrics["mean"], shares[0], shares[4:].sum(), metrics["requests_per_pop"], metrics["overtaken_mean"]]
        )
        run = Plain(options, seed).run()
        pops = len(run.ranks)
        plain.append(_figures(np.array(run.ranks), run.requests / pops, run.overtaken / pops))
    a, b = np.array(ours), np.array(plain)
    error = np.sqrt((a.var(axis=0, ddof=1) + b.var(axis=0, ddof=1)) / REPLICATIONS)
    alarm = NormalDist().inv_cdf(1 - ALPHA / 5 / 2)
    assert (np.abs(a.mean(axis=0) - b.mean(axis=0)) <= alarm * error + 1e-12).all(), (
        a.mean(axis=0),
        b.mean(axis=0),
        error,
    )
    found = (alarm + NormalDist().inv_cdf(POWER)) * error
    assert (found <= SHOWN * np.maximum(b.mean(axis=0), 0.1)).all(), (found, b.mean(axis=0))


# Equal to its own source

_CASES: list[dict[str, Any]] = (
    [
        {
            "nodes": 5,
            "backlog": 60,
            "pops": 60,
            "warmup": 10,
            "peeks": 2,
            "policy": policy,
            "concurrency": 4,
            "interleave": mix,
        }
        for policy in POLICIES
        for mix in ("lockstep", "free")
    ]
    + [{"nodes": 5, "backlog": 60, "pops": 60, "warmup": 10, "place": place, "draw": "replace"} for place in PLACES]
    + [
        {"nodes": 4, "backlog": 50, "pops": 50, "work": "drain", "concurrency": 3},
        {"nodes": 4, "backlog": 50, "pops": 60, "batch": 5},
    ]
)


def test_compiled_and_interpreted_source_give_the_same_numbers() -> None:
    program = f"""
import json
from headrace.lab.kernels import relaxed
from headrace.lab.parameters import complete
print(json.dumps([relaxed.measure(complete(relaxed.PARAMETERS, case), 3) for case in {_CASES!r}]))
"""
    interpreted = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        check=True,
    )
    assert json.loads(interpreted.stdout) == [relaxed.measure(complete(relaxed.PARAMETERS, case), 3) for case in _CASES]


# Laws


def test_growing_keys_follow_the_law() -> None:
    pops = 400_000
    metrics = measure(keys="growing", pops=pops)
    # Batches of 1,000 pops are nearly independent here: the spread of a run of this length was measured as 0.1.
    assert metrics["mean"] == pytest.approx(relaxed_law.mean(20, 2), abs=0.4)
    assert metrics["share_at_0"] == pytest.approx(0.1, abs=5 * math.sqrt(0.09 / pops))
    law = relaxed_law.percentiles(20, 2, (0.5, 0.9, 0.99))
    assert [metrics["p50"], metrics["p90"], metrics["p99"]] == pytest.approx(law, abs=2)


@given(
    st.integers(1, 12),
    st.integers(1, 80),
    st.integers(1, 12),
    st.sampled_from(("distinct", "replace")),
    st.integers(0, 9),
)
@settings(max_examples=60, deadline=None)
def test_a_drained_log_has_as_much_overtaking_as_rank_error(
    nodes: int, backlog: int, peeks: int, draw: str, seed: int
) -> None:
    # With every node looked at, the one client stops only when all is popped.
    drained = measure(seed, nodes=nodes, backlog=backlog, peeks=nodes, pops=backlog, work="drain")
    assert drained["mean"] == drained["overtaken_mean"] == 0
    assert drained["share_at_0"] == 1
    # Steady work, where each client has an item left for it: all that is not overtaken yet is still queued.
    steady = measure(seed, nodes=nodes, backlog=backlog, peeks=min(peeks, nodes), pops=500, draw=draw, keys="growing")
    assert steady["overtaken_mean"] >= 0
    assert steady["mean"] <= backlog


@given(st.integers(2, 12), st.integers(2, 12), st.sampled_from(PLACES[:4]), st.integers(0, 9))
@settings(max_examples=30, deadline=None)
def test_alone_every_policy_takes_the_same_items(nodes: int, peeks: int, place: str, seed: int) -> None:
    common = {"nodes": nodes, "backlog": 100, "peeks": min(nodes, peeks), "pops": 200, "place": place, "warmup": 0}
    runs = [measure(seed, policy=policy, **common) for policy in POLICIES]
    for metrics in runs:
        del metrics["requests_per_pop"]
    assert all(metrics == runs[0] for metrics in runs)


def test_a_batch_of_all_nodes_takes_the_best_for_a_request_a_node() -> None:
    metrics = measure(nodes=8, peeks=8, batch=40, pops=8000)
    assert metrics["mean"] == 0
    assert metrics["requests_per_pop"] <= 16 / 40


def test_nodes_that_outgrow_their_slots_start_the_run_again_with_more() -> None:
    # Everything goes to one node of the two, since the best top attracts what is less urgent.
    metrics = measure(nodes=2, backlog=3000, peeks=2, pops=3000, place="peek-best-top", keys="growing")
    assert metrics["mean"] == 0


def test_the_same_seed_gives_the_same_numbers_and_another_others() -> None:
    assert measure(5, pops=5000) == measure(5, pops=5000)
    assert measure(5, pops=5000) != measure(6, pops=5000)


# Its words


def test_the_command_prints_exactly_the_promised_keys() -> None:
    options = (
        "--nodes 20 --backlog 10000 --peeks 2 --pops 20000 --place round-robin --concurrency 1 --policy best "
        "--draw distinct --keys uniform --seed 1 --json"
    )
    result = CliRunner().invoke(cli, ["simulate", "relaxed", *options.split()])
    assert list(json.loads(result.output)) == [
        "mean",
        "p50",
        "p90",
        "p99",
        "share_at_0",
        "requests_per_pop",
        "overtaken_mean",
    ]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"peeks": 21}, "--peeks is 21, more than the 20 nodes: use at most 20"),
        ({"backlog": 0}, "--backlog is 0: it must be at least 1"),
        ({"pops": 0}, "--pops is 0: it must be at least 1"),
        ({"place": "peek-best-top", "add_peeks": 30}, "--add-peeks is 30, more than the 20 nodes: use at most 20"),
        ({"policy": "top-two", "peeks": 1}, "--policy top-two needs two nodes to choose from: use --peeks 2 or more"),
        ({"batch": 2, "policy": "hide"}, "--batch is 2: batches are for --policy best"),
        ({"work": "drain", "warmup": 10_000}, "a drain has only the backlog of 10000: use less"),
        ({"pops": 1 << 31}, "--backlog, --warmup and --pops are over 1073741824 keys together: use fewer"),
        ({"nodes": 100_000, "place": "peek-fewest-ahead"}, "keeps a bit for each key at each of 100000 nodes"),
    ],
)
def test_options_that_make_no_sense_are_refused_in_one_sentence(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(Invalid) as refused:
        measure(**given)
    assert sentence in str(refused.value)

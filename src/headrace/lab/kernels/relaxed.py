"""Simulate the relaxed queue: clients add to n nodes, peek some and pop the best.

Keys are drawn uniformly, or grow with every add. In steady work each client adds an item before each pop, so that
the backlog stays; in a drain clients only pop, from a fresh fill, and stop at the first look that finds nothing.
Prints the rank error (PEI: how many more urgent items were queued when one was popped), exactly, and how often an
item was overtaken. A single run has no interval: replicate it with other seeds, as sweeps do.

Example: headrace simulate relaxed --nodes 20 --backlog 10000 --peeks 2 --pops 200000 --json
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headrace.core.errors import Invalid
from headrace.lab.kernels import relaxed_clients as clients
from headrace.lab.kernels.compiled import kernel
from headrace.lab.kernels.ranks import ranks
from headrace.lab.kernels.relaxed_clients import (
    ADD,
    LOOK,
    REST,
    SECOND,
    STOPPED,
    TAKE,
    Book,
    Rules,
    Scene,
    advance,
    next_in_turn,
)
from headrace.lab.kernels.relaxed_nodes import nodes
from headrace.lab.kernels.stream import Stream, stream, uniform
from headrace.lab.kernels.stream import below as below_bound
from headrace.lab.parameters import Parameter
from headrace.protocols.designs.relaxed import EMPTY

LARGEST_UNIVERSE = 1 << 30
"""Keys a run can hand out; a key is 31 bits."""

PARAMETERS = (
    Parameter("nodes", 20, "Nodes that hold the queue (n).", least=1, most=100_000),
    Parameter("backlog", 10_000, "Items queued at the start, and all the while in steady work.", least=1),
    Parameter("peeks", 2, "Nodes a pop looks at (d); 1 pops without looking.", least=1),
    Parameter("pops", 200_000, "Pops measured; fewer if a drain ends before.", least=1),
    Parameter("place", "random", "How an item's node is chosen.", choices=clients.PLACES),
    Parameter("add_peeks", 2, "Nodes an add looks at, for the placements that peek.", least=1),
    Parameter("concurrency", 1, "Clients at work at once (C).", least=1, most=100_000),
    Parameter(
        "interleave",
        "lockstep",
        "How their steps mix: all look, then each takes in turn; or any client's step is next.",
        choices=("lockstep", "free"),
    ),
    Parameter("policy", "best", "What a client does with what it saw.", choices=clients.POLICIES),
    Parameter("draw", "distinct", "How the peeked nodes are drawn.", choices=("distinct", "replace")),
    Parameter("keys", "uniform", "Priorities: uniform, or growing with each add.", choices=("uniform", "growing")),
    Parameter("work", "steady", "An add before each pop, or pops alone.", choices=("steady", "drain")),
    Parameter("batch", 1, "Items taken by one pop, merged from the nodes peeked.", least=1, most=10_000),
    Parameter("warmup", -1, "Pops before measuring; -1 for 10000, or none in a drain.", least=-1),
    Parameter("histogram", 0, "Print the share of pops at each rank error below this.", least=0),
)


def check(parameters: Mapping[str, Any]) -> None:
    """Refuse what makes no sense together."""
    count, peeks, backlog = parameters["nodes"], parameters["peeks"], parameters["backlog"]
    if peeks > count:
        raise Invalid(f"--peeks is {peeks}, more than the {count} nodes: use at most {count}")
    if parameters["add_peeks"] > count and parameters["place"].startswith("peek-"):
        raise Invalid(f"--add-peeks is {parameters['add_peeks']}, more than the {count} nodes: use at most {count}")
    if peeks == 1 and parameters["policy"].startswith("top-two"):
        raise Invalid(f"--policy {parameters['policy']} needs two nodes to choose from: use --peeks 2 or more")
    if parameters["batch"] > 1 and parameters["policy"] != "best":
        raise Invalid(f"--batch is {parameters['batch']}: batches are for --policy best")
    if parameters["work"] == "drain" and _warmup(parameters) >= backlog:
        raise Invalid(f"--warmup is {parameters['warmup']}, and a drain has only the backlog of {backlog}: use less")
    if _universe(parameters) > LARGEST_UNIVERSE:
        raise Invalid(f"--backlog, --warmup and --pops are over {LARGEST_UNIVERSE} keys together: use fewer")
    if parameters["place"] == "peek-fewest-ahead" and _universe(parameters) * count > 1 << 33:
        raise Invalid(f"--place peek-fewest-ahead keeps a bit for each key at each of {count} nodes: use fewer --pops")


def measure(parameters: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Run once; the same parameters and seed give the same numbers."""
    slots = 2 * (parameters["backlog"] // parameters["nodes"]) + 64
    while True:
        scene = _scene(parameters, seed, slots)
        goal = _warmup(parameters) + parameters["pops"]
        _run(scene, parameters["backlog"], goal, parameters["interleave"] == "lockstep")
        if not scene.queue.overflow[0]:
            return _metrics(scene.book, parameters["histogram"])
        slots *= 4


def _warmup(parameters: Mapping[str, Any]) -> int:
    if parameters["warmup"] >= 0:
        return int(parameters["warmup"])
    return 10_000 if parameters["work"] == "steady" else 0


def _universe(parameters: Mapping[str, Any]) -> int:
    """How many keys a run may hand out: each client may have added one batch that it has not popped at the end."""
    backlog: int = parameters["backlog"]
    if parameters["work"] == "drain":
        return backlog
    return backlog + _warmup(parameters) + parameters["pops"] + (parameters["concurrency"] + 1) * parameters["batch"]


def _scene(parameters: Mapping[str, Any], seed: int, slots: int) -> Scene:
    """Everything as it stands before the first item."""
    count, peeks, batch = parameters["nodes"], parameters["peeks"], parameters["batch"]
    crowd, universe = parameters["concurrency"], _universe(parameters)
    place = clients.PLACES.index(parameters["place"])
    widest = max(peeks, parameters["add_peeks"], 2)
    draws = stream(seed, "relaxed")
    # In the order of their adds. Only the order of priorities counts, and that of uniform ones is random.
    keys = np.arange(universe, dtype=np.int32)
    if parameters["keys"] == "uniform":
        _shuffle(keys, stream(seed, "keys"))
    starts = np.empty(crowd, dtype=np.int32)
    _draw_starts(starts, count, draws)
    return Scene(
        rules=Rules(
            nodes=count,
            peeks=peeks,
            add_peeks=parameters["add_peeks"],
            place=place,
            policy=clients.POLICIES.index(parameters["policy"]),
            distinct=parameters["draw"] == "distinct",
            batch=batch,
            first_step=LOOK if parameters["work"] == "drain" else ADD,
            warmup=_warmup(parameters),
        ),
        queue=nodes(count, slots, universe, counted=place == clients.PEEK_FEWEST_AHEAD),
        book=Book(
            live=ranks(universe),
            gone=ranks(universe),
            gone_before=np.zeros(universe, dtype=np.int32),
            histogram=np.zeros(universe, dtype=np.int64),
            added=np.zeros(1, dtype=np.int64),
            popped=np.zeros(1, dtype=np.int64),
            requests=np.zeros(1, dtype=np.int64),
            overtaken=np.zeros(1, dtype=np.int64),
        ),
        keys=keys,
        stream=draws,
        step=np.full(crowd, REST, dtype=np.int8),
        chosen=np.zeros((crowd, peeks), dtype=np.int32),
        seen=np.full((crowd, peeks * batch), EMPTY, dtype=np.int32),
        held=np.full(crowd, EMPTY, dtype=np.int32),
        held_from=np.zeros(crowd, dtype=np.int32),
        last=starts,
        inserts=np.zeros(count, dtype=np.int32),
        locked_by=np.full(count, clients.NOBODY, dtype=np.int32),
        order=np.arange(count, dtype=np.int64),
        draws=np.zeros(widest),
        drawn=np.zeros(widest, dtype=np.int32),
        values=np.zeros(max(widest, batch), dtype=np.int32),
    )


@kernel
def _shuffle(keys: NDArray[np.int32], draws: Stream) -> None:
    for last in range(len(keys) - 1, 0, -1):
        other = below_bound(draws, last + 1)
        keys[last], keys[other] = keys[other], keys[last]


@kernel
def _draw_starts(starts: NDArray[np.int32], count: int, draws: Stream) -> None:
    for client in range(len(starts)):
        starts[client] = below_bound(draws, count)


@kernel
def _run(scene: Scene, backlog: int, goal: int, lockstep: bool) -> None:
    """Fill, then let the clients take their steps until `goal` pops, or until all have stopped.

    In lock step all add, then all look, then each in turn takes to the end, and rests until all have their item.
    Otherwise the next step is that of a client drawn at random.
    """
    book, step = scene.book, scene.step
    crowd = len(step)
    client, working, busy, in_turn = 0, crowd, 0, False
    while working > 0 and book.popped[0] < goal and not scene.queue.overflow[0]:
        if book.added[0] < backlog:
            client, busy = book.added[0] % crowd, 1
            step[client] = ADD
        elif not lockstep:
            client = int(uniform(scene.stream) * crowd)
            if step[client] == REST:
                step[client] = scene.rules.first_step
        elif busy == 0:
            client, busy = 0, working
            for other in range(crowd):
                if step[other] == REST:
                    step[other] = scene.rules.first_step
        elif not in_turn:
            client = next_in_turn(client, crowd)
        if step[client] in (REST, STOPPED):
            continue
        in_turn = step[client] in (TAKE, SECOND)
        advance(scene, client, backlog)
        in_turn &= step[client] in (TAKE, SECOND)
        if step[client] == STOPPED:
            working -= 1
            busy -= 1
        elif step[client] == REST:
            busy -= 1


def _metrics(book: Book, shown: int) -> dict[str, Any]:
    """What was observed, as it is printed."""
    histogram = book.histogram[: int(np.flatnonzero(book.histogram)[-1]) + 1]
    pops = int(histogram.sum())
    upto = histogram.cumsum()
    metrics: dict[str, Any] = {"mean": float(histogram @ np.arange(len(histogram))) / pops}
    for name, share in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99)):
        metrics[name] = int(np.searchsorted(upto, share * pops))
    metrics["share_at_0"] = float(histogram[0]) / pops
    metrics["requests_per_pop"] = int(book.requests[0]) / pops
    metrics["overtaken_mean"] = int(book.overtaken[0]) / pops
    if shown:
        at = np.zeros(shown)
        at[: len(histogram)] = histogram[:shown] / pops
        metrics["share_at"] = {str(rank): float(share) for rank, share in enumerate(at)}
    return metrics

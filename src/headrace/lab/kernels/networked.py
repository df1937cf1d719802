"""Bursts that spill over: networked queues of service clusters against isolated ones and one shared queue (002).

Example: headrace simulate networked --topology ring:5 --policy paper --until 45 --seeds 1:10 --against isolated

\b
POLICIES
  paper     accept with P = m/(N+m), else forward to a random neighbour by P and R (Lai and Polak)
  cost      forward where starting costs least, links included
  isolated  no forwarding
  shared    one perfect queue for all servers: the bound
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headrace.core import estimates
from headrace.core.errors import Invalid
from headrace.lab.kernels.clusters import ALONE, COST, PAPER, Rules, Samples, Served, serve
from headrace.lab.kernels.stream import stream
from headrace.lab.kernels.topology import SHAPES, alone, network
from headrace.lab.kernels.users import Requests, Users, requests
from headrace.lab.parameters import Parameter
from headrace.protocols.designs import networked as design

POLICIES = ("paper", "cost", "isolated", "shared")
NOTHING = "nothing"
TIMES = ("mean", "min", "max", "std", "p99")
# Delivering a request to a server takes 5 ms, processing the delivery 1 ms (section III).
DELIVERY = 0.006
MOST_REQUESTS = 100_000_000


PARAMETERS = (
    Parameter("topology", "ring:5", f"The network: {SHAPES}, or a file of links, two cluster numbers a line."),
    Parameter("policy", "paper", "Who decides where a request waits.", choices=POLICIES),
    Parameter(
        "against", NOTHING, "Give speed-ups over this policy, on the same requests.", choices=(NOTHING, *POLICIES)
    ),
    Parameter("until", 45.0, "When the last request is sent, in s; all that were sent are served.", least=0),
    Parameter("users", 10.0, "Users that come to each cluster a second.", least=0),
    Parameter("burst_users", 50.0, "The same during the cluster's burst.", least=0),
    Parameter("burst_first", 2.3, "When the burst of cluster 0 begins, in s.", least=0),
    Parameter("burst_every", 5.0, "How much later each next cluster's burst begins, in s.", least=0),
    Parameter("burst_length", 2.0, "How long a burst lasts, in s.", least=0),
    Parameter("start", 0.3, "When the first users come, in s.", least=0),
    Parameter("stay", 0.5, "The mean of a user's stay, exponential, in s.", least=0),
    Parameter("rate_max", 20.0, "A user sends requests at a rate drawn from 0 to this, a second.", least=0),
    Parameter("servers", 5, "Servers in each cluster.", least=1, most=100_000),
    Parameter("service", 0.040, "How long a server works on a request, in s.", least=0),
    Parameter("link_delay", 0.035, "How long a request or an advert travels over a link, in s.", least=0, most=10),
    Parameter("exchange", 0.050, "How often a cluster tells its neighbours its state, in s.", least=0.001),
    Parameter(
        "delivery",
        "overlap",
        "Whether the 6 ms of delivery to a server keep that server occupied.",
        choices=("overlap", "occupy"),
    ),
    Parameter("hop_limit", 0, "A request forwarded so often stays where it is; 0 is no limit.", least=0),
)


def check(parameters: Mapping[str, Any]) -> None:
    """Refuse parameters that make no sense together, or a network that cannot forward."""
    for name in ("stay", "rate_max", "service"):
        if parameters[name] == 0:
            raise Invalid(f"--{name.replace('_', '-')} is 0: it must be above 0")
    if parameters["until"] <= parameters["start"]:
        raise Invalid(
            f"--until is {parameters['until']:g}, not after --start {parameters['start']:g}: set a later horizon"
        )
    if parameters["users"] == 0 and (parameters["burst_users"] == 0 or parameters["burst_length"] == 0):
        raise Invalid("--users is 0 and there is no burst: nobody would ask, so set --users above 0")
    links = network(parameters["topology"])
    expected = _users(parameters).expected_requests(links.clusters)
    if expected > MOST_REQUESTS:
        raise Invalid(
            f"this is about {expected:.2g} requests, above {MOST_REQUESTS:.0e}: lower --until, --users or --rate-max"
        )
    lonely = links.lonely()
    if lonely is not None and {"paper", "cost"} & {parameters["policy"], parameters["against"]}:
        raise Invalid(
            f"cluster {lonely} of --topology {parameters['topology']} has no neighbour: link it to another, "
            "or choose --policy isolated"
        )


def measure(parameters: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """What the users of each cluster, and all of them, met: times in seconds, from request to end of service.

    With `against`, `speedup` holds each time under that policy divided by the same time under `policy`. A number
    that does not exist (the mean of no requests, a division by 0) is left out.
    """
    asked, served, _ = run(parameters, seed)
    measured = _by_population(parameters, asked, served)
    if parameters["against"] != NOTHING:
        asked, served, _ = run({**parameters, "policy": parameters["against"]}, seed)
        other = _by_population(parameters, asked, served)
        for here, there in zip(measured, other, strict=True):
            here["speedup"] = {of: there[of] / here[of] for of in TIMES if here.get(of)}
    overall, *populations = measured
    return {"overall": overall, "populations": {str(k): one for k, one in enumerate(populations)}}


def combine(measured: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """One measurement from those of several seeds.

    Times, shares and speed-ups are means over the seeds, with the half-width of a 95 % interval beside each; `min`,
    `hops_max` and `queue_seen_max` are the extremes over all seeds; `requests` and `hops` are sums.
    """
    return {
        "overall": _combined([one["overall"] for one in measured]),
        "populations": {k: _combined([one["populations"][k] for one in measured]) for k in measured[0]["populations"]},
    }


def _combined(summaries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    combined: dict[str, Any] = {}
    for name in dict.fromkeys(name for summary in summaries for name in summary):
        values = [summary[name] for summary in summaries if name in summary]
        if name == "speedup":
            combined[name] = _means(values)
        elif name in _OVER_SEEDS:
            combined[name] = _OVER_SEEDS[name](values)
        else:
            combined |= _means([{name: value} for value in values])
    return combined


def _means(values: Sequence[Mapping[str, float]]) -> dict[str, float]:
    means = {}
    for name in dict.fromkeys(name for one in values for name in one):
        estimate = estimates.mean([one[name] for one in values if name in one])
        means[name] = estimate.value
        if estimate.half_width is not None:
            means[f"{name}_ci95"] = estimate.half_width
    return means


def _totals(values: Sequence[Mapping[str, int]]) -> dict[str, int]:
    total = sum((Counter(one) for one in values), Counter())
    return {hops: total[hops] for hops in sorted(total, key=int)}


_OVER_SEEDS: dict[str, Callable[[Sequence[Any]], Any]] = {
    "min": min,
    "hops_max": max,
    "queue_seen_max": max,
    "requests": sum,
    "hops": _totals,
}


def write_series(parameters: Mapping[str, Any], seed: int, directory: Path) -> None:
    """Queue length, P and R of each cluster at every exchange, to `seed-N.csv`.

    R is by what the cluster knows of its neighbours; who does not forward reaches only itself. Under `shared` there
    is one queue, cluster 0.
    """
    times = np.arange(0.0, parameters["until"], parameters["exchange"])
    _, _, samples = run(parameters, seed, sample_times=times)
    accept = acceptances(parameters, samples)
    lines = [
        f"{time:.6g},{k},{queued},{p:.6g},{r:.6g}"
        for row, time in enumerate(times)
        for k, (queued, p, r) in enumerate(zip(samples.queued[row], accept[row], samples.reach[row], strict=True))
    ]
    try:
        directory.mkdir(parents=True, exist_ok=True)
        path = directory / f"seed-{seed}.csv"
        path.write_text("\n".join(["time,cluster,queued,accept,reach", *lines, ""]), encoding="utf-8")
    except OSError as error:
        raise Invalid(f"--series {directory} cannot be written ({error.strerror}): name another directory") from error


def acceptances(parameters: Mapping[str, Any], samples: Samples) -> NDArray[np.float64]:
    """P by time and cluster, from the queue lengths."""
    servers = parameters["servers"]
    if parameters["policy"] == "shared":
        servers *= network(parameters["topology"]).clusters
    return np.vectorize(design.acceptance, otypes=[float])(samples.queued, servers)


def run(
    parameters: Mapping[str, Any], seed: int, *, sample_times: NDArray[np.float64] | None = None
) -> tuple[Requests, Served, Samples]:
    """One simulation: what was asked, what became of it, and the clusters' state at `sample_times`."""
    links = network(parameters["topology"])
    asked = requests(_users(parameters), links.clusters, seed)
    policy, servers, entry = parameters["policy"], parameters["servers"], asked
    if policy == "shared":
        servers *= links.clusters
        links = alone(1)
        entry = Requests(asked.times, np.zeros_like(asked.population))
    occupied = parameters["service"] + (DELIVERY if parameters["delivery"] == "occupy" else 0.0)
    rules = Rules(
        forwarding={"paper": PAPER, "cost": COST}.get(policy, ALONE),
        servers=servers,
        occupied=occupied,
        link_delay=parameters["link_delay"],
        exchange=parameters["exchange"],
        hop_limit=parameters["hop_limit"],
    )
    # Autonomous clusters do not send their adverts in step: each has its own phase.
    phases = np.random.default_rng(stream(seed, "phases")).uniform(0.0, rules.exchange, links.clusters)
    times = np.empty(0) if sample_times is None else sample_times
    served, samples = serve(entry, links, rules, phases, stream(seed, "decisions"), times)
    return asked, served, samples


def _users(parameters: Mapping[str, Any]) -> Users:
    return Users(
        rate=parameters["users"],
        burst_rate=parameters["burst_users"],
        burst_first=parameters["burst_first"],
        burst_every=parameters["burst_every"],
        burst_length=parameters["burst_length"],
        start=parameters["start"],
        stay=parameters["stay"],
        rate_max=parameters["rate_max"],
        until=parameters["until"],
    )


def _by_population(parameters: Mapping[str, Any], asked: Requests, served: Served) -> list[dict[str, Any]]:
    """The summary over all, then one a population."""
    waits = served.started - asked.times
    beyond_wait = DELIVERY + parameters["service"]
    clusters = network(parameters["topology"]).clusters
    order = np.argsort(asked.population.astype(np.uint16), kind="stable")  # 16 bits are sorted by radix
    bounds = np.searchsorted(asked.population[order], np.arange(clusters + 1))
    members = [order, *(order[bounds[k] : bounds[k + 1]] for k in range(clusters))]
    return [_summary(waits[who], beyond_wait, served.hops[who], served.queue_seen[who]) for who in members]


def _summary(
    waits: NDArray[np.float64], beyond_wait: float, hops: NDArray[np.int64], seen: NDArray[np.int64]
) -> dict[str, Any]:
    """A system time is the wait for a server, links included, and what follows it: the same for all requests."""
    if len(waits) == 0:
        return {"requests": 0, "hops": {}}
    by_hops = np.bincount(hops)
    return {
        "mean": float(waits.mean()) + beyond_wait,
        "min": float(waits.min()) + beyond_wait,
        "max": float(waits.max()) + beyond_wait,
        "std": float(waits.std()),
        "p99": float(np.quantile(waits, 0.99)) + beyond_wait,
        "requests": len(waits),
        "forwarded_share": float(1.0 - by_hops[0] / len(waits)),
        "hops_max": len(by_hops) - 1,
        "hops": {str(number): int(count) for number, count in enumerate(by_hops) if count},
        "queue_seen_max": int(seen.max()),
    }

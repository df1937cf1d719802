"""Headrace served, beside other queues that are served: one at a time on this machine, through their Python clients.

    python -m bench peers [--json] [--only NAME] [--seconds N]

Each durability is a table of its own, since only what survives the same can be compared; a ratio is to the best peer in
that column. µs are processor time a cycle, which says more than a rate on a machine that others use; rows are starred
where others used more than 0.4 cores. What is not installed is skipped and said: the servers are Debian's `beanstalkd`,
`redis-server`, `postgresql`; the clients `pip install -r requirements/bench.txt`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

from bench.peers import clients, crowds, loads, servers
from bench.peers.servers import Durability, Kind

OURS = "Headrace"
CALM_CORES = 0.4


class Peer(NamedTuple):
    """A queue: its server and the client that it is used by."""

    name: str
    kind: Kind
    client: type[clients.Client]


PEERS = (
    Peer(OURS, servers.HEADRACE, clients.Headrace),
    Peer("beanstalkd", servers.BEANSTALKD, clients.Beanstalkd),
    Peer("Redis list", servers.REDIS, clients.RedisList),
    Peer("Redis stream", servers.REDIS, clients.RedisStream),
    Peer("PostgreSQL SKIP LOCKED", servers.POSTGRES, clients.Postgres),
)


class Row(NamedTuple):
    """What was measured of a queue at a durability."""

    name: str
    durability: Durability
    means: str
    batched: loads.Cost
    single: loads.Cost
    waiting_ms: float
    syncs_per_put: float | None


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench peers", description="Served queues beside each other.")
    parser.add_argument("--json", action="store_true", help="print JSON instead of Markdown")
    parser.add_argument("--only", action="append", metavar="NAME", choices=[peer.name for peer in PEERS])
    parser.add_argument("--seconds", type=float, default=3.0, help="how long each load puts")
    parser.add_argument("--no-crowds", action="store_true", help="leave out 1,000 queues and 2,000 connections")
    options = parser.parse_args(arguments)
    wanted = [peer for peer in PEERS if not options.only or peer.name in options.only]
    rows = []
    for peer in wanted:
        if missing := peer.kind.missing():
            print(f"{peer.name}: skipped, {missing}", file=sys.stderr)
            continue
        for durability in peer.kind.means:
            print(f"{peer.name}, {durability} …", file=sys.stderr)
            rows.append(_measured(peer, durability, options.seconds))
    crowded = {} if options.no_crowds else _crowded()
    if options.json:
        print(json.dumps({"peers": [_plain(row) for row in rows], "crowds_us": crowded}))
        return
    for durability in ("os", "fsync"):
        print(_table([row for row in rows if row.durability == durability], durability))
    if crowded:
        print(_crowds_table(crowded))


def _measured(peer: Peer, durability: Durability, seconds: float) -> Row:
    with servers.running(peer.kind, durability) as server:
        peer.client(server.port, "first").prepare()
        return Row(
            peer.name,
            durability,
            peer.kind.means[durability],
            loads.batched(peer.client, server, seconds),
            loads.single(peer.client, server, seconds),
            loads.waiting(peer.client, server),
            loads.syncs_of(peer.client, server),
        )


def _crowded() -> dict[str, dict[str, float]]:
    """The operations' times among few and many."""
    found = {}
    with servers.running(servers.HEADRACE, "os") as server:
        found["one of each"] = crowds.operations_us(server, 1)
        found[f"{crowds.QUEUES:,} queues"] = crowds.operations_us(server, crowds.QUEUES)
        with crowds.crowd(server, crowds.CONNECTIONS):
            found[f"{crowds.CONNECTIONS:,} connections"] = crowds.operations_us(server, 1)
    return found


def _plain(row: Row) -> dict[str, Any]:
    return {**row._asdict(), "batched": row.batched._asdict(), "single": row.single._asdict()}


def _table(rows: list[Row], durability: Durability) -> str:
    head = (
        "queue",
        "durability",
        "batched cycles/s",
        "ratio",
        "µs server + clients",
        "single cycles/s",
        "ratio",
        "µs server + clients",
        "waiting p50 ms",
        "syncs a put",
    )
    theirs = [row for row in rows if row.name != OURS]
    best_batched = max((row.batched.per_s for row in theirs), default=None)
    best_single = max((row.single.per_s for row in theirs), default=None)
    body = [
        (
            row.name,
            row.means,
            *_rate(row.batched, best_batched),
            *_rate(row.single, best_single),
            f"{row.waiting_ms:.3f}",
            "–" if row.syncs_per_put is None else f"{row.syncs_per_put:.2f}",
        )
        for row in sorted(rows, key=lambda row: -row.batched.per_s)
    ]
    return f"\n### {durability}\n\n{_markdown([head, *body])}"


def _rate(cost: loads.Cost, best: float | None) -> tuple[str, str, str]:
    star = "*" if cost.others > CALM_CORES else ""
    ratio = "–" if best is None else f"{cost.per_s / best:.2f}×"
    return f"{cost.per_s:,.0f}{star}", ratio, f"{cost.server_us:.1f} + {cost.client_us:.1f}"


def _crowds_table(crowded: dict[str, dict[str, float]]) -> str:
    base, *others = crowded
    head = ("operation, p50 µs", base, *others)
    body = [
        (name, f"{us:.0f}", *(f"{crowded[other][name]:.0f} ({crowded[other][name] / us:.2f}×)" for other in others))
        for name, us in crowded[base].items()
    ]
    return f"\n### Crowds\n\n{_markdown([head, *body])}"


def _markdown(rows: list[tuple[str, ...]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    lines.insert(1, "|" + " --- |" * len(rows[0]))
    return "\n".join(lines)

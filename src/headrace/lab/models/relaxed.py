"""The relaxed queue's rank error, exactly: one client, growing keys (Walzer and Williams).

Mean, percentiles and the share of pops that take the most urgent item, by the law of
`protocols/designs/relaxed_law`. Concurrent clients, other placements and other keys are for
`headrace simulate relaxed`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.lab.parameters import Parameter
from headrace.protocols.designs import relaxed_law

PARAMETERS = (
    Parameter("nodes", 20, "Nodes that hold the queue (n).", least=1, most=10_000),
    Parameter("peeks", 2, "Nodes a pop looks at (d).", least=1),
    Parameter("draw", "distinct", "How the peeked nodes are drawn.", choices=("distinct", "replace")),
)


def check(parameters: Mapping[str, Any]) -> None:
    """Refuse what has no law: more distinct peeks than nodes, or a single peek."""
    relaxed_law.missed(parameters["nodes"], parameters["peeks"], distinct=parameters["draw"] == "distinct")


def solve(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The law at these parameters."""
    nodes, peeks, distinct = parameters["nodes"], parameters["peeks"], parameters["draw"] == "distinct"
    p50, p90, p99 = relaxed_law.percentiles(nodes, peeks, (0.5, 0.9, 0.99), distinct=distinct)
    return {
        "mean": relaxed_law.mean(nodes, peeks, distinct=distinct),
        "p50": p50,
        "p90": p90,
        "p99": p99,
        "share_at_0": 1 - relaxed_law.missed(nodes, peeks, distinct=distinct)[1],
    }

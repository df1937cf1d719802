"""What a paper's authors published besides the paper, kept as data.

`004.json`: recorded outputs of Lin and Liang's notebooks (github.com/bslin/distributed-pq), one run each, with
`random.seed(5)` before each sweep; the fields that the figures need. `n` nodes, `c` clients, `add` and `pop` the
nodes peeked before each, `lag` the backlog.
"""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any


@cache
def recorded(name: str) -> dict[str, Any]:
    """The authors' data of a paper."""
    data: dict[str, Any] = json.loads(resources.files(__name__).joinpath(f"{name}.json").read_text())
    return data

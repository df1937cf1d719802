"""`headrace.open`: a node in this process, for threads."""

from __future__ import annotations

import os

from headrace.client.handle import Headrace
from headrace.client.verbs import Verbs
from headrace.core.limits import Limits
from headrace.runtime.engine import Engine
from headrace.runtime.host import open_or_join
from headrace.runtime.ids import ids
from headrace.runtime.link import Link


def open(path: str | os.PathLike[str], *, durability: str = "fsync", limits: Limits | None = None) -> Headrace:
    """Open the node in the directory `path`, made if it is not there; or `":memory:"`, which keeps nothing.

    `durability` is what an acknowledged add survives: `"fsync"` a power cut (calls that come together share one sync),
    `"os"` the death of the process (written before the answer, synced each second).
    """
    return handle_on(open_or_join(path, durability=durability, limits=limits))


def handle_on(engine: Engine | Link) -> Headrace:
    """A handle on a node: one in this process, or the one that a link leads to."""
    return Headrace(engine, Verbs(engine.limits, engine.clock.wall_us, ids))

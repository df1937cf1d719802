"""The state of a shard as plain data in a fixed order, so that two ways to it can be compared.

The parts of a snapshot are read without the shard's own types: what a snapshot says is what is compared, and a field
that a snapshot forgets shows as a difference from the log.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from headrace.core.limits import Limits
from headrace.core.records import AnyRecord
from headrace.protocols.shard import Shard

_decode = msgspec.msgpack.Decoder().decode


def state_of(shard: Shard) -> dict[str, Any]:
    """What a snapshot of this shard would say."""
    state: dict[str, Any] = {}
    for part in shard.freeze():
        kind, *fields = _decode(part)
        _take(state, kind, fields)
    return {name: part for name, part in state.items() if part}


class LogFold:
    """What the log says, folded from its beginning; a lost tail is folded anew without it."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._records: list[AnyRecord] = []
        self._shard = Shard(limits=limits, loading=True)
        self._folded = 0

    def follow(self, position: int, records: Sequence[AnyRecord]) -> None:
        """The log goes on at `position`; what was there before is gone."""
        if position < len(self._records):
            del self._records[position:]
            if position < self._folded:
                self._shard = Shard(limits=self._limits, loading=True)
                self._folded = 0
        self._records += records

    def state(self, end: int) -> dict[str, Any]:
        """What the log up to `end` says."""
        self.follow(end, ())
        for at in range(self._folded, end):
            self._shard.apply(at, self._records[at])
        self._folded = end
        return state_of(self._shard)


def _take(state: dict[str, Any], kind: str, fields: list[Any]) -> None:
    """Put one part in its place."""
    match kind:
        case "head":
            state["head"] = fields
        case "sessions":
            state["sessions"] = {key.hex(): session for key, session in fields[0]}
        case "queue":
            state[f"queue {fields[0]}"] = fields[1:]
        case "leases":
            grants, leases = fields[1], fields[2]
            held = {counter: (entry, grants[grant]) for counter, entry, grant in leases}
            state.setdefault(f"leases {fields[0]}", {}).update(held)
        case "stories":
            stories = {story["entry"][8:16].hex(): story for story in fields[1]}
            state.setdefault(f"stories {fields[0]}", {}).update(stories)
        case "dead":
            dead = {item[0][8:16].hex(): item for item in fields[1]}
            state.setdefault(f"dead {fields[0]}", {}).update(dead)
        case _:
            held = {entry[8:16].hex(): entry for entry in fields[1]}
            state.setdefault(f"{kind} {fields[0]}", {}).update(held)

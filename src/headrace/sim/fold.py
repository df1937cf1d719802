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


def state_of_log(groups: Sequence[tuple[int, Sequence[AnyRecord]]], limits: Limits) -> dict[str, Any]:
    """What the log says, folded from its beginning."""
    shard = Shard(limits=limits, loading=True)
    for position, records in groups:
        for at, record in enumerate(records, position):
            shard.apply(at, record)
    return state_of(shard)


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

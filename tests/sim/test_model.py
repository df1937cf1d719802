"""The plain model objects to records that should never have been."""

from __future__ import annotations

import pytest

from headrace.core.items import Item, encode_item
from headrace.core.limits import US, Limits, QueueSettings
from headrace.core.records import (
    ABORTED,
    Added,
    AnyRecord,
    Committed,
    Declared,
    Expired,
    Leased,
    NamesEnded,
    Purged,
    Returned,
)
from headrace.sim.checkers import verdict as v
from headrace.sim.checkers.model import Model

LIMITS = Limits()
NOW = 1_800_000_000 * US


def item(number: int, **fields: object) -> bytes:
    return encode_item(Item(b"x", **fields), number.to_bytes(16, "big"), NOW, LIMITS)  # type: ignore[arg-type]


def added(first_seq: int, *items: bytes, number: int = 0) -> Added:
    return Added(NOW, b"s" if number else b"", number, 0, "q", first_seq, list(items))


def leased(first: int, *seqs: int, name: str = "") -> Leased:
    return Leased(NOW, b"", 0, 0, "q", first, list(seqs), 60 * US, False, name)


def committed(*counters: int) -> Committed:
    return Committed(NOW, b"", 0, 0, "q", list(counters))


def returned(*counters: int) -> Returned:
    return Returned(NOW, b"", 0, 0, "q", list(counters), ABORTED)


def declared(**settings: object) -> Declared:
    return Declared(NOW, b"", 0, 0, "q", QueueSettings(**settings))  # type: ignore[arg-type]


ONE = added(0, item(1))
TWO = added(0, item(1), item(2))

GOOD: list[list[AnyRecord]] = [
    [ONE, leased(0, 0), committed(0)],
    [TWO, leased(0, 0), returned(0), leased(1, 0), committed(1)],
    [ONE, leased(0, 0), returned(0), committed(0)],
    [ONE, leased(0, 0, name="n"), committed(0)],
]

BAD: list[tuple[str, list[AnyRecord]]] = [
    (v.ORDER, [TWO, leased(0, 1)]),
    (v.ORDER, [ONE, added(0, item(2))]),
    (v.UNEXPECTED, [ONE, leased(0, 5)]),
    (v.UNEXPECTED, [ONE, leased(0, 0), committed(0), leased(1, 0)]),
    (v.UNEXPECTED, [added(0, item(1, delay=60)), leased(0, 0)]),
    (v.UNEXPECTED, [declared(paused=True), ONE, leased(0, 0)]),
    (v.UNEXPECTED, [ONE, leased(0, 0), Purged(NOW, b"", 0, 0, "q", [0], [])]),
    (v.DUPLICATE, [ONE, leased(0, 0), leased(1, 0)]),
    (v.FENCING, [ONE, leased(0, 0), returned(0), leased(1, 0), committed(0)]),
    (v.FENCING, [ONE, committed(7)]),
    (v.FENCING, [ONE, leased(0, 0), committed(0), committed(0)]),
    (v.FENCING, [ONE, leased(0, 0), returned(0), returned(0)]),
    (v.LEASES, [added(0, item(1, expires=60)), Expired(NOW, b"", 0, 0, "q", [0])]),
    (v.NAMES, [TWO, leased(0, 0, name="n"), leased(1, 1, name="n")]),
    (v.NAMES, [ONE, leased(0, 0, name="n"), NamesEnded(NOW, b"", 0, 0, "q", ["n"])]),
    (v.REPEATS, [added(0, item(1), number=1), added(1, item(2), number=1)]),
    (v.REPEATS, [ONE, added(1, item(1))]),
    (v.KEYS, [added(0, item(1, key="k")), added(1, item(2, key="k"))]),
    (v.KEYS, [Added(NOW, b"", 0, 0, "q", 0, [], [(0, b"nobody")])]),
    (v.CAPACITY, [declared(capacity_items=1), TWO]),
]


def verdict_on(records: list[AnyRecord]) -> list[str]:
    found: list[str] = []
    model = Model(LIMITS, lambda invariant, text: found.append(invariant))
    for position, record in enumerate(records):
        model.follow(position, [record])
    return found


@pytest.mark.parametrize("records", GOOD)
def test_what_may_be_is_let_pass(records: list[AnyRecord]) -> None:
    assert verdict_on(records) == []


@pytest.mark.parametrize(("invariant", "records"), BAD)
def test_what_may_not_be_is_objected_to_by_name(invariant: str, records: list[AnyRecord]) -> None:
    assert invariant in verdict_on(records)

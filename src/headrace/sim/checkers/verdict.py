"""The invariants by name, and the list of where they were broken."""

from __future__ import annotations

from collections import Counter
from typing import Final, NamedTuple

LOST: Final = "lost"
"""What was acknowledged is no longer there, or never comes out again."""
UNEXPECTED: Final = "unexpected"
"""Something comes out that is not in: never added, refused, settled already, or with another body."""
DUPLICATE: Final = "unexplained_duplicates"
"""An item is handed out again, and no record says why."""
ORDER: Final = "order"
"""Something more urgent was due and was passed over."""
FENCING: Final = "fencing"
"""An old receipt was obeyed, a receipt was issued twice, or a good one was refused."""
LEASES: Final = "leases"
"""A lease was ended before its time."""
ATOMIC: Final = "atomic"
"""A batch or a step took effect in part."""
NAMES: Final = "names"
"""A named pop gave other items on a repeat."""
REPEATS: Final = "repeats"
"""A request was carried out twice, or answered otherwise when it was repeated."""
KEYS: Final = "keys"
"""A key was not deduped within its window, or deduped without a holder."""
CAPACITY: Final = "capacity"
"""A queue took in more than it may hold."""
ATTEMPTS: Final = "attempts"
"""An attempt was counted wrong, or an item died too soon or too late."""
LEDGER: Final = "ledger"
"""What went in is not what came out and what is there."""
FOLD: Final = "fold"
"""The state is not the fold of the log."""
VIEWS: Final = "views"
"""A look at a queue or an item was answered with what is not so."""
LIVENESS: Final = "liveness"
"""Something that could go on did not."""
RECOVERY: Final = "recovery"
"""A disk with nothing wrong could not be opened, or damage was taken for nothing."""
TOLD: Final = "told"
"""A caller was told nothing, or twice, or what is not so of its call."""
CREDIT: Final = "credit"
"""A consumer was handed more than it had room for."""
PROTOCOL: Final = "protocol"
"""A peer that broke the protocol kept its connection, or had something done after."""
MACHINE: Final = "machine"
"""The machine fell over one of its own assertions."""

INVARIANTS: Final = (
    LOST,
    UNEXPECTED,
    DUPLICATE,
    ORDER,
    FENCING,
    LEASES,
    ATOMIC,
    NAMES,
    REPEATS,
    KEYS,
    CAPACITY,
    ATTEMPTS,
    LEDGER,
    FOLD,
    VIEWS,
    LIVENESS,
    RECOVERY,
    TOLD,
    CREDIT,
    PROTOCOL,
    MACHINE,
)

KEPT: Final = 20


class Violation(NamedTuple):
    """One place where an invariant was broken."""

    invariant: str
    text: str
    at_us: int


class Verdict:
    """All that was found in one run; of many, the first in full."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.first: list[Violation] = []

    def broken(self, invariant: str, at_us: int, text: str) -> None:
        assert invariant in INVARIANTS
        self.counts[invariant] += 1
        if len(self.first) < KEPT:
            self.first.append(Violation(invariant, text, at_us))

    @property
    def is_good(self) -> bool:
        return not self.counts

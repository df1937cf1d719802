"""A client's session on a shard: what it was answered, for as long as it may ask again.

Part of the fold. A request that bears (session, number, answered) is executed once: a repeat gets the outcome that is
kept here. `answered` is the client's word that it has all answers below that number.
"""

from __future__ import annotations

import msgspec

from headrace.core.commands import AnyOutcome, PopDone


class Session(msgspec.Struct):
    """The outcomes that one client may still ask for."""

    seen_us: int
    answered: int = 0
    outcomes: dict[int, AnyOutcome] = {}

    def note(self, number: int, answered: int, outcome: AnyOutcome, at_us: int) -> None:
        """Keep the outcome of a request; a pop from several queues comes in parts."""
        self.seen_us = at_us
        if answered > self.answered:
            self.answered = answered
            for old in [n for n in self.outcomes if n < answered]:
                del self.outcomes[old]
        earlier = self.outcomes.get(number)
        if isinstance(earlier, PopDone) and isinstance(outcome, PopDone):
            outcome = PopDone([*earlier.batches, *outcome.batches])
        self.outcomes[number] = outcome

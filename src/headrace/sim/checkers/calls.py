"""The checker of calls: what clients are told, held against what was done.

Of each call its caller hears exactly one final outcome, by its deadline. What was refused did not happen, what may have
happened was sent, and a stream hands out no more than it was given credit for, and nothing twice.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field
from typing import Final

from headrace.core import commands as c
from headrace.core.limits import US
from headrace.core.messages import Calls
from headrace.sim.checkers import verdict as v
from headrace.sim.checkers.model import Report

SLACK_US: Final = US
UNKNOWN: Final = "OutcomeUnknown"


@dataclass(slots=True)
class Asked:
    """A call that has not had its final outcome."""

    session: bytes
    call_id: int
    number: int
    command: c.AnyCommand
    deadline_us: int | None
    handed: int = 0


@dataclass(slots=True)
class CallsChecker:
    """Holds the calls of all clients to their outcomes."""

    report: Report
    asked: dict[int, Asked] = field(default_factory=dict)
    _sent: set[tuple[bytes, int]] = field(default_factory=set)
    _handed: set[tuple[bytes, int, int]] = field(default_factory=set)
    _refused: dict[tuple[bytes, int], str] = field(default_factory=dict)

    def ask(self, ref: int, asked: Asked) -> None:
        self.asked[ref] = asked
        command = asked.command
        if isinstance(command, c.Abort):  # it is not synced for, so a lease may come back with the power
            self._handed -= {(asked.session, command.epoch, counter) for counter in command.counters}

    def sent(self, session: bytes, calls: Calls) -> None:
        self._sent.update((session, call.id) for call in calls.calls)

    def forget(self, refs: Container[int]) -> None:
        """Nobody is there any more to be told."""
        self.asked = {ref: asked for ref, asked in self.asked.items() if ref not in refs}

    def told(self, ref: int, outcome: c.AnyOutcome, now_us: int, *, awake_us: int) -> None:
        """A caller is told, who is awake since then."""
        asked = self.asked.get(ref)
        if asked is None:
            self.report(v.TOLD, f"a call that was over is told {outcome}")
            return
        more = isinstance(outcome, c.PopDone) and outcome.more
        if isinstance(outcome, c.PopDone):
            self._check_handed(asked, outcome)
        if more:
            return
        del self.asked[ref]
        name = type(asked.command).__name__
        if isinstance(outcome, c.Refused):
            if outcome.kind == UNKNOWN:
                if (asked.session, asked.call_id) not in self._sent:
                    self.report(v.TOLD, f"{name} was never sent, and may have happened: {outcome.message}")
            elif outcome.kind == "PeerViolation":
                self.report(v.TOLD, f"an honest client is told off: {outcome.message}")
            elif asked.number and not isinstance(asked.command, c.Extend):
                self._refused[asked.session, asked.number] = f"{name} was refused: {outcome.kind}: {outcome.message}"
        if asked.deadline_us is not None and now_us > max(asked.deadline_us, awake_us) + SLACK_US:
            self.report(v.LIVENESS, f"{name} was told {(now_us - asked.deadline_us) / US:g} s after its deadline")

    def _check_handed(self, asked: Asked, outcome: c.PopDone) -> None:
        command = asked.command
        assert isinstance(command, c.Pop)
        for batch in outcome.batches:
            asked.handed += len(batch.counters)
            for counter in batch.counters:
                receipt = asked.session, batch.epoch, counter
                if receipt in self._handed and not command.name:
                    self.report(v.DUPLICATE, f"receipt {counter} was handed twice to one client")
                self._handed.add(receipt)
        if asked.handed > command.count and not command.name:
            self.report(v.CREDIT, f"{asked.handed} items were handed out against a credit of {command.count}")

    def check(self, done: Container[tuple[bytes, int]], now_us: int) -> None:
        """All is over: what was refused did not happen, and whom nobody told is late."""
        for key, what in self._refused.items():
            if key in done:
                self.report(v.TOLD, f"request {key[1]} was carried out, but {what}")
        for asked in self.asked.values():
            if asked.deadline_us is not None and now_us > asked.deadline_us + SLACK_US:
                self.report(v.LIVENESS, f"{type(asked.command).__name__} was never told anything")

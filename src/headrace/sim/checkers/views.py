"""What a single request must be answered, from the plain model: looks of every kind, and pops.

Requests that are decided together are concurrent, and may be answered in any order of each other; one that is decided
alone has only one right answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from headrace.core import commands as c
from headrace.core import records as r
from headrace.core.items import ENTRY_ID
from headrace.core.records import AnyRecord
from headrace.sim.checkers import verdict as v
from headrace.sim.checkers.model import DEAD, LEASED, QUEUED, Model, Report, Thing

TOTALS = ("added", "committed", "expired", "purged", "moved_in", "moved_out", "quarantined", "deduplicated")


@dataclass(slots=True)
class Expected:
    """The right answer to one request."""

    ref: object
    invariant: str
    answer: object
    """What `seen` makes of the right outcome."""
    seen: Callable[[c.AnyOutcome], object]
    grants: list[int] = field(default_factory=list)
    """The places that the pop must be granted."""


class Views:
    """Holds answers to what the model says of the same moment."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._expected: Expected | None = None

    def expect(self, expected: Expected | None) -> None:
        """What must be answered in the turn that begins; None ends the last one."""
        if self._expected is not None and self._expected.grants:
            self._report(v.LIVENESS, f"a pop was not granted places {self._expected.grants}, which were due")
        self._expected = expected

    def forget(self) -> None:
        """The process died in the middle of the turn."""
        self._expected = None

    def check_grants(self, records: Sequence[AnyRecord]) -> None:
        """The first group of a turn grants what the pop must get."""
        expected = self._expected
        if expected is None or not expected.grants:
            return
        granted = sorted(seq for record in records if type(record) is r.Leased for seq in record.seqs)
        if granted != sorted(expected.grants):
            self._report(v.ORDER, f"a pop was granted places {granted}, and {expected.grants} were the most urgent")
        expected.grants = []

    def check(self, request: c.Request, outcome: c.AnyOutcome) -> None:
        """The answer that came in the same turn."""
        expected = self._expected
        if expected is None or expected.ref != request.ref:
            return
        self._expected = None  # a stream has further answers, which say what came later
        if isinstance(outcome, c.Refused):
            if outcome.kind not in ("Unavailable", "Full", "Paused", "Gone"):
                self._expected = expected
            return
        seen = expected.seen(outcome)
        if seen != expected.answer:
            kind = type(request.command).__name__
            self._report(expected.invariant, f"{kind} was answered {seen}, and {expected.answer} is right")

    def of(self, model: Model, request: c.Request, wall_us: int) -> Expected | None:
        """The right answer to this request, decided alone at this moment; None when it is not for us to say."""
        command = request.command
        if model.latest_us > wall_us and isinstance(command, c.Peek | c.Pop | c.Why):
            return None  # the clock was set back: what had ripened is out, and what has not is not
        match command:
            case c.Peek():
                ids = [thing.id for thing in model.due(command.queue, wall_us)[: command.count]]
                return Expected(request.ref, v.ORDER, ids, _peeked)
            case c.Pop():
                return self._of_pop(model, request, command, wall_us)
            case c.ListDead():
                book = model.books.get(command.queue)
                things = book.things.values() if book is not None else ()
                dead = sorted(thing.seq for thing in things if thing.state == DEAD and thing.seq > command.after_seq)
                ids = [model.books[command.queue].things[seq].id for seq in dead[: command.count]]
                return Expected(request.ref, v.VIEWS, ids, _dead)
            case c.Why():
                thing = model.by_id.get(command.id)
                return Expected(request.ref, v.VIEWS, _state(thing, wall_us), _whereabouts)
            case c.ListQueues():
                figures = {name: _figures(model, name) for name in sorted(model.books)}
                return Expected(request.ref, v.LEDGER, figures, _stats)
            case c.Commit() | c.Abort() | c.Extend():
                return self._of_settling(model, request, command)
        return None

    def _of_pop(self, model: Model, request: c.Request, command: c.Pop, wall_us: int) -> Expected | None:
        if command.name:
            book = model.books.get(command.queues[0])
            named = book.names.get(command.name) if book is not None else None
            if named is not None:
                return Expected(request.ref, v.NAMES, model.unsettled(named), _counters)
        due: list[Thing] = []
        for queue in dict.fromkeys(command.queues):
            book = model.books.get(queue)
            if book is not None and not book.settings.paused:
                due += model.due(queue, wall_us)
        due.sort(key=lambda thing: thing.at)
        if command.at_least is not None:
            due = [thing for thing in due if thing.priority <= command.at_least]
        best = due[: command.count]
        return Expected(
            request.ref, v.ORDER, [thing.id for thing in sorted(best, key=lambda t: t.seq)], _popped,
            [thing.seq for thing in best],
        )  # fmt: skip

    def _of_settling(self, model: Model, request: c.Request, command: c.Commit | c.Abort | c.Extend) -> Expected | None:
        good = [
            counter
            for counter in dict.fromkeys(command.counters)
            if counter in model.leases
            and model.leases[counter][0].queue == command.queue
            and model.epoch_of(counter) == command.epoch
        ]

        def refused_good(outcome: c.AnyOutcome) -> object:
            return [n for n, _ in outcome.refused if n in good] if isinstance(outcome, c.Settled) else outcome

        if len(set(command.counters)) < len(command.counters):
            return None
        return Expected(request.ref, v.FENCING, [], refused_good)


def _peeked(outcome: c.AnyOutcome) -> object:
    return [entry[ENTRY_ID] for entry in outcome.entries] if isinstance(outcome, c.PeekDone) else outcome


def _popped(outcome: c.AnyOutcome) -> object:
    if not isinstance(outcome, c.PopDone):
        return outcome
    entries = [entry for batch in outcome.batches for entry in batch.entries]
    return [entry[ENTRY_ID] for entry in sorted(entries, key=lambda entry: entry[8:16])]


def _counters(outcome: c.AnyOutcome) -> object:
    if not isinstance(outcome, c.PopDone):
        return outcome
    return [counter for batch in outcome.batches for counter in batch.counters]


def _dead(outcome: c.AnyOutcome) -> object:
    return [item.entry[ENTRY_ID] for item in outcome.items] if isinstance(outcome, c.DeadDone) else outcome


def _whereabouts(outcome: c.AnyOutcome) -> object:
    return outcome.state if isinstance(outcome, c.Whereabouts) else outcome


def _state(thing: Thing | None, wall_us: int) -> str:
    if thing is None or thing.state not in (QUEUED, LEASED, DEAD):
        return "unknown"
    if thing.held:
        return "held"
    if thing.state == QUEUED and thing.due_us > wall_us:
        return "delayed"
    return thing.state


def _figures(model: Model, queue: str) -> dict[str, int]:
    book = model.books[queue]
    figures = {state: book.count(state) for state in (QUEUED, LEASED, DEAD)}
    figures["held"] = sum(thing.held for thing in book.things.values())
    figures.update((name, book.totals[name]) for name in TOTALS)
    return figures


def _stats(outcome: c.AnyOutcome) -> object:
    if not isinstance(outcome, c.StatsDone):
        return outcome
    names = (QUEUED, LEASED, DEAD, "held", *TOTALS)
    return {stats.queue: {name: getattr(stats, name) for name in names} for stats in outcome.queues}

"""The checker: the history of requests and answers, held against the plain model of the log.

It hears what is asked, what is written, what is answered and where a recovery ends, and nothing else of the machines.
An answer counts from the moment the node gives it, whether or not it reaches anybody.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.core import commands as c
from headrace.core import records as r
from headrace.core.items import ENTRY_ID, ITEM_ID
from headrace.core.limits import US, Limits
from headrace.core.records import AnyRecord
from headrace.sim.checkers import verdict as v
from headrace.sim.checkers.model import COMMITTED, HERE, Model, Thing, show
from headrace.sim.checkers.views import Views
from headrace.sim.world import World

STALL_US = 2 * US
"""A pause beyond this is one that the node must notice."""
TICK_US = US
"""How much of a pause may be counted as lease time all the same: the node looks at its clock each second."""


@dataclass(slots=True)
class Group:
    """What one append wrote, or tried to."""

    position: int
    records: Sequence[AnyRecord]


class Checker:
    """Holds one run to its invariants."""

    def __init__(self, world: World, limits: Limits, verdict: v.Verdict) -> None:
        self.world = world
        self.limits = limits
        self.verdict = verdict
        self.model = Model(limits, self._report)
        self.views = Views(self._report)
        self._groups: list[Group] = []
        self._writing: Group | None = None
        self._outcomes: dict[tuple[bytes, int], c.AnyOutcome] = {}
        self._acked: set[tuple[bytes, int]] = set()
        self._added: set[bytes] = set()
        self._asked: dict[bytes, bytes] = {}
        self._refused: set[bytes] = set()
        self._committed: set[bytes] = set()
        self._granted: dict[tuple[int, int], bytes] = {}
        self._lease_us: dict[int, tuple[int, int]] = {}
        """(since when a lease runs at the latest, its period) by receipt."""
        self._pauses: list[tuple[int, int]] = []
        self._granting: set[int] | None = None
        self._full_us = -STALL_US
        """When the disk was last found full: what waits is tried again after a while."""
        self._quiet = False

    def _report(self, invariant: str, text: str) -> None:
        if not self._quiet:
            self.verdict.broken(invariant, self.world.now_us, text)
            self.world.tell(lambda: f"*** {invariant}: {text}")

    # -- requests ----------------------------------------------------------------------------------------------------

    def asked(self, request: c.Request) -> None:
        """A client asks, for the first time or again."""
        command = request.command
        if isinstance(command, c.Add):
            self._asked.update((item[ITEM_ID], item) for item in command.items)
        elif isinstance(command, c.Commit):
            for _, items in command.added:
                self._asked.update((item[ITEM_ID], item) for item in items)

    def deciding(self, requests: Sequence[c.Request], wall_us: int) -> None:
        """The node is about to decide on these; one alone has only one right answer."""
        self.model.latest_us = max(self.model.latest_us, wall_us)
        self._granting = None
        self.views.expect(None)
        if len(requests) != 1:
            return
        request = requests[0]
        if request.number and (request.session, request.number) in self.model.done:
            return
        self.views.expect(self.views.of(self.model, request, wall_us))

    def decided(self) -> None:
        """The turn is over."""
        self.views.expect(None)

    # -- the log -----------------------------------------------------------------------------------------------------

    def writing(self, position: int, records: Sequence[AnyRecord]) -> None:
        """A group is about to be written; a crash may leave it on the disk or not."""
        self._writing = Group(position, list(records))

    def unwritten(self) -> None:
        """The log says that the group was not written."""
        self._writing = None
        self._full_us = self.world.now_us

    def written(self) -> None:
        """The log says that the group was written."""
        group, self._writing = self._writing, None
        assert group is not None
        self._groups.append(group)
        if group.position != self.model.end:
            self._report(v.FOLD, f"a group was written at {group.position} and the log ended at {self.model.end}")
        self._check_periods(group.records)
        self.views.check_grants(group.records)
        self.model.follow(group.position, group.records)

    def _check_periods(self, records: Sequence[AnyRecord]) -> None:
        """No lease is ended for its time before its time, our own pauses left out."""
        now_us = self.world.now_us
        for record in records:
            if type(record) is r.Leased:
                for counter in range(record.first, record.first + len(record.seqs)):
                    self._lease_us[counter] = now_us, record.lease_us
            elif type(record) is r.Returned and record.reason == r.LEASE_EXPIRED:
                for counter in record.counters:
                    since_us, lease_us = self._lease_us.get(counter, (0, 0))
                    awake_us = now_us - since_us - self._paused_us(since_us)
                    if awake_us < lease_us:
                        self._report(
                            v.LEASES, f"receipt {counter} had {lease_us / US:g} s and was ended after {awake_us / US:g}"
                        )

    def _paused_us(self, since_us: int) -> int:
        return sum(
            min(after - begin, after - since_us) - TICK_US
            for begin, after in self._pauses
            if after > since_us and after - begin > STALL_US
        )

    def paused(self, begin_us: int, after_us: int) -> None:
        """The process did nothing for so long."""
        self._pauses.append((begin_us, after_us))

    # -- answers -----------------------------------------------------------------------------------------------------

    def answered(self, request: c.Request, outcome: c.AnyOutcome) -> None:
        """The node gives an answer."""
        self.views.check(request, outcome)
        if isinstance(outcome, c.Refused):
            self._on_refused(request, outcome)
            return
        is_new = (request.session, request.number) not in self._outcomes
        if request.number:
            self._check_repeat(request, outcome)
        command = request.command
        if isinstance(outcome, c.AddDone):
            assert isinstance(command, c.Add)
            self._on_added(command.queue, command.items, outcome.duplicates)
        elif isinstance(outcome, c.PopDone):
            for batch in outcome.batches:
                self._on_granted(batch)
        elif isinstance(outcome, c.Settled) and isinstance(command, c.Commit):
            self._on_committed(command, outcome)
        elif isinstance(outcome, c.Settled) and isinstance(command, c.Extend) and is_new:
            self._on_extended(command, outcome)

    def _on_refused(self, request: c.Request, refused: c.Refused) -> None:
        key = request.session, request.number
        if request.number and refused.kind == "OutcomeUnknown" and request.session in self.model.sessions:
            self._report(v.REPEATS, f"the session of request {request.number} is known and was taken for unknown")
        elif request.number and key in self.model.done and refused.kind != "OutcomeUnknown":
            self._report(v.REPEATS, f"request {request.number} was carried out and is refused: {refused.message}")
        if refused.kind == "PeerViolation":
            self._report(v.REPEATS, f"an honest client is told off: {refused.message}")

    def _check_repeat(self, request: c.Request, outcome: c.AnyOutcome) -> None:
        """What was carried out once has one answer."""
        key = request.session, request.number
        if key not in self.model.done:
            return
        earlier = self._outcomes.setdefault(key, outcome)
        if earlier != outcome:
            self._report(v.REPEATS, f"request {request.number} was answered {earlier} and then {outcome}")
        if _is_promise(request.command):
            self._acked.add(key)

    def _on_added(self, queue: str, items: list[bytes], duplicates: list[tuple[int, bytes]]) -> None:
        holders = dict(duplicates)
        by_id = self.model.by_id
        here = [holders.get(i, item[ITEM_ID]) for i, item in enumerate(items)]
        for item_id in here:
            if item_id not in by_id:
                self._report(v.LOST, f"{show(item_id)} was acknowledged in {queue} and is not in the log")
        self._added.update(here)
        for i in holders:
            if items[i][ITEM_ID] in by_id and items[i][ITEM_ID] != holders[i]:
                self._report(v.KEYS, f"{show(items[i][ITEM_ID])} was called a duplicate and is in")

    def _on_granted(self, batch: c.Batch) -> None:
        for counter, entry, attempt in zip(batch.counters, batch.entries, batch.attempts, strict=True):
            item_id = entry[ENTRY_ID]
            thing = self.model.receipts.get(counter)
            if thing is None or thing.id != item_id or self.model.epoch_of(counter) != batch.epoch:
                self._report(v.UNEXPECTED, f"{show(item_id)} came out under {counter}, for which nothing was logged")
                continue
            earlier = self._granted.setdefault((batch.epoch, counter), item_id)
            if earlier != item_id:
                self._report(v.FENCING, f"receipt {counter} was given out for {show(earlier)} and {show(item_id)}")
            encoded = self._asked.get(item_id)
            if encoded is None or entry[:8] + entry[24:] != encoded:
                self._report(v.UNEXPECTED, f"{show(item_id)} came out and was never asked to be added so")
            if thing.counter == counter and thing.attempts != attempt:
                self._report(v.ATTEMPTS, f"{show(item_id)} is on attempt {thing.attempts} and came out as {attempt}")

    def _on_committed(self, command: c.Commit, outcome: c.Settled) -> None:
        refused = dict(outcome.refused)
        for counter in command.counters:
            item_id = self._granted.get((command.epoch, counter))
            if counter in refused or item_id is None:
                continue
            thing = self.model.by_id.get(item_id)
            state = thing.state if thing is not None else "not there"
            if state == COMMITTED:
                self._committed.add(item_id)
            else:
                self._report(v.FENCING, f"receipt {counter} was acknowledged and {show(item_id)} is {state}")
        if not refused and len(outcome.duplicates) == len(command.added):
            for (queue, items), duplicates in zip(command.added, outcome.duplicates, strict=True):
                self._on_added(queue, items, duplicates)
        elif not refused:
            self._report(v.ATOMIC, "a step was acknowledged without what it adds")

    def _on_extended(self, command: c.Extend, outcome: c.Settled) -> None:
        """Leases run anew from the moment the node decides so."""
        refused = dict(outcome.refused)
        for counter in command.counters:
            if counter not in refused:
                lease = self.model.leases.get(counter)
                if lease is not None and lease[1].detached and not command.lease_us:
                    lease_us = 0  # what is left of it goes by the wall clock
                else:
                    lease_us = command.lease_us or self._lease_us.get(counter, (0, 0))[1]
                since_us, other_us = self._lease_us.get(counter, (0, 0))
                if since_us == self.world.now_us:
                    lease_us = min(lease_us, other_us)  # decided together: the last one stands, whichever that was
                self._lease_us[counter] = self.world.now_us, lease_us

    # -- recoveries --------------------------------------------------------------------------------------------------

    def recovered(self, end: int) -> None:
        """The log was recovered up to `end`: what was acknowledged must be there."""
        self.views.forget()
        if self._writing is not None and end > self._writing.position:
            self._groups.append(self._writing)
            self._quiet = True
            self.model.follow(self._writing.position, self._writing.records)
            self._quiet = False
        self._writing = None
        now_us = self.world.now_us
        if end > self.model.end:
            self._report(v.UNEXPECTED, f"the log was recovered up to {end} and was written up to {self.model.end}")
        elif end < self.model.end:
            self._forget_from(end)
        for counter, (_, leased) in self.model.leases.items():
            if leased.detached:
                self._lease_us[counter] = now_us, 0  # its period goes by the wall clock, boots or not
            else:
                known_us = self._lease_us.get(counter, (0, leased.lease_us))[1]
                period_us = min(leased.lease_us, known_us)  # an extension may not be logged
                self._lease_us[counter] = now_us, period_us

    def died(self) -> None:
        """The process is gone, and a pause of it with it."""
        now_us = self.world.now_us
        if self._pauses and self._pauses[-1][1] > now_us:
            self._pauses[-1] = self._pauses[-1][0], now_us

    def _forget_from(self, end: int) -> None:
        """What was written from `end` on is gone; none of it may have been promised."""
        self._groups = [group for group in self._groups if group.position + len(group.records) <= end]
        latest_us = self.model.latest_us
        self.model = Model(self.limits, self._report)
        self.model.latest_us = latest_us
        self._quiet = True
        for group in self._groups:
            self.model.follow(group.position, group.records)
        self._quiet = False
        model = self.model
        if model.end != end:
            self._report(v.ATOMIC, f"the log was recovered up to {end}, in the middle of a group from {model.end} on")
        for item_id in sorted(self._added - model.by_id.keys()):
            self._report(v.LOST, f"{show(item_id)} was acknowledged and is gone after a recovery")
            self._added.discard(item_id)
        for item_id in sorted(self._committed):
            thing = model.by_id.get(item_id)
            if thing is not None and thing.state != COMMITTED:
                self._report(v.DUPLICATE, f"{show(item_id)} was committed and is {thing.state} again after a recovery")
        for (_, counter), item_id in sorted(self._granted.items()):
            if item_id not in model.by_id:
                self._report(v.UNEXPECTED, f"{show(item_id)} was handed out under {counter} and now was never added")
        for session, number in sorted(self._acked - model.done.keys()):
            self._report(v.LOST, f"request {number} was acknowledged and is gone after a recovery")
            self._acked.discard((session, number))
        self._outcomes = {key: outcome for key, outcome in self._outcomes.items() if key in model.done}

    # -- looking around ----------------------------------------------------------------------------------------------

    def waiting(self, request: c.Request, command: c.Pop, wall_us: int) -> None:
        """A numbered pop waits in the node, and was not granted anything: then there must be nothing for it."""
        if command.name or (request.session, request.number) in self.model.done:
            return  # what is held for its answer to be safe does not wait for an item
        if self.world.now_us - self._full_us <= TICK_US:
            return
        for queue in command.queues:
            book = self.model.books.get(queue)
            if book is None or book.settings.paused:
                continue
            due = [thing for thing in self.model.due(queue, wall_us) if self._is_for(thing, command)]
            if due:
                self._report(v.LIVENESS, f"a pop of {queue} waits though {show(due[0].id)} is due")

    @staticmethod
    def _is_for(thing: Thing, command: c.Pop) -> bool:
        return command.at_least is None or thing.priority <= command.at_least

    def drained(self, left: Mapping[str, int]) -> None:
        """All faults are over and clients have emptied every queue, but for what the node says is `left`."""
        for thing in self.model.by_id.values():
            if thing.state in HERE:
                kind = v.LIVENESS if left.get(thing.queue) else v.LOST
                what = self.model.describe(thing)
                self._report(kind, f"{show(thing.id)} of {thing.queue} never came out again: {what}")

    def check_fold(self, of_state: Any, of_log: Any) -> None:
        """Two ways to the same state: from what is in memory or a snapshot, and from the log."""
        if of_state != of_log:
            self._report(v.FOLD, f"the state is not the fold of the log: {_first_difference(of_state, of_log)}")


def _is_promise(command: c.AnyCommand) -> bool:
    """Whether the answer says that the outcome survives; what only moves a lease is written, not synced for."""
    match command:
        case c.Pop():
            return bool(command.name)
        case c.Abort():
            return command.dead
        case c.Extend():
            return False
    return True


def _first_difference(left: Any, right: Any) -> str:
    if isinstance(left, dict) and isinstance(right, dict):
        for key in sorted({*left, *right}, key=repr):
            if left.get(key) != right.get(key):
                return f"{key}: {_first_difference(left.get(key), right.get(key))}"
    return f"{left!r:.300} against {right!r:.300}"

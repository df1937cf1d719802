"""One run of a plan: the world set up, the steps carried out, the faults ended, everything drained, the verdict.

The drain is the proof of liveness: with the faults over, every request is answered, every queue can be emptied, and
what was acknowledged has come out.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Final

from headrace.core import commands as c
from headrace.core.errors import Damaged
from headrace.core.limits import US
from headrace.sim import steps as s
from headrace.sim.checkers import verdict as v
from headrace.sim.checkers.checker import Checker
from headrace.sim.client import Client
from headrace.sim.damage import Damage
from headrace.sim.disk import NO_FAULTS, SimDisk
from headrace.sim.process import Process
from headrace.sim.story import show
from headrace.sim.world import World

LOOK_EVERY: Final = 16
"""Waiting requests are looked at after so many steps."""
DRAIN_ROUNDS: Final = 60
DRAIN_COMMITS: Final = 10
DRAIN_ROUND_US: Final = 20 * US
OPEN_SETTINGS: Final = {
    "paused": False,
    "capacity_items": None,
    "capacity_bytes": None,
    "dead_items": 100_000,
    "max_attempts": 1000,
    "max_crashes": 1000,
}


@dataclass(frozen=True, slots=True)
class Result:
    """What came of one run."""

    scenario: str
    seed: int
    verdict: v.Verdict
    faults: Counter[str]
    trace: str
    requests: int
    boots: int


class Run:
    """A plan being carried out."""

    def __init__(self, plan: s.Plan, *, story: list[str] | None = None) -> None:
        self.plan = plan
        self.verdict = v.Verdict()
        self.faults: Counter[str] = Counter()
        self.world = World(f"{plan.scenario}/{plan.seed}", story=story)
        self.checker = Checker(self.world, plan.limits, self.verdict)
        self.requests = 0
        self._left: dict[str, int] = {}
        """What the node said last that it holds, by queue."""
        self._of_ref: dict[int, Client] = {}
        disk = SimDisk(self.world.stream("disk"), capacity_bytes=plan.disk_bytes, fired=self.faults)
        self.process = Process(self.world, disk, self, self.checker, limits=plan.limits, pace=plan.pace)
        self.damage = Damage(self.process, self.faults)
        self._prepare()
        self.clients = [self._new_client(i) for i in range(plan.clients)]
        self._drainer = self._new_client(plan.clients)
        self._disk_ends_us = 0

    def _prepare(self) -> None:
        """Set up what lies between clients and process; here they meet without anything between."""

    def _new_client(self, index: int) -> Client:
        """The client of this place; the last place is that of who drains."""
        inside = self.plan.clients * 2 // 3 if self.plan.pace.ends_leases else 0
        return Client(index, self.world, self._send, self._new_ref, is_inside=index < inside)

    def go(self) -> Result:
        """Carry the plan out."""
        try:
            self.process.boot()
            for count, step in enumerate(self.plan.steps):
                self.world.run(step.at_us)
                self._do(step)
                if count % LOOK_EVERY == 0:
                    self.process.look()
            self._drain()
        except Damaged:
            pass  # told already: there is nothing to go on with
        except Exception as error:
            self._fell(error)
        return Result(
            self.plan.scenario,
            self.plan.seed,
            self.verdict,
            self.faults,
            self.world.trace,
            self.requests,
            self.process.boots,
        )

    def _fell(self, error: Exception) -> None:
        """The machine must not raise: no request, fault or recovery excuses it."""
        place = error.__traceback__
        while place is not None and place.tb_next is not None:
            place = place.tb_next
        where = f" ({place.tb_frame.f_code.co_filename.split('/')[-1]}:{place.tb_lineno})" if place else ""
        self.verdict.broken(v.MACHINE, self.world.now_us, f"{type(error).__name__}: {error}{where}")
        self.world.tell(lambda: f"*** machine: {type(error).__name__}: {error}{where}")

    # -- steps -------------------------------------------------------------------------------------------------------

    def _do(self, step: s.Step) -> None:
        deed, process, world = step.deed, self.process, self.world
        if step.who >= 0:
            self._do_client(self.clients[step.who], deed)
            return
        world.tell(lambda: f"fault: {deed}")
        match deed:
            case s.Kill():
                if process.is_up:
                    self.faults["power_cut" if deed.power else "kill"] += 1
                    process.die(power=deed.power)
            case s.CrashAt():
                if process.is_up:
                    process.disk.crash_at = process.disk.points + deed.points
                    process.disk.tear_at = deed.tear_at
                    process.power_fails = deed.power
                    process.recovery_crashes = list(deed.again)
            case s.Stop():
                self.faults["stop"] += process.is_up
                process.stop()
            case s.Pause():
                process.pause(deed.for_us)
            case s.StepClock():
                self.faults["clock_step"] += 1
                world.clock.step_wall(deed.by_us)
            case s.FailDisk():
                process.disk.faults = deed.faults
                self._mend_disk_after(deed.for_us)
            case s.FillDisk():
                process.disk.capacity_bytes = process.disk.used_bytes + deed.free_bytes
                self._mend_disk_after(deed.for_us)
            case s.Flip():
                self.damage.flip(deed)
            case _:
                raise AssertionError(f"no fault: {deed}")

    def _do_client(self, client: Client, deed: s.Deed) -> None:
        match deed:
            case s.Ask() | s.Settle():
                client.do(deed)
            case s.Leave():
                client.leave(crashed=deed.crashed)
            case s.Vanish():
                self.faults["client_died"] += 1
                self.process.cancel(client.open_refs)
                client.begin()
            case s.Disconnect():
                self.faults["disconnect"] += 1
                if self.process.is_up and not client.is_inside:
                    self.process.cancel(client.open_refs)
                    client.on_down()
                    client.on_up()
            case _:
                raise AssertionError(f"no deed of a client: {deed}")

    def _mend_disk_after(self, by_us: int) -> None:
        self._disk_ends_us = self.world.now_us + by_us
        self.world.after(by_us, lambda: self._mend_disk() if self.world.now_us >= self._disk_ends_us else None)

    def _mend_disk(self) -> None:
        self.process.disk.faults = NO_FAULTS
        self.process.disk.capacity_bytes = self.plan.disk_bytes

    # -- between clients and process ---------------------------------------------------------------------------------

    def _new_ref(self, client: Client) -> int:
        self.requests += 1
        self._of_ref[self.requests] = client
        return self.requests

    def _send(self, request: c.Request) -> None:
        self.world.tell(lambda: f"{_who(request)} asks {show(request.command)}")
        self.checker.asked(request)
        self.process.receive(request)

    def on_up(self) -> None:
        for client in (*self.clients, self._drainer):
            client.on_up()

    def on_down(self) -> None:
        for client in (*self.clients, self._drainer):
            client.on_down()

    def on_answer(self, request: c.Request, outcome: c.AnyOutcome) -> None:
        self.world.tell(lambda: f"{_who(request)} is answered {show(outcome)}")
        if isinstance(outcome, c.StatsDone):
            self._left = {stats.queue: stats.queued + stats.leased + stats.dead for stats in outcome.queues}
        client = self._of_ref.pop(request.ref)
        if not client.on_answer(request, outcome):
            self.faults["lost_answer"] += 1

    # -- the end -----------------------------------------------------------------------------------------------------

    def _drain(self) -> None:
        """End the faults; then empty every queue by the same means as anybody."""
        world, process = self.world, self.process
        world.tell(lambda: "faults end")
        self._mend_disk()
        process.disk.crash_at = None
        process.recovery_crashes = []
        process.power_fails = False
        world.run(max(world.now_us, process.paused_until_us) + 5 * US)
        if not process.is_up:
            self.verdict.broken(v.LIVENESS, world.now_us, "the process does not come up again")
            return
        process.look()
        for client in self.clients:
            client.leave(crashed=False)
        for round_ in range(DRAIN_ROUNDS):
            self._drain_once(late=round_ > DRAIN_ROUNDS // 2)
            if self._is_empty():
                break
        if self._drainer.unanswered:
            self.verdict.broken(v.LIVENESS, world.now_us, f"requests are not answered: {self._drainer.unanswered}")
        self._ask_alone(c.ListQueues())
        self.checker.drained(self._left)
        process.check_fold(after_records=0)

    def _drain_once(self, *, late: bool) -> None:
        """One round: revive the dead, pop everything, commit it; then let time pass for what is delayed or leased."""
        drainer = self._drainer
        for queue in sorted(self.checker.model.books):
            settings = self.checker.model.books[queue].settings
            if not late:
                if any(getattr(settings, name) != value for name, value in OPEN_SETTINGS.items()):
                    self._ask_alone(c.Declare(queue, OPEN_SETTINGS))
                self._ask_alone(c.Revive(queue))
            self._ask_alone(c.Pop([queue], 1000))
            for _ in range(DRAIN_COMMITS):
                if not drainer.held:
                    break
                drainer.do(s.Settle("commit", 0, 1000))
                self.world.run(self.world.now_us + 50_000)
        self.world.run(self.world.now_us + DRAIN_ROUND_US)

    def _ask_alone(self, command: c.AnyCommand) -> None:
        self._drainer.do(s.Ask(command))
        self.world.run(self.world.now_us + 50_000)

    def _is_empty(self) -> bool:
        books = self.checker.model.books.values()
        return not any(book.things for book in books)


def _who(request: c.Request) -> str:
    """Who asks, and which of its requests this is."""
    who = request.session.decode() or "a caller inside"
    return f"{who} (request {request.number})" if request.number else who

"""One run of a plan whose clients reach the process over a network.

As `headrace.sim.run`, with the network's faults besides, and with the checker of calls. At the end the weather clears,
and everything is drained over the network, by the means that live clients have.
"""

from __future__ import annotations

from headrace.core import commands as c
from headrace.core.limits import US
from headrace.sim import steps as s
from headrace.sim.checkers import verdict as v
from headrace.sim.checkers.calls import CallsChecker
from headrace.sim.client import Client
from headrace.sim.intruder import Intruder
from headrace.sim.network import CLEAR, Line, Network
from headrace.sim.remote import Remote
from headrace.sim.remote_client import RemoteClient
from headrace.sim.run import Run
from headrace.sim.served import Connection, Served

SILENCE_US = 45 * US
"""By then both sides of every broken connection know that it is broken."""


class NetworkRun(Run):
    """A plan being carried out over a network."""

    clients: list[Client]

    def _prepare(self) -> None:
        plan, world = self.plan, self.world
        assert plan.weather is not None
        self.network = Network(world, plan.weather, self.faults)
        self.served = Served(world, self.process, plan.limits, self.faults, self._report)
        self.calls = CallsChecker(self._report)
        self.intruders: list[Intruder] = []

    def _new_client(self, index: int) -> Client:
        return RemoteClient(
            index, self.world, self, call_us=self.plan.call_us, renews=self.plan.clients > index < self.plan.renewing
        )

    # -- a client's surroundings -------------------------------------------------------------------------------------

    def connect(self, remote: Remote | Intruder) -> Line | None:
        """A connection to the process, if it is up."""
        if not self.process.is_up:
            return None
        connection = Connection(self.served)
        line = self.network.connect(remote, connection)
        self.served.accept(connection, line)
        return line

    def new_ref(self) -> int:
        self.requests += 1
        return self.requests

    def on_asked(self, request: c.Request) -> None:
        self.world.tell(lambda: f"{request.session.decode()} asks {request.ref}: {request.command}")
        self.checker.asked(request)

    # -- the process's clients ---------------------------------------------------------------------------------------

    def on_up(self) -> None:
        self.served.on_up()

    def on_down(self) -> None:
        self.served.on_down()

    def on_answer(self, request: c.Request, outcome: c.AnyOutcome) -> None:
        self.world.tell(lambda: f"{request.session.decode()} is answered {request.number}: {outcome}")
        if isinstance(outcome, c.StatsDone):
            self._left = {stats.queue: stats.queued + stats.leased + stats.dead for stats in outcome.queues}
        self.served.on_answer(request, outcome)

    # -- steps -------------------------------------------------------------------------------------------------------

    def _do(self, step: s.Step) -> None:
        if isinstance(step.deed, s.Intrude):
            self.faults[f"intruder_{step.deed.kind}"] += 1
            self.world.tell(lambda: f"fault: {step.deed}")
            self.intruders.append(Intruder(self.world, self, step.deed))
        else:
            super()._do(step)

    def _do_client(self, client: Client, deed: s.Deed) -> None:
        assert isinstance(client, RemoteClient)
        match deed:
            case s.Ask() | s.Settle():
                client.do(deed)
            case s.Leave():
                client.leave(crashed=deed.crashed)
            case s.Vanish():
                self.faults["client_died"] += 1
                client.vanish()
            case s.Cut():
                client.cut(silent=deed.silent)
            case s.Away():
                self.faults["away"] += 1
                client.go_away(deed.for_us, hangs_up=deed.hangs_up)
            case s.Forsake():
                client.forsake(deed.pick)
            case _:
                raise AssertionError(f"no deed of a remote client: {deed}")

    # -- the end -----------------------------------------------------------------------------------------------------

    def _drain(self) -> None:
        self.network.weather = CLEAR
        self.world.run(self.world.now_us + SILENCE_US)
        super()._drain()
        for intruder in self.intruders:
            intruder.check(self._report)
        self.calls.check(self.checker.model.done, self.world.now_us)
        if self.served.process.is_up and len(self.served.connections) > len(self.clients) + 1:
            self._report(
                v.PROTOCOL, f"{len(self.served.connections)} connections are held for {len(self.clients) + 1} clients"
            )

    def _report(self, invariant: str, text: str) -> None:
        self.verdict.broken(invariant, self.world.now_us, text)
        self.world.tell(lambda: f"*** {invariant}: {text}")

"""A process that runs one machine of a design: its work takes time, its messages go by post, its log is on a disk.

When it dies, the machine, its timers and its work die; what it had synced is what the next process begins with. A
machine that keeps no queue begins anew.
"""

from __future__ import annotations

from collections.abc import Callable

from headrace.core.limits import Limits
from headrace.core.ports import Log
from headrace.protocols.effects import Effects, turn
from headrace.protocols.machines import messages as m
from headrace.protocols.machines.orders import Machine, Orders
from headrace.protocols.machines.stock import Asking, Stock
from headrace.protocols.node import Node
from headrace.protocols.shard import Shard
from headrace.sim.disk import SimDisk
from headrace.sim.messages import Post
from headrace.sim.world import World
from headrace.store.memory import MemoryLog
from headrace.store.recovery import recover

SEGMENT_BYTES = 16384
LIMITS = Limits()


class Party:
    """One address, and one process after another at it."""

    def __init__(
        self,
        world: World,
        post: Post,
        address: int,
        *,
        build: Callable[[], Machine],
        work_us: Callable[[bytes], int],
        product: Callable[[bytes], bytes],
    ) -> None:
        """`work_us` says how long work on an entry takes, `product` what comes of it when it is done."""
        self.address = address
        self.is_up = False
        self._world = world
        self._post = post
        self._build = build
        self._work_us = work_us
        self._product = product
        self._life = 0
        self._wake_us: int | None = None

    def up(self) -> None:
        """A process begins."""
        assert not self.is_up
        self.is_up = True
        self._life += 1
        self._wake_us = None
        self.machine = self._build()
        self._post.open(self.address, self._deliver)
        self._do(lambda now_us, orders: self.machine.begin(now_us, orders))

    def down(self) -> None:
        """The process dies."""
        self.is_up = False
        self._life += 1
        self._post.close(self.address)

    def _deliver(self, sender: int, message: m.AnyMessage) -> None:
        self._do(lambda now_us, orders: self.machine.handle(now_us, sender, message, orders))

    def _do(self, handle: Callable[[int, Orders], None]) -> None:
        orders = Orders()
        handle(self._world.now_us, orders)
        for to, message in orders.sends:
            self._post.send(self.address, to, message)
        for entry in orders.works:
            self._later(self._work_us(entry), lambda entry=entry: self._finish(entry))  # type: ignore[misc]
        wake_us = self.machine.wake_us
        if wake_us is not None and (self._wake_us is None or wake_us < self._wake_us):
            self._wake_us = wake_us
            self._later(wake_us - self._world.now_us, lambda: self._wake(wake_us))

    def _later(self, by_us: int, do: Callable[[], None]) -> None:
        """Do something in a while, if this process is still there."""
        life = self._life
        self._world.after(max(0, by_us), lambda: do() if self._life == life else None)

    def _finish(self, entry: bytes) -> None:
        product = self._product(entry)
        self._do(lambda now_us, orders: self.machine.on_worked(now_us, product, orders))

    def _wake(self, due_us: int) -> None:
        if due_us == self._wake_us:
            self._wake_us = None
            self._do(lambda now_us, orders: self.machine.on_wake(now_us, orders))


class Keeping:
    """Where the stock of one address is kept: on a disk that outlives its processes, or in memory without one."""

    def __init__(self, world: World, *, asking: Asking, disk: SimDisk | None) -> None:
        self._world = world
        self._asking = asking
        self._disk = disk
        self._cuts = world.stream("power cuts")
        self._epochs = 0

    def stock(self) -> Stock:
        """The stock as the last process left it."""
        log: Log
        if self._disk is None:
            shard, log = Shard(limits=LIMITS), MemoryLog()
        else:
            shard = Shard(limits=LIMITS, loading=True)
            log, _ = recover(self._disk, shard, segment_bytes=SEGMENT_BYTES)
        world = self._world
        node = Node(
            shard,
            limits=LIMITS,
            now_us=world.now_us,
            wall_us=world.clock.wall_us(),
            safe_when_written=self._disk is None,
        )
        self._epochs += 1
        out = Effects()
        node.claim(world.now_us, out, epoch=self._epochs, owner="sim", ends_leases=False)
        turn(node, log, world.now_us, out)
        log.sync()
        node.on_safe(log.safe, out)
        node.next_wake_us(world.now_us)
        return Stock(node, log, asking=self._asking)

    def lose_power(self) -> None:
        """What was not synced may be gone."""
        if self._disk is not None:
            self._disk = self._disk.after_power_cut(self._cuts)

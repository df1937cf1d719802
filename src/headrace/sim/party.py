"""A process that runs one machine of a design: its work takes time, its messages go by post, its log is on a disk.

When it dies, the machine, its timers and its work die; what it had synced is what the next process begins with. A
machine that keeps no queue begins anew.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from headrace.core.items import ENTRY_ID, ITEM_ID
from headrace.core.limits import Limits
from headrace.core.ports import Log
from headrace.core.records import AnyRecord, Returned
from headrace.protocols.effects import Effects, turn
from headrace.protocols.machines import messages as m
from headrace.protocols.machines.orders import Machine, Orders
from headrace.protocols.machines.stock import HANDOVER_UNKNOWN, Asking, Stock
from headrace.protocols.node import Node
from headrace.protocols.shard import Shard
from headrace.sim.disk import Crash, SimDisk
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
        worked: Callable[[bytes], bytes],
        keeping: Keeping | None = None,
    ) -> None:
        """`work_us` says how long work on an entry takes; `worked` is called when it is done, and gives the product."""
        self.address = address
        self.keeping = keeping
        self.lives = 0
        self.doubtful: set[bytes] = set()
        """Items at whose add the process died: nobody knows whether they are in."""
        self.down_us = 0
        """How long the address is deserted when its process crashes of itself."""
        self.is_up = False
        self._world = world
        self._post = post
        self._build = build
        self._work_us = work_us
        self._worked = worked
        self._wake_us: int | None = None

    def up(self) -> None:
        """A process begins."""
        assert not self.is_up
        self.is_up = True
        self.lives += 1
        self._wake_us = None
        self.machine = self._build()
        self._post.open(self.address, self.hear)
        self.act(lambda now_us, orders: self.machine.begin(now_us, orders))

    def down(self, for_us: int) -> None:
        """The process dies, with the power if it keeps anything; another begins after a while."""
        self.is_up = False
        self._post.close(self.address)
        if self.keeping is not None:
            self.keeping.lose_power()
        self._world.tell(lambda: f"{self.address} dies")
        life = self.lives
        self._world.after(for_us, lambda: None if self.is_up or self.lives != life else self.up())

    def hear(self, sender: int, message: m.AnyMessage) -> bool:
        """A message is here; whether the process lived through it."""
        return self.act(lambda now_us, orders: self.machine.handle(now_us, sender, message, orders))

    def act(self, handle: Callable[[int, Orders], None]) -> bool:
        """Let the machine act, and carry out what it orders; whether the process lived through it."""
        orders = Orders()
        try:
            handle(self._world.now_us, orders)
        except Crash:
            self.down(self.down_us)
            return False
        for to, message in orders.sends:
            # A hand-over within one process takes no time; a probe redrawn to where it is does, as the paper counts it.
            if to == self.address and not isinstance(message, m.Probe):
                self._later(0, lambda message=message: self.hear(self.address, message))  # type: ignore[misc]
            else:
                self._post.send(self.address, to, message)
        for entry in orders.works:
            self._later(self._work_us(entry), lambda entry=entry: self._finish(entry))  # type: ignore[misc]
        wake_us = self.machine.wake_us
        if wake_us is not None and (self._wake_us is None or wake_us < self._wake_us):
            self._wake_us = wake_us
            self._later(wake_us - self._world.now_us, lambda: self._wake(wake_us))
        return True

    def _later(self, by_us: int, do: Callable[[], object]) -> None:
        """Do something in a while, if this process is still there."""
        life = self.lives

        def due() -> None:
            if self.is_up and self.lives == life:
                do()

        self._world.after(max(0, by_us), due)

    def _finish(self, entry: bytes) -> None:
        product = self._worked(entry)
        if not self.act(lambda now_us, orders: self.machine.on_worked(now_us, product, orders)) and product:
            self.doubtful.add(product[ITEM_ID])

    def _wake(self, due_us: int) -> None:
        if due_us == self._wake_us:
            self._wake_us = None
            self.act(lambda now_us, orders: self.machine.on_wake(now_us, orders))


class _Heard:
    """The log as the node's turn sees it; what is taken back for want of knowledge is counted, by item."""

    def __init__(self, log: Log, shard: Shard, excused: Counter[bytes]) -> None:
        self._log = log
        self._shard = shard
        self._excused = excused

    @property
    def end(self) -> int:
        return self._log.end

    @property
    def safe(self) -> int:
        return self._log.safe

    def append(self, records: Sequence[AnyRecord], *, from_reserve: bool = False) -> int:
        at = self._log.append(records, from_reserve=from_reserve)
        for record in records:
            if isinstance(record, Returned) and record.note == HANDOVER_UNKNOWN:
                leases = self._shard.queues[record.queue].leases
                self._excused.update(leases[counter][0][ENTRY_ID] for counter in record.counters)
        return at

    def sync(self) -> None:
        self._log.sync()


class Keeping:
    """Where the stock of one address is kept: on a disk that outlives its processes, or in memory without one."""

    def __init__(self, world: World, *, asking: Asking, disk: SimDisk | None) -> None:
        self.excused: Counter[bytes] = Counter()
        """How often each item was taken back from a receiver that may have had it."""
        self.disk = disk
        self._world = world
        self._asking = asking
        self._cuts = world.stream("power cuts")
        self._epochs = 0

    def stock(self) -> Stock:
        """The stock as the last process left it."""
        log: Log
        if self.disk is None:
            shard, log = Shard(limits=LIMITS), MemoryLog()
        else:
            shard = Shard(limits=LIMITS, loading=True)
            log, _ = recover(self.disk, shard, segment_bytes=SEGMENT_BYTES)
        world = self._world
        node = Node(
            shard,
            limits=LIMITS,
            now_us=world.now_us,
            wall_us=world.clock.wall_us(),
            safe_when_written=self.disk is None,
        )
        self._epochs += 1
        log = _Heard(log, shard, self.excused)
        out = Effects()
        node.claim(world.now_us, out, epoch=self._epochs, owner="sim", ends_leases=False)
        turn(node, log, world.now_us, out)
        log.sync()
        node.on_safe(log.safe, out)
        node.next_wake_us(world.now_us)
        self.current = Stock(node, log, asking=self._asking)
        return self.current

    def lose_power(self) -> None:
        """What was not synced may be gone."""
        if self.disk is not None:
            self.disk = self.disk.after_power_cut(self._cuts)

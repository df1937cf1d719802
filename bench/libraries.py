"""The queues that an embedded Headrace is compared with, each used as its own documents advise, and Headrace itself.

A *station* is what the threads of a run share; `worker()` gives a thread its cycle: the add, the pop and the commit of
so many items. `durable` is what an add survives once its call has returned.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable
from typing import Protocol

import persistqueue
from huey.storage import SqliteStorage

import headrace

BODY = bytes(range(100))
Cycle = Callable[[], None]

DEATH = "the process's death"
POWER = "a power cut"


class Station(Protocol):
    """A queue that is open in a directory."""

    durable: str

    def worker(self, batch: int) -> Cycle: ...
    def close(self) -> None: ...


class Headrace:
    """This project."""

    def __init__(self, path: str, durable: str) -> None:
        self.durable = durable
        self._handle = headrace.open(path, durability="fsync" if durable == POWER else "os")
        self.close = self._handle.close

    def worker(self, batch: int) -> Cycle:
        add, add_many, pop, commit = self._handle.add, self._handle.add_many, self._handle.pop, self._handle.commit
        bodies = [BODY] * batch

        def one() -> None:
            add("q", BODY)
            (lease,) = pop("q")
            commit(lease)

        def many() -> None:
            add_many("q", bodies)
            commit(pop("q", batch))

        return one if batch == 1 else many


class CarefulSqlite:
    """Careful SQLite: a WAL, an index on what is free, one statement a call, one transaction a batch.

    Threads take turns at a lock: SQLite has one writer at a time, and lets the others sleep for up to 100 ms.
    """

    SCHEMA = (
        "create table if not exists item (id integer primary key, priority integer not null, body blob not null, "
        "leased real)",
        "create index if not exists free on item (priority, id) where leased is null",
    )
    ADD = "insert into item (priority, body) values (0, ?)"
    POP = (
        "update item set leased = julianday('now') where id in "
        "(select id from item where leased is null order by priority, id limit ?) returning id, body"
    )
    COMMIT = "delete from item where id = ?"

    def __init__(self, path: str, durable: str) -> None:
        self.durable = durable
        self._path = os.path.join(path, "queue.db")
        self._connections: list[sqlite3.Connection] = []
        self._turn = threading.Lock()
        db = self._connect()
        db.execute("pragma journal_mode = wal")
        for statement in self.SCHEMA:
            db.execute(statement)

    def _connect(self) -> sqlite3.Connection:
        db = sqlite3.connect(self._path, isolation_level=None, timeout=60, check_same_thread=False)
        db.execute(f"pragma synchronous = {'full' if self.durable == POWER else 'normal'}")
        self._connections.append(db)
        return db

    def worker(self, batch: int) -> Cycle:
        db = self._connect()
        execute, executemany, turn = db.execute, db.executemany, self._turn
        bodies = [(BODY,)] * batch

        def one() -> None:
            with turn:
                execute(self.ADD, (BODY,))
            with turn:
                ((item_id, _),) = execute(self.POP, (1,)).fetchall()
            with turn:
                execute(self.COMMIT, (item_id,))

        def many() -> None:
            with turn:
                execute("begin immediate")
                executemany(self.ADD, bodies)
                execute("commit")
            with turn:
                popped = execute(self.POP, (batch,)).fetchall()
            with turn:
                execute("begin immediate")
                executemany(self.COMMIT, [(item_id,) for item_id, _ in popped])
                execute("commit")

        return one if batch == 1 else many

    def close(self) -> None:
        for db in self._connections:
            db.close()


class HueySqlite:
    """Huey's SQLite storage. What is dequeued is gone at once: there is no lease, no commit, and no batch."""

    def __init__(self, path: str, durable: str) -> None:
        self.durable = durable
        self._storage = SqliteStorage(
            "q", filename=os.path.join(path, "huey.db"), fsync=durable == POWER, timeout=60, strict_fifo=True
        )

    def worker(self, batch: int) -> Cycle:
        enqueue, dequeue = self._storage.enqueue, self._storage.dequeue

        def many() -> None:
            for _ in range(batch):
                enqueue(BODY)
            for _ in range(batch):
                dequeue()

        return many

    def close(self) -> None:
        self._storage.close()


class PersistQueue:
    """persist-queue's acknowledged queue, at SQLite's default, `synchronous = FULL`: it has no other, and no batch."""

    def __init__(self, path: str, durable: str) -> None:
        assert durable == POWER, "persist-queue has no weaker level"
        self.durable = durable
        self._queue = persistqueue.SQLiteAckQueue(path, multithreading=True, timeout=60)
        self.close = self._queue.close

    def worker(self, batch: int) -> Cycle:
        queue = self._queue

        def many() -> None:
            for _ in range(batch):
                queue.put(BODY)
            for _ in range(batch):
                queue.ack(queue.get())

        return many


PEERS: dict[str, Callable[[str, str], Station]] = {
    "headrace": Headrace,
    "sqlite": CarefulSqlite,
    "huey": HueySqlite,
    "persist-queue": PersistQueue,
}

"""A client for each queue, all with the same few calls, each the way the queue's own documents advise.

`put` returns once the server has answered for every body; `get` takes a lease where the queue has leases; `ack` returns
once the server has confirmed. A batch is put, taken and acknowledged by the queue's best means of many at a time.
"""

from __future__ import annotations

import socket
import time
from typing import Any, Protocol

QUEUE = "bench"
POLL_SECONDS = 0.002
LEASE_SECONDS = 600
Taken = list[tuple[Any, bytes]]


class Client(Protocol):
    """One connection. Bodies and handles come in lists; a list of one is a single call."""

    def __init__(self, port: int, name: str) -> None: ...
    def prepare(self) -> None: ...
    def put(self, bodies: list[bytes]) -> None: ...
    def get(self, most: int, wait_seconds: float) -> Taken: ...
    def ack(self, handles: list[Any]) -> None: ...


class Headrace:
    """`headrace.connect`."""

    def __init__(self, port: int, name: str) -> None:
        import headrace

        self._hr = headrace.connect(f"headrace://127.0.0.1:{port}")

    def prepare(self) -> None:
        self._hr.declare(QUEUE, lease_seconds=LEASE_SECONDS)

    def put(self, bodies: list[bytes]) -> None:
        if len(bodies) == 1:
            self._hr.add(QUEUE, bodies[0])
        else:
            self._hr.add_many(QUEUE, bodies)

    def get(self, most: int, wait_seconds: float) -> Taken:
        return [(lease, lease.body) for lease in self._hr.pop(QUEUE, most, wait=wait_seconds)]

    def ack(self, handles: list[Any]) -> None:
        self._hr.commit(handles if len(handles) > 1 else handles[0])


class Beanstalkd:
    """greenstalk for single calls; batches are pipelined on a bare socket, which greenstalk cannot."""

    def __init__(self, port: int, name: str) -> None:
        import greenstalk

        self._timed_out = greenstalk.TimedOutError
        self._single = greenstalk.Client(("127.0.0.1", port), encoding=None)
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._file = self._socket.makefile("rb", buffering=1 << 18)

    def prepare(self) -> None:
        pass

    def put(self, bodies: list[bytes]) -> None:
        if len(bodies) == 1:
            self._single.put(bodies[0], ttr=LEASE_SECONDS)
            return
        self._socket.sendall(b"".join(b"put 0 0 %d %d\r\n%b\r\n" % (LEASE_SECONDS, len(x), x) for x in bodies))
        self._expect(len(bodies), b"INSERTED")

    def get(self, most: int, wait_seconds: float) -> Taken:
        if most == 1:
            try:
                job = self._single.reserve(timeout=round(wait_seconds))
            except self._timed_out:
                return []
            return [(job, job.body)]
        end = time.monotonic() + wait_seconds
        while True:
            self._socket.sendall(b"reserve-with-timeout 0\r\n" * most)
            taken = [job for job in (self._reserved() for _ in range(most)) if job is not None]
            if taken or time.monotonic() > end:
                return taken
            time.sleep(POLL_SECONDS)

    def ack(self, handles: list[Any]) -> None:
        if len(handles) == 1 and not isinstance(handles[0], bytes):
            self._single.delete(handles[0])
            return
        self._socket.sendall(b"".join(b"delete %b\r\n" % handle for handle in handles))
        self._expect(len(handles), b"DELETED")

    def _reserved(self) -> tuple[Any, bytes] | None:
        words = self._file.readline().split()
        if words[0] == b"TIMED_OUT":
            return None
        assert words[0] == b"RESERVED", words
        size = int(words[2])
        return words[1], self._file.read(size + 2)[:size]

    def _expect(self, count: int, word: bytes) -> None:
        for _ in range(count):
            line = self._file.readline()
            assert line.startswith(word), line


class RedisList:
    """LPUSH, BLMOVE onto a list of the consumer's own, LREM: the reliable queue."""

    def __init__(self, port: int, name: str) -> None:
        import redis

        self._redis = redis.Redis(port=port)
        self._mine = f"taken:{name}"

    def prepare(self) -> None:
        pass

    def put(self, bodies: list[bytes]) -> None:
        self._redis.lpush(QUEUE, *bodies)

    def get(self, most: int, wait_seconds: float) -> Taken:
        if most == 1:
            body = self._redis.blmove(QUEUE, self._mine, wait_seconds, "RIGHT", "LEFT")
            return [] if body is None else [(body, body)]
        end = time.monotonic() + wait_seconds
        while True:
            pipeline = self._redis.pipeline(transaction=False)
            for _ in range(most):
                pipeline.lmove(QUEUE, self._mine, "RIGHT", "LEFT")
            taken = [(body, body) for body in pipeline.execute() if body is not None]
            if taken or time.monotonic() > end:
                return taken
            time.sleep(POLL_SECONDS)

    def ack(self, handles: list[Any]) -> None:
        if len(handles) == 1:
            self._redis.lrem(self._mine, -1, handles[0])
            return
        pipeline = self._redis.pipeline(transaction=False)
        for body in handles:
            pipeline.lrem(self._mine, -1, body)
        pipeline.execute()


class RedisStream:
    """XADD, XREADGROUP, XACK with XDEL."""

    def __init__(self, port: int, name: str) -> None:
        import redis

        self._redis = redis.Redis(port=port, protocol=2)
        self._name = name

    def prepare(self) -> None:
        self._redis.xgroup_create(QUEUE, "group", id="0", mkstream=True)

    def put(self, bodies: list[bytes]) -> None:
        if len(bodies) == 1:
            self._redis.xadd(QUEUE, {"b": bodies[0]})
            return
        pipeline = self._redis.pipeline(transaction=False)
        for body in bodies:
            pipeline.xadd(QUEUE, {"b": body})
        pipeline.execute()

    def get(self, most: int, wait_seconds: float) -> Taken:
        wait_ms = max(1, round(wait_seconds * 1000))
        found: Any = self._redis.xreadgroup("group", self._name, {QUEUE: ">"}, count=most, block=wait_ms)
        return [(number, fields[b"b"]) for number, fields in found[0][1]] if found else []

    def ack(self, handles: list[Any]) -> None:
        pipeline = self._redis.pipeline(transaction=False)
        pipeline.xack(QUEUE, "group", *handles)
        pipeline.xdel(QUEUE, *handles)
        pipeline.execute()


class Postgres:
    """A table with leases: INSERT, UPDATE of what SKIP LOCKED finds, DELETE; who waits is told by NOTIFY."""

    def __init__(self, port: int, name: str) -> None:
        import psycopg

        self._connection = psycopg.connect(
            f"host=127.0.0.1 port={port} user=postgres", autocommit=True, prepare_threshold=1
        )
        self._cursor = self._connection.cursor(binary=True)
        self._listens = False

    def prepare(self) -> None:
        self._connection.execute(
            "create table bench (id bigserial primary key, priority int not null default 0,"
            " is_leased boolean not null default false, until timestamptz, body bytea not null)"
        )
        self._connection.execute("create index on bench (priority, id) where not is_leased")

    def put(self, bodies: list[bytes]) -> None:
        self._cursor.execute("insert into bench (body) select * from unnest(%b::bytea[])", (bodies,))

    def put_and_tell(self, body: bytes) -> None:
        self._cursor.execute(
            "with one as (insert into bench (body) values (%b) returning 1) select pg_notify('bench', '') from one",
            (body,),
        )

    def get(self, most: int, wait_seconds: float) -> Taken:
        end = time.monotonic() + wait_seconds
        while True:
            self._cursor.execute(
                "update bench set is_leased = true, until = now() + interval '600 s' where id = any(array(select id"
                " from bench where not is_leased order by priority, id limit %s for update skip locked))"
                " returning id, body",
                (most,),
            )
            taken: Taken = self._cursor.fetchall()
            left = end - time.monotonic()
            if taken or left <= 0:
                return taken
            if self._listens:
                list(self._connection.notifies(timeout=left, stop_after=1))
            else:
                time.sleep(POLL_SECONDS)

    def listen(self) -> None:
        self._connection.execute("listen bench")
        self._listens = True

    def ack(self, handles: list[Any]) -> None:
        self._cursor.execute("delete from bench where id = any(%s)", (handles,))

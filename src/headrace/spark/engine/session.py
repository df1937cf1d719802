"""The one way to a Spark session: `with session("local[*]") as spark: …`.

It finds a Java, fits the sizes to the machine, keeps Spark's own log out of sight, and stops the session on every way
out: at the end, on an exception, on Ctrl-C and on SIGTERM. What goes wrong in it becomes one sentence; the stack trace
is shown when it is asked for.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from types import FrameType
from typing import IO, Any

import pyarrow as pa
from pyspark import SparkConf
from pyspark.sql import SparkSession

from headrace.core.errors import Unavailable
from headrace.spark.engine.cargo import carried, pack
from headrace.spark.engine.java import java_home
from headrace.spark.plan.masters import Master, master
from headrace.spark.plan.sizes import COMMON_SETTINGS, local_settings

DOOR_SECONDS = 5.0
FIRST_TRIES = 3  # with pauses that grow: some 10 s

# What Java says before anything goes wrong.
_CHATTER = ("WARNING", "Picked up", "Using Spark")


@dataclass(slots=True)
class Session:
    """A running Spark and what is needed to give it work. `slots` is how many tasks it runs at a time."""

    spark: SparkSession
    place: Master
    slots: int
    archive: str | None = None

    def ship(self, packages: Sequence[str]) -> None:
        """Make these packages importable where tasks run. On this machine they are already."""
        if self.place.local:
            return
        archive = pack(packages)
        if archive.name == self.archive:
            return
        if self.place.connect:
            self.spark.addArtifact(str(archive), file=True)
        else:
            self.spark.sparkContext.addFile(str(archive))
        self.archive = archive.name

    def submit(self, orders: Sequence[bytes]) -> list[bytes]:
        """Have each order worked off by a task of its own, and wait for all of them."""
        work = carried(self.archive)
        if not self.place.connect:
            tasks = self.spark.sparkContext.parallelize(list(orders), len(orders))
            return list(tasks.mapPartitions(work).collect())

        def batches(given: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            import pyarrow

            for batch in given:
                done = list(work([orders[place] for place in batch.column(0).to_pylist()]))
                yield pyarrow.RecordBatch.from_pydict({"done": pyarrow.array(done, pyarrow.binary())})

        numbers = self.spark.range(0, len(orders), 1, len(orders))
        return list(numbers.mapInArrow(batches, "done binary").toArrow().column(0).to_pylist())

    def cancel(self) -> None:
        """Stop all that runs; whoever waits for it gets an error."""
        if self.place.connect:
            self.spark.interruptAll()
        else:
            self.spark.sparkContext.cancelAllJobs()

    @property
    def alive(self) -> bool:
        """Whether work can still be submitted."""
        try:
            _knock(self.place)
            if self.place.connect:
                return not self.spark.is_stopped
            context = self.spark.sparkContext
            return context._jsc is not None and not context._jsc.sc().isStopped()
        except Exception:  # the JVM itself may be gone, and py4j has many ways to say so
            return False


@contextmanager
def session(url: str = "local[*]", *, debug: bool = False, settings: dict[str, str] | None = None) -> Iterator[Session]:
    """A session at a master's URL. `debug` shows Spark's log; `settings` are Spark's and win over ours."""
    place = master(url)
    _knock(place)
    with ExitStack() as stack:
        stack.enter_context(_ended_by_signals())
        log = None if debug else stack.enter_context(tempfile.TemporaryFile("w+", errors="replace"))
        try:
            spark = _started(place, settings or {}, log)
        except Exception as error:  # py4j, gRPC and Spark each have their own
            raise Unavailable(f"Spark did not start at {url}: {_reason(error, log)}") from error
        stack.callback(_stop, spark)
        yield Session(spark, place, _slots(spark, place))


def _started(place: Master, settings: dict[str, str], log: IO[str] | None) -> SparkSession:
    if place.connect:
        return _connected(place)
    chosen = dict(COMMON_SETTINGS)
    if place.local:
        chosen |= local_settings(cores=_cores(), memory_bytes=_memory_bytes())
        # Otherwise workers take the PATH's python3.
        os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    home = java_home()
    if home is not None:
        os.environ["JAVA_HOME"] = str(home)
    conf = SparkConf().setMaster(place.url).setAppName("headrace")
    for name, value in (chosen | settings).items():
        conf.set(name, value)
    with _saying_into(log):
        return SparkSession.builder.config(conf=conf).getOrCreate()


def _connected(place: Master) -> SparkSession:
    """A session by Spark Connect, once its first word is answered: it is patient for 10 minutes unless told."""
    from pyspark.sql.connect.client.retries import DefaultPolicy

    spark = SparkSession.builder.remote(place.url).getOrCreate()
    patient = spark.client.get_retry_policies()
    spark.client.set_retry_policies([DefaultPolicy(max_retries=FIRST_TRIES)])
    warnings.filterwarnings("ignore", r"\[RETRIES_EXCEEDED\]")  # what it warns of, it raises too
    assert spark.version
    spark.client.set_retry_policies(patient)
    return spark


def _stop(spark: SparkSession) -> None:
    # Whatever led here is what is to be reported, not that a dead session could not be stopped.
    with suppress(Exception):
        spark.stop()


def _slots(spark: SparkSession, place: Master) -> int:
    if place.connect:  # a client sees no context; a range is cut into one part for each core
        from pyspark.sql.functions import spark_partition_id

        return max(1, spark.range(1 << 20).select(spark_partition_id()).distinct().count())
    return max(1, spark.sparkContext.defaultParallelism)


def _knock(place: Master) -> None:
    """See that someone answers before Spark is started."""
    refusals = []
    for host, port in place.doors:
        try:
            socket.create_connection((host, port), timeout=DOOR_SECONDS).close()
        except OSError as error:
            refusals.append(f"{host}:{port}: {error.strerror or error}")
        else:
            return
    if refusals:
        raise Unavailable(f"nothing answers at --master {place.url} ({'; '.join(refusals)}): is Spark running there?")


def _reason(error: Exception, log: IO[str] | None) -> str:
    """What a Java exception says, without its stack; if Java did not even start, what it said instead."""
    logged = ""
    if log is not None:
        log.seek(0)
        logged = log.read()
    for pattern in (r"(?:[\w$]+\.)+\w*(?:Exception|Error): (.+)", r'details = "(.+)"'):  # Java's, gRPC's
        if found := re.search(pattern, f"{error}\n{logged}"):
            return found[1].strip()
    said = [line.strip() for line in logged.splitlines() if line.strip() and not line.startswith(_CHATTER)]
    return ": ".join(said[:2]) or (str(error).strip() or type(error).__name__).splitlines()[0]


@contextmanager
def _saying_into(log: IO[str] | None) -> Iterator[None]:
    """What is started within talks to the log: it inherits the descriptors, not Python's streams."""
    if log is None:
        yield
        return
    sys.stdout.flush()
    sys.stderr.flush()
    kept = {descriptor: os.dup(descriptor) for descriptor in (1, 2)}
    try:
        for descriptor in kept:
            os.dup2(log.fileno(), descriptor)
        yield
    finally:
        for descriptor, copy in kept.items():
            os.dup2(copy, descriptor)
            os.close(copy)


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """SIGTERM raises, as Ctrl-C does, so that what must be stopped is; both are put back afterwards."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def leave(number: int, _: FrameType | None) -> None:
        raise SystemExit(128 + number)

    before: dict[int, Callable[..., Any] | int | None] = {
        signal.SIGINT: signal.getsignal(signal.SIGINT),
        signal.SIGTERM: signal.signal(signal.SIGTERM, leave),
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _memory_bytes() -> int:
    """What this process may use: the machine's memory, or its container's share."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        with open("/sys/fs/cgroup/memory.max") as limit:
            return min(machine, int(limit.read()))
    except (OSError, ValueError):
        return machine

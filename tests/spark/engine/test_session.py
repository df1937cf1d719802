import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyspark
import pytest

from headrace.core.errors import Unavailable
from headrace.spark.engine.java import java_home
from headrace.spark.engine.session import session
from headrace.spark.plan.sizes import local_settings

SWEEP = """
import sys
from pathlib import Path
from headrace.spark.engine.session import session
from headrace.spark.engine.sweep import sweep
from headrace.spark.engine.table import Table
from headrace.spark.plan.experiment import Experiment, grid
experiment = Experiment(kernel=sys.argv[2], points=grid(number=list(range(8)), seconds=float(sys.argv[3])))
with session(sys.argv[1]) as spark:
    print(spark.spark.sparkContext._gateway.proc.pid if "local" in sys.argv[1] else 0, flush=True)
    swept = sweep(spark, experiment, Table(Path(sys.argv[4]), "test"))
print(swept.computed, {row.value for row in swept.results.rows if row.metric == "shipped"})
"""


def command(master: str, kernel: str, *, seconds: float, folder: Path) -> list[str]:
    return [sys.executable, "-c", SWEEP, master, kernel, str(seconds), str(folder)]


def test_a_master_that_does_not_answer_is_known_at_once() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: nobody else gets the port
        url = f"spark://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(Unavailable, match=f"nothing answers at --master {re.escape(url)}"), session(url):
            pass


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.spark
def test_a_signal_stops_spark_and_keeps_what_was_measured(tmp_path: Path) -> None:
    process = subprocess.Popen(
        command("local[2]", "tests.spark.kernels.slow", seconds=0.5, folder=tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    java = int(process.stdout.readline())
    parts = tmp_path / "test.parts"
    until(lambda: parts.exists() and any(parts.glob("[0-9]*.parquet")))
    process.terminate()
    assert process.wait(30) == 128 + signal.SIGTERM
    until(lambda: gone(java))
    assert any(parts.glob("[0-9]*.parquet"))


def until(holds: Callable[[], bool]) -> None:
    """Wait for another process, half a minute at most."""
    for _ in range(600):
        if holds():
            return
        time.sleep(0.05)
    raise AssertionError("it never happened")


@pytest.fixture
def connect_server(tmp_path: Path) -> Iterator[str]:
    """A Spark Connect server on this machine, its executors with a cache of their own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = local_settings(cores=2, memory_bytes=0) | {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
    }
    home = java_home()
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    if home is not None:
        environment["JAVA_HOME"] = str(home)
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    server = subprocess.Popen(
        [
            submit,
            *("--master", "local[2]"),
            *(word for name, value in settings.items() for word in ("--conf", f"{name}={value}")),
            *("--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"),
        ],
        env=environment,
        cwd=tmp_path,  # away from the sources
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    until(lambda: answers(port) or server.poll() is not None)
    yield f"sc://127.0.0.1:{port}"
    server.terminate()
    server.wait(30)


def answers(port: int) -> bool:
    with socket.socket() as door:
        return door.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.spark
def test_a_cluster_gets_the_code_with_the_job(connect_server: str, tmp_path: Path) -> None:
    """The kernel's package is nowhere on the executors' path, and yet they run it, from their own cache."""
    done = subprocess.run(
        command(connect_server, "tests.spark.kernels.slow", seconds=0.0, folder=tmp_path),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[1] == "8 {1.0}"
    assert len(list((tmp_path / "cache" / "headrace" / "code").iterdir())) == 1

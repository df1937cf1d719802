"""Sweeps on Spark: from start to the first result, a thousand trivial points, and what a second core brings."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from headrace.spark.engine.session import Session, session
from headrace.spark.engine.sweep import sweep
from headrace.spark.engine.table import Table
from headrace.spark.plan.experiment import Experiment, grid

KERNEL = "tests.spark.kernels.slow"
POINTS, POINT_SECONDS = 32, 2.0


def main() -> None:
    start = time.perf_counter()
    with session("local[2]") as spark:
        print(f"session started: {time.perf_counter() - start:.1f} s")
        swept(spark, 1, 0.0)
        print(f"start to first result: {time.perf_counter() - start:.1f} s")
        print(f"1,000 trivial points: {swept(spark, 1000, 0.0):.2f} s")
        two = swept(spark, POINTS, POINT_SECONDS)
    with session("local[1]") as spark:
        swept(spark, 1, 0.0)
        one = swept(spark, POINTS, POINT_SECONDS)
    print(f"{POINTS} points of {POINT_SECONDS:g} s: {one:.1f} s on one core, {two:.1f} s on two: {one / two:.2f}x")


def swept(spark: Session, points: int, seconds: float) -> float:
    """How long a sweep of so many points takes, each keeping a core busy for so long."""
    experiment = Experiment(kernel=KERNEL, points=grid(number=range(points), seconds=seconds))
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        result = sweep(spark, experiment, Table(Path(folder), "bench"))
        assert result.computed == points
        return time.perf_counter() - start

"""Run benchmarks: `python -m bench` for all, `python -m bench relaxed` for one; each prints its figures."""

from __future__ import annotations

import importlib
import sys

SUBJECTS: tuple[str, ...] = (
    "embedded",
    "log",
    "networked",
    "relaxed",
    "stochastic",
    "sweeps",
    "tasks",
)


def main(wanted: list[str]) -> None:
    unknown = [name for name in wanted if name not in SUBJECTS]
    if unknown:
        sys.exit(f"there is no benchmark {unknown[0]!r}: choose from {', '.join(SUBJECTS)}")
    for name in wanted or SUBJECTS:
        print(f"== {name}")
        importlib.import_module(f"bench.{name}").main()


main(sys.argv[1:])

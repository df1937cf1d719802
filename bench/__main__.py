"""Run benchmarks: `python -m bench` for all, `python -m bench relaxed` for one; each prints its figures.

Options go to the one that is named: `python -m bench peers --json`.
"""

from __future__ import annotations

import importlib
import sys

SUBJECTS: tuple[str, ...] = (
    "embedded",
    "log",
    "networked",
    "peers",
    "relaxed",
    "stochastic",
    "sweeps",
    "tasks",
)


def main(arguments: list[str]) -> None:
    first = next((i for i, argument in enumerate(arguments) if argument.startswith("-")), len(arguments))
    wanted, options = arguments[:first], arguments[first:]
    unknown = [name for name in wanted if name not in SUBJECTS]
    if unknown:
        sys.exit(f"there is no benchmark {unknown[0]!r}: choose from {', '.join(SUBJECTS)}")
    if options and wanted != ["peers"]:
        sys.exit(f"{options[0]} is an option of one benchmark: name peers, which has options, before it")
    for name in wanted or SUBJECTS:
        if not options:
            print(f"== {name}")
        module = importlib.import_module(f"bench.{name}")
        module.main(*([options] if options else []))


main(sys.argv[1:])

"""What a plan is made for: a workload and its targets, read from TOML and checked.

Times are in seconds and rates in items a second here, and so they are in the simulator that confirms a plan.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from headrace.core.errors import Invalid
from headrace.core.names import nearest
from headrace.lab.distributed_queue import DESIGNS


@dataclass(frozen=True, slots=True)
class ItemSource:
    """`count` producers that each make `rate` items a second."""

    count: int
    rate: float


@dataclass(frozen=True, slots=True)
class Targets:
    """What a plan must keep; infinite where nothing is asked."""

    mean_wait_seconds: float = float("inf")
    p99_wait_seconds: float = float("inf")
    messages_per_item: float = float("inf")
    memory_bytes: float = float("inf")

    def given(self) -> dict[str, float]:
        """Those that are set, by name."""
        named = {one.name: float(getattr(self, one.name)) for one in fields(self)}
        return {name: value for name, value in named.items() if value != float("inf")}


@dataclass(frozen=True, slots=True)
class Workload:
    """Who makes and takes items, how large they are, what messages cost and what is wanted."""

    title: str
    sources: tuple[ItemSource, ...]
    consumers: int
    consume_rate: float
    item_bytes: int = 0
    message_seconds: float = 0.001
    processing_seconds: float = 0.0
    bandwidth_bytes_per_second: float = float("inf")
    production: str = "exponential"
    connections: int = 0
    designs: tuple[str, ...] = DESIGNS
    targets: Targets = field(default_factory=Targets)

    @property
    def producers(self) -> int:
        return sum(source.count for source in self.sources)

    @property
    def make_rate(self) -> float:
        """Items a second, all producers together."""
        return sum(source.count * source.rate for source in self.sources)

    @property
    def body_seconds(self) -> float:
        """How long one item's body is on the wire."""
        return self.item_bytes / self.bandwidth_bytes_per_second

    @property
    def load(self) -> float:
        """What the consumers could take over what the producers can make."""
        return self.consumers / (1 / self.consume_rate + self.body_seconds) / self.make_rate


_TABLES = {
    "": {"title", "workload", "targets", "limits"},
    "workload": {
        "producers",
        "consumers",
        "produce_rate",
        "consume_rate",
        "sources",
        "item_bytes",
        "message_seconds",
        "processing_seconds",
        "bandwidth_bytes_per_second",
        "production",
    },
    "targets": {one.name for one in fields(Targets)},
    "limits": {"connections", "designs"},
}


def read(path: Path) -> Workload:
    """The workload that a TOML file describes."""
    try:
        document = tomllib.loads(path.read_text())
    except FileNotFoundError:
        raise Invalid(
            f"there is no file {str(path)!r}: name a workload in TOML (examples/workloads has some)"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, IsADirectoryError) as error:
        raise Invalid(f"{path} is not TOML: {error}") from None
    return understand(document, title=path.stem)


def understand(document: Mapping[str, Any], *, title: str) -> Workload:
    """The workload in a parsed document, or Invalid in one sentence."""
    _known("", document)
    for table in ("workload", "targets", "limits"):
        if not isinstance(document.get(table, {}), Mapping):
            raise Invalid(f"{table} must be a table: write [{table}]")
        _known(table, document.get(table, {}))
    given, limits = document.get("workload", {}), document.get("limits", {})
    workload = Workload(
        title=str(document.get("title", title)),
        sources=_sources(given),
        consumers=_whole(given, "workload.consumers", least=1),
        consume_rate=_number(given, "workload.consume_rate", above=0),
        item_bytes=_whole(given, "workload.item_bytes", least=0, default=0),
        message_seconds=_number(given, "workload.message_seconds", least=0, default=0.001),
        processing_seconds=_number(given, "workload.processing_seconds", least=0, default=0.0),
        bandwidth_bytes_per_second=_number(given, "workload.bandwidth_bytes_per_second", above=0, default=float("inf")),
        production=str(given.get("production", "exponential")),
        connections=_whole(limits, "limits.connections", least=0, default=0),
        designs=_designs(limits),
        targets=Targets(
            **{
                one.name: _number(document.get("targets", {}), f"targets.{one.name}", above=0, default=float("inf"))
                for one in fields(Targets)
            }
        ),
    )
    if workload.connections > workload.producers:
        raise Invalid(f"limits.connections is {workload.connections}: there are {workload.producers} producers")
    if workload.production.startswith("uniform"):
        raise Invalid("workload.production uniform:FROM:TO would set the rates again: use gamma:SHAPE or deterministic")
    return workload


def _known(table: str, given: Mapping[str, Any]) -> None:
    for name in given:
        if name not in _TABLES[table]:
            where = f"[{table}] has" if table else "the workload has"
            raise Invalid(f"{where} an unknown key {name!r}.{nearest(name, _TABLES[table])}")


def _sources(given: Mapping[str, Any]) -> tuple[ItemSource, ...]:
    if "sources" not in given:
        count = _whole(given, "workload.producers", least=1)
        return (ItemSource(count, _number(given, "workload.produce_rate", above=0)),)
    if "producers" in given or "produce_rate" in given:
        raise Invalid("[workload] has sources, and producers or produce_rate too: give one of the two")
    entries = given["sources"]
    if not isinstance(entries, list) or not entries or not all(isinstance(entry, Mapping) for entry in entries):
        raise Invalid("workload.sources must be a list such as [{ producers = 10, produce_rate = 5.0 }]")
    found = []
    for entry in entries:
        for name in entry:
            if name not in ("producers", "produce_rate"):
                raise Invalid(f"workload.sources has an unknown key {name!r}.{nearest(name, entry)}")
        count = _whole(entry, "workload.sources.producers", least=1)
        found.append(ItemSource(count, _number(entry, "workload.sources.produce_rate", above=0)))
    return tuple(found)


def _designs(limits: Mapping[str, Any]) -> tuple[str, ...]:
    wanted = limits.get("designs", list(DESIGNS))
    if not isinstance(wanted, list) or not wanted:
        raise Invalid("limits.designs must be a list of designs")
    for design in wanted:
        if design not in DESIGNS:
            raise Invalid(f"limits.designs has {design!r}: choose from {', '.join(DESIGNS)}")
    return tuple(wanted)


def _number(
    given: Mapping[str, Any], name: str, *, above: float | None = None, least: float | None = None, default: Any = None
) -> float:
    value = _value(given, name, default)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value:
        raise Invalid(f"{name} is {value!r}: it must be a number")
    if above is not None and not value > above:
        raise Invalid(f"{name} is {value:g}: it must be above {above:g}")
    if least is not None and not value >= least:
        raise Invalid(f"{name} is {value:g}: it must be at least {least:g}")
    return float(value)


def _whole(given: Mapping[str, Any], name: str, *, least: int, default: Any = None) -> int:
    value = _value(given, name, default)
    if isinstance(value, bool) or not isinstance(value, int):
        raise Invalid(f"{name} is {value!r}: it must be a whole number")
    if value < least:
        raise Invalid(f"{name} is {value}: it must be at least {least}")
    return value


def _value(given: Mapping[str, Any], name: str, default: Any) -> Any:
    value = given.get(name.rpartition(".")[2], default)
    if value is None:
        raise Invalid(f"the workload has no {name}: it is needed")
    return value

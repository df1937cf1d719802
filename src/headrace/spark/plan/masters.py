"""Where Spark runs: what a `--master` means, told apart and checked without Spark."""

from __future__ import annotations

import re
from dataclasses import dataclass

from headrace.core.errors import Invalid
from headrace.core.names import nearest

_LOCAL = re.compile(r"local(\[(\*|[1-9]\d*)(,\s*[1-9]\d*)?\])?")
_HOSTS = re.compile(r"(spark|sc|k8s)://(.+)")
_OTHERS = ("yarn",)
_PORTS = {"spark": 7077, "sc": 15002}


@dataclass(frozen=True, slots=True)
class Master:
    """A place for Spark.

    `doors` are the hosts and ports of which one must answer before Spark is started at all: its own patience ends
    after minutes.
    """

    url: str
    local: bool = False
    connect: bool = False
    doors: tuple[tuple[str, int], ...] = ()


def master(url: str) -> Master:
    """What `url` stands for, or Invalid."""
    if _LOCAL.fullmatch(url):
        return Master(url, local=True)
    if url in _OTHERS or re.fullmatch(r"local-cluster\[\d+,\d+,\d+\]", url):
        return Master(url)
    found = _HOSTS.fullmatch(url)
    if found is None:
        hint = nearest(url, ["local[*]", "local[2]", "spark://", "sc://", "k8s://", *_OTHERS])
        raise Invalid(
            f"--master {url!r} is no place for Spark: it is local[*], local[N], spark://HOST:PORT, "
            f"sc://HOST:PORT (Spark Connect), yarn or k8s://…{hint}"
        )
    scheme, rest = found[1], found[2]
    if scheme == "k8s":
        return Master(url)
    hosts = rest.split("/", 1)[0].split(",")
    return Master(url, connect=scheme == "sc", doors=tuple(_door(url, host, _PORTS[scheme]) for host in hosts))


def _door(url: str, text: str, port: int) -> tuple[str, int]:
    host, colon, digits = text.partition(":")
    if not host or (colon and not (digits.isdigit() and 0 < int(digits) < 65536)):
        raise Invalid(f"--master {url!r}: {text!r} is not HOST:PORT")
    return host, int(digits) if digits else port

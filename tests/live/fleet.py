"""A program to be killed: producers that add names to `in`, and consumers that move them to `out`, in one step each.

    fleet.py URL NAME threads|tasks LEASE_SECONDS

It says what it is about to do and what it was promised, a line each: `adding NAMES`, `added NAMES`, `moved NAME`; and
what it was told instead: `doubt ERROR NAMES` where that may have happened, `refused ERROR NAME` where it did not. At
the word `stop` its producers end, and it says `stopped`.
"""

import asyncio
import itertools
import os
import sys
import threading
from collections.abc import Iterator

import headrace

NAMES = 5
PRODUCERS = CONSUMERS = 2
TIMEOUT_SECONDS = 20.0


def tell(*words: str) -> None:
    os.write(1, f"{' '.join(words)}\n".encode())  # less than PIPE_BUF, so never torn


def kind(error: Exception) -> str:
    return type(error).__name__


def names_of(source: str) -> Iterator[list[str]]:
    for n in itertools.count(step=NAMES):
        yield [f"{source}.{n + i}" for i in range(NAMES)]


def items(names: list[str]) -> list[headrace.Item]:
    return [headrace.Item(name.encode(), priority=i) for i, name in enumerate(names)]


def add(hr: headrace.Headrace, source: str, stopping: threading.Event) -> None:
    for names in names_of(source):
        if stopping.is_set():
            return
        tell("adding", *names)
        try:
            hr.add_many("in", items(names), wait=TIMEOUT_SECONDS)
        except headrace.HeadraceError as error:
            tell("doubt", kind(error), *names)
        else:
            tell("added", *names)


def move(hr: headrace.Headrace, lease_seconds: float) -> None:
    for item in hr.take("in", lease=lease_seconds):
        name = item.body.decode()
        try:
            item.commit(add=[("out", item.body)])
        except headrace.Rejected as error:
            tell("refused", kind(error), name)
        except headrace.HeadraceError as error:
            tell("doubt", kind(error), name)
        else:
            tell("moved", name)


def with_threads(url: str, name: str, lease_seconds: float) -> None:
    hr = headrace.connect(url, timeout=TIMEOUT_SECONDS)
    stopping = threading.Event()
    producers = [threading.Thread(target=add, args=(hr, f"{name}-{n}", stopping)) for n in range(PRODUCERS)]
    consumers = [threading.Thread(target=move, args=(hr, lease_seconds), daemon=True) for _ in range(CONSUMERS)]
    for thread in (*producers, *consumers):
        thread.start()
    sys.stdin.readline()
    stopping.set()
    for thread in producers:
        thread.join()
    tell("stopped")
    sys.stdin.readline()


async def add_async(hr: headrace.AsyncHeadrace, source: str, stopping: asyncio.Event) -> None:
    for names in names_of(source):
        if stopping.is_set():
            return
        tell("adding", *names)
        try:
            await hr.add_many("in", items(names), wait=TIMEOUT_SECONDS)
        except headrace.HeadraceError as error:
            tell("doubt", kind(error), *names)
        else:
            tell("added", *names)


async def move_async(hr: headrace.AsyncHeadrace, lease_seconds: float) -> None:
    async for item in hr.take("in", lease=lease_seconds):
        name = item.body.decode()
        try:
            await item.commit(add=[("out", item.body)])
        except headrace.Rejected as error:
            tell("refused", kind(error), name)
        except headrace.HeadraceError as error:
            tell("doubt", kind(error), name)
        else:
            tell("moved", name)


async def with_tasks(url: str, name: str, lease_seconds: float) -> None:
    async with headrace.aconnect(url, timeout=TIMEOUT_SECONDS) as hr:
        stopping = asyncio.Event()
        producers = [asyncio.create_task(add_async(hr, f"{name}-{n}", stopping)) for n in range(PRODUCERS)]
        consumers = [asyncio.create_task(move_async(hr, lease_seconds)) for _ in range(CONSUMERS)]
        await asyncio.to_thread(sys.stdin.readline)
        stopping.set()
        await asyncio.gather(*producers)
        tell("stopped")
        await asyncio.to_thread(sys.stdin.readline)
        for task in consumers:
            task.cancel()


def main(url: str, name: str, how: str, lease_seconds: str) -> None:
    if how == "tasks":
        asyncio.run(with_tasks(url, name, float(lease_seconds)))
    else:
        with_threads(url, name, float(lease_seconds))


main(*sys.argv[1:])

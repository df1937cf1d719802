"""A served node in a thread of the test's own process."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from headrace.server.serving import Serving, Settings


@contextmanager
def served(path: Path, **settings: Any) -> Iterator[Serving]:
    """Serve a directory on a port of the system's choice."""
    started = threading.Event()
    stop: list[Any] = []
    failure: list[BaseException] = []

    async def run() -> None:
        stopped = asyncio.Event()
        loop = asyncio.get_running_loop()
        try:
            serving = Serving(Settings(at=str(path), port=settings.pop("port", 0), **settings))
            await serving.start()
        except BaseException as error:
            failure.append(error)
            started.set()
            return
        stop.extend((serving, lambda: loop.call_soon_threadsafe(stopped.set)))
        started.set()
        await stopped.wait()
        await serving.close()

    thread = threading.Thread(target=lambda: asyncio.run(run()))
    thread.start()
    started.wait()
    try:
        if failure:
            raise failure[0]
        yield stop[0]
    finally:
        if stop:
            stop[1]()
        thread.join()

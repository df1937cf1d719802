"""A TCP proxy that is no help: it delays, cuts in pieces, drops, resets, by a seed.

Each connection draws how many bytes it carries, in each direction, until its fate meets it: a reset, a close in the
middle of a frame, or silence, in which all that comes is dropped until the connection is reset.
"""

from __future__ import annotations

import asyncio
import random
import socket
import struct
import threading
from collections import Counter
from types import TracebackType
from typing import Final, Literal

Fate = Literal["reset", "close", "silence"]
FATES: Final[tuple[Fate, ...]] = ("reset", "close", "silence")
LONGEST_DELAY_SECONDS: Final = 0.02
SILENCE_SECONDS: Final = 0.1
CARRIED_BITS: Final = (0, 16)
"""The logarithm of how many bytes a connection carries until its fate meets it: as likely few as many."""
RESET: Final = struct.pack("ii", 1, 0)


class Proxy:
    """In front of a port, on a port of its own; in a thread."""

    def __init__(self, target_port: int, *, seed: int) -> None:
        self.target_port = target_port
        self.port = 0
        self.fates: Counter[Fate] = Counter()
        """How many connections each fate has met."""
        self.honest = False
        """Whether new connections are carried without mischief."""
        self.mute = False
        """Whether what is said from now on is dropped, for good: the connection stays up, and nothing comes of it."""
        self._random = random.Random(seed)
        self._loop = asyncio.new_event_loop()
        self._started = threading.Event()
        self._stopped: asyncio.Event | None = None
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._run(),))

    def __enter__(self) -> Proxy:
        self._thread.start()
        self._started.wait()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._stopped is not None
        self._loop.call_soon_threadsafe(self._stopped.set)
        self._thread.join()
        self._loop.close()

    @property
    def url(self) -> str:
        return f"headrace://127.0.0.1:{self.port}"

    async def _run(self) -> None:
        self._stopped = asyncio.Event()
        server = await asyncio.start_server(self._carry, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self._started.set()
        await self._stopped.wait()
        server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, from its beginning to its end."""
        try:
            there, back = await asyncio.open_connection("127.0.0.1", self.target_port)
        except OSError:
            _reset(writer)
            return
        ends = [asyncio.create_task(self._pump(reader, back)), asyncio.create_task(self._pump(there, writer))]
        try:
            done, _ = await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            fate = next((task.result() for task in done), None)
            if fate is not None:
                self.fates[fate] += 1
            for end in (writer, back):
                if fate in ("reset", "silence"):
                    _reset(end)
                else:
                    end.close()
        finally:
            for task in ends:
                task.cancel()

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Fate | None:
        """Carry one direction until it ends, or meets its fate."""
        draw = self._random
        honest, is_mute = self.honest, False
        left = round(2 ** draw.uniform(*CARRIED_BITS))
        fate: Fate = draw.choice(FATES)
        while True:
            try:
                data = await reader.read(1 << 16)
                if not data:
                    return None
                is_mute = is_mute or self.mute
                if is_mute:
                    continue
                if honest:
                    writer.write(data)
                    await writer.drain()
                    continue
                if draw.random() < 0.1:
                    await asyncio.sleep(draw.uniform(0, LONGEST_DELAY_SECONDS))
                cut = draw.randrange(len(data) + 1)
                for piece in (data[:cut], data[cut:]):
                    writer.write(piece[:left])
                    await writer.drain()
                    left -= len(piece)
                    if left <= 0:
                        if fate == "silence":
                            await asyncio.sleep(SILENCE_SECONDS)
                        return fate
                    await asyncio.sleep(0)
            except OSError:
                return None


def _reset(writer: asyncio.StreamWriter) -> None:
    """End a connection with an RST."""
    stream = writer.get_extra_info("socket")
    if stream is not None and stream.fileno() >= 0:
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    writer.transport.abort()

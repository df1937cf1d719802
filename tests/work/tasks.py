"""The app whose workers the tests start; the node is in the environment."""

import asyncio
import os
import signal
import threading
import time

import headrace

app = headrace.App(os.environ.get("TEST_NODE", "headrace://nowhere"))
again = headrace.Backoff(0.01, 0.05)


@app.task(queue="plain", retries=5, backoff=again, timeout=60)
def double(n: int) -> int:
    return 2 * n


@app.task(queue="plain")
def where(seconds: float = 0) -> tuple[int, bool]:
    """The process, and whether it runs in its main thread."""
    time.sleep(seconds)
    return os.getpid(), threading.current_thread() is threading.main_thread()


@app.task(queue="plain", retries=2, backoff=again)
def broken(path: str) -> None:
    """Fails each time, and leaves a line each time."""
    with open(path, "a") as file:
        file.write("tried\n")
    raise ValueError("broken")


@app.task(queue="plain")
def crash() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@app.task(queue="plain", retries=1, backoff=again, timeout=1)
def hang() -> None:
    time.sleep(600)


@app.task(queue="plain", soft_timeout=0.2)
def patient(tidy: bool) -> str:
    try:
        for _ in range(60_000):
            time.sleep(0.01)
    except headrace.SoftTimeout:
        if tidy:
            return "tidied up"
        raise
    return "never"


@app.task(queue="plain", soft_timeout=60)
def quick() -> str:
    return "quick"


@app.task(queue="plain")
def gate(path: str) -> int:
    """Waits at a named pipe for the test to open and close its end."""
    with open(path) as pipe:
        pipe.read()
    return os.getpid()


@app.task(queue="plain")
def huge() -> bytes:
    return bytes(2 << 20)


@app.task
async def together(parties: int) -> int:
    """Ends when so many run at the same time."""
    together_now.append(1)
    while len(together_now) < parties:
        await asyncio.sleep(0.01)
    return parties


together_now: list[int] = []


@app.task(timeout=0.2)
async def hang_async() -> None:
    await asyncio.sleep(600)


@app.task(soft_timeout=0.2)
async def patient_async() -> None:
    await asyncio.sleep(600)


@app.task
async def double_async(n: int) -> int:
    await asyncio.sleep(0)
    return 2 * n

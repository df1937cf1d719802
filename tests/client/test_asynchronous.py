import asyncio
import inspect
from pathlib import Path

import pytest

import headrace


def test_the_program_is_the_same_with_asyncio(tmp_path: Path) -> None:
    async def program() -> list[bytes]:
        bodies = []
        async with headrace.aopen(tmp_path / "data") as hr:
            await hr.add("thumbnails", b"cat.png", priority=3)
            await hr.add_many("thumbnails", [headrace.Item(b"dog.png"), headrace.Item(b"eel.png", priority=1)])
            async for item in hr.take("thumbnails", wait=0):
                async with item:
                    bodies.append(item.body)
            assert (await hr.stats("thumbnails")).committed == 3
        return bodies

    assert asyncio.run(program()) == [b"dog.png", b"eel.png", b"cat.png"]


def test_tasks_that_wait_are_served_as_items_come(tmp_path: Path) -> None:
    async def program() -> None:
        async with headrace.aopen(tmp_path) as hr:
            waiting = [asyncio.create_task(hr.pop("q", wait=30)) for _ in range(10)]
            await asyncio.gather(*(hr.add("q", b"%d" % i) for i in range(10)))
            leases = [lease for leases in await asyncio.gather(*waiting) for lease in leases]
            assert sorted(lease.body for lease in leases) == [b"%d" % i for i in range(10)]
            await hr.commit(leases)

    asyncio.run(program())


def test_a_cancelled_wait_takes_nothing(tmp_path: Path) -> None:
    async def program() -> None:
        async with headrace.aopen(tmp_path) as hr:
            waiting = asyncio.create_task(hr.pop("q", wait=None))
            await asyncio.sleep(0)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            await hr.add("q", b"a")
            assert (await hr.stats("q")).queued == 1

    asyncio.run(program())


def test_an_exception_gives_the_item_back_and_says_why(tmp_path: Path) -> None:
    async def program() -> None:
        async with headrace.aopen(tmp_path) as hr:
            item_id = await hr.add("q", b"a")
            (item,) = await hr.pop("q")
            with pytest.raises(ZeroDivisionError):
                async with item:
                    _ = 1 / 0
            place = await hr.why(item_id)
            assert place.state == "queued"
            assert [tried.reason for tried in place.attempts] == ["aborted: ZeroDivisionError: division by zero"]

    asyncio.run(program())


def test_both_handles_have_the_same_verbs_with_the_same_arguments() -> None:
    def verbs(handle: type) -> dict[str, list[str]]:
        return {
            name: [str(parameter) for parameter in inspect.signature(method).parameters.values()]
            for name, method in vars(handle).items()
            if callable(method) and not name.startswith("_")
        }

    assert verbs(headrace.AsyncHeadrace) == verbs(headrace.Headrace)
    assert verbs(headrace.AsyncLease) == verbs(headrace.Lease)

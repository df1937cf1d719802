import asyncio
import threading
from pathlib import Path

import pytest

import headrace
from tests.server.serve import served


def test_the_program_is_the_same_over_the_network(tmp_path: Path) -> None:
    bodies = []
    with served(tmp_path) as node, headrace.connect(f"headrace://127.0.0.1:{node.port}") as hr:
        hr.add("thumbnails", b"cat.png", priority=3)
        hr.add_many("thumbnails", [headrace.Item(b"dog.png"), headrace.Item(b"eel.png", priority=1)])
        for item in hr.take("thumbnails", wait=0):
            with item:
                bodies.append(item.body)
        assert hr.stats("thumbnails").committed == 3
    assert bodies == [b"dog.png", b"eel.png", b"cat.png"]


def test_a_consumer_that_waits_is_woken_by_another_clients_add(tmp_path: Path) -> None:
    with served(tmp_path) as node:
        url = f"headrace://127.0.0.1:{node.port}"
        with headrace.connect(url) as consumer, headrace.connect(url) as producer:
            got = []
            thread = threading.Thread(target=lambda: got.extend(consumer.pop("q", wait=30)))
            thread.start()
            producer.add("q", b"a")
            thread.join()
            assert [lease.body for lease in got] == [b"a"]


def test_threads_share_one_connection(tmp_path: Path) -> None:
    with served(tmp_path) as node, headrace.connect(f"headrace://127.0.0.1:{node.port}") as hr:

        def work(number: int) -> None:
            for i in range(50):
                hr.add("q", b"%d-%d" % (number, i))
                (lease,) = hr.pop("q", wait=30)
                lease.commit()

        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        stats = hr.stats("q")
        assert (stats.committed, stats.queued, stats.leased) == (400, 0, 0)


def test_closing_a_client_gives_back_what_it_holds(tmp_path: Path) -> None:
    with served(tmp_path) as node:
        url = f"headrace://127.0.0.1:{node.port}"
        with headrace.connect(url) as other:
            with headrace.connect(url) as hr:
                hr.add("q", b"a")
                hr.pop("q")
                assert other.stats("q").leased == 1
            assert other.stats("q").queued == 1


def test_the_program_is_the_same_with_asyncio(tmp_path: Path) -> None:
    async def program(url: str) -> list[bytes]:
        async with headrace.aconnect(url) as hr:
            waiting = [asyncio.create_task(hr.pop("q", wait=30)) for _ in range(10)]
            await asyncio.gather(*(hr.add("q", b"%d" % i) for i in range(10)))
            leases = [lease for leases in await asyncio.gather(*waiting) for lease in leases]
            await hr.commit(leases)
            assert (await hr.stats("q")).committed == 10
            return sorted(lease.body for lease in leases)

    with served(tmp_path) as node:
        assert asyncio.run(program(f"headrace://127.0.0.1:{node.port}")) == [b"%d" % i for i in range(10)]


@pytest.mark.parametrize(
    "url", ["http://localhost", "headrace://", "headrace://a:b", "headrace://t@h", "headrace://h,h"]
)
def test_a_wrong_address_is_named(url: str) -> None:
    with pytest.raises(headrace.Invalid, match=r"headrace://|address|twice|host:port"):
        headrace.connect(url)


def test_nobody_there_is_said_in_one_sentence() -> None:
    with pytest.raises(headrace.Unavailable, match=r"no node answers at 127.0.0.1:9 \("):
        headrace.connect("headrace://127.0.0.1:9", timeout=0.2)


def test_open_joins_the_process_that_serves_the_directory(tmp_path: Path) -> None:
    with served(tmp_path):
        with headrace.open(tmp_path) as one, headrace.open(tmp_path) as other:
            one.add("q", b"a")
            (lease,) = other.pop("q", wait=30)
            assert lease.body == b"a"
            lease.commit()

        async def program() -> int:
            async with headrace.aopen(tmp_path) as hr:
                return (await hr.stats("q")).committed

        assert asyncio.run(program()) == 1


def test_a_directory_whose_path_is_too_long_for_a_socket_is_joined_all_the_same(tmp_path: Path) -> None:
    path = tmp_path / ("d" * 120)
    with served(path), headrace.open(path) as hr:
        hr.add("q", b"a")
        assert hr.stats("q").queued == 1

"""TLS from end to end: the clients of both kinds, the node as `headrace serve` runs it, a certificate made here."""

import asyncio
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import headrace
from tests.live.node import Node


@pytest.fixture(scope="module")
def pems(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for this machine, and its key."""
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl here to make a certificate with")
    folder = tmp_path_factory.mktemp("pems")
    certificate, key = folder / "node.pem", folder / "node.key"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"),
            *("-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)),
        ],
        check=True,
        capture_output=True,
    )
    return certificate, key


@pytest.fixture
def node(tmp_path: Path, pems: tuple[Path, Path]) -> Iterator[Node]:
    certificate, key = pems
    with Node(tmp_path, certificate=certificate, private_key=key) as node:
        yield node


def test_threads_share_a_connection_over_tls_and_large_items_pass(node: Node, pems: tuple[Path, Path]) -> None:
    def work() -> None:
        for _ in range(50):
            hr.add("q", bytes(10_000))
            (lease,) = hr.pop("q", wait=30)
            lease.commit()

    with headrace.connect(secure(node), ca=str(pems[0])) as hr:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert hr.stats("q").committed == 200
        hr.add_many("large", [bytes(1 << 20)] * 8)
        assert [len(item.body) for item in hr.peek("large", 8)] == [1 << 20] * 8


def test_asyncio_over_tls(node: Node, pems: tuple[Path, Path]) -> None:
    async def program() -> int:
        async with headrace.aconnect(secure(node), ca=str(pems[0])) as hr:
            await hr.add("q", b"a")
            (lease,) = await hr.pop("q", wait=30)
            await lease.commit()
            return (await hr.stats("q")).committed

    assert asyncio.run(program()) == 1


def test_a_certificate_of_nobody_we_trust_and_plain_speech_are_refused(node: Node) -> None:
    with pytest.raises(headrace.Unavailable, match="certificate"):
        headrace.connect(secure(node), timeout=0.5)
    with pytest.raises(headrace.Unavailable):
        headrace.connect(node.url, timeout=0.5)


def secure(node: Node) -> str:
    return node.url.replace("headrace://", "headraces://")

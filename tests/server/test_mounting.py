import asyncio
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

import headrace
from headrace.server.access import Tokens


def ask(app: object, method: str, path: str, **options: object) -> httpx.Response:
    async def asked() -> httpx.Response:
        transport = httpx.ASGITransport(app=app)  # type: ignore[arg-type]
        async with httpx.AsyncClient(transport=transport, base_url="http://shop.example") as client:
            return await client.request(method, path, **options)  # type: ignore[arg-type]

    return asyncio.run(asked())


def test_a_users_own_app_serves_the_queues_of_its_handle(tmp_path: Path) -> None:
    with headrace.open(tmp_path) as hr:
        app = Starlette(routes=[Mount("/queue", headrace.asgi(hr))])
        added = ask(app, "POST", "/queue/v1/queues/orders/items", json={"items": [{"body": "a"}]})
        assert added.status_code == 201
        (lease,) = hr.pop("orders")
        assert (lease.id, lease.body) == (added.json()["ids"][0], b"a")


def test_it_asks_for_the_directorys_tokens_when_told_to(tmp_path: Path) -> None:
    with headrace.open(tmp_path) as hr:
        token = Tokens(str(tmp_path)).issue("adder", ["add"])
        app = headrace.asgi(hr, tokens=True)
        assert ask(app, "GET", "/v1/queues").status_code == 403
        headers = {"authorization": f"Bearer {token}"}
        sent = {"items": [{"body": "a"}]}
        assert ask(headrace.asgi(hr, tokens=True), "POST", "/v1/queues/q/items", json=sent, headers=headers).is_success


def test_what_cannot_be_mounted_is_refused() -> None:
    with pytest.raises(headrace.Invalid, match=r"headrace\.open"):
        headrace.asgi("data")
    with headrace.open(":memory:") as hr, pytest.raises(headrace.Invalid, match="no access tokens"):
        headrace.asgi(hr, tokens=True)

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest

import headrace
from headrace.server.serving import Serving
from tests.server.serve import served


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with served(tmp_path_factory.mktemp("rest")) as serving:
        yield serving


@pytest.fixture
def rest(node: Serving) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=f"http://127.0.0.1:{node.rest_port}", trust_env=False) as client:
        yield client


def test_an_item_goes_in_and_out_as_json(rest: httpx.Client) -> None:
    items = [{"body": "cat.png", "priority": 3}, {"body_base64": base64.b64encode(b"\xff\x00").decode()}]
    added = rest.post("/v1/queues/json/items", json={"items": items})
    assert added.status_code == 201
    popped = rest.post("/v1/queues/json/pop", json={"n": 5}).json()["leases"]
    assert [lease["id"] for lease in popped] == list(reversed(added.json()["ids"]))
    assert [lease.get("body", lease.get("body_base64")) for lease in popped] == ["/wA=", "cat.png"]
    receipts = [lease["receipt"] for lease in popped]
    committed = rest.post(
        "/v1/queues/json/commit", json={"receipts": receipts, "add": [{"queue": "next", "item": {"body": "x"}}]}
    )
    assert committed.json() == {"refused": []}
    assert rest.get("/v1/queues/next/items").json()["items"][0]["body"] == "x"
    again = rest.post("/v1/queues/json/commit", json={"receipts": receipts})
    assert [refusal["error"] for refusal in again.json()["refused"]] == ["Gone", "Gone"]


def test_an_item_goes_in_and_out_raw(rest: httpx.Client) -> None:
    raw = {"content-type": "application/octet-stream"}
    added = rest.post("/v1/queues/raw/items?priority=-4", content=b"\x00\xff", headers=raw)
    popped = rest.post("/v1/queues/raw/pop", headers={"accept": "application/octet-stream"})
    assert (popped.content, popped.headers["headrace-priority"]) == (b"\x00\xff", "-4")
    assert popped.headers["headrace-id"] == added.json()["ids"][0]
    assert rest.post("/v1/queues/raw/pop", headers={"accept": "application/octet-stream"}).status_code == 204


def test_tending(rest: httpx.Client) -> None:
    assert (
        rest.patch("/v1/queues/tend", json={"capacity_items": 2}).json()["queues"][0]["settings"]["capacity_items"] == 2
    )
    (item_id, _) = rest.post("/v1/queues/tend/items", json={"items": [{"body": "a"}, {"body": "b"}]}).json()["ids"]
    full = rest.post("/v1/queues/tend/items", json={"items": [{"body": "c"}]})
    assert (full.status_code, full.json()["error"]) == (429, "Full")
    assert rest.get(f"/v1/items/{item_id}").json()["state"] == "queued"
    (lease,) = rest.post("/v1/queues/tend/pop", json={}).json()["leases"]
    rest.post("/v1/queues/tend/abort", json={"receipts": [lease["receipt"]], "dead": True, "reason": "bad"})
    (dead,) = rest.get("/v1/queues/tend/dead").json()["items"]
    assert (dead["id"], dead["reason"]) == (item_id, "aborted: bad")
    assert rest.post("/v1/queues/tend/revive", json={}).json() == {"count": 1}
    assert rest.post("/v1/queues/tend/purge", json={}).json() == {"count": 2}
    assert rest.delete("/v1/queues/tend").status_code == 200
    assert rest.get("/v1/queues/tend").status_code == 404


@pytest.mark.parametrize(
    ("method", "path", "sent", "status"),
    [
        ("POST", "/v1/queues/q/items", {"json": {"items": [{"body": 3}]}}, 400),
        ("POST", "/v1/queues/q/items", {"json": {"items": [{"body": "a", "body_base64": ""}]}}, 400),
        ("POST", "/v1/queues/q/items", {"json": {"items": [{"body_base64": "a"}]}}, 400),
        ("POST", "/v1/queues/q/items", {"json": {"items": [{"body": "a", "prio": 3}]}}, 400),
        ("POST", "/v1/queues/q/items", {"content": b"{"}, 400),
        ("POST", "/v1/queues/q/items", {"content": b"[" * 100_000}, 400),
        ("POST", "/v1/queues/..%2f/items", {"json": {"items": [{"body": "a"}]}}, 404),
        ("POST", "/v1/queues/%00/items", {"json": {"items": [{"body": "a"}]}}, 400),
        ("POST", "/v1/queues/q/items", {"json": {"items": [{"body": "a", "priority": 2**63}]}}, 400),
        ("GET", "/v1/queues/q/items?n=0", {}, 400),
        ("GET", "/v1/queues/q/items?m=1", {}, 400),
        ("GET", "/nowhere", {}, 404),
        ("PUT", "/v1/queues", {}, 405),
        ("GET", "/v1/queues", {"headers": {"host": "evil.example"}}, 403),
        ("GET", "/v1/queues", {"headers": {"origin": "http://evil.example"}}, 403),
        ("POST", "/v1/queues/q/items", {"content": b"x" * (17 << 20)}, 413),
    ],
)
def test_bad_input_is_named(rest: httpx.Client, method: str, path: str, sent: dict[str, Any], status: int) -> None:
    answer = rest.request(method, path, **sent)
    assert answer.status_code == status
    assert answer.json()["message"]


def test_the_authors_clients_run_unchanged(rest: httpx.Client) -> None:
    for priority, message in ((5, b"five"), (-2, b"\x00two"), (9, b"nine")):
        form = urlencode({"priority": priority, "message": message})
        headers = {"content-type": "application/x-www-form-urlencoded"}
        assert rest.post("/pq/theirs/add", content=form, headers=headers).status_code == 200
    top = rest.post("/pq/theirs/peek").json()
    popped = rest.post("/pq/theirs/pop").json()
    assert popped == top
    assert (popped["key"]["priority"], base64.b64decode(popped["message"])) == (-2, b"\x00two")
    assert rest.post("/pq/theirs/abort", data=popped["key"]).status_code == 200
    assert rest.post("/pq/theirs/pop").json() == popped
    assert rest.post("/pq/theirs/commit", data=popped["key"]).status_code == 200
    assert len(rest.get("/pq/theirs/dump?limit=10").json()) == 2
    assert rest.post("/pq/theirs/popAll").json() == 2
    empty = rest.post("/pq/theirs/pop")
    assert (empty.status_code, empty.content) == (200, b"")


def test_health_and_metrics(rest: httpx.Client, node: Serving) -> None:
    rest.post("/v1/queues/measured/items", json={"items": [{"body": "a"}]})
    assert rest.get("/healthz").json() == {"status": "up"}
    assert rest.get("/readyz").json() == {"status": "ready"}
    text = rest.get("/metrics").text
    assert 'headrace_items_added_total{queue="measured"} 1.0' in text
    assert 'headrace_queued_items{queue="measured"} 1.0' in text
    assert "headrace_syncs_total" in text
    assert "headrace_turn_seconds_bucket" in text


def test_a_token_allows_what_its_scopes_say_until_it_is_revoked(tmp_path: Path) -> None:
    with served(tmp_path) as node:
        assert node.tokens is not None
        token = node.tokens.issue("adder", ["add:jobs-*"])
        base = f"http://127.0.0.1:{node.rest_port}/v1/queues"
        with httpx.Client(headers={"authorization": f"Bearer {token}"}, trust_env=False) as rest:
            assert rest.post(f"{base}/jobs-1/items", json={"items": [{"body": "a"}]}).status_code == 201
            assert rest.post(f"{base}/other/items", json={"items": [{"body": "a"}]}).status_code == 403
            assert rest.post(f"{base}/jobs-1/pop", json={}).status_code == 403
            assert httpx.get(base, trust_env=False).status_code == 403
            url = f"headrace://127.0.0.1:{node.port}"
            with headrace.connect(url, token=token) as hr:
                hr.add("jobs-2", b"a")
                with pytest.raises(headrace.Forbidden, match="does not allow pop"):
                    hr.pop("jobs-2")
            with pytest.raises(headrace.Forbidden, match="wants an access token"):
                headrace.connect(url)
            node.tokens.revoke("adder")
            assert rest.post(f"{base}/jobs-1/items", json={"items": [{"body": "a"}]}).status_code == 403
            with pytest.raises(headrace.Forbidden, match="revoked"):
                headrace.connect(url, token=token)

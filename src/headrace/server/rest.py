"""The REST door: our verbs under `/v1/queues/{queue}/…`, as an ASGI app.

One table says of each operation its method, its path, its types and what it asks the node; the routes and the OpenAPI
document are both made from it. Bodies are JSON; an item's bytes may also come and go raw.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from headrace.core import commands as c
from headrace.core.access import Access
from headrace.core.errors import Gone, HeadraceError, Invalid, StaleLease, Unavailable, outward
from headrace.core.items import Item, encode_item, entry_body, parse_id, show_id
from headrace.core.limits import US, check_queue_name, check_seconds
from headrace.runtime.ids import ids
from headrace.server import shapes
from headrace.server.asking import Asker

RAW = "application/octet-stream"
HEADER_PREFIX = "headrace-header-"


@dataclass(frozen=True, slots=True)
class Call:
    """What a handler works on: the node, what the caller may do, the parts of the path and the query, the body."""

    asker: Asker
    access: Access
    path: dict[str, str]
    query: dict[str, str]
    body: Any

    @property
    def queue(self) -> str:
        return check_queue_name(self.path["queue"])

    async def ask(self, command: c.AnyCommand) -> Any:
        return await self.asker.ask(command, self.access)

    def encode(self, items: list[Item]) -> list[bytes]:
        engine = self.asker.engine
        wall_us, limits = engine.clock.wall_us(), engine.limits
        return [encode_item(item, ids.one(), wall_us, limits) for item in items]

    def number(self, name: str, default: int, *, most: int) -> int:
        """A whole number of the query."""
        text = self.query.get(name, str(default))
        if not text.isascii() or not text.isdecimal() or not 1 <= int(text[:12]) <= most:
            raise Invalid(f"{name} must be a whole number from 1 to {most:,}; it is {text!r}")
        return int(text)


@dataclass(frozen=True, slots=True)
class Operation:
    """One line of the table."""

    name: str
    method: str
    path: str
    summary: str
    handler: Callable[[Call], Awaitable[msgspec.Struct]]
    answers: type
    takes: type | None = None
    query: tuple[str, ...] = ()
    status: int = 200


async def _add(call: Call) -> shapes.AddResponse:
    request: shapes.AddRequest = call.body
    encoded = call.encode([incoming.item() for incoming in request.items])
    return await _added(call, encoded, request.wait)


async def _added(call: Call, encoded: list[bytes], wait: float) -> shapes.AddResponse:
    done = await call.ask(c.Add(call.queue, encoded, round(wait * US)))
    raw = [item[8:24] for item in encoded]
    for index, holder in done.duplicates:
        raw[index] = holder
    return shapes.AddResponse([show_id(item_id) for item_id in raw])


async def _peek(call: Call) -> shapes.PeekResponse:
    done = await call.ask(c.Peek(call.queue, call.number("n", 1, most=10_000)))
    return shapes.PeekResponse([shapes.queued_of(entry) for entry in done.entries])


async def _pop(call: Call) -> shapes.PopResponse:
    request: shapes.PopRequest = call.body
    command = c.Pop(
        [call.queue],
        request.n,
        round(request.wait * US),
        0 if request.lease is None else check_seconds("lease", request.lease),
        request.at_least,
        request.name or "",
    )
    done = await call.ask(command)
    return shapes.PopResponse([lease for batch in done.batches for lease in shapes.leases_of(batch)], done.top)


async def _commit(call: Call) -> shapes.SettledResponse:
    request: shapes.CommitRequest = call.body
    groups = _groups(call.queue, request.receipts)
    if request.add and (len(groups) != 1 or not all(_is_of(call.queue, receipt) for receipt in request.receipts)):
        raise StaleLease("commit with add takes receipts of this queue and of one boot: they are one step with the add")
    added = [(added.queue, call.encode([added.item.item()])) for added in request.add]
    commands = [(epoch, c.Commit(call.queue, epoch, counters, added)) for epoch, counters in groups]
    return await _settled(call, commands, request.receipts)


async def _abort(call: Call) -> shapes.SettledResponse:
    request: shapes.AbortRequest = call.body
    delay_us = round(request.delay * US)
    return await _settled(
        call,
        [
            (epoch, c.Abort(call.queue, epoch, counters, delay_us, request.reason, request.dead))
            for epoch, counters in _groups(call.queue, request.receipts)
        ],
        request.receipts,
    )


async def _extend(call: Call) -> shapes.SettledResponse:
    request: shapes.ExtendRequest = call.body
    lease_us = round(request.seconds * US)
    return await _settled(
        call,
        [
            (epoch, c.Extend(call.queue, epoch, counters, lease_us))
            for epoch, counters in _groups(call.queue, request.receipts)
        ],
        request.receipts,
    )


async def _settled(call: Call, commands: list[tuple[int, Any]], receipts: list[str]) -> shapes.SettledResponse:
    """All that could be obeyed was; what was not is listed, receipts of other queues among it."""
    refused = [shapes.Refusal(receipt, "Gone") for receipt in receipts if not _is_of(call.queue, receipt)]
    for epoch, command in commands:
        done = await call.ask(command)
        refused += [
            shapes.Refusal(f"{call.queue}/{epoch:x}-{counter:x}", "StaleLease" if kind == "stale" else "Gone")
            for counter, kind in done.refused
        ]
    return shapes.SettledResponse(refused)


def _groups(queue: str, receipts: list[str]) -> list[tuple[int, list[int]]]:
    groups: dict[int, list[int]] = {}
    for receipt in receipts:
        if _is_of(queue, receipt):
            epoch, _, counter = receipt.rpartition("/")[2].partition("-")
            groups.setdefault(int(epoch, 16), []).append(int(counter, 16))
    return list(groups.items())


def _is_of(queue: str, receipt: str) -> bool:
    """Whether a receipt can be one that this queue has issued."""
    named, _, rest = receipt.rpartition("/")
    return named == queue and not any(int(part, 16) >> 63 for part in rest.split("-"))


async def _dead(call: Call) -> shapes.DeadResponse:
    done = await call.ask(c.ListDead(call.queue, call.number("n", 100, most=10_000)))
    return shapes.DeadResponse([shapes.dead_of(item) for item in done.items])


async def _revive(call: Call) -> shapes.CountResponse:
    done = await call.ask(c.Revive(call.queue, [parse_id(text) for text in call.body.ids or ()]))
    return shapes.CountResponse(done.count)


async def _purge(call: Call) -> shapes.CountResponse:
    raw = [parse_id(text) for text in call.body.ids or ()]
    done = await call.ask(c.Purge(call.queue, not call.body.dead and not raw, call.body.dead and not raw, raw))
    return shapes.CountResponse(done.count)


async def _declare(call: Call) -> shapes.StatsResponse:
    await call.ask(c.Declare(call.queue, _whole(call.body)))
    return await _describe(call)


async def _drop(call: Call) -> shapes.Empty:
    try:
        await call.ask(c.Drop(call.queue))
    except Unavailable as error:
        raise Conflict(str(error)) from error
    return shapes.Empty()


async def _list(call: Call) -> shapes.StatsResponse:
    done = await call.ask(c.ListQueues())
    return shapes.StatsResponse([shapes.stats_of(stats) for stats in done.queues])


async def _describe(call: Call) -> shapes.StatsResponse:
    done = await call.ask(c.Describe(call.queue))
    return shapes.StatsResponse([shapes.stats_of(stats) for stats in done.queues])


async def _why(call: Call) -> shapes.PlaceResponse:
    raw = parse_id(call.path["id"])
    found = await call.ask(c.Why(raw))
    if found.state == "unknown":
        raise Gone(f"no item {show_id(raw)} is here: it was committed, dropped, or never added")
    return shapes.place_of(show_id(raw), found)


ITEMS = "/v1/queues/{queue}/items"
OPERATIONS = (
    Operation("add", "POST", ITEMS, "Add items, all or none", _add, shapes.AddResponse, shapes.AddRequest, status=201),
    Operation("peek", "GET", ITEMS, "The most urgent items, none leased", _peek, shapes.PeekResponse, query=("n",)),
    Operation("pop", "POST", "/v1/queues/{queue}/pop", "Lease items", _pop, shapes.PopResponse, shapes.PopRequest),
    Operation(
        "commit",
        "POST",
        "/v1/queues/{queue}/commit",
        "Settle leases as done; with `add`, all or nothing",
        _commit,
        shapes.SettledResponse,
        shapes.CommitRequest,
    ),
    Operation(
        "abort",
        "POST",
        "/v1/queues/{queue}/abort",
        "Give leases back",
        _abort,
        shapes.SettledResponse,
        shapes.AbortRequest,
    ),
    Operation(
        "extend",
        "POST",
        "/v1/queues/{queue}/extend",
        "Hold leases for longer",
        _extend,
        shapes.SettledResponse,
        shapes.ExtendRequest,
    ),
    Operation("dead", "GET", "/v1/queues/{queue}/dead", "Dead items", _dead, shapes.DeadResponse, query=("n",)),
    Operation(
        "revive",
        "POST",
        "/v1/queues/{queue}/revive",
        "Queue dead items again",
        _revive,
        shapes.CountResponse,
        shapes.IdsRequest,
    ),
    Operation(
        "purge",
        "POST",
        "/v1/queues/{queue}/purge",
        "Throw away what is queued, or the dead",
        _purge,
        shapes.CountResponse,
        shapes.PurgeRequest,
    ),
    Operation("queues", "GET", "/v1/queues", "The figures of all queues", _list, shapes.StatsResponse),
    Operation("stats", "GET", "/v1/queues/{queue}", "The figures of one queue", _describe, shapes.StatsResponse),
    Operation(
        "declare",
        "PATCH",
        "/v1/queues/{queue}",
        "Create a queue, or change its settings",
        _declare,
        shapes.StatsResponse,
        dict,
    ),
    Operation("drop", "DELETE", "/v1/queues/{queue}", "Remove a queue with all that is in it", _drop, shapes.Empty),
    Operation("why", "GET", "/v1/items/{id}", "Where an item is, and why", _why, shapes.PlaceResponse),
)


def routes(asker: Asker, access_of: Callable[[Request], Access]) -> list[Route]:
    """The table as Starlette's routes."""
    by_path: dict[str, dict[str, Operation]] = {}
    for operation in OPERATIONS:
        by_path.setdefault(operation.path, {})[operation.method] = operation
    return [
        Route(path, _endpoint(asker, access_of, methods), methods=list(methods)) for path, methods in by_path.items()
    ]


class TooLarge(Invalid):
    """More came than is taken."""


class TooSlow(Invalid):
    """It did not come in time."""


class Conflict(Invalid):
    """Not while others hold what is named."""


_STATUS: dict[type[HeadraceError], int] = {TooLarge: 413, TooSlow: 408, Conflict: 409}


def failure(error: HeadraceError) -> Response:
    """An error as a response."""
    status = _STATUS.get(type(error))
    if status is not None:
        return failed(status, Invalid.__name__, str(error))
    return failed(outward(error).http_status, type(error).__name__, str(error))


def failed(status: int, kind: str, sentence: str) -> Response:
    return JSONResponse(msgspec.to_builtins(shapes.Failure(kind, sentence)), status)


def _endpoint(
    asker: Asker, access_of: Callable[[Request], Access], methods: dict[str, Operation]
) -> Callable[[Request], Awaitable[Response]]:
    decoders: dict[str, msgspec.json.Decoder[Any]] = {
        method: msgspec.json.Decoder(operation.takes)
        for method, operation in methods.items()
        if operation.takes is not None
    }

    async def endpoint(request: Request) -> Response:
        operation = methods["GET" if request.method == "HEAD" else request.method]
        try:
            access = access_of(request)
            _check_query(operation, request)
            call = Call(asker, access, request.path_params, dict(request.query_params), None)
            if operation.name == "add" and _content_type(request) == RAW:
                return _answer(await _add_raw(call, request), operation.status)
            if operation.name == "pop" and request.headers.get("accept") == RAW:
                return await _pop_raw(call)
            decoder = decoders.get(operation.method)
            if decoder is not None:
                call = Call(asker, access, call.path, call.query, _decode(decoder, await request.body()))
            return _answer(await operation.handler(call), operation.status)
        except HeadraceError as error:
            return failure(error)

    return endpoint


def _decode(decoder: msgspec.json.Decoder[Any], body: bytes) -> Any:
    try:
        try:
            return decoder.decode(body or b"{}")
        except msgspec.ValidationError:
            return msgspec.convert(_whole(msgspec.json.decode(body)), decoder.type)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise Invalid(f"the body is not what this operation takes: {error}") from error


def _whole(value: Any) -> Any:
    """JSON in which 7.0 is the whole number 7, as JSON Schema has it."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_whole(one) for one in value]
    if isinstance(value, dict):
        return {name: _whole(one) for name, one in value.items()}
    return value


def _answer(value: msgspec.Struct, status: int) -> Response:
    return Response(msgspec.json.encode(value), status, media_type="application/json")


def _check_query(operation: Operation, request: Request) -> None:
    raw_allowed = ("priority", "key", "delay", "expires", "id", "wait", "lease")
    for name in request.query_params:
        if name not in operation.query and not (operation.name in ("add", "pop") and name in raw_allowed):
            known = ", ".join(operation.query) or "none"
            raise Invalid(f"{operation.name} takes no parameter {name!r}; it takes {known}")


def _content_type(request: Request) -> str:
    content_type: str = request.headers.get("content-type", "")
    return content_type.partition(";")[0].strip().lower()


async def _add_raw(call: Call, request: Request) -> shapes.AddResponse:
    """An item whose body is the body of the request, and whose options are in the query."""
    headers = {
        name.removeprefix(HEADER_PREFIX): value
        for name, value in request.headers.items()
        if name.startswith(HEADER_PREFIX)
    }
    item = Item(
        await request.body(),
        priority=_query_int(call.query, "priority", 0),
        key=call.query.get("key"),
        headers=headers or None,
        delay=_query_seconds(call.query, "delay"),
        expires=_query_seconds(call.query, "expires"),
        id=call.query.get("id"),
    )
    return await _added(call, call.encode([item]), _query_seconds(call.query, "wait") or 0)


async def _pop_raw(call: Call) -> Response:
    """One item, its body as the body of the response, the rest in headers; 204 when there is none."""
    lease = _query_seconds(call.query, "lease")
    wait = _query_seconds(call.query, "wait") or 0
    done = await call.ask(c.Pop([call.queue], 1, round(wait * US), 0 if lease is None else round(lease * US)))
    if not done.batches:
        return Response(status_code=204)
    (batch,) = done.batches
    (entry,) = batch.entries
    (shape,) = shapes.leases_of(batch)
    headers = {
        "headrace-receipt": shape.receipt,
        "headrace-id": shape.id,
        "headrace-priority": str(shape.priority),
        "headrace-attempt": str(shape.attempt),
    }
    for name, value in (shape.headers or {}).items():
        if (HEADER_PREFIX + name).isascii() and value.isascii() and value.isprintable() and name.isidentifier():
            headers[HEADER_PREFIX + name] = value
    return Response(entry_body(entry), headers=headers, media_type=RAW)


def _query_int(query: dict[str, str], name: str, default: int) -> int:
    text = query.get(name)
    if text is None:
        return default
    try:
        return int(text)
    except ValueError:
        raise Invalid(f"{name} must be a whole number; it is {text!r}") from None


def _query_seconds(query: dict[str, str], name: str) -> float | None:
    text = query.get(name)
    if text is None:
        return None
    try:
        seconds = float(text)
    except ValueError:
        raise Invalid(f"{name} must be a number of seconds; it is {text!r}") from None
    check_seconds(name, seconds)
    return seconds

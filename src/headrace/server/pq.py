"""The wire contract of paper 004's authors, under `/pq/{queue}/…`: clients of theirs need only another base address.

An item is `{"key": {"priority": …, "uuid": "…"}, "message": "<base64>"}`, a key its inner object; an empty queue
answers 200 with an empty body. Their commits and aborts name an id and no receipt, so they are not fenced: a client
whose lease has expired may settle the lease of whoever holds the item now.
"""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable
from typing import Any, Final
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from headrace.core import commands as c
from headrace.core.access import Access
from headrace.core.errors import Gone, HeadraceError, Invalid
from headrace.core.items import (
    ENTRY_ID,
    encode_plain,
    entry_body,
    entry_priority,
    parse_id,
    show_id,
)
from headrace.core.limits import check_queue_name
from headrace.runtime.ids import ids
from headrace.server.asking import Asker
from headrace.server.rest import failure

POP_ALL_BATCH: Final = 1000
DUMP_DEFAULT: Final = 100
DUMP_MOST: Final = 100_000

Verb = Callable[[Asker, Access, str, Request], Awaitable[Response]]


def routes(asker: Asker, access_of: Callable[[Request], Access]) -> list[Route]:
    """Their operations as Starlette's routes."""
    table: dict[str, tuple[Verb, str]] = {
        "add": (_add, "POST"),
        "peek": (_peek, "POST"),
        "pop": (_pop, "POST"),
        "commit": (_commit, "POST"),
        "abort": (_abort, "POST"),
        "popAll": (_pop_all, "POST"),
        "dump": (_dump, "GET"),
    }
    return [
        Route(f"/pq/{{queue}}/{name}", _endpoint(asker, access_of, verb), methods=[method])
        for name, (verb, method) in table.items()
    ]


def _endpoint(
    asker: Asker, access_of: Callable[[Request], Access], verb: Verb
) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        try:
            access = access_of(request)
            return await verb(asker, access, check_queue_name(request.path_params["queue"]), request)
        except HeadraceError as error:
            return failure(error)

    return endpoint


async def _add(asker: Asker, access: Access, queue: str, request: Request) -> Response:
    form = await _form(request)
    if b"message" not in form:
        raise Invalid("add wants the form fields priority and message")
    encoded = encode_plain(form[b"message"], _priority(form), ids.one(), asker.engine.limits)
    await asker.ask(c.Add(queue, [encoded]), access)
    return JSONResponse({"priority": _priority(form), "uuid": show_id(encoded[8:24])})


async def _peek(asker: Asker, access: Access, queue: str, request: Request) -> Response:
    done: Any = await asker.ask(c.Peek(queue, 1), access)
    return JSONResponse(_item(done.entries[0])) if done.entries else Response()


async def _pop(asker: Asker, access: Access, queue: str, request: Request) -> Response:
    done: Any = await asker.ask(c.Pop([queue], 1), access)
    return JSONResponse(_item(done.batches[0].entries[0])) if done.batches else Response()


async def _commit(asker: Asker, access: Access, queue: str, request: Request) -> Response:
    epoch, counter = await _leased(asker, queue, request)
    await asker.ask(c.Commit(queue, epoch, [counter]), access)
    return Response()


async def _abort(asker: Asker, access: Access, queue: str, request: Request) -> Response:
    epoch, counter = await _leased(asker, queue, request)
    await asker.ask(c.Abort(queue, epoch, [counter]), access)
    return Response()


async def _pop_all(asker: Asker, access: Access, queue: str, request: Request) -> Response:
    count = 0
    while True:
        done: Any = await asker.ask(c.Pop([queue], POP_ALL_BATCH), access)
        if not done.batches:
            return JSONResponse(count)
        (batch,) = done.batches
        await asker.ask(c.Commit(queue, batch.epoch, batch.counters), access)
        count += len(batch.counters)


async def _dump(asker: Asker, access: Access, queue: str, request: Request) -> Response:
    text = request.query_params.get("limit", str(DUMP_DEFAULT))
    if not text.isascii() or not text.isdecimal() or not 1 <= int(text[:12]) <= DUMP_MOST:
        raise Invalid(f"limit must be a whole number from 1 to {DUMP_MOST:,}; it is {text!r}")
    done: Any = await asker.ask(c.Peek(queue, int(text)), access)
    return JSONResponse([_item(entry) for entry in done.entries])


async def _leased(asker: Asker, queue: str, request: Request) -> tuple[int, int]:
    """The lease that the item with this id is under now."""
    form = await _form(request)
    _priority(form)
    item_id = parse_id(form.get(b"uuid", b"").decode("ascii", "replace"))
    receipt = asker.engine.leased_as(queue, item_id)
    if receipt is None:
        raise Gone(f"item {show_id(item_id)} is not leased from queue {queue!r}")
    return receipt


async def _form(request: Request) -> dict[bytes, bytes]:
    """The fields of an urlencoded or multipart form, as bytes."""
    content_type = request.headers.get("content-type", "")
    if content_type.startswith("multipart/form-data"):
        form = await request.form(max_files=4, max_fields=16, max_part_size=asker_limit(request))
        fields: dict[bytes, bytes] = {}
        for name, value in form.items():
            fields[name.encode()] = value.encode() if isinstance(value, str) else await value.read()
        return fields
    pairs = parse_qsl(await request.body(), keep_blank_values=True, max_num_fields=16, encoding="latin-1")
    return dict(pairs)


def asker_limit(request: Request) -> int:
    limit: int = request.app.state.body_bytes
    return limit


def _priority(form: dict[bytes, bytes]) -> int:
    text = form.get(b"priority", b"").decode("ascii", "replace")
    try:
        return int(text)
    except ValueError:
        raise Invalid(f"priority must be a whole number; it is {text!r}") from None


def _item(entry: bytes) -> dict[str, Any]:
    return {
        "key": {"priority": entry_priority(entry), "uuid": show_id(entry[ENTRY_ID])},
        "message": base64.b64encode(entry_body(entry)).decode(),
    }

"""The OpenAPI 3.1 document, made from the table of operations and the types that check what comes in."""

from __future__ import annotations

import re
from importlib.metadata import version
from typing import Any, Final

import msgspec

from headrace.core.limits import COUNT_MAX, LONGEST_SECONDS, SHORTEST_LEASE_SECONDS, QueueSettings
from headrace.server import shapes
from headrace.server.rest import ITEMS, OPERATIONS, RAW, Operation

_PATH_SCHEMAS: Final[dict[str, dict[str, Any]]] = {
    "queue": {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$"},
    "id": {"type": "string", "format": "uuid"},
}
_ERRORS: Final = {
    "400": "The request makes no sense as it stands.",
    "403": "The access token does not allow it, or the request came from elsewhere.",
    "404": "There is no such path, or what is named is not here, or no longer.",
    "405": "The path has no such method.",
    "408": "The request did not arrive in time.",
    "409": "The lease is over, and the item queued or leased to another.",
    "413": "The body is too large.",
    "423": "The queue is paused.",
    "429": "The queue, or the disk, is full.",
    "503": "Not now: try again.",
    "504": "It may have happened.",
}


def document() -> dict[str, Any]:
    """The document as JSON's values."""
    types = [op.takes for op in OPERATIONS if op.takes not in (None, dict)]
    types += [op.answers for op in OPERATIONS]
    types += [shapes.Failure, QueueSettings]
    unique = list(dict.fromkeys(types))
    refs, components = msgspec.json.schema_components(unique, ref_template="#/components/schemas/{name}")
    schema_of = dict(zip(unique, refs, strict=True))
    components["Incoming"]["not"] = {
        "anyOf": [{"required": ["body", "body_base64"]}, {"required": ["delay", "not_before"]}]
    }
    for name, schema in components["QueueSettings"]["properties"].items():
        _bound(name, schema)
    paths: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation, schema_of)
    for path, entry in paths.items():
        entry["parameters"] = [
            {"name": name, "in": "path", "required": True, "schema": _PATH_SCHEMAS[name]}
            for name in re.findall(r"{(\w+)}", path)
        ]
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Headrace",
            "version": version("headrace"),
            "description": "A durable priority work queue. Adds without a session are safe to repeat only with a key.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }


def _bound(name: str, schema: dict[str, Any]) -> None:
    """The bounds that a queue's settings check by themselves."""
    for kind in (schema, *schema.get("anyOf", ())):
        if kind.get("type") == "integer":
            kind.update(minimum=1, maximum=COUNT_MAX)
        elif kind.get("type") == "number":
            kind.update(minimum=SHORTEST_LEASE_SECONDS, maximum=LONGEST_SECONDS)


def _operation(operation: Operation, schema_of: dict[type, Any]) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "responses": {
            str(operation.status): {
                "description": operation.summary,
                "content": {"application/json": {"schema": schema_of[operation.answers]}},
            },
            **{
                status: {
                    "description": text,
                    "content": {"application/json": {"schema": schema_of[shapes.Failure]}},
                }
                for status, text in _ERRORS.items()
            },
        },
    }
    if operation.query:
        described["parameters"] = [
            {
                "name": name,
                "in": "query",
                "schema": {"type": "integer", "minimum": 1, "maximum": 10_000},
            }
            for name in operation.query
        ]
    if operation.takes is not None:
        schema = schema_of[QueueSettings if operation.takes is dict else operation.takes]
        content: dict[str, Any] = {"application/json": {"schema": schema}}
        if operation.path == ITEMS:
            content[RAW] = {"schema": {"type": "string", "format": "binary"}}
        is_required = operation.takes is not dict and bool(
            msgspec.json.schema(operation.takes)["$defs"][operation.takes.__name__]["required"]
        )
        described["requestBody"] = {"required": is_required, "content": content}
    return described

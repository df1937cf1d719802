"""The parameters of a task: how the arguments of a call become bytes, and arguments again at the worker.

They are bound by the function's signature, encoded as a msgpack map by name, and checked against the type hints on both
sides: a wrong one is refused where it is passed. What was left out stays out, so that a default is the worker's own.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from inspect import Parameter
from typing import Any, Final

import msgspec
from msgspec import UNSET, UnsetType

from headrace.core.errors import Invalid
from headrace.core.names import nearest

UNENCODABLE: Final = (TypeError, ValueError, OverflowError, RecursionError)
"""What msgspec raises for what it cannot encode."""

_encode = msgspec.msgpack.Encoder().encode


class Parameters:
    """The parameters and the result of one function. The hints are looked at when they are first needed."""

    def __init__(self, task: str, function: Callable[..., Any]) -> None:
        self._task = task
        self._function = function
        self._signature = inspect.signature(function)
        kinds = {name: parameter.kind for name, parameter in self._signature.parameters.items()}
        self.names = list(kinds)
        self._positional = [
            name for name, kind in kinds.items() if kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
        ]
        self._by_name = [name for name, kind in kinds.items() if kind is Parameter.KEYWORD_ONLY]
        self._rest = [name for name, kind in kinds.items() if kind is Parameter.VAR_POSITIONAL]
        self._named_rest = [name for name, kind in kinds.items() if kind is Parameter.VAR_KEYWORD]

    def encode(self, args: tuple[Any, ...], kwargs: Mapping[str, Any], *, beside: Iterable[str]) -> bytes:
        """The arguments as bytes, or `Invalid`; `beside` are the names that could have been meant too."""
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            known = [*self.names, *beside]
            hint = next((nearest(name, known) for name in kwargs if name not in known), "")
            raise Invalid(f"task {self._task!r} cannot be called so: {error}.{hint}") from None
        try:
            encoded = _encode(bound.arguments)
        except UNENCODABLE as error:
            raise Invalid(
                f"an argument of task {self._task!r} cannot be sent: {error}; pass numbers, text, bytes, lists, dicts, "
                "dates, dataclasses or msgspec Structs, or a path or key of what is stored elsewhere"
            ) from None
        self.decode(encoded)
        return encoded

    def decode(self, encoded: bytes | msgspec.Raw) -> tuple[list[Any], dict[str, Any]]:
        """Bytes as arguments, or `Invalid`."""
        try:
            given = self._decoder.decode(encoded)
        except msgspec.DecodeError as error:
            raise Invalid(f"the arguments do not fit task {self._task!r}: {error}") from None
        args = []
        by_name: dict[str, Any] = {}
        for name in self._positional:
            value = getattr(given, name)
            if value is UNSET:
                break  # what follows was passed by name, or not at all
            args.append(value)
        for name in (*self._positional[len(args) :], *self._by_name):
            value = getattr(given, name)
            if value is not UNSET:
                by_name[name] = value
        for name in self._rest:
            args.extend(getattr(given, name))
        for name in self._named_rest:
            by_name.update(getattr(given, name))
        return args, by_name

    def decode_result(self, encoded: bytes | msgspec.Raw) -> Any:
        """The value that the function returned, by its hint."""
        try:
            return self._result_decoder.decode(encoded)
        except msgspec.DecodeError as error:
            raise Invalid(f"the result of task {self._task!r} is not what its hint says: {error}") from None

    def check(self) -> None:
        """`Invalid` when a hint names a type that cannot be sent."""
        _ = self._decoder, self._result_decoder

    @functools.cached_property
    def _hints(self) -> dict[str, Any]:
        try:
            return typing.get_type_hints(self._function, include_extras=True)
        except Exception as error:  # evaluating a hint can raise anything
            raise Invalid(f"the type hints of task {self._task!r} cannot be resolved: {error}") from None

    @functools.cached_property
    def _decoder(self) -> msgspec.msgpack.Decoder[Any]:
        with self._usable_hints():
            fields = [self._field(name, parameter) for name, parameter in self._signature.parameters.items()]
            arguments = msgspec.defstruct("Arguments", fields, kw_only=True, forbid_unknown_fields=True)
            for field in msgspec.structs.fields(arguments):
                _check(f"parameter {field.name!r}", msgspec.inspect.type_info(field.type))
            return msgspec.msgpack.Decoder(arguments)

    def _field(self, name: str, parameter: Parameter) -> tuple[str, Any] | tuple[str, Any, Any]:
        hint = self._hints.get(name, Any)
        if parameter.kind is Parameter.VAR_POSITIONAL:
            return name, tuple[hint, ...], ()  # type: ignore[valid-type]
        if parameter.kind is Parameter.VAR_KEYWORD:
            return name, dict[str, hint], msgspec.field(default_factory=dict)  # type: ignore[valid-type]
        if parameter.default is Parameter.empty:
            return name, hint
        return name, hint if hint is Any else hint | UnsetType, UNSET

    @functools.cached_property
    def _result_decoder(self) -> msgspec.msgpack.Decoder[Any]:
        with self._usable_hints():
            hint = self._hints.get("return", Any)
            _check("result", msgspec.inspect.type_info(hint))
            return msgspec.msgpack.Decoder(hint)

    @contextlib.contextmanager
    def _usable_hints(self) -> Iterator[None]:
        try:
            yield
        except (TypeError, ValueError) as error:
            raise Invalid(f"the type hints of task {self._task!r} cannot be used: {error}") from None


def _check(what: str, info: msgspec.inspect.Type) -> None:
    """`TypeError` when this type is, or is made of, one that msgspec knows nothing of."""
    match info:
        case msgspec.inspect.CustomType():
            raise TypeError(
                f"its {what} has the type {info.cls.__qualname__}, which cannot be sent; use numbers, text, bytes, "
                "lists, dicts, dates, dataclasses or msgspec Structs"
            )
        case msgspec.inspect.UnionType(types=types):
            parts = types
        case msgspec.inspect.CollectionType(item_type=item):
            parts = (item,)
        case msgspec.inspect.DictType(key_type=key, value_type=value):
            parts = (key, value)
        case _:
            parts = ()
    for part in parts:
        _check(what, part)

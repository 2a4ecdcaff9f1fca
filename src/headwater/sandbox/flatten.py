"""In the child: what a function returns or raises becomes plain data, in which no class can be named.

Plain data is None, booleans, numbers, text, bytes, lists, and tuples that open with a word from this file. A pickle of
that needs no class, so the parent's unpickler refuses all of them (`rebuild.py`). An allow-list of classes would not
do: with a class or a member of an enum in hand, a forged pickle can change it for all its users (opcode BUILD).
"""

import traceback
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from functools import cache
from types import NoneType
from typing import Any
from uuid import UUID

from headwater.sandbox.known import is_ours
from headwater.sandbox.types import SandboxError

PLAIN = frozenset({NoneType, bool, int, float, str, bytes})
TEXT_MAX_CHARS = 4_000  # of an exception that cannot come back as itself, and of its traceback


def flatten(value: object) -> object:
    """Make plain data of a result. Raises TypeError for what cannot come back."""
    kind = type(value)
    if kind in PLAIN:
        return value
    return _writer(kind)(value)


def flatten_error(error: BaseException) -> object:
    """Make plain data of an exception: itself where that can be rebuilt, else its type and text as a SandboxError."""
    if not is_ours(type(error)):
        error.add_note(_where(error))  # most likely a bug: it must show where it was
    try:
        return _exception(error)
    except Exception:  # noqa: BLE001  arguments, attributes and __reduce__ are anyone's code
        return _exception(_stand_in(error))


@cache  # one entry per class that a function returns
def _writer(kind: type[Any]) -> Callable[[Any], object]:
    if kind in _WRITERS:
        return _WRITERS[kind]
    if is_ours(kind) and issubclass(kind, Enum):
        return _enum
    if issubclass(kind, str):  # lxml's text, for one, which drags its document along
        return str
    if is_ours(kind) and is_dataclass(kind):
        return _dataclass_writer(kind)
    if issubclass(kind, Exception):
        return _exception
    raise TypeError(f"a {kind.__module__}.{kind.__qualname__} cannot come back from the sandbox")


def _many(values: Any) -> list[object]:  # noqa: ANN401  any container of anything
    return [value if type(value) in PLAIN else flatten(value) for value in values]


def _enum(member: Enum) -> object:
    return ("enum", type(member).__module__, type(member).__qualname__, flatten(member.value))


def _dataclass_writer(kind: type) -> Callable[[object], object]:
    names = [field.name for field in fields(kind)]
    module, name = kind.__module__, kind.__qualname__
    return lambda value: ("dataclass", module, name, _many(getattr(value, field) for field in names))


def _exception(error: BaseException) -> object:
    kind = type(error)
    reduced: tuple[Any, ...] = error.__reduce__()  # pyright: ignore[reportAssignmentType]  an exception gives no str
    made_by, arguments, *state = reduced
    is_builtin = kind.__module__ == "builtins"
    if made_by is not kind or not (is_builtin or is_ours(kind)) or not issubclass(kind, Exception):
        raise TypeError(f"a {kind.__qualname__} cannot come back as itself")
    if is_builtin:
        kind(*arguments)  # as the parent will: better it fails here
    return ("exception", kind.__module__, kind.__qualname__, _many(arguments), flatten(state[0] if state else {}))


def _stand_in(error: BaseException) -> SandboxError:
    try:
        text = str(error)
    except Exception:  # noqa: BLE001  __str__ is anyone's code
        text = "(its text could not be read)"
    stand_in = SandboxError(type(error).__qualname__, text[:TEXT_MAX_CHARS])
    stand_in.__notes__ = [_where(error)]
    return stand_in


def _where(error: BaseException) -> str:
    lines = traceback.format_tb(error.__traceback__, limit=-20)
    return "In the sandbox:\n" + "".join(lines)[-TEXT_MAX_CHARS:].rstrip()


_WRITERS: dict[type, Callable[[Any], object]] = {
    list: _many,
    tuple: lambda value: ("tuple", _many(value)),
    set: lambda value: ("set", _many(value)),
    frozenset: lambda value: ("frozenset", _many(value)),
    dict: lambda value: ("dict", _many(value), _many(value.values())),
    bytearray: lambda value: ("bytearray", bytes(value)),
    datetime: lambda value: ("datetime", value.isoformat(), value.fold),
    date: lambda value: ("date", value.isoformat()),
    time: lambda value: ("time", value.isoformat()),
    timedelta: lambda value: ("timedelta", value.days, value.seconds, value.microseconds),
    UUID: lambda value: ("uuid", value.bytes),
    Decimal: lambda value: ("decimal", str(value)),
}

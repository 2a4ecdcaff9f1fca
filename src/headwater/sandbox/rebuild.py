"""In the parent: the plain data of an answer becomes what the function returned or raised, or is refused.

The child has touched hostile bytes, so its answer may be forged. Nothing in it is trusted: the unpickler knows no class
at all; which may be made here is decided in `known.py`; how much is made is bounded by how much was sent. The values
themselves are data, not to be believed.
"""

import io
import pickle
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, NoReturn
from uuid import UUID

from headwater.sandbox.flatten import PLAIN
from headwater.sandbox.known import find_class, maker_of
from headwater.sandbox.types import Refused


def rebuild(body: bytes | bytearray) -> object:
    """Make the value that was flattened in the child. Raises Refused."""
    try:
        return _Builder(room=len(body)).build(_NoClass(io.BytesIO(body)).load())
    except Exception as error:  # whatever a forged answer stumbles over, it is refused
        raise Refused(f"{type(error).__name__}: {error}") from error


class _NoClass(pickle.Unpickler):
    def find_class(self, module_name: str, global_name: str, /) -> NoReturn:
        raise Refused(f"it names {module_name}.{global_name}")


class _Builder:
    """Builds one answer. Honest ones share no containers, so they hold no more values than bytes; a forged one may
    refer to the same list over and over, and double at each level."""

    def __init__(self, room: int) -> None:
        self._room = room

    def build(self, plain: Any) -> object:  # noqa: ANN401  what is checked here
        kind: type = type(plain)  # pyright: ignore[reportUnknownVariableType]
        if kind in PLAIN:
            return plain
        if kind is list:
            return self.many(plain)
        if kind is not tuple:
            raise Refused(f"it holds a {kind.__name__}")
        word, *content = plain
        return _VALUES[word](*content) if word in _VALUES else _CONTAINERS[word](self, *content)

    def many(self, values: list[object]) -> list[object]:
        self._room -= len(values)
        if self._room < 0:
            raise Refused("it holds more than was sent")
        return [value if type(value) in PLAIN else self.build(value) for value in values]


def _tuple(builder: _Builder, values: list[object]) -> object:
    return tuple(builder.many(values))


def _set(builder: _Builder, values: list[object]) -> object:
    return set(builder.many(values))


def _frozenset(builder: _Builder, values: list[object]) -> object:
    return frozenset(builder.many(values))


def _dict(builder: _Builder, keys: list[object], values: list[object]) -> object:
    return dict(zip(builder.many(keys), builder.many(values), strict=True))


def _enum(builder: _Builder, module: str, name: str, value: object) -> object:
    return find_class(module, name, Enum)(builder.build(value))


def _dataclass(builder: _Builder, module: str, name: str, values: list[object]) -> object:
    return maker_of(find_class(module, name, object))(builder.many(values))


def _exception(builder: _Builder, module: str, name: str, arguments: list[object], state: object) -> object:
    kind = find_class(module, name, Exception)
    given, attributes = builder.many(arguments), builder.build(state)
    # Of ours, __init__ may want other arguments than those it handed on; it has said what it had to say in the child.
    made: Any = kind(*given) if module == "builtins" else kind.__new__(kind, *given)
    made.__setstate__(attributes)
    return made


def _bytearray(value: bytes) -> bytearray:
    return bytearray(memoryview(value))  # which a number is not: bytearray(2**40) would be honoured


def _datetime(text: str, fold: int) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment.replace(fold=fold) if fold else moment


def _uuid(value: bytes) -> UUID:
    return UUID(bytes=value)


_VALUES: dict[str, Callable[..., object]] = {
    "bytearray": _bytearray,
    "datetime": _datetime,
    "date": date.fromisoformat,
    "time": time.fromisoformat,
    "timedelta": timedelta,
    "uuid": _uuid,
    "decimal": Decimal,
}
_CONTAINERS: dict[str, Callable[..., object]] = {
    "tuple": _tuple,
    "set": _set,
    "frozenset": _frozenset,
    "dict": _dict,
    "enum": _enum,
    "dataclass": _dataclass,
    "exception": _exception,
}

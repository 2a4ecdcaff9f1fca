"""Results and exceptions between child and parent, as MessagePack.

The child has read hostile bytes, so its answer may be forged. The parent decodes a result as the return type of the
function: msgspec builds nothing else, and uses memory in proportion to the bytes received. An exception is named by the
child: only loaded exceptions, of Headwater or built in, are built, from plain values.
"""

import builtins
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from types import FunctionType
from typing import Any, TypeAlias, get_type_hints

import msgspec

from headwater.sandbox.types import SandboxError, TaskRefused

TEXT_MAX_CHARS = 4_000  # of an exception that cannot come back as itself, and of its traceback

_Plain: TypeAlias = bool | int | float | str | None


@dataclass(frozen=True, slots=True)
class _Raised:
    module: str
    name: str
    args: tuple[_Plain, ...]
    attributes: dict[str, _Plain]
    notes: list[str]


def encode(result: object) -> bytes:
    """In the child. Raises TypeError."""
    return _ENCODER.encode(result)


def encode_error(error: BaseException) -> bytes:
    """In the child: an exception, or its type and text as a SandboxError if it cannot be rebuilt."""
    if not _is_ours(type(error)):
        error.add_note(_where(error))  # most likely a bug
    try:
        return _encode_error(error)
    except Exception:  # noqa: BLE001  its attributes may be anything
        return _encode_error(_stand_in(error))


def decode(body: bytes | bytearray, function: Callable[..., object]) -> object:
    """In the parent: what the function returned. Raises TaskRefused where the body is not of its return type."""
    decoder = _decoder(function)
    try:
        return decoder.decode(body)
    except Exception as error:  # whatever a forged body leads to
        raise TaskRefused(f"{type(error).__name__}: {error}") from error


def decode_error(body: bytes | bytearray) -> Exception:
    """In the parent: the exception that the function raised. Raises TaskRefused."""
    try:
        return _rebuild(_ERRORS.decode(body))
    except Exception as error:
        raise TaskRefused(f"{type(error).__name__}: {error}") from error


@lru_cache(maxsize=256)
def _decoder(function: Callable[..., object]) -> msgspec.msgpack.Decoder[Any]:
    """For a class its own type; for a function its return annotation; plain data where it has none."""
    expected: Any = function if isinstance(function, type) else Any
    if isinstance(function, FunctionType):
        expected = get_type_hints(function).get("return", Any)
    return msgspec.msgpack.Decoder(expected)


def _encode_error(error: BaseException) -> bytes:
    kind, attributes = type(error), dict(vars(error))
    notes = attributes.pop("__notes__", [])
    args: Any = error.__reduce__()[1]  # which for an OSError holds the file's name, unlike `args`
    raised = _Raised(kind.__module__, kind.__qualname__, args, attributes, notes)
    encoded = _ENCODER.encode(raised)
    _rebuild(_ERRORS.decode(encoded))  # as the parent will: fail here instead
    return encoded


def _rebuild(raised: _Raised) -> Exception:
    kind = _exception_class(raised.module, raised.name)
    # Of ours, __init__ may take other arguments than those it passed on as `args`.
    error = kind(*raised.args) if kind.__module__ == "builtins" else kind.__new__(kind, *raised.args)
    error.__setstate__(raised.attributes)
    for note in raised.notes:
        error.add_note(note)
    return error


def _exception_class(module: str, name: str) -> type[Exception]:
    """The exception that this module, loaded already, defines under this name."""
    found = getattr(builtins if module == "builtins" else sys.modules.get(module), name, None)
    if isinstance(found, type) and issubclass(found, Exception) and (_is_ours(found) or found.__module__ == "builtins"):
        return found
    raise TaskRefused(f"it names {module}.{name}")


def _is_ours(kind: type) -> bool:
    return kind.__module__.partition(".")[0] == "headwater"


def _stand_in(error: BaseException) -> SandboxError:
    try:
        text = str(error)
    except Exception:  # noqa: BLE001  __str__ may do anything
        text = "(its text could not be read)"
    stand_in = SandboxError(type(error).__qualname__, _encodable(text))
    stand_in.add_note(_encodable(_where(error)))
    return stand_in


def _encodable(text: str) -> str:
    return text[:TEXT_MAX_CHARS].encode("utf-8", "backslashreplace").decode()


def _where(error: BaseException) -> str:
    lines = traceback.format_tb(error.__traceback__, limit=-20)
    return "In the sandbox:\n" + "".join(lines)[-TEXT_MAX_CHARS:].rstrip()


def _plain_text(value: object) -> str:
    """Text of a subclass of str: lxml's keeps its document in memory."""
    if isinstance(value, str):
        return str(value)
    raise TypeError(f"a {type(value).__module__}.{type(value).__qualname__} cannot come back from the sandbox")


_ENCODER = msgspec.msgpack.Encoder(enc_hook=_plain_text)
_ERRORS = msgspec.msgpack.Decoder(_Raised)

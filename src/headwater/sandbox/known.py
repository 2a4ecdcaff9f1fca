"""Which classes may come back from a sandbox: takes a module and a name, leaves the class, or refuses.

Those are the dataclasses, enums and exceptions of `headwater`, and the built-in exceptions that do not end a program.
"""

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import lru_cache
from importlib import import_module
from typing import Any

from headwater.sandbox.types import Refused


def is_ours(kind: type[Any]) -> bool:
    """Whether Headwater defines it."""
    return kind.__module__.partition(".")[0] == "headwater"


@lru_cache(maxsize=1_000)
def find_class(module: str, name: str, base: type) -> Any:  # noqa: ANN401  known by its name only
    """The class that was defined there; one that a module of ours merely imports is refused."""
    is_in_ours = module.partition(".")[0] == "headwater" and not module.endswith("__main__")
    if not is_in_ours and not (module == "builtins" and base is Exception):
        raise Refused(f"it names {module}.{name}")
    found: Any = import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    if not (isinstance(found, type) and issubclass(found, base)):
        raise Refused(f"it names {module}.{name}, which is something else")
    if (found.__module__, found.__qualname__) != (module, name):
        raise Refused(f"it names {module}.{name}, which is of another module")
    return found


@lru_cache(maxsize=1_000)
def maker_of(kind: type[Any]) -> Callable[[list[object]], object]:
    """How a dataclass is made of all its values. A plain __init__ is fastest; one that does more might change them."""
    if not is_dataclass(kind):
        raise Refused(f"{kind.__qualname__} is no dataclass")
    shape = fields(kind)
    names = [field.name for field in shape]
    is_simple = all(field.init and not field.kw_only for field in shape) and not hasattr(kind, "__post_init__")

    def make(values: list[object]) -> object:
        if len(values) != len(names):
            raise Refused(f"{kind.__qualname__} has not {len(values)} fields")
        return kind(*values) if is_simple else _set_all(kind, names, values)

    return make


def _set_all(kind: type[Any], names: list[str], values: list[object]) -> object:
    made: object = object.__new__(kind)
    for name, value in zip(names, values, strict=True):
        object.__setattr__(made, name, value)  # past a frozen one's guard, as its own __init__ does
    return made

"""Everything that may come back, comes back equal and of the same type."""

import pickle
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.errors import PortTaken
from headwater.sandbox.flatten import flatten, flatten_error
from headwater.sandbox.rebuild import rebuild
from headwater.sandbox.types import Overrun, SandboxError

single = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(),
    st.binary(),
    st.binary().map(bytearray),
    st.datetimes(timezones=st.just(UTC) | st.none()),
    st.dates(),
    st.times(),
    st.timedeltas(),
    st.uuids(),
    st.decimals(allow_nan=False),
)
hashable = st.none() | st.integers() | st.text() | st.dates() | st.tuples(st.text(), st.uuids())
anything = st.recursive(
    single | st.sets(hashable) | st.frozensets(hashable),
    lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(hashable, inner),
    max_leaves=10,
)


def there_and_back(value: object) -> object:
    return rebuild(pickle.dumps(flatten(value), 5))


@given(anything)
def test_any_nesting_of_what_may_come_back_comes_back(value: object) -> None:
    returned = there_and_back(value)

    assert returned == value
    assert type(returned) is type(value)


@pytest.mark.parametrize(
    "value",
    [
        datetime(2026, 10, 25, 2, 30, fold=1, tzinfo=timezone(timedelta(hours=2))),
        date(2026, 1, 1),
        time(1, 2, 3, 4, tzinfo=UTC),
        Decimal("NaN"),
        UUID(int=1),
        "lone surrogate \ud800",
        float("inf"),
        2**100,
    ],
    ids=str,
)
def test_a_single_value_comes_back(value: object) -> None:
    assert repr(there_and_back(value)) == repr(value)


def test_text_of_a_class_of_its_own_comes_back_as_text() -> None:
    class Text(str):
        __slots__ = ()

    assert type(there_and_back([Text("a")])[0]) is str  # pyright: ignore[reportIndexIssue]


@pytest.mark.parametrize(
    "error",
    [
        PortTaken("localhost", 80),
        Overrun("time", "too slow"),
        SandboxError("KeyError", "'x'"),
        KeyError("x"),
        FileNotFoundError(2, "gone", "/a"),
        ImportError("no", name="n", path="p"),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "why"),
        ExceptionGroup("both", [ValueError(1), PortTaken("::", 1)]),
        ValueError((1, 2), {"a": b"b"}),
    ],
    ids=repr,
)
def test_an_exception_comes_back_with_all_it_carries(error: Exception) -> None:
    returned = rebuild(pickle.dumps(flatten_error(error), 5))

    assert type(returned) is type(error)
    assert str(returned) == str(error)
    assert repr(vars(returned)) == repr(vars(error))


@pytest.mark.parametrize("error", [ValueError(object()), KeyboardInterrupt("x"), StopAsyncIteration(len)], ids=type)
def test_an_exception_that_can_not_be_rebuilt_becomes_its_type_and_text(error: BaseException) -> None:
    returned = rebuild(pickle.dumps(flatten_error(error), 5))

    assert isinstance(returned, SandboxError)
    assert returned.type_name == type(error).__name__


def test_a_dataclass_of_someone_else_can_not_come_back() -> None:
    @dataclass
    class Mine:
        a: int = 1

    with pytest.raises(TypeError, match="cannot come back"):
        flatten(Mine())

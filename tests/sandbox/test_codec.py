"""What a child answers is decoded as the type that its function declares, or refused."""

import struct
import tracemalloc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from headwater.articles.types import Extracted, Finder
from headwater.errors import InvalidUrl, PortTaken
from headwater.extraction.extract import extract
from headwater.feeds import parse_feed
from headwater.feeds.types import Enclosure, Entry, GeoPoint, ParsedFeed
from headwater.polling.read import read_feed
from headwater.sandbox.codec import decode, decode_error, encode, encode_error
from headwater.sandbox.types import Overrun, SandboxError, TaskRefused
from headwater.sitemaps.read import read_sitemap
from headwater.sitemaps.types import ListedUrl, Sitemap, SitemapFormat
from headwater.sources.opml import OpmlLine, read_opml
from headwater.spider.find_links import find_links
from headwater.spider.types import Links

NOON = datetime(2026, 7, 1, 12, 0, 0, 5, tzinfo=UTC)

text = st.text(st.characters(exclude_categories=["Cs"]))
moments = st.datetimes(timezones=st.just(UTC))
json = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | text,
    lambda inner: st.lists(inner) | st.dictionaries(text, inner),
    max_leaves=10,
)


@dataclass(frozen=True, slots=True)
class Everything:
    ids: frozenset[UUID]
    lengths: tuple[timedelta, ...]
    times: Sequence[datetime]
    finders: Mapping[str, Finder]
    raw: bytes | None
    value: object


def everything() -> Everything:
    raise NotImplementedError


@given(
    st.builds(
        Everything,
        ids=st.frozensets(st.uuids()),
        lengths=st.lists(st.timedeltas()).map(tuple),
        times=st.lists(moments),
        finders=st.dictionaries(text, st.sampled_from(Finder)),
        raw=st.none() | st.binary(),
        value=json,
    )
)
def test_every_type_that_stages_return_comes_back_equal(value: Everything) -> None:
    assert decode(encode(value), everything) == value


@pytest.mark.parametrize(
    ("function", "value"),
    [
        (parse_feed, ParsedFeed("atom10", ttl=timedelta(hours=1), skip_hours=frozenset({1, 2}), entries=(
            Entry("1", published_at=NOON, enclosures=(Enclosure("https://a/"),), place=GeoPoint(1.5, -2.0)),))),
        (extract, Extracted("T", "x", keywords=[], authors=["Ann"], problems=[], published_at=NOON,
                            open_graph={"a": "b"}, linked_data=[{"a": [1, None, 2.5]}],
                            content_hash=b"\xff", simhash=2**63 - 1, origins={"title": Finder.JSON_LD})),
        (read_sitemap, Sitemap(SitemapFormat.INDEX, [ListedUrl("https://a/", NOON)], [], 1, NOON, is_cut=True)),
        (find_links, Links(["https://a/"], [], [], 1)),
        (read_opml, [OpmlLine("a", "https://a/")]),
    ],
    ids=["feed", "page", "sitemap", "links", "opml"],
)  # fmt: skip
def test_what_each_stage_returns_comes_back_as_it_was(function, value: object) -> None:
    returned = decode(encode(value), function)

    assert returned == value
    assert repr(returned) == repr(value)


def test_text_of_a_subclass_of_str_comes_back_as_text() -> None:
    (found,) = etree.fromstring("<a>x</a>").xpath("text()")

    assert type(found) is not str
    assert type(decode(encode([found]), abs)[0]) is str  # pyright: ignore[reportIndexIssue]


FORGED = [
    b"",
    b"\xc1",
    b"\xff" * 20,
    b"\x91" * 100_000,
    *map(msgspec.msgpack.encode, [None, 7, ["x"], {"format": 7, "title": 7}]),
]


@pytest.mark.parametrize("function", [parse_feed, read_feed, extract, read_sitemap, find_links, int])
@pytest.mark.parametrize("forged", FORGED, ids=lambda body: repr(body[:8]))
def test_an_answer_of_another_type_is_refused(forged: bytes, function) -> None:
    if function is int and forged == msgspec.msgpack.encode(7):
        forged = msgspec.msgpack.encode("7")
    with pytest.raises(TaskRefused):
        decode(forged, function)


@pytest.mark.parametrize("function", [parse_feed, read_feed, extract, abs])
def test_an_answer_that_claims_more_than_was_sent_costs_no_memory(function) -> None:
    size = 1_000_000
    nested = b"".join(b"\xdd" + struct.pack(">I", size - 5 * n) for n in range(900))
    fields = msgspec.msgpack.encode({"format": "x", "entries": 0, "linked_data": 0}).replace(
        b"\0", b"\xdd\x7f\xff\xff\xff"
    )
    tracemalloc.start()

    for forged in (nested.ljust(size, b"\0"), fields, b"\xdf\x7f\xff\xff\xff", b"\xc6\x7f\xff\xff\xff"):
        with pytest.raises(TaskRefused):
            decode(forged, function)

    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 * size


@pytest.mark.parametrize(
    "error",
    [
        PortTaken("localhost", 80),
        InvalidUrl("gopher://x", "wrong scheme"),
        Overrun("time", "too slow"),
        SandboxError("KeyError", "'x'"),
        KeyError("x"),
        FileNotFoundError(2, "gone", "/a"),
        ZeroDivisionError("division by zero"),
    ],
    ids=repr,
)
def test_an_exception_comes_back_with_its_attributes(error: Exception) -> None:
    returned = decode_error(encode_error(error))

    assert type(returned) is type(error)
    assert str(returned) == str(error)
    assert vars(returned) == vars(error)


@pytest.mark.parametrize(
    "error",
    [
        ValueError(object()),
        ValueError("lone surrogate \ud800"),
        ExceptionGroup("both", [ValueError(1)]),
        KeyboardInterrupt("x"),
        StopAsyncIteration(len),
    ],
    ids=type,
)
def test_an_exception_that_cannot_be_rebuilt_comes_back_as_its_type_and_text(error: BaseException) -> None:
    returned = decode_error(encode_error(error))

    assert isinstance(returned, SandboxError)
    assert returned.type_name == type(error).__name__


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("builtins", "SystemExit"),
        ("builtins", "KeyboardInterrupt"),
        ("builtins", "eval"),
        ("subprocess", "CalledProcessError"),
        ("headwater.db.embedded", "subprocess"),
        ("headwater.sandbox.pool", "Sandbox"),
        ("headwater.__main__", "main"),
        ("headwater.nowhere", "Error"),
        ("tests.sandbox.work", "StrangeError"),
        ("antigravity", "Error"),
    ],
)
def test_an_exception_that_names_anything_else_is_refused(module: str, name: str) -> None:
    forged = {"module": module, "name": name, "args": [], "attributes": {}, "notes": []}

    with pytest.raises(TaskRefused):
        decode_error(msgspec.msgpack.encode(forged))


def test_a_result_that_holds_itself_cannot_come_back() -> None:
    endless: list[object] = []
    endless.append(endless)

    with pytest.raises(RecursionError):
        encode(endless)

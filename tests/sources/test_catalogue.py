"""Many system feeds at once: read from three forms of file, loaded again without harm; and seed 003's catalogue."""

import json

import pytest

from headwater.audit import store as audit
from headwater.audit.types import COMMAND_LINE, AuditAction
from headwater.db import Database
from headwater.errors import Invalid
from headwater.sources import follow, operate
from headwater.sources.catalogue import (
    CatalogueFeed,
    CatalogueLine,
    LineResult,
    Report,
    load,
    read_catalogue,
    read_feeds,
)
from headwater.sources.store import details, sources
from headwater.sources.types import Changes
from tests.clock import START, MovableClock

A = CatalogueFeed("A", "https://a.example/feed", "World", 30, is_critical=True)
B = CatalogueFeed("B", "https://b.example/feed")
A_TABLE = {"name": "A", "url": A.url, "category": "World", "refresh_interval_minutes": 30, "is_critical": True}
B_TABLE = {"name": "B", "url": B.url}
TOML = f"""
# feeds
[[feed]]
name = "A"
url = "{A.url}"
category = "World"
refresh_interval_minutes = 30
is_critical = true

[[feed]]
name = "B"
url = "{B.url}"
"""
SEED = {
    "Technology": {"TechCrunch": 60, "Hacker News": 60, "Ars Technica": 60, "The Verge": 60},
    "Business & Finance": {"Reuters": 15, "Financial Times": 360, "MarketWatch": 60},
    "World News": {"BBC World News": 15, "The Guardian": 15, "Al Jazeera": 15},
    "Science & Health": {"Scientific American": 360, "Nature News": 360, "Science Daily": 360},
    "Politics": {"Politico": 60, "The Hill": 60},
    "Entertainment": {"Entertainment Weekly": 120, "Variety": 120},
    "Sports": {"ESPN": 30, "Sports Illustrated": 60},
}


@pytest.mark.parametrize(
    "text",
    [
        TOML,
        json.dumps([A_TABLE, B_TABLE]),
        json.dumps({"feed": [A_TABLE, B_TABLE]}, indent=2),
        f"\ufeff{json.dumps(A_TABLE)}\n{json.dumps(B_TABLE)}\n",
    ],
    ids=["toml", "json", "json-table", "json-lines"],
)
def test_a_file_has_one_of_three_forms(text: str) -> None:
    assert read_feeds(text.encode()) == [CatalogueLine(1, A), CatalogueLine(2, B)]


def test_an_invalid_line_is_reported_with_its_number_and_others_are_read() -> None:
    bad = ["{", "17", "{}", '{"name": "x", "url": "u", "colour": 1}', '{"name": "x", "url": "u", "is_critical": "yes"}']
    text = "\n".join([json.dumps(A_TABLE), "", *bad, json.dumps(B_TABLE)])

    lines = read_feeds(text.encode())

    assert [line.number for line in lines] == [1, 3, 4, 5, 6, 7, 8]
    assert [line.feed for line in lines if line.feed] == [A, B]
    assert all(line.problem for line in lines if line.feed is None)


def test_one_object_is_one_feed() -> None:
    assert read_feeds(json.dumps(A_TABLE).encode()) == [CatalogueLine(1, A)]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b" \n",
        b"\xff\xfe",
        b"hello there",
        b"x = 1",
        b"[[feed",
        b"[[cat]]\nname = 'x'",
        b'{"feed": 1}',
        b" " * 10_000_001,
    ],
    ids=["empty", "blank", "no-text", "words", "other", "cut", "cats", "number", "large"],
)
def test_what_is_no_file_of_feeds_is_refused(data: bytes) -> None:
    with pytest.raises(Invalid):
        read_feeds(data)


def test_hostile_json_is_reported() -> None:
    (line,) = read_feeds(b'{"a":' * 100_000)

    assert line.feed is None


def test_the_catalogue_is_that_of_seed_003() -> None:
    feeds = [line.feed for line in read_catalogue() if line.feed]

    assert len(feeds) == len(read_catalogue())
    assert {
        category: {one.name: one.refresh_interval_minutes for one in feeds if one.category == category}
        for category in SEED
    } == SEED
    assert {one.name for one in feeds if one.is_critical} == {"BBC World News", "Reuters", "TechCrunch"}
    assert len({one.url for one in feeds}) == len(feeds) == 19


async def loaded(database: Database, clock: MovableClock, *lines: CatalogueLine) -> Report:
    return await load(database, clock, lines=lines, origin="a test", actor=COMMAND_LINE)


@pytest.mark.database
async def test_loading_follows_what_is_new_and_brings_the_rest_up_to_date(
    database: Database, clock: MovableClock
) -> None:
    async with database.as_system() as conn:
        source = await follow.follow(conn, url="http://A.example/feed?utm_source=x", name="Old", now=START)
        await follow.change(conn, source, Changes(policy="once"))

    first = await loaded(
        database,
        clock,
        CatalogueLine(1, A),
        CatalogueLine(2, B),
        CatalogueLine(3, None, "no feed"),
        CatalogueLine(4, CatalogueFeed("C", "ftp://c")),
    )
    again = await loaded(database, clock, CatalogueLine(1, A), CatalogueLine(2, B))

    async with database.as_system() as conn:
        a = await sources.find_by_id(conn, source_id=source.id)
        b = await sources.find_by_url(conn, url=B.url)
        everything = await sources.list_all(conn)
        log = (await audit.list_entries(conn, limit=10)).entries
    assert [line.result for line in first.lines] == [
        LineResult.CHANGED,
        LineResult.CREATED,
        LineResult.FAILED,
        LineResult.FAILED,
    ]
    assert [line.reason for line in first.lines][2] == "no feed"
    assert [line.result for line in again.lines] == [LineResult.UNCHANGED, LineResult.UNCHANGED]
    assert (a.name, a.category, a.interval_minutes, a.is_critical, a.policy) == ("A", "World", 30, True, "once")
    assert (b.name, b.is_system, b.category, b.interval_minutes) == ("B", True, None, None)
    assert len(everything) == 2
    assert sorted(line.action for line in log) == sorted(
        [
            AuditAction.SOURCES_IMPORTED,
            AuditAction.SOURCES_IMPORTED,
            AuditAction.SOURCE_CHANGED,
            AuditAction.SOURCE_CREATED,
        ]
    )


@pytest.mark.database
async def test_loading_never_switches_on_what_was_switched_off(database: Database, clock: MovableClock) -> None:
    await loaded(database, clock, CatalogueLine(1, A), CatalogueLine(2, B))
    async with database.as_system() as conn:
        a, b = [await sources.find_by_url(conn, url=feed.url) for feed in (A, B)]
        await operate.change(conn, a, wanted=Changes(enabled=False, name="Mine"), actor=COMMAND_LINE, now=START)
        await operate.disable(conn, b, reason="asked to stop", actor=COMMAND_LINE, now=START)
    clock.move(days=1)

    report = await loaded(database, clock, CatalogueLine(1, A), CatalogueLine(2, B))

    async with database.as_system() as conn:
        told = {
            one.name: one for one in [await details.find_details(conn, source_id=x.id, now=clock()) for x in (a, b)]
        }
    assert [line.result for line in report.lines] == [LineResult.CHANGED, LineResult.UNCHANGED]
    assert (told["A"].enabled, told["A"].next_poll_at) == (False, None)
    assert (told["B"].feed_disable_reason, told["B"].next_poll_at) == ("asked to stop", None)


@pytest.mark.database
async def test_the_whole_catalogue_is_loaded_with_its_intervals(database: Database, clock: MovableClock) -> None:
    report = await load(database, clock, lines=read_catalogue(), origin="the catalogue", actor=COMMAND_LINE)

    async with database.as_system() as conn:
        bbc = await sources.find_by_url(conn, url="https://feeds.bbci.co.uk/news/world/rss.xml")
    assert report.counts == {LineResult.CREATED: 19}
    assert (bbc.interval_minutes, bbc.is_critical, bbc.category) == (15, True, "World News")

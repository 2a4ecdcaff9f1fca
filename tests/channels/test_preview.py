"""What a query finds before a channel has it."""

from datetime import timedelta

import pytest

from headwater.channels.preview import preview
from headwater.channels.route import Router
from headwater.channels.types import ChannelPreview
from headwater.db import Connection, Database
from headwater.labels.vocabulary import CRIME, SPORT
from headwater.query.grammar import parse
from headwater.query.types import Audience
from headwater.types import ArticleId
from tests.channels.test_route import an_article
from tests.clock import START, MovableClock

pytestmark = pytest.mark.database


async def routed(conn: Connection, *ids: ArticleId) -> None:
    for number, article_id in enumerate(ids):
        await Router().route(conn, article_ids=[article_id], now=START + timedelta(hours=number))


async def seen(database: Database, clock: MovableClock, text: str, **more: int) -> ChannelPreview:
    return await preview(database, clock, parse(text, Audience.EVERYONE), **more)


async def test_a_preview_shows_the_newest_first(database: Database, clock: MovableClock) -> None:
    async with database.transaction() as conn:
        crime = [await an_article(conn, number, CRIME) for number in (1, 2)]
        await routed(conn, *crime, await an_article(conn, 3, SPORT))

    found = await seen(database, clock, "topic:crime")

    assert (found.examined, found.matched, found.is_whole) == (3, 2, True)
    assert [one.article_id for one in found.examples] == crime[::-1]
    assert found.examples[0].url == "https://example.com/2"


async def test_a_preview_is_limited_in_days_and_articles(database: Database, clock: MovableClock) -> None:
    async with database.transaction() as conn:
        await routed(conn, *[await an_article(conn, number, CRIME) for number in range(1, 6)])
    clock.move(days=1, hours=2)

    recent = await seen(database, clock, "*", days=1)
    assert (recent.examined, recent.is_whole) == (3, True)  # of the hours 2, 3 and 4
    few = await seen(database, clock, "*", most=4)
    assert (few.examined, few.matched, few.is_whole) == (4, 4, False)


async def test_articles_of_private_feeds_only_are_left_out(database: Database, clock: MovableClock) -> None:
    async with database.transaction() as conn:
        await routed(conn, await an_article(conn, 1, CRIME))
        await conn.execute("UPDATE sources SET is_system = false, feed_url = 'https://example.com/f?token=hunter2abc'")

    assert (await seen(database, clock, "*")).matched == 0


async def test_articles_without_a_revision_are_not_examined(database: Database, clock: MovableClock) -> None:
    async with database.transaction() as conn:
        await an_article(conn, 1, CRIME)

    assert (await seen(database, clock, "*")).examined == 0

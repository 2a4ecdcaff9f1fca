"""Articles of a source that becomes public, or no longer is: what channels send of them."""

from headwater.articles.store import state
from headwater.channels.route import Router
from headwater.channels.types import ChannelId, DestinationKind
from headwater.db import Connection, fetch_value
from headwater.publishing import store
from headwater.sources import follow
from headwater.sources.store import custom, sources
from headwater.sources.types import Changes
from headwater.types import ArticleId
from tests.builders import a_source
from tests.channels.test_route import a_channel, classified, queued
from tests.clock import START
from tests.labels.given import an_article_of

NAMED = 'source:"Good News"'


async def a_routed_article(conn: Connection, *, is_system: bool) -> ArticleId:
    source = await a_source(conn, url="https://good.example/feed", now=START)
    await follow.change(conn, source, Changes(name="Good News", is_system=is_system), now=START)
    article_id = await an_article_of(conn, url="https://good.example/1", source_id=source.id)
    await classified(conn, article_id)
    await conn.execute("UPDATE article_state SET classify_at = NULL")
    await Router().route(conn, article_ids=[article_id], now=START)
    return article_id


async def sources_said(conn: Connection, article_id: ArticleId) -> list[str]:
    found = await store.read_records(conn, article_ids=[article_id], with_html=False)
    return [one["name"] for one in found[article_id].sources]


async def is_due(conn: Connection) -> bool:
    return await fetch_value(conn, "SELECT classify_at = %(now)s FROM article_state", {"now": START}) or False


async def sent(conn: Connection, channel_id: ChannelId) -> int:
    return len(await queued(conn, channel_id))


async def test_an_article_of_a_source_that_becomes_public_is_sent_with_its_name(conn: Connection) -> None:
    channel = await a_channel(conn, "good", NAMED, DestinationKind.NONE)
    article_id = await a_routed_article(conn, is_system=False)
    assert (await sources_said(conn, article_id), await sent(conn, channel.id)) == ([], 0)

    source = await sources.find_by_url(conn, url="https://good.example/feed")
    await custom.set_moderation(conn, source_id=source.id, status="approved")
    await follow.route_again(conn, source.id, START)

    assert await is_due(conn)
    assert await Router().route(conn, article_ids=[article_id], now=START) == 1
    assert (await sources_said(conn, article_id), await sent(conn, channel.id)) == (["Good News"], 1)


async def test_an_article_of_a_source_that_operators_give_away_is_revised(conn: Connection) -> None:
    article_id = await a_routed_article(conn, is_system=True)
    source = await sources.find_by_url(conn, url="https://good.example/feed")
    await follow.change(conn, source, Changes(is_system=False), now=START)
    assert await is_due(conn)
    assert await Router().route(conn, article_ids=[article_id], now=START) == 1


async def test_a_new_name_sends_nothing_again(conn: Connection) -> None:
    article_id = await a_routed_article(conn, is_system=True)
    source = await sources.find_by_url(conn, url="https://good.example/feed")
    await follow.change(conn, source, Changes(name="Better News"), now=START)
    assert not await is_due(conn)
    assert await Router().route(conn, article_ids=[article_id], now=START) == 0


async def test_only_the_newest_articles_of_a_source_are_classified_again(conn: Connection) -> None:
    first = await a_routed_article(conn, is_system=True)
    source = await sources.find_by_url(conn, url="https://good.example/feed")
    assert await state.queue_listed(conn, source_id=source.id, at=START, limit=0) == 0
    assert await state.queue_listed(conn, source_id=source.id, at=START, limit=1) == 1
    assert await state.queue_listed(conn, source_id=source.id, at=START, limit=1) == 0, f"{first} is due already"

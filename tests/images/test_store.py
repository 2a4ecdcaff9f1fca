"""What is deleted, and with what."""

from datetime import timedelta
from uuid import UUID

import pytest

from headwater.articles.store import records
from headwater.articles.types import ListedEntry
from headwater.db import Connection
from headwater.ids import new_id
from headwater.images import store
from headwater.images.types import WantedLead
from headwater.sources.store import sources
from headwater.types import ArticleId
from tests.builders import a_source, an_article, keep_image
from tests.clock import START

pytestmark = pytest.mark.database


async def owners(conn: Connection) -> list[UUID]:
    return [row[0] for row in await (await conn.execute("SELECT owner_id FROM images ORDER BY owner_id")).fetchall()]


async def test_an_icon_is_deleted_with_its_source_and_a_lead_image_with_its_article(conn: Connection) -> None:
    source = await a_source(conn)
    await records.keep(conn, seen_at=START, listed=[ListedEntry(source.id, an_article())])
    [article] = [row[0] for row in await (await conn.execute("SELECT id FROM articles")).fetchall()]
    await keep_image(conn, source.id, "icon")
    await keep_image(conn, article, "lead")

    await conn.execute("DELETE FROM articles")
    assert await owners(conn) == [source.id]
    await sources.remove(conn, source_id=source.id)
    assert await owners(conn) == []


async def test_lead_images_of_expired_months_are_deleted_and_those_of_kept_articles_stay(conn: Connection) -> None:
    source = await a_source(conn)
    await records.keep(conn, seen_at=START, listed=[ListedEntry(source.id, an_article())])
    old = UUID("018d0000-0000-7000-8000-000000000001")
    starred = UUID("018d0000-0000-7000-8000-000000000002")
    await conn.execute("UPDATE articles SET id = %(id)s", {"id": starred})
    for owner in (old, starred):
        await keep_image(conn, owner, "lead")
    await keep_image(conn, source.id, "icon")

    assert await store.remove_expired(conn, limit=10) == 1
    assert await owners(conn) == sorted([starred, source.id])


async def test_the_lead_images_of_the_oldest_articles_go_when_the_budget_is_used_up(conn: Connection) -> None:
    leads = sorted(new_id() for _ in range(4))
    for owner in leads:
        await keep_image(conn, owner, "lead", bytes(1_000))
    await keep_image(conn, UUID(int=1), "icon", bytes(5_000))

    assert await store.remove_beyond(conn, budget_bytes=2_500, limit=10) == 2
    assert await owners(conn) == [UUID(int=1), *leads[2:]]


async def test_a_lead_image_that_was_not_fetched_for_days_is_given_up(conn: Connection) -> None:
    waiting, stored = sorted(new_id() for _ in range(2))
    await store.want_leads(conn, leads=[WantedLead(ArticleId(waiting), "https://a.example/")], now=START)
    await keep_image(conn, stored, "lead")

    assert await store.remove_unfetched(conn, before=START, limit=10) == 0
    assert await store.remove_unfetched(conn, before=START + timedelta(days=3), limit=10) == 1
    assert await owners(conn) == [stored]


async def test_an_article_whose_image_is_the_same_is_not_queued_again(conn: Connection) -> None:
    article = ArticleId(new_id())
    for url, at in (("https://a.example/1", 0), ("https://a.example/1", 1), ("https://a.example/2", 2)):
        await store.want_leads(conn, leads=[WantedLead(article, url)], now=START + timedelta(hours=at))
        if at == 0:
            await conn.execute("UPDATE images SET ready_at = NULL")
        ready = [row[0] for row in await (await conn.execute("SELECT ready_at FROM images")).fetchall()]
        assert ready == [START + timedelta(hours=2) if at == 2 else None]

"""What is left after a source or an account was deleted: nothing that names it, in any table of the database."""

from datetime import timedelta

import pytest

from headwater.accounts.store import attempts, users
from headwater.articles.store import content
from headwater.articles.store.listing import latest
from headwater.db import Connection
from headwater.documents import store as documents
from headwater.frontier.store import listing, queue
from headwater.frontier.types import Origin, Submission, UrlFilter
from headwater.polling.store.claims import find_feed
from headwater.sources.store import sources
from headwater.types import ArticleId, PageKind, SourceId
from tests.builders import a_source
from tests.clock import START
from tests.removal.builders import a_full_source, a_full_user, a_user, id_of, list_articles, subscribe, tables_with
from tests.removals import finish_removals

pytestmark = pytest.mark.database


async def the_articles(conn: Connection) -> list[ArticleId]:
    cur = await conn.execute("SELECT id FROM articles ORDER BY id")
    return [ArticleId(row[0]) for row in await cur.fetchall()]


async def test_the_sample_source_has_a_row_in_every_table_that_refers_to_sources(conn: Connection) -> None:
    source = await a_full_source(conn)
    await a_full_user(conn, source)

    cur = await conn.execute(
        """
        SELECT DISTINCT conrelid::regclass::text
        FROM pg_constraint
        WHERE contype = 'f' AND conparentid = 0 AND confrelid IN ('sources'::regclass, 'source_ids'::regclass)
        """
    )
    referring = {row[0] for row in await cur.fetchall() if not row[0].startswith("months.")}
    found = await tables_with(conn, source.id)
    assert referring <= found, "a new table needs a row in tests/removal/builders.py, and a part in removal/parts.py"


async def test_the_sample_user_has_a_row_in_every_table_that_refers_to_users(conn: Connection) -> None:
    user_id = await a_full_user(conn, await a_full_source(conn))

    cur = await conn.execute(
        """
        SELECT DISTINCT conrelid::regclass::text
        FROM pg_constraint
        WHERE contype = 'f'
            AND conparentid = 0
            AND confrelid IN ('users'::regclass, 'user_ids'::regclass, 'analytics_consents'::regclass)
        """
    )
    referring = {row[0] for row in await cur.fetchall() if not row[0].startswith("months.")}
    found = await tables_with(conn, user_id)
    assert referring <= found, "a new table needs a row in tests/removal/builders.py, and a part in removal/parts.py"


async def test_a_deleted_source_leaves_nothing_in_any_table(conn: Connection) -> None:
    source = await a_full_source(conn)
    await a_full_user(conn, source)
    gone = await the_articles(conn)
    await conn.execute("UPDATE marks SET starred_at = NULL")

    await sources.remove(conn, source_id=source.id)
    await finish_removals(conn)

    assert await tables_with(conn, source.id, *gone) == set()
    assert await the_articles(conn) == []
    cur = await conn.execute("SELECT count(*) FROM frontier_url")
    assert await cur.fetchone() == (0,)


async def test_a_deleted_user_leaves_nothing_in_any_table_nor_do_their_sources(conn: Connection) -> None:
    source = await a_full_source(conn)
    user_id = await a_full_user(conn, source)
    gone = await the_articles(conn)

    await users.remove(conn, user_id=user_id)
    await finish_removals(conn)

    assert await tables_with(conn, user_id, source.id, *gone) == set()


async def test_a_request_that_counts_after_its_user_was_deleted_leaves_no_count(conn: Connection) -> None:
    user_id = await a_user(conn)
    await users.remove(conn, user_id=user_id)
    await attempts.count(conn, bucket=f"saved pages:{user_id}", now=START, ends_at=START + timedelta(days=1))

    await finish_removals(conn)

    assert await tables_with(conn, user_id) == set()


async def test_a_source_and_its_articles_are_hidden_before_anything_is_removed(conn: Connection) -> None:
    source = await a_full_source(conn)
    found = await content.search(conn, words="herons")

    await sources.remove(conn, source_id=source.id)

    assert found
    assert await content.search(conn, words="herons") == []
    assert await latest(conn, limit=10) == []
    assert await sources.list_all(conn) == []
    stats = await listing.stats(conn, now=START)
    assert (list(stats.by_source), sum(stats.by_status.values())) == ([], 0)


async def test_an_account_ends_at_once_and_its_address_is_free(conn: Connection) -> None:
    user_id = await a_full_user(conn, await a_full_source(conn))

    await users.remove(conn, user_id=user_id)
    again = await a_user(conn)
    await finish_removals(conn)

    left = await tables_with(conn, user_id)
    assert left == set()
    assert await tables_with(conn, again) == {"users", "user_ids"}


async def test_the_ways_in_end_with_the_account_before_anything_is_removed(conn: Connection) -> None:
    user_id = await a_full_user(conn, await a_full_source(conn))

    await users.remove(conn, user_id=user_id)

    left = await tables_with(conn, user_id)
    assert left & {"users", "sessions", "api_tokens", "mailed_tokens", "outside_identities"} == set()


async def test_what_another_source_lists_stays_and_its_url_is_that_sources(conn: Connection) -> None:
    leaving = await a_source(conn, url="https://a.example/feed")
    staying = await a_source(conn, url="https://b.example/feed")
    await list_articles(conn, leaving.id, "https://x.example/own", "https://x.example/shared")
    await list_articles(conn, staying.id, "https://x.example/shared")

    await sources.remove(conn, source_id=leaving.id)
    await finish_removals(conn)

    urls = await listing.list_urls(conn, wanted=UrlFilter(), now=START, limit=10)
    assert [(one.url, one.source_id) for one in urls.urls] == [("https://x.example/shared", staying.id)]
    assert [one.url for one in await latest(conn, limit=10)] == ["https://x.example/shared"]
    stats = await listing.stats(conn, now=START)
    assert [(one.source_id, one.pending) for one in stats.by_source] == [(staying.id, 1)]


async def test_two_sources_that_list_the_same_leave_nothing_when_both_are_deleted(conn: Connection) -> None:
    both = [await a_source(conn, url=f"https://{name}.example/feed") for name in "ab"]
    for source in both:
        await list_articles(conn, source.id, "https://x.example/shared")

    for source in both:
        await sources.remove(conn, source_id=source.id)
    await finish_removals(conn)

    assert await the_articles(conn) == []
    assert await tables_with(conn, *(source.id for source in both)) == set()


async def test_an_article_that_a_reader_starred_stays(conn: Connection) -> None:
    source, user_id = await a_source(conn), await a_user(conn)
    await subscribe(conn, user_id, source.id)
    await list_articles(conn, source.id, "https://x.example/starred", "https://x.example/other")
    kept = await id_of(conn, "https://x.example/starred")
    await conn.execute(
        "INSERT INTO marks (user_id, article_id, starred_at) VALUES (%(user)s, %(article)s, now())",
        {"user": user_id, "article": kept},
    )

    await sources.remove(conn, source_id=source.id)
    await finish_removals(conn)
    starred = await the_articles(conn)
    await users.remove(conn, user_id=user_id)
    await finish_removals(conn)

    assert starred == [kept]
    assert await the_articles(conn) == [], "nobody has starred it any more"
    urls = await listing.list_urls(conn, wanted=UrlFilter(), now=START, limit=10)
    assert [one.url for one in urls.urls] == [], "it would be fetched again, and come back without an owner"


async def test_a_feed_of_a_deleted_user_that_others_follow_still_counts_as_a_users(conn: Connection) -> None:
    source = await a_full_source(conn)
    ada, bob = await a_full_user(conn, source), await a_user(conn, "bob@example.com")
    await subscribe(conn, bob, source.id)

    await users.remove(conn, user_id=ada)
    await finish_removals(conn)

    feed = await find_feed(conn, source_id=source.id)
    assert feed is not None
    assert (feed.submitted_by, feed.is_system) == (None, False)


async def test_a_url_that_was_submitted_by_hand_stays_with_its_article(conn: Connection) -> None:
    url = "https://x.example/by-hand"
    await queue.submit(conn, submissions=[Submission(url, Origin.MANUAL)], now=START)
    source = await a_source(conn)
    await list_articles(conn, source.id, url, "https://x.example/other")

    await sources.remove(conn, source_id=source.id)
    await finish_removals(conn)

    urls = await listing.list_urls(conn, wanted=UrlFilter(), now=START, limit=10)
    assert [one.url for one in urls.urls] == [url]
    assert [one.url for one in await latest(conn, limit=10)] == [url]


async def test_a_sitemap_that_another_source_is_read_from_stays_queued_for_it(conn: Connection) -> None:
    sitemap = "https://x.example/sitemap.xml"
    ids: list[SourceId] = []
    for name in "ab":
        source = await a_source(conn, url=f"https://{name}.example/feed")
        await conn.execute(
            "UPDATE sources SET sitemap_url = %(url)s WHERE id = %(id)s", {"url": sitemap, "id": source.id}
        )
        queued = [Submission(sitemap, Origin.SITEMAP, source.id, kind=PageKind.SITEMAP)]
        await queue.submit(conn, submissions=queued, now=START)
        ids.append(source.id)

    await sources.remove(conn, source_id=ids[0])
    await finish_removals(conn)

    urls = await listing.list_urls(conn, wanted=UrlFilter(), now=START, limit=10)
    assert [(one.url, one.source_id) for one in urls.urls] == [(sitemap, ids[1])]


async def test_only_deletions_of_articles_are_queued_for_the_search_index(conn: Connection) -> None:
    await documents.listen(conn, target="index")
    source = await a_full_source(conn)
    gone = await the_articles(conn)
    await sources.remove(conn, source_id=source.id)
    await finish_removals(conn)

    cur = await conn.execute("SELECT article_id, action FROM deliveries ORDER BY article_id")
    assert await cur.fetchall() == [(article_id, "delete") for article_id in gone]
    assert await tables_with(conn, source.id, *gone) == {"deliveries"}

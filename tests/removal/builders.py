"""Sources and users with a row in every table that can name them."""

from uuid import UUID

from psycopg import sql

from headwater.analytics import store as analytics
from headwater.analytics.types import ReaderAction
from headwater.articles.store import content, records
from headwater.articles.types import ListedEntry, NewContent
from headwater.bodies import store as bodies
from headwater.bodies.types import NewBody
from headwater.db import Connection, Database
from headwater.frontier.store import queue
from headwater.frontier.types import Origin, Submission
from headwater.ids import new_id
from headwater.library.store import subscriptions
from headwater.sources.types import Source
from headwater.types import ArticleId, PageKind, SourceId, UserId
from tests.articles.builders import a_record
from tests.builders import a_source, an_article
from tests.clock import START

OF_SOURCE = """
INSERT INTO poll_events (source_id, at, outcome, bytes, took_ms, new_articles)
VALUES (%(id)s, %(now)s, 'polled', 1, 1, 1);
INSERT INTO source_reputation (source_id, articles, quality, spam_share, reputation, computed_at)
VALUES (%(id)s, 1, 50, 0, 50, %(now)s);
INSERT INTO poll_days (day, source_id, polls, failures, new_articles, took_ms)
VALUES (%(now)s::date, %(id)s, 1, 0, 1, 1);
INSERT INTO poll_leaders (period, kind, place, source_id, polls, failures, new_articles)
VALUES ('day', 'slow', 1, %(id)s, 1, 0, 1);
INSERT INTO sitemaps (url_key, source_id, url, last_read_at, url_count, new_count, idle_since)
VALUES (%(key)s, %(id)s, 'https://full.example/sitemap.xml', %(now)s, 1, 1, %(now)s);
INSERT INTO daily_reads (source_id, kind, last_read_at, day, spent)
VALUES (%(id)s, 'sitemap', %(now)s, %(now)s::date, 1), (%(id)s, 'list', %(now)s, %(now)s::date, 1);
INSERT INTO source_suggestions (source_id, feed_url, title, entry_count, found_at)
VALUES (%(id)s, 'https://full.example/other', 'x', 1, %(now)s);
UPDATE hosts SET failing_sources = ARRAY[%(id)s]
"""

OF_USER = """
UPDATE sources SET submitted_by = %(user)s, is_system = false WHERE id = %(source)s;
INSERT INTO marks (user_id, article_id, is_read, starred_at) VALUES (%(user)s, %(article)s, true, %(now)s);
INSERT INTO summaries (id, user_id, status, created_at) VALUES (%(id)s, %(user)s, 'ready', %(now)s);
INSERT INTO reading_options (user_id) VALUES (%(user)s);
INSERT INTO read_undo (user_id, id, marked_at, article_count, read_until, kept_unread)
VALUES (%(user)s, %(id)s, %(now)s, 1, '{}', '{}');
INSERT INTO views (id, user_id, name, icon, query, place) VALUES (%(id)s, %(user)s, 'x', 'star', 'x', 1);
INSERT INTO rules (id, user_id, name, query, stars) VALUES (%(id)s, %(user)s, 'x', 'x', true);
INSERT INTO rule_log (rule_id, article_id, user_id, applied_at, actions)
VALUES (%(id)s, %(article)s, %(user)s, %(now)s, '{star}');
INSERT INTO notification_targets (id, user_id, kind) VALUES (%(id)s, %(user)s, 'email');
INSERT INTO notifications (target_id, article_id, user_id, rule_id, queued_at)
VALUES (%(id)s, %(article)s, %(user)s, %(id)s, %(now)s);
INSERT INTO imports (id, user_id, file_name, created_at) VALUES (%(id)s, %(user)s, 'x', %(now)s);
INSERT INTO import_lines (id, user_id, import_id, number, name, url, category)
VALUES (%(id)s, %(user)s, %(id)s, 1, 'x', 'https://x.example/', '');
INSERT INTO events (id, user_id, event_type, created_at) VALUES (%(id)s, %(user)s, 'user_login', %(now)s);
INSERT INTO submissions (source_id, user_id, name, host, sample, submitted_at, decided_by)
VALUES (%(source)s, %(user)s, 'x', 'full.example', '{}', %(now)s, %(user)s);
INSERT INTO blocked_domains (domain, reason, blocked_by, blocked_by_name, blocked_at)
VALUES ('bad.example', 'x', %(user)s, 'Ada', %(now)s);
INSERT INTO bulk_changes (id, user_id, created_at, action, value, source_ids)
VALUES (%(id)s, %(user)s, %(now)s, 'enable', '', ARRAY[%(source)s]);
INSERT INTO saved_filters (id, user_id, page, name, query) VALUES (%(id)s, %(user)s, 'sources', 'x', 'q=x');
INSERT INTO audit_log (id, at, actor_id, actor_name, action, subject_name)
VALUES (%(id)s, %(now)s, %(user)s, 'Ada', 'source_created', 'x');
INSERT INTO outgoing_mail (id, kind, email, email_key, user_id, site, queued_at, ready_at)
VALUES (%(id)s, 'reset', 'x', 'x', %(user)s, 'https://x.example', %(now)s, %(now)s);
INSERT INTO outside_identities (issuer, subject, user_id) VALUES ('x', 'x', %(user)s);
INSERT INTO api_tokens (id, user_id, name, token_hash, scopes, created_at)
VALUES (%(id)s, %(user)s, 'x', '1', '{}', %(now)s);
INSERT INTO mailed_tokens (token_hash, user_id, purpose, email, good_until)
VALUES ('1', %(user)s, 'reset', 'x', %(now)s);
INSERT INTO sessions (
    id, user_id, access_hash, access_until, refresh_hash, refresh_until, started_at, seen_at, address, user_agent
)
VALUES (%(id)s, %(user)s, '1', %(now)s, '2', %(now)s, %(now)s, %(now)s, '', '')
"""


async def a_user(conn: Connection, email: str = "ada@example.com") -> UserId:
    user_id = UserId(new_id())
    await conn.execute(
        "INSERT INTO users (id, email, email_key) VALUES (%(id)s, %(email)s, %(email)s)",
        {"id": user_id, "email": email},
    )
    return user_id


async def subscribe(conn: Connection, user_id: UserId, source_id: SourceId) -> UUID:
    subscription_id = new_id()
    await subscriptions.add(
        conn, subscription_id=subscription_id, user_id=user_id, source_id=source_id, name="x", category=None, now=START
    )
    return subscription_id


async def list_articles(conn: Connection, source_id: SourceId, *urls: str) -> None:
    """A feed lists these, and they are queued."""
    listed = [ListedEntry(source_id, an_article(url)) for url in urls]
    await records.keep(conn, seen_at=START, listed=listed)
    queued = [Submission(url, Origin.FEED, source_id) for url in urls]
    await queue.submit(conn, submissions=queued, now=START)


async def id_of(conn: Connection, url: str) -> ArticleId:
    cur = await conn.execute("SELECT id FROM articles WHERE url = %(url)s", {"url": url})
    row = await cur.fetchone()
    assert row is not None
    return ArticleId(row[0])


async def a_full_source(conn: Connection, url: str = "https://full.example/feed", count: int = 3) -> Source:
    """A source with rows in every table that holds rows of sources."""
    source = await a_source(conn, url=url)
    urls = [f"https://full.example/{number}" for number in range(count)]
    await list_articles(conn, source.id, *urls)
    for number, one in enumerate(urls):
        article_id, key = await id_of(conn, one), an_article(one).url_key
        record = NewContent(article_id, one, key, a_record(f"A text about herons, number {number}. " * 20))
        await content.save(conn, records=[record], now=START)
    page = NewBody(urls[0], urls[0], PageKind.ARTICLE, source.id, 0, "text/html", b"<p>", START)
    await bodies.keep(conn, bodies=[page])
    values = {"id": source.id, "now": START, "key": source.id.bytes}
    for statement in OF_SOURCE.split(";"):
        await conn.execute(statement.encode(), values)
    return source


async def a_full_user(conn: Connection, source: Source, email: str = "ada@example.com") -> UserId:
    """A user with rows in every table that holds rows of users; they follow and submitted the source."""
    user_id = await a_user(conn, email)
    await subscribe(conn, user_id, source.id)
    article_id = await id_of(conn, "https://full.example/0")
    values = {"id": new_id(), "user": user_id, "source": source.id, "now": START, "article": article_id}
    for statement in OF_USER.split(";"):
        await conn.execute(statement.encode(), values)
    await analytics.answer(conn, user_id=user_id, consents=True, now=START)
    await conn.execute("SELECT set_config('headwater.user_id', %(id)s, true)", {"id": str(user_id)})
    await analytics.record(conn, article_id=article_id, action=ReaderAction.OPEN, now=START)
    await conn.execute("SELECT set_config('headwater.user_id', '', true)")
    await conn.execute("INSERT INTO analytics_refusals (user_id, refused_at) VALUES (%(user)s, %(now)s)", values)
    return user_id


async def tables_with(conn: Connection, *values: UUID) -> set[str]:
    """Every table of the database that has one of these ids in any column, found from the catalogue."""
    cur = await conn.execute(
        """
        SELECT nspname, relname
        FROM pg_class
        JOIN pg_namespace ON pg_namespace.oid = relnamespace
        WHERE relkind IN ('r', 'p') AND NOT relispartition AND nspname IN ('public', 'months')
        """
    )
    found: set[str] = set()
    for schema, table in await cur.fetchall():
        query = sql.SQL("SELECT EXISTS (SELECT FROM {} AS one WHERE one::text ~ %(any)s)").format(
            sql.Identifier(schema, table)
        )
        row = await (await conn.execute(query, {"any": "|".join(str(value) for value in values)})).fetchone()
        if row and row[0]:
            found.add(table)
    return found


async def count(database: Database, table: str) -> int:
    async with database.as_system() as conn:
        row = await (await conn.execute(sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(table)))).fetchone()
    return row[0] if row else 0

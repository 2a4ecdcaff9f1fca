"""Migration 0018 moves what is there into months, and back again, and loses nothing."""

from typing import Any

import psycopg
import pytest

from headwater.db.migrate import migrate_down, migrate_up

pytestmark = pytest.mark.database

PARTITIONS = 18

FILL = (
    "INSERT INTO users (id, email, email_key) VALUES (md5('u')::uuid, 'u@example.com', 'u@example.com')",
    "INSERT INTO sources (id, name, feed_url, feed_url_key) VALUES (md5('s')::uuid, 'x', 'x', 'x')",
    # One of each month of two years, one with an id that is no time, one from the future.
    """
    CREATE TEMPORARY TABLE given AS
    SELECT (
            lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0')
            || '7000800000000000' || lpad(n::text, 4, '0')
        )::uuid AS id, n, at
    FROM generate_series(1, 24) AS n, LATERAL (SELECT now() - n * interval '1 month' AS at) AS moment
    UNION ALL SELECT 'ffffffff-0000-4000-8000-000000000000', 25, now()
    UNION ALL SELECT '00000000-0000-4000-8000-000000000000', 26, now()
    """,
    """
    INSERT INTO articles (id, url, url_key, title, seen_at, published_at)
    SELECT id, 'https://example.com/' || n, sha256(n::text::bytea), 'title ' || n, at, at - interval '1 day'
    FROM given
    """,
    """
    INSERT INTO article_sources (article_id, source_id, entry_id, seen_at, listed_at)
    SELECT id, md5('s')::uuid, n::text, at, at - interval '1 day' FROM given
    """,
    """
    INSERT INTO content (article_id, url, url_key, text, keywords, authors, language, open_graph, linked_data, origins,
        word_count, content_hash, duplicate_of, near_duplicate_of, richness, extracted_at)
    SELECT id, 'https://example.com/' || n, sha256(n::text::bytea), CASE WHEN n <> 2 THEN 'river ' || n END,
        '{a}', '{b}', 'en', '{}', '[]', '{}', 2, sha256(n::text::bytea),
        CASE WHEN n = 2 THEN (SELECT id FROM given WHERE n = 1) END,
        CASE WHEN n = 3 THEN (SELECT id FROM given WHERE n = 1) END, 1, at
    FROM given
    ORDER BY n
    """,
    """
    INSERT INTO marks (user_id, article_id, is_read, starred_at)
    SELECT md5('u')::uuid, id, n % 2 = 0, CASE WHEN n % 3 = 0 THEN at END FROM given
    """,
)
TABLES = ("articles", "article_sources", "content", "marks")


async def all_rows(conn: psycopg.AsyncConnection) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for table in TABLES:
        cur = await conn.execute(f"SELECT to_jsonb(t) - 'updated_at' FROM {table} AS t ORDER BY t::text".encode())
        found[table] = sorted(str(row[0]) for row in await cur.fetchall())
    return found


async def test_what_is_there_is_moved_into_months_and_back(empty_conninfo: str) -> None:
    await migrate_up(empty_conninfo, to=PARTITIONS - 1)
    async with await psycopg.AsyncConnection.connect(empty_conninfo) as conn:
        for statement in FILL:
            await conn.execute(statement)
        before = await all_rows(conn)

    await migrate_up(empty_conninfo, to=PARTITIONS)
    async with await psycopg.AsyncConnection.connect(empty_conninfo) as conn:
        moved = await all_rows(conn)
        parts = await (await conn.execute("SELECT count(DISTINCT tableoid), count(*) FROM articles")).fetchone()
        urls = await (await conn.execute("SELECT count(*) FROM article_urls")).fetchone()
    await migrate_down(empty_conninfo, to=PARTITIONS - 1)
    async with await psycopg.AsyncConnection.connect(empty_conninfo) as conn:
        back = await all_rows(conn)
        (left,) = await (await conn.execute("SELECT count(*) FROM pg_namespace WHERE nspname = 'months'")).fetchall()

    assert before["articles"]
    assert moved == before
    assert parts == (26, 26), "each month is a table of its own, and so is what lies before and after them"
    assert urls == (26,)
    assert back == before
    assert left == (0,)

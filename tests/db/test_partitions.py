"""The months of a new database, and their way back."""

import psycopg
import pytest

from headwater.db.migrate import migrate_down, migrate_up

pytestmark = pytest.mark.database

INSERT = """
    INSERT INTO articles (id, url, url_key, title, seen_at)
    SELECT id, id::text, sha256(id::text::bytea), '', now()
    FROM unnest(ARRAY[
        '00000000-0000-4000-8000-000000000000',
        first_id_at(now() - interval '2 years'),
        first_id_at(now()),
        first_id_of((date_trunc('month', now() AT TIME ZONE 'UTC') + interval '1 month')::date),
        first_id_of((date_trunc('month', now() AT TIME ZONE 'UTC') + interval '2 months')::date),
        'ffffffff-0000-4000-8000-000000000000'
    ]::uuid[]) AS id
    RETURNING regexp_replace(tableoid::regclass::text, 'y[0-9]+m[0-9]+', 'month')
"""


async def test_a_new_database_has_this_month_and_the_next(empty_conninfo: str) -> None:
    await migrate_up(empty_conninfo)

    async with await psycopg.AsyncConnection.connect(empty_conninfo) as conn:
        parts = await (await conn.execute(INSERT)).fetchall()
        count = await (await conn.execute("SELECT count(DISTINCT tableoid) FROM articles")).fetchone()

    assert [part for (part,) in parts] == [
        "months.articles_kept",
        "months.articles_kept",
        "months.articles_month",
        "months.articles_month",
        "months.articles_default",
        "months.articles_default",
    ]
    assert count == (4,)


async def test_the_way_back_drops_detached_months_too(empty_conninfo: str) -> None:
    await migrate_up(empty_conninfo)
    async with await psycopg.AsyncConnection.connect(empty_conninfo) as conn:
        await conn.execute(INSERT)
        await conn.execute("SELECT let_article_month_go(min(month)) FROM article_months() AS month")
        detached = await (await conn.execute("SELECT article_tables_gone()")).fetchall()

    await migrate_down(empty_conninfo, to=0)

    async with await psycopg.AsyncConnection.connect(empty_conninfo) as conn:
        left = await (await conn.execute("SELECT count(*) FROM pg_namespace WHERE nspname = 'months'")).fetchone()
    assert ("articles_gone_before" in str(detached), len(detached)) == (True, 12)
    assert left == (0,)

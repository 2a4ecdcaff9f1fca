"""Months of articles that lie in the past, as a Headwater has them that is older than its tests."""

from datetime import date

from headwater.db import Connection

FORGET = """
    DO $$
    DECLARE
        part regclass;
    BEGIN
        FOR part IN
            SELECT inhrelid FROM pg_inherits
            WHERE inhparent = ANY ('{articles, article_sources, content, marks}'::regclass[])
        LOOP
            EXECUTE format('DROP TABLE %s', part);
        END LOOP;
    END
    $$
"""


async def make_months(conn: Connection, *, since: date, until: date) -> None:
    """These months and no others; what is in any is dropped."""
    await conn.execute(FORGET)
    await conn.execute("SELECT begin_article_months(%(since)s)", {"since": since})
    await conn.execute("SELECT make_article_months(%(since)s, %(until)s)", {"since": since, "until": until})

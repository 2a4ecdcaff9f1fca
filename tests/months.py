"""Months of articles that lie in the past, as a Headwater has them that is older than its tests."""

from datetime import date

from headwater.db import Connection


async def make_months(conn: Connection, *, since: date, until: date) -> None:
    """These months and no others, while there is no article."""
    await conn.execute("SELECT begin_article_months(%(since)s)", {"since": since})
    await conn.execute("SELECT make_article_months(%(since)s, %(until)s)", {"since": since, "until": until})

"""Months of articles in the past, as an old installation has them."""

from datetime import date

from headwater.db import Connection


async def make_months(conn: Connection, *, since: date, until: date) -> None:
    """These months and no others, while there is no article. The connection is that of the owner of the tables."""
    await conn.execute("SELECT begin_article_months(%(since)s)", {"since": since})
    await conn.execute("SELECT make_article_months(%(since)s, %(until)s)", {"since": since, "until": until})

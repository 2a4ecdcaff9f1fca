"""Files that the feeds of a user list with an article."""

from headwater.articles.enclosures import from_stored
from headwater.db import Connection, fetch_column
from headwater.feeds.types import Enclosure
from headwater.types import ArticleId


async def find_enclosures(conn: Connection, *, article_id: ArticleId) -> list[Enclosure]:
    """Those of the user's feeds, and of the article's own site: its feed writes the record that all users see."""
    statement = """
        SELECT enclosures
        FROM article_sources
        WHERE article_id = %(article_id)s AND enclosures IS NOT NULL
            AND (title IS NULL OR EXISTS (
                SELECT FROM subscriptions WHERE subscriptions.source_id = article_sources.source_id
            ))
        ORDER BY title IS NOT NULL, seen_at, source_id
    """
    return from_stored(await fetch_column(conn, statement, {"article_id": article_id}))

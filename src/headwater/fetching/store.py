"""What fetching asks of tables that others write."""

from collections.abc import Sequence

from headwater.db import Connection
from headwater.types import SourceId


async def wanting_sitemaps(conn: Connection, *, sources: Sequence[SourceId]) -> set[SourceId]:
    """Those of these sources whose articles are found by their sites' sitemaps."""
    cur = await conn.execute(
        """
        SELECT id
        FROM sources
        WHERE id = ANY(%(sources)s)
            AND ingestion_mode <> 'spider'
            AND (sitemap_url IS NOT NULL OR feed_url IS NULL)
        """,
        {"sources": list(sources)},
    )
    return {row[0] for row in await cur.fetchall()}

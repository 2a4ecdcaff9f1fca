"""What the query of a channel finds among the newest articles, before it is saved. Limited in articles and time."""

from datetime import datetime, timedelta
from typing import Final

from headwater.channels.store import recent
from headwater.channels.store.deliveries import LAST_REVISION
from headwater.channels.types import ChannelPreview
from headwater.channels.visible import find_visible
from headwater.db import Connection, Database
from headwater.query.sql import SqlCondition, condition
from headwater.query.store import find_among
from headwater.query.types import Audience, Query
from headwater.types import ArticleId, Clock

DAYS: Final = 7
DAYS_MOST: Final = 30
ARTICLES_MOST: Final = 5_000
EXAMPLES_MOST: Final = 20
TIME_LIMIT: Final = timedelta(seconds=5)
_BATCH: Final = 500


async def preview(
    database: Database, clock: Clock, query: Query, *, days: int = DAYS, most: int = ARTICLES_MOST
) -> ChannelPreview:
    """What a channel with this query would have sent, the newest first. Raises DatabaseUnavailable."""
    began = clock()
    since, where = began - timedelta(days=days), condition(query.tree, Audience.EVERYONE, now=began)
    before, examined, found, is_whole = LAST_REVISION, 0, list[ArticleId](), False
    while examined < most and clock() - began < TIME_LIMIT:
        async with database.transaction() as conn:
            batch = await recent.list_revised(conn, before=before, limit=min(_BATCH, most - examined))
            inside = [one.article_id for one in batch if one.revised_at >= since]
            found += await _find(conn, where, inside, began)
        examined += len(inside)
        if not batch or len(inside) < len(batch):
            is_whole = True
            break
        before = batch[-1].revision
    async with database.transaction() as conn:
        examples = await recent.describe(conn, article_ids=found[:EXAMPLES_MOST])
    return ChannelPreview(days, examined, len(found), is_whole, examples)


async def _find(conn: Connection, where: SqlCondition, article_ids: list[ArticleId], now: datetime) -> list[ArticleId]:
    """Those that the query finds, without those that only private feeds list."""
    return await find_visible(conn, await find_among(conn, where=where, article_ids=article_ids), now)

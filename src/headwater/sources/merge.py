"""Two sources become one: what people would miss of the first goes over to the second, and the first is removed.

What is left behind: how polling it went, and where it was thought to have gone. What cannot go over keeps them apart.
"""

from headwater.analytics import store as analytics
from headwater.articles.store import links
from headwater.db import Connection
from headwater.library.store import subscriptions
from headwater.polling.store import results as feed_results
from headwater.sources.decide import may_join
from headwater.sources.store import merging, sources
from headwater.types import SourceId


async def merge(conn: Connection, *, source_id: SourceId, into: SourceId) -> bool:
    """One source joins another, if it may. Returns whether it is gone."""
    pair = await merging.lock_pair(conn, source_id=source_id, other_id=into)
    if pair is None or not may_join(pair):
        return False
    await subscriptions.keep_read_state(
        conn, source_id=source_id, to=into
    )  # before articles come in that nobody has marked
    await feed_results.count_in(conn, source_id=into, articles=await links.relink(conn, source_id=source_id, to=into))
    await analytics.count_for(conn, source_id=source_id, to=into)
    await subscriptions.drop_duplicates(conn, source_id=source_id, of=into)
    await subscriptions.move(conn, source_id=source_id, to=into)
    await merging.inherit(conn, source_id=source_id, to=into)
    await sources.remove(conn, source_id=source_id)
    return True

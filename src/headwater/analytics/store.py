"""Every statement on `analytics_consents`, `analytics_refusals` and `feed_item_clicks`.

Statements for one user run under `Database.as_user`; counts run under `as_system`, and are shown for at least FEWEST
users.
"""

from datetime import datetime

from headwater.analytics.types import (
    FEWEST,
    Popularity,
    PopularityOrder,
    PopularityPeriod,
    PopularityStep,
    Ranking,
    ReaderAction,
    Readers,
)
from headwater.db import Connection, fetch_all, fetch_one, fetch_value
from headwater.ids import new_id
from headwater.types import ArticleId, SourceId, UserId


async def find_answer(conn: Connection) -> bool | None:
    """Whether the user consented; None if they have not answered."""
    statement = """
        SELECT CASE
            WHEN EXISTS (SELECT FROM analytics_consents WHERE user_id = current_person()) THEN true
            WHEN EXISTS (SELECT FROM analytics_refusals WHERE user_id = current_person()) THEN false
        END
    """
    return await fetch_value(conn, statement)


async def answer(conn: Connection, *, user_id: UserId, consents: bool, now: datetime) -> None:
    """Store a user's answer. Withdrawing consent deletes their clicks at once, by a foreign key."""
    statement = """
        WITH withdrawn AS (
            DELETE FROM analytics_consents WHERE user_id = %(user_id)s AND NOT %(consents)s
        ), changed AS (
            DELETE FROM analytics_refusals WHERE user_id = %(user_id)s AND %(consents)s
        ), given AS (
            INSERT INTO analytics_consents (user_id, given_at) SELECT %(user_id)s, %(now)s WHERE %(consents)s
            ON CONFLICT (user_id) DO NOTHING
        )
        INSERT INTO analytics_refusals (user_id, refused_at) SELECT %(user_id)s, %(now)s WHERE NOT %(consents)s
        ON CONFLICT (user_id) DO NOTHING
    """
    await conn.execute(statement, {"user_id": user_id, "consents": consents, "now": now})


async def record(conn: Connection, *, article_id: ArticleId, action: ReaderAction, now: datetime) -> None:
    """Count what a user with consent did with an article, once.

    It counts for the first of their sources that listed it, else the first of all. A withdrawal of consent at the same
    moment is waited for, and nothing is counted.
    """
    statement = """
        INSERT INTO feed_item_clicks (id, user_id, article_id, source_id, kind, clicked_at)
        SELECT %(id)s, user_id, %(article_id)s, source_id, %(kind)s, %(now)s
        FROM analytics_consents
        CROSS JOIN LATERAL (
            SELECT source_id
            FROM article_sources LEFT JOIN subscriptions USING (source_id)
            WHERE article_id = %(article_id)s
            ORDER BY subscriptions.id IS NULL, seen_at, source_id LIMIT 1
        ) AS origin
        WHERE user_id = current_person()
        FOR KEY SHARE OF analytics_consents
        ON CONFLICT ON CONSTRAINT feed_item_clicks_once DO NOTHING
    """
    await conn.execute(statement, {"id": new_id(), "article_id": article_id, "kind": action.value, "now": now})


async def count_for(conn: Connection, *, source_id: SourceId, to: SourceId) -> None:
    statement = "UPDATE feed_item_clicks SET source_id = %(to)s WHERE source_id = %(source_id)s"
    await conn.execute(statement, {"source_id": source_id, "to": to})


async def count_readers(conn: Connection) -> Readers:
    statement = "SELECT (SELECT count(*) FROM analytics_consents) AS consenting, (SELECT count(*) FROM users) AS total"
    return await fetch_one(conn, Readers, statement) or Readers(0, 0)


async def rank(conn: Connection, *, since: datetime, order: PopularityOrder, limit: int) -> Ranking:
    """The most popular sources since a time. Reads the clicks since then, and no article."""
    statement = """
        WITH clicked AS (
            SELECT source_id, count(DISTINCT user_id) AS readers,
                count(DISTINCT (user_id, article_id)) FILTER (WHERE kind IN ('open', 'click')) AS reads,
                count(DISTINCT user_id) FILTER (WHERE kind IN ('open', 'click')) AS read_by,
                count(*) FILTER (WHERE kind = 'open') AS opens,
                count(DISTINCT user_id) FILTER (WHERE kind = 'open') AS opened_by,
                count(*) FILTER (WHERE kind = 'click') AS clicks,
                count(DISTINCT user_id) FILTER (WHERE kind = 'click') AS clicked_by,
                count(*) FILTER (WHERE kind = 'star') AS stars,
                count(DISTINCT user_id) FILTER (WHERE kind = 'star') AS starred_by
            FROM feed_item_clicks WHERE clicked_at >= %(since)s GROUP BY source_id
        ), followed AS (
            SELECT source_id, count(*) AS followers
            FROM analytics_consents JOIN subscriptions USING (user_id)
            GROUP BY source_id
        ), counted AS MATERIALIZED (
            SELECT source_id, coalesce(readers, 0) >= %(fewest)s OR coalesce(followers, 0) >= %(fewest)s AS is_shown,
                CASE WHEN followers >= %(fewest)s THEN followers END AS followers,
                CASE WHEN read_by >= %(fewest)s THEN reads END AS reads,
                CASE WHEN opened_by >= %(fewest)s THEN opens END AS opens,
                CASE WHEN clicked_by >= %(fewest)s THEN clicks END AS clicks,
                CASE WHEN starred_by >= %(fewest)s THEN stars END AS stars
            FROM clicked
            FULL JOIN followed USING (source_id)
        ), totals AS (
            SELECT count(*) FILTER (WHERE is_shown) AS shown, count(*) FILTER (WHERE NOT is_shown) AS hidden
            FROM counted
        ), listed AS (
            SELECT source_id, name, followers, reads, opens, clicks, stars
            FROM counted JOIN sources ON sources.id = source_id
            WHERE is_shown
            ORDER BY
                CASE %(order)s
                    WHEN 'followers' THEN followers WHEN 'reads' THEN reads WHEN 'opens' THEN opens
                    WHEN 'clicks' THEN clicks WHEN 'stars' THEN stars
                    WHEN 'rate' THEN clicks / nullif(reads, 0)::float
                END DESC NULLS LAST, lower(name), source_id
            LIMIT %(limit)s
        )
        SELECT totals.shown, hidden, source_id, name, followers, reads, opens, clicks, stars
        FROM totals LEFT JOIN listed ON true
    """
    cur = await conn.execute(statement, {"since": since, "order": order.value, "limit": limit, "fewest": FEWEST})
    rows = await cur.fetchall()
    return Ranking([Popularity(*row[2:]) for row in rows if row[2] is not None], rows[0][0], rows[0][1])


async def list_moments(conn: Connection, *, period: PopularityPeriod, until: datetime) -> list[PopularityStep]:
    """Reads of all users with consent, step by step up to a time, the oldest first."""
    statement = """
        SELECT moment AS at,
            CASE WHEN count(DISTINCT user_id) FILTER (WHERE kind <> 'star') >= %(fewest)s
                THEN count(DISTINCT (user_id, article_id)) FILTER (WHERE kind <> 'star')
            END AS reads,
            CASE WHEN count(DISTINCT user_id) FILTER (WHERE kind = 'click') >= %(fewest)s
                THEN count(*) FILTER (WHERE kind = 'click')
            END AS clicks
        FROM generate_series(
            %(until)s::timestamptz - %(length)s::interval, %(until)s::timestamptz - %(step)s::interval,
            %(step)s::interval
        ) AS moment
        LEFT JOIN feed_item_clicks
            ON date_bin(%(step)s::interval, clicked_at, %(until)s::timestamptz) = moment
            AND clicked_at >= %(until)s::timestamptz - %(length)s::interval
            AND clicked_at < %(until)s::timestamptz
        GROUP BY moment ORDER BY moment
    """
    values = {"until": until, "length": period.length, "step": period.step, "fewest": FEWEST}
    return await fetch_all(conn, PopularityStep, statement, values)


async def remove_before(conn: Connection, *, before: datetime, limit: int) -> int:
    """Delete the oldest clicks before a time. Returns how many; call it again while that is the limit."""
    statement = """
        WITH old AS MATERIALIZED (
            SELECT user_id, id
            FROM feed_item_clicks WHERE clicked_at < %(before)s
            ORDER BY clicked_at LIMIT %(limit)s FOR UPDATE SKIP LOCKED
        )
        DELETE FROM feed_item_clicks USING old
        WHERE feed_item_clicks.user_id = old.user_id AND feed_item_clicks.id = old.id
    """
    return (await conn.execute(statement, {"before": before, "limit": limit})).rowcount


async def remove_of_source(conn: Connection, *, source_id: SourceId, limit: int) -> int:
    statement = """
        DELETE FROM feed_item_clicks
        WHERE ctid = ANY(ARRAY(SELECT ctid FROM feed_item_clicks WHERE source_id = %(source_id)s LIMIT %(limit)s))
            AND source_id = %(source_id)s
    """
    return (await conn.execute(statement, {"source_id": source_id, "limit": limit})).rowcount


async def remove_of_user(conn: Connection, *, user_id: UserId, limit: int) -> int:
    """Delete clicks of a removed user, then their consent or refusal. Returns how many rows."""
    statement = """
        DELETE FROM feed_item_clicks
        WHERE user_id = %(user_id)s
            AND id = ANY(ARRAY(SELECT id FROM feed_item_clicks WHERE user_id = %(user_id)s LIMIT %(limit)s))
    """
    cur = await conn.execute(statement, {"user_id": user_id, "limit": limit})
    if cur.rowcount:
        return cur.rowcount
    consents = await conn.execute("DELETE FROM analytics_consents WHERE user_id = %(user_id)s", {"user_id": user_id})
    refusals = await conn.execute("DELETE FROM analytics_refusals WHERE user_id = %(user_id)s", {"user_id": user_id})
    return consents.rowcount + refusals.rowcount

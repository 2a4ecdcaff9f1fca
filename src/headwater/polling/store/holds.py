"""Every statement on `feed_holds`: decisions about a feed that outlive its source."""

from contextlib import suppress
from datetime import datetime

from headwater.db import Connection, fetch_one, fetch_value
from headwater.errors import InvalidUrl
from headwater.polling.types import Hold, OperatorDisable
from headwater.types import SourceId
from headwater.urls import canonical, key_of, url_key


async def find_disable(
    conn: Connection, *, url: str, now: datetime, other_than: SourceId | None = None
) -> OperatorDisable | None:
    """Whether an operator disabled a source with this URL, or its feed, also if the source is deleted. If no source was
    added under this URL, one whose feed has moved here from another site decides. Raises InvalidUrl."""
    form = canonical(url)
    plain = form.replace("https:", "http:", 1)
    statement = """
        SELECT until, is_whole
        FROM (
            SELECT CASE WHEN NOT sources.disabled_by_operator THEN disabled_until END AS until,
                sources.disabled_by_operator AS is_whole
            FROM sources
            LEFT JOIN feed_state ON feed_state.source_id = sources.id
            WHERE (
                    feed_url_key = %(key)b OR (url_key = %(key)b AND feed_url_key IS NULL)
                    OR (
                        sources.feed_url = ANY(%(spellings)s::text[])
                        AND NOT EXISTS (
                            SELECT FROM sources AS own
                            WHERE own.feed_url_key = %(key)b AND own.id IS DISTINCT FROM %(other_than)s
                        )
                    )
                )
                AND sources.id IS DISTINCT FROM %(other_than)s
                AND (
                    sources.disabled_by_operator
                    OR feed_state.disabled_by_operator AND coalesce(disabled_until, 'infinity') > %(now)s
                )
            UNION ALL
            SELECT CASE WHEN NOT is_disabled THEN disabled_until END, is_disabled FROM feed_holds
            WHERE feed_url_key = %(key)b
                AND (is_disabled OR disabled_at IS NOT NULL AND coalesce(disabled_until, 'infinity') > %(now)s)
        ) AS found
        ORDER BY until DESC NULLS FIRST, is_whole DESC LIMIT 1
    """
    spellings = [url, form, plain, f"{form}/", f"{plain}/"]
    values = {"key": key_of(form), "spellings": spellings, "now": now, "other_than": other_than}
    return await fetch_one(conn, OperatorDisable, statement, values)


async def keep_hold(conn: Connection, *, source_id: SourceId, now: datetime) -> None:
    """Store what an operator or the site decided about a feed whose source is about to be deleted. For a feed that
    has moved to another site: under the URL it was added with, and under its current one."""
    feed_url = await fetch_value(conn, "SELECT feed_url FROM sources WHERE id = %(id)s", {"id": source_id})
    keys: list[bytes] = []
    with suppress(InvalidUrl):  # the target of a redirect may be longer than a URL may be
        keys = [url_key(feed_url)] if feed_url else []
    statement = """
        INSERT INTO feed_holds AS hold (
            feed_url_key, is_disabled, disabled_at, disable_reason, disabled_until, asked_until
        )
        SELECT *
        FROM (
            SELECT held.key, sources.disabled_by_operator AS is_disabled,
                CASE WHEN by_operator THEN disabled_at END AS disabled_at,
                CASE WHEN by_operator THEN disable_reason END, CASE WHEN by_operator THEN disabled_until END,
                CASE WHEN asked_until > %(now)s THEN asked_until END AS asked_until
            FROM sources
            JOIN feed_state ON feed_state.source_id = sources.id
            CROSS JOIN LATERAL (
                SELECT feed_state.disabled_by_operator AND coalesce(disabled_until, 'infinity') > %(now)s AS by_operator
            ) AS decided
            CROSS JOIN LATERAL (SELECT feed_url_key UNION SELECT unnest(%(keys)b::bytea[])) AS held (key)
            WHERE sources.id = %(source_id)s
        ) AS kept
        WHERE is_disabled OR disabled_at IS NOT NULL OR asked_until IS NOT NULL
        ON CONFLICT (feed_url_key) DO UPDATE
        SET is_disabled = hold.is_disabled OR excluded.is_disabled,
            disabled_at = coalesce(excluded.disabled_at, hold.disabled_at),
            disable_reason = CASE
                WHEN excluded.disabled_at IS NULL THEN hold.disable_reason ELSE excluded.disable_reason
            END,
            disabled_until = CASE
                WHEN excluded.disabled_at IS NULL THEN hold.disabled_until ELSE excluded.disabled_until
            END,
            asked_until = greatest(hold.asked_until, excluded.asked_until)
    """
    await conn.execute(statement, {"source_id": source_id, "keys": keys, "now": now})


async def take_hold(conn: Connection, *, feed_url_key: bytes) -> Hold | None:
    """Delete and return the hold of a feed, for its new source."""
    statement = """
        DELETE FROM feed_holds WHERE feed_url_key = %(key)s
        RETURNING is_disabled, disabled_at, disable_reason, disabled_until, asked_until
    """
    return await fetch_one(conn, Hold, statement, {"key": feed_url_key})


async def delete_ended_holds(conn: Connection, *, now: datetime) -> None:
    statement = """
        DELETE FROM feed_holds WHERE NOT is_disabled AND (disabled_at IS NULL OR disabled_until <= %(now)s)
            AND (asked_until IS NULL OR asked_until <= %(now)s)
    """
    await conn.execute(statement, {"now": now})

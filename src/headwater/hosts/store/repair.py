"""What a clock that was ahead has written of hosts."""

from datetime import datetime

from headwater.db import Connection


async def repair_schedules(conn: Connection, *, now: datetime, latest: datetime, thoroughly: bool) -> int:
    """Make ready what waits beyond any wait that is allowed, once feeds and URLs are repaired. Returns how many hosts.

    What is due of a host is looked up where it waits for longer than it may, and `thoroughly` everywhere.
    """
    cur = await conn.execute(
        """
        WITH wrong AS MATERIALIZED (
            SELECT shard, host_id,
                CASE WHEN paused_until <= %(now)s::timestamptz + interval '25 hours' THEN paused_until END AS paused,
                CASE WHEN pages_paused_until <= %(now)s::timestamptz + interval '25 hours' THEN pages_paused_until END
                    AS pages_paused,
                coalesce(
                    (SELECT min(next_poll_at) FROM feed_state WHERE feed_state.host = hosts.name), 'infinity'
                ) AS feed_due_at, pages.due_at AS page_due_at, pages.band
            FROM hosts
            LEFT JOIN LATERAL (
                SELECT next_fetch_at AS due_at, frontier_url.band
                FROM unnest(ARRAY[0, 1, 2, 3]::smallint[]) AS part (band)
                CROSS JOIN LATERAL (
                    SELECT next_fetch_at, band
                    FROM frontier_url
                    WHERE frontier_url.shard = hosts.shard AND frontier_url.band = part.band
                        AND frontier_url.host_id = hosts.host_id AND next_fetch_at < 'infinity'
                    ORDER BY next_fetch_at
                    LIMIT 1
                ) AS frontier_url
                ORDER BY next_fetch_at, frontier_url.band
                LIMIT 1
            ) AS pages ON true
            WHERE %(thoroughly)s OR free_at > %(now)s::timestamptz + interval '25 hours'
                OR (lease IS NOT NULL AND free_at > %(now)s::timestamptz + interval '3 hours')
                OR not_before > %(now)s::timestamptz + interval '25 hours'
                OR pages_paused_until > %(now)s::timestamptz + interval '25 hours'
                OR answered_at > %(now)s::timestamptz + interval '1 hour'
                OR (feed_due_at > %(latest)s AND feed_due_at < '9999-01-01')
                OR (page_due_at > %(latest)s AND page_due_at < 'infinity')
                OR (
                    feed_due_at > %(now)s
                    AND EXISTS (
                        SELECT
                        FROM feed_state
                        WHERE feed_state.host = hosts.name AND feed_state.next_poll_at <= %(now)s
                    )
                )
            ORDER BY shard, host_id
        )
        UPDATE hosts
        SET lease = CASE WHEN free_at > %(now)s::timestamptz + interval '3 hours' THEN NULL ELSE lease END,
            not_before = CASE
                WHEN not_before > %(now)s::timestamptz + interval '25 hours' THEN %(now)s
                ELSE not_before
            END,
            free_at = CASE
                WHEN free_at <= %(now)s::timestamptz + interval '3 hours' THEN free_at
                WHEN not_before > %(now)s::timestamptz + interval '25 hours'
                    THEN greatest(%(now)s::timestamptz, wrong.paused)
                ELSE greatest(not_before, wrong.paused)
            END, paused_until = wrong.paused, pages_paused_until = wrong.pages_paused,
            answered_at = CASE WHEN answered_at > %(now)s THEN %(now)s ELSE answered_at END,
            feed_due_at = wrong.feed_due_at, page_due_at = coalesce(wrong.page_due_at, 'infinity'),
            band = coalesce(wrong.band, hosts.band)
        FROM wrong
        WHERE hosts.shard = wrong.shard AND hosts.host_id = wrong.host_id
            AND (
                hosts.not_before, hosts.paused_until, hosts.pages_paused_until, hosts.feed_due_at, hosts.page_due_at
            ) IS DISTINCT FROM (
                CASE
                    WHEN not_before > %(now)s::timestamptz + interval '25 hours' THEN %(now)s
                    ELSE not_before
                END,
                wrong.paused, wrong.pages_paused, wrong.feed_due_at, coalesce(wrong.page_due_at, 'infinity')
            )
        """,
        {"now": now, "latest": latest, "thoroughly": thoroughly},
    )
    await conn.execute(
        """
        UPDATE host_robots
        SET expires_at = %(now)s, fetched_at = CASE WHEN fetched_at > %(now)s THEN %(now)s ELSE fetched_at END
        WHERE fetched_at > %(now)s::timestamptz + interval '1 hour'
        """,
        {"now": now},
    )
    return cur.rowcount

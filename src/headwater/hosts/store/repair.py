"""Repair of hosts after a clock that was ahead."""

from datetime import datetime, timedelta

from headwater.db import Connection
from headwater.hosts.store.feeds import FEED_DUE_AT

WAIT_MOST = timedelta(hours=25)  # of a pause, a delay or a Retry-After
LEASE_MOST = timedelta(hours=3)


async def repair_schedules(conn: Connection, *, now: datetime, latest: datetime, thoroughly: bool) -> int:
    """Shorten waits that are longer than allowed, after feeds and URLs were repaired. Returns how many hosts. The next
    feed and URL are looked up for hosts with such a wait, and for all hosts if `thoroughly`."""
    hosts = f"""
        WITH wrong AS MATERIALIZED (
            SELECT shard, host_id, CASE WHEN not_before > %(paused)s THEN %(now)s ELSE not_before END AS not_before,
                CASE WHEN paused_until <= %(paused)s THEN paused_until END AS paused_until,
                CASE WHEN pages_paused_until <= %(paused)s THEN pages_paused_until END AS pages_paused_until,
                {FEED_DUE_AT} AS feed_due_at, coalesce(pages.due_at, 'infinity') AS page_due_at,
                coalesce(pages.band, hosts.band) AS band
            FROM hosts
            LEFT JOIN LATERAL (
                SELECT next_fetch_at AS due_at, first.band
                FROM unnest(ARRAY[0, 1, 2, 3]::smallint[]) AS part (band)
                CROSS JOIN LATERAL (
                    SELECT next_fetch_at, band FROM frontier_url
                    WHERE frontier_url.shard = hosts.shard AND frontier_url.band = part.band
                        AND frontier_url.host_id = hosts.host_id AND next_fetch_at < 'infinity'
                    ORDER BY next_fetch_at LIMIT 1
                ) AS first
                ORDER BY next_fetch_at, first.band LIMIT 1
            ) AS pages ON true
            WHERE %(thoroughly)s OR greatest(free_at, not_before, pages_paused_until) > %(paused)s
                OR (lease IS NOT NULL AND free_at > %(leased)s) OR answered_at > %(soon)s
                OR (feed_due_at > %(latest)s AND feed_due_at < '9999-01-01')
                OR (page_due_at > %(latest)s AND page_due_at < 'infinity')
                OR (
                    feed_due_at > %(now)s
                    AND EXISTS (SELECT FROM feed_state WHERE feed_state.host = hosts.name AND next_poll_at <= %(now)s)
                )
            ORDER BY shard, host_id
        )
        UPDATE hosts SET lease = CASE WHEN free_at <= %(leased)s THEN lease END,
            free_at = CASE
                WHEN free_at <= %(leased)s THEN free_at ELSE greatest(wrong.not_before, wrong.paused_until)
            END,
            answered_at = CASE WHEN answered_at > %(now)s THEN %(now)s ELSE answered_at END,
            not_before = wrong.not_before, paused_until = wrong.paused_until,
            pages_paused_until = wrong.pages_paused_until, feed_due_at = wrong.feed_due_at,
            page_due_at = wrong.page_due_at, band = wrong.band
        FROM wrong WHERE hosts.shard = wrong.shard AND hosts.host_id = wrong.host_id
            AND ((lease IS NOT NULL AND free_at > %(leased)s) OR free_at > %(paused)s OR answered_at > %(soon)s OR (
                hosts.not_before, hosts.paused_until, hosts.pages_paused_until, hosts.feed_due_at, hosts.page_due_at
            ) IS DISTINCT FROM (
                wrong.not_before, wrong.paused_until, wrong.pages_paused_until, wrong.feed_due_at, wrong.page_due_at
            ))
    """
    limits = {"soon": now + timedelta(hours=1), "leased": now + LEASE_MOST, "paused": now + WAIT_MOST}
    cur = await conn.execute(hosts, {"now": now, "latest": latest, "thoroughly": thoroughly, **limits})
    robots = """
        UPDATE host_robots SET expires_at = %(now)s, fetched_at = least(fetched_at, %(now)s)
        WHERE fetched_at > %(now)s::timestamptz + interval '1 hour'
    """
    await conn.execute(robots, {"now": now})
    return cur.rowcount

"""Claiming hosts with their due URLs, and writing the outcome of each request."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from headwater.db import Connection
from headwater.frontier import decide
from headwater.frontier.decide import POISON, ROBOTS_BLOCKED, UrlPlan, page_delay
from headwater.frontier.keys import UrlKey, lengthened, locate, shortened, url_key_of
from headwater.frontier.store.queue import add_uncounted
from headwater.frontier.store.tables import (
    IS_GIVEN,
    KIND_OF,
    ORIGIN_OF,
    STATUS_LETTER,
    STATUS_OF,
    key_columns,
    write_counts,
)
from headwater.frontier.types import (
    DEFAULTS,
    Answered,
    ClaimedHost,
    ClaimedUrl,
    FrontierOptions,
    GivenUp,
    HostAnswer,
    Redirected,
    Status,
)
from headwater.hosts.arrays import letters, numbers, texts, times
from headwater.hosts.decide import pace_after
from headwater.hosts.keys import ALL_SHARDS, host_id_of, shard_of
from headwater.hosts.store import pages as page_hosts
from headwater.hosts.store.due import lock, wake_for_pages
from headwater.hosts.types import HeldHost, Pace, Release, Wake

DueUrl = tuple[int | None, ClaimedUrl]
"""A due URL, and before it the delay in milliseconds that its source sets."""


class Result(NamedTuple):
    """The outcome of a request, and what is written about its URL. Sorts by key."""

    key: UrlKey
    answered: Answered
    plan: UrlPlan


async def claim(
    conn: Connection, *, lease: UUID, now: datetime, leased_until: datetime, hosts: int, urls_per_host: int,
    shards: Sequence[int] = ALL_SHARDS, choice: float | None = None, options: FrontierOptions = DEFAULTS,
) -> list[ClaimedHost]:  # fmt: skip
    """Claim up to so many ready hosts until the lease ends, each with its most urgent due URLs.

    Which band goes first is drawn from the lease and the time, unless a choice from 0 to below 1 is given. After a lost
    lease a host is claimed with its first URL only; when that happens three times, this URL is dead.
    """
    choice = decide.draw(lease, now) if choice is None else choice
    bands = decide.band_order(choice)
    held = await page_hosts.claim(
        conn, lease=lease, now=now, leased_until=leased_until, hosts=hosts, urls=urls_per_host, bands=bands,
        shards=decide.rotate(shards, choice * 7919 % 1),
    )  # fmt: skip
    if not held:
        return []
    due = await _due_urls(conn, held=held, bands=bands, now=now, urls_per_host=urls_per_host)
    claimed: list[ClaimedHost] = []
    returned: list[ClaimedHost] = []
    for host, urls in zip(held, due, strict=True):
        one = _claimed_host(host, urls, lease, options)
        if host.strikes >= options.max_strikes and one.urls:
            await _give_up(conn, url=one.urls[0], now=now)
        is_returned = host.strikes >= options.max_strikes or not one.urls
        (returned if is_returned else claimed).append(one)
    if returned:
        await page_hosts.release(conn, releases=[_release_of(HostAnswer(host, None), options) for host in returned])
    return claimed


def _claimed_host(held: HeldHost, due: Sequence[DueUrl], lease: UUID, options: FrontierOptions) -> ClaimedHost:
    delays = [min_delay_ms for min_delay_ms, _ in due if min_delay_ms is not None]
    source = timedelta(milliseconds=max(delays)) if delays else None
    delay = page_delay(held.robots_delay, source, held.slowed, options)
    assert held.ready_at is not None, "a host that is claimed for its pages was ready"
    # The worker that lost the host may have sent a request at the last moment of its lease.
    not_before = held.ready_at if held.lost_at is None else max(held.ready_at, held.lost_at + delay)
    urls = [url for _, url in due]
    return ClaimedHost(held.name, lease, delay, not_before, urls, Pace(held.slowed, held.successes), held.answered_at)


async def _due_urls(
    conn: Connection, *, held: Sequence[HeldHost], bands: Sequence[int], now: datetime, urls_per_host: int
) -> list[list[DueUrl]]:
    """The most urgent due URLs of each host; of a host whose lease was lost only the first, in the order of bands."""
    cur = conn.cursor(binary=True)
    statement = """
        SELECT number::integer, min_delay_ms, url_id, url, kind, origin, due.source_id, depth, priority, etag,
            last_modified, fetch_count, retry_count, failing_since, interval_s, status
        FROM unnest(%(shards)s::smallint[], %(host_ids)s::bigint[], %(strikes)s::smallint[])
            WITH ORDINALITY AS held (shard, host_id, strikes, number)
        CROSS JOIN LATERAL (
            SELECT best.*
            FROM unnest(
                CASE WHEN strikes = 0 THEN %(bands)s::smallint[] ELSE ARRAY[0, 1, 2, 3]::smallint[] END
            ) AS turn (band)
            CROSS JOIN LATERAL (
                SELECT url_id, url, kind, origin, source_id, depth, priority, etag, last_modified, fetch_count,
                    retry_count, failing_since, interval_s, status
                FROM frontier_url
                WHERE shard = held.shard AND frontier_url.band = turn.band AND host_id = held.host_id
                    AND next_fetch_at <= %(now)s AND next_fetch_at < 'infinity'
                ORDER BY next_fetch_at LIMIT %(urls)s
            ) AS best
            LIMIT CASE WHEN held.strikes = 0 THEN %(urls)s ELSE 1 END
        ) AS due
        LEFT JOIN LATERAL (SELECT min_delay_ms FROM sources WHERE sources.id = due.source_id LIMIT 1) AS source ON true
    """
    hosts = {
        "shards": numbers([shard_of(host.host_id) for host in held]),
        "host_ids": numbers([host.host_id for host in held]),
        "strikes": numbers([host.strikes for host in held]),
    }
    await cur.execute(statement, {**hosts, "bands": numbers(bands), "now": now, "urls": urls_per_host})
    due: list[list[DueUrl]] = [[] for _ in held]
    rows: list[tuple[Any, ...]] = await cur.fetchall()
    for row in rows:
        place: int = row[0] - 1
        min_delay_ms, url_id, stored, kind, origin, *more, interval_s, status = row[1:]
        host = held[place]
        id_, url = UrlKey(0, host.host_id, url_id).id, lengthened(stored, host.name)
        interval = None if interval_s is None else timedelta(seconds=interval_s)
        claimed = ClaimedUrl(
            id_, url, KIND_OF[kind], ORIGIN_OF[origin], *more, interval=interval, status=STATUS_OF[status]
        )
        due[place].append((min_delay_ms, claimed))
    return due


async def _give_up(conn: Connection, *, url: ClaimedUrl, now: datetime) -> None:
    """The URL has cost three leases: it is dead."""
    statement = """
        WITH poisoned AS (
            UPDATE frontier_url
            SET status = 'd', next_fetch_at = 'infinity', last_error = %(poison)s, last_fetched_at = %(now)s
            WHERE shard = %(shard)s AND host_id = %(host_id)s AND url_id = %(url_id)s AND status = %(was)s
            RETURNING source_id
        )
        INSERT INTO frontier_tally (source_id, pending, fetched, failed, dead)
        SELECT source_id, -(%(was)s = 'p')::integer, -(%(was)s = 'f')::integer, -(%(was)s = 'r')::integer, 1
        FROM poisoned
    """
    await conn.execute(
        statement, {"poison": POISON, "now": now, "was": STATUS_LETTER[url.status], **url_key_of(url.id)._asdict()}
    )


async def answer(
    conn: Connection, *, answers: Sequence[HostAnswer], now: datetime, options: FrontierOptions = DEFAULTS
) -> None:
    """Write the outcomes for claimed URLs, and release the hosts whose lease was not lost."""
    redirected: list[tuple[Answered, Redirected]] = []
    results: list[Result] = []
    for one in (one for host in answers for one in host.answered):
        if isinstance(one.answer, Redirected):
            redirected.append((one, one.answer))
        else:
            results.append(Result(url_key_of(one.url.id), one, decide.after(one.url, one.answer, one.at, options)))
    wakes: list[Wake] = []
    if redirected:
        more, wakes = await _follow_redirects(conn, redirected=redirected, now=now, options=options)
        results += more
    own = {host_id_of(host.host.host) for host in answers}
    async with conn.pipeline():  # one round trip
        if results:
            await _record(conn, results=sorted(results, key=lambda one: one.key))
        await lock(conn, host_ids=own | {wake.host_id for wake in wakes})
        await wake_for_pages(conn, wakes=wakes)
        await page_hosts.release(conn, releases=[_release_of(host, options) for host in answers])


def _release_of(given: HostAnswer, options: FrontierOptions) -> Release:
    host = given.host
    successes = sum(1 for one in given.answered if isinstance(one.answer, decide.SUCCESSES))
    limited, eased_after, most = given.was_rate_limited, options.eased_after, options.most_slowed
    pace = pace_after(host.pace, successes, was_rate_limited=limited, eased_after=eased_after, most=most)
    delay = host.delay if pace.slowed <= host.pace.slowed else max(host.delay, min(host.delay * 2, options.max_delay))
    bounds = [host.not_before, given.blocked_until, given.last_request_at and given.last_request_at + delay]
    not_before = max(time for time in bounds if time is not None)
    return Release(host.host, host.lease, not_before, pace, given.answered_at, given.pages_paused_until)


async def _record(conn: Connection, *, results: Sequence[Result]) -> None:
    """Write the outcomes. A URL whose status changed since it was claimed stays as it is."""
    statement = f"""
        WITH batch AS MATERIALIZED (
            SELECT %(shards)s::smallint[] AS shards, %(host_ids)s::bigint[] AS host_ids,
                %(url_ids)s::bigint[] AS url_ids, %(was)s::text[] AS was, %(at)s::timestamptz[] AS at,
                %(statuses)s::text[] AS statuses, %(times)s::timestamptz[] AS times,
                %(retries)s::smallint[] AS retries, %(since)s::timestamptz[] AS since,
                %(intervals)s::integer[] AS intervals, %(errors)s::text[] AS errors,
                %(successes)s::integer[] AS successes, %(etags)s::text[] AS etags,
                %(last_modified)s::text[] AS last_modified, %(new_urls)s::text[] AS new_urls
        ), given AS MATERIALIZED (
            SELECT given.*
            FROM batch
            CROSS JOIN LATERAL unnest(
                shards, host_ids, url_ids, was, at, statuses, times, retries, since, intervals, errors, successes,
                etags, last_modified, new_urls
            ) AS given (
                shard, host_id, url_id, was, at, status, next_fetch_at, retry_count, failing_since, interval_s, error,
                success, etag, last_modified, new_url
            )
        ), written AS (
            UPDATE frontier_url
            SET status = given.status::"char", next_fetch_at = coalesce(given.next_fetch_at, 'infinity'),
                last_fetched_at = given.at, fetch_count = fetch_count + given.success,
                retry_count = given.retry_count, failing_since = given.failing_since, interval_s = given.interval_s,
                last_error = given.error, etag = given.etag, last_modified = given.last_modified,
                url = coalesce(given.new_url, url)
            FROM given WHERE {IS_GIVEN} AND frontier_url.status = given.was::"char"
            RETURNING source_id, given.was, given.status AS is
        )
        INSERT INTO frontier_tally (source_id, pending, fetched, failed, dead)
        SELECT source_id, count(*) FILTER (WHERE "is" = 'p') - count(*) FILTER (WHERE was = 'p'),
            count(*) FILTER (WHERE "is" = 'f') - count(*) FILTER (WHERE was = 'f'),
            count(*) FILTER (WHERE "is" = 'r') - count(*) FILTER (WHERE was = 'r'),
            count(*) FILTER (WHERE "is" IN ('d', 'b'))
        FROM written WHERE was <> "is" GROUP BY source_id
    """
    plans = [one.plan for one in results]
    values = {
        **key_columns([one.key for one in results]),
        "was": letters([STATUS_LETTER[one.answered.url.status] for one in results]),
        "at": times([one.answered.at for one in results]),
        "statuses": letters([_letter_of(one) for one in results]),
        "times": times([plan.next_fetch_at for plan in plans]),
        "retries": numbers([plan.retry_count for plan in plans]),
        "since": times([plan.failing_since for plan in plans]),
        "intervals": numbers([_seconds(plan.interval) for plan in plans]),
        "errors": texts([plan.error for plan in plans]),
        "successes": numbers([int(plan.status is Status.FETCHED) for plan in plans]),
        "etags": texts([plan.etag for plan in plans]),
        "last_modified": texts([plan.last_modified for plan in plans]),
        "new_urls": texts([plan.new_url and _stored(plan.new_url) for plan in plans]),
    }
    await conn.execute(statement, values)


def _seconds(interval: timedelta | None) -> int | None:
    return None if interval is None else int(interval.total_seconds())


def _letter_of(result: Result) -> str:
    outcome = result.answered.answer
    is_blocked = isinstance(outcome, GivenUp) and outcome.reason == ROBOTS_BLOCKED
    return "b" if is_blocked else STATUS_LETTER[result.plan.status]


def _stored(url: str) -> str:
    located = locate(url)
    return shortened(located.url, located.host)


async def _follow_redirects(
    conn: Connection, *, redirected: Sequence[tuple[Answered, Redirected]], now: datetime, options: FrontierOptions
) -> tuple[list[Result], list[Wake]]:
    """Queue the targets of redirects, and replace their URLs by aliases. Returns the results of redirects that lead to
    no other page, and the hosts to wake."""
    results: list[Result] = []
    leading: list[tuple[Answered, Redirected]] = []
    for one, redirect in redirected:
        plan = decide.after_redirect(one.url, redirect, one.at, options)
        if plan is None:
            leading.append((one, redirect))
        else:
            results.append(Result(url_key_of(one.url.id), one, plan))
    targets = [decide.redirect_target(one.url, redirect, one.at) for one, redirect in leading]
    submitted, changes = await add_uncounted(conn, targets, now, options)
    aliases: list[tuple[ClaimedUrl, Redirected, UrlKey]] = []
    for (one, redirect), target in zip(leading, submitted, strict=True):
        if target.key is None or target.id == one.url.id:
            plan = decide.dead(one.url, f"{target.reason or 'redirect_loop'}: {redirect.to}", one.at)
            results.append(Result(url_key_of(one.url.id), one, plan))
        else:
            aliases.append((one.url, redirect, target.key))
    if aliases:
        for host_id, source_id, letter in await _keep_aliases(conn, aliases=aliases, now=now, options=options):
            changes.remove(host_id, source_id, letter)
    await write_counts(conn, changes=changes)
    return results, changes.wakes


async def _keep_aliases(
    conn: Connection,
    *,
    aliases: Sequence[tuple[ClaimedUrl, Redirected, UrlKey]],
    now: datetime,
    options: FrontierOptions,
) -> list[tuple[int, UUID | None, str]]:
    """Replace URLs by aliases of other URLs. Returns the host, source and status of those replaced."""
    statement = f"""
        WITH given AS MATERIALIZED (
            SELECT *
            FROM unnest(
                %(shards)s::smallint[], %(host_ids)s::bigint[], %(url_ids)s::bigint[], %(was)s::text[],
                %(to_host_ids)s::bigint[], %(to_url_ids)s::bigint[], %(until)s::timestamptz[], %(urls)s::text[],
                %(to_urls)s::text[]
            ) AS given (shard, host_id, url_id, was, to_host_id, to_url_id, expires_at, url, to_url)
        ), gone AS (
            DELETE FROM frontier_url USING given WHERE {IS_GIVEN} AND frontier_url.status = given.was::"char"
            RETURNING frontier_url.shard, frontier_url.host_id, frontier_url.url_id, given.url, source_id, status,
                to_host_id, to_url_id, expires_at, to_url
        ), kept AS (
            INSERT INTO frontier_alias (shard, host_id, url_id, to_host_id, to_url_id, expires_at, url, to_url)
            SELECT shard, host_id, url_id, to_host_id, to_url_id, coalesce(expires_at, 'infinity'), url, to_url
            FROM gone
            ON CONFLICT ON CONSTRAINT frontier_alias_pkey DO UPDATE
            SET to_host_id = excluded.to_host_id, to_url_id = excluded.to_url_id,
                expires_at = excluded.expires_at, to_url = excluded.to_url
        )
        SELECT host_id, source_id, status::text FROM gone
    """
    cur = await conn.execute(
        statement,
        {
            **key_columns([url_key_of(url.id) for url, _, _ in aliases]),
            "was": letters([STATUS_LETTER[url.status] for url, _, _ in aliases]),
            "to_host_ids": numbers([to.host_id for _, _, to in aliases]),
            "to_url_ids": numbers([to.url_id for _, _, to in aliases]),
            "until": times([None if redirect.is_permanent else now + options.alias_kept for _, redirect, _ in aliases]),
            "urls": texts([url.url for url, _, _ in aliases]),
            "to_urls": texts([redirect.to for _, redirect, _ in aliases]),
        },
    )
    return await cur.fetchall()

"""Every statement that writes `frontier_url`, `frontier_alias` and `frontier_tally`.

Everybody writes URLs before hosts, and both in the order of their keys: two who write the same rows never wait for each
other in a circle. So submit, answer or settle once per transaction.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from psycopg.rows import args_row

from headwater.db import Connection
from headwater.errors import InvalidUrl
from headwater.frontier import decide
from headwater.frontier.decide import POISON
from headwater.frontier.keys import Place, locate, place_of
from headwater.frontier.rows import (
    STATUS_LETTER,
    AddedRow,
    Counts,
    DueRow,
    FetchedRow,
    Result,
    Settlement,
    Touched,
    Wanted,
    claimed_host,
    count,
    fates_of,
    place_columns,
    resubmitted,
    result_columns,
    settlement_columns,
    settlement_of,
    sort_out,
    tally_columns,
    tell_fate,
    tell_where_led,
    url_columns,
)
from headwater.frontier.types import (
    Answered,
    ClaimedHost,
    FrontierOptions,
    HostAnswer,
    Redirected,
    Settled,
    Submission,
    Submitted,
)
from headwater.hosts.arrays import letters, numbers, texts, times
from headwater.hosts.decide import pace_after
from headwater.hosts.keys import ALL_SHARDS, host_id_of, shard_of
from headwater.hosts.store import pages as page_hosts
from headwater.hosts.store.waking import lock, wake_for_pages
from headwater.hosts.types import HeldHost, PageRelease, Release, Wake
from headwater.types import SourceId

DEFAULTS = FrontierOptions()
KNOWN_HOST = ""  # a host that has its row, with its name
MOST_HOPS = 5


async def submit(
    conn: Connection, *, submissions: Sequence[Submission], now: datetime, options: FrontierOptions = DEFAULTS
) -> list[Submitted]:
    """Queue URLs that somebody found; what is known is raised or brought forward when it waits, else left as it is.

    Returns what came of each, in the order given.
    """
    results, wakes = await add(conn, submissions=submissions, now=now, options=options)
    await wake_for_pages(conn, wakes=wakes)
    return results


async def add(
    conn: Connection, *, submissions: Sequence[Submission], now: datetime, options: FrontierOptions = DEFAULTS
) -> tuple[list[Submitted], list[Wake]]:
    """As `submit`, for who writes hosts later in the same transaction: these are still to be woken."""
    results, touched = await _submit(conn, submissions, now, options, MOST_HOPS)
    await _count(conn, counts=touched.counts)
    return results, touched.wakes


async def _submit(
    conn: Connection, submissions: Sequence[Submission], now: datetime, options: FrontierOptions, hops: int
) -> tuple[list[Submitted], Touched]:
    """Write the URLs; their hosts are still to be woken. What is an alias is submitted where it led."""
    deleted = await _find_deleted(conn, source_ids={one.source_id for one in submissions if one.source_id is not None})
    results, wanted = sort_out(submissions, now, options, deleted)
    touched = Touched()
    rows = await _add(conn, wanted=wanted, now=now, options=options) if wanted else []
    fates, led = fates_of(rows, wanted, touched)
    for one, told in zip(wanted, fates, strict=True):
        tell_fate(one, told, submissions, results)
    if led and hops:
        again = [resubmitted(one, to_url) for one, to_url in led]
        more, more_touched = await _submit(conn, again, now, options, hops - 1)
        touched.add(more_touched)
        tell_where_led([one for one, _ in led], more, submissions, results)
    return [one for one in results if one is not None], touched


async def _find_deleted(conn: Connection, *, source_ids: set[SourceId]) -> set[SourceId]:
    """Those of these sources that do not exist; the others are not deleted before the transaction ends.

    So no URL is queued for a source once it is deleted, however late a worker comes.
    """
    if not source_ids:
        return set()
    cur = await conn.execute(
        "SELECT id FROM sources WHERE id = ANY(%(ids)s) ORDER BY id FOR KEY SHARE", {"ids": list(source_ids)}
    )
    return source_ids - {SourceId(row[0]) for row in await cur.fetchall()}


async def _add(
    conn: Connection, *, wanted: Sequence[Wanted], now: datetime, options: FrontierOptions
) -> list[AddedRow]:
    """Insert what is new, raise what waits, revive what a feed lists again. Returns what is not simply known.

    What was taken for an article and is wanted as a sitemap or for its links is asked for again, whole.
    The arrays go through a CTE, so that the plan is the same however long they are: by the index, one URL at a time.
    """
    cur = conn.cursor(binary=True)
    await cur.execute(
        """
        WITH batch AS MATERIALIZED (
            SELECT %(shards)s::smallint[] AS shards, %(host_ids)s::bigint[] AS host_ids,
                %(url_ids)s::bigint[] AS url_ids, %(urls)s::text[] AS urls, %(source_ids)s::uuid[] AS source_ids,
                %(origins)s::text[] AS origins, %(kinds)s::text[] AS kinds, %(parents)s::text[] AS parents,
                %(depths)s::smallint[] AS depths, %(priorities)s::smallint[] AS priorities,
                %(bands)s::smallint[] AS bands, %(times)s::timestamptz[] AS times,
                %(can_revive)s::boolean[] AS can_revive, %(positions)s::integer[] AS positions
        ), looked AS MATERIALIZED (
            SELECT given.*, old.status,
                old.status IS NULL AND alias.to_url IS NULL AS is_new,
                old.status = 'p' AND (given.priority > old.priority OR given.next_fetch_at < old.next_fetch_at)
                    AS is_raised,
                old.status IN ('p', 'r', 'f') AND old.kind = 'a' AND given.kind <> 'a' AS is_more,
                old.status IN ('d', 'b') AND given.can_revive
                    AND coalesce(old.last_fetched_at, '-infinity') <= %(dead_before)s
                    AND old.last_error IS DISTINCT FROM %(poison)s AS is_revived,
                alias.to_url,
                coalesce(coalesce(queue.url_count, 0) + given.position > %(most)s, false) AS is_full
            FROM batch
            CROSS JOIN LATERAL unnest(
                shards, host_ids, url_ids, urls, source_ids, origins, kinds, parents, depths, priorities, bands, times,
                can_revive, positions
            ) WITH ORDINALITY AS given (
                shard, host_id, url_id, url, source_id, origin, kind, parent_url, depth, priority, band, next_fetch_at,
                can_revive, position, number
            )
            LEFT JOIN LATERAL (
                SELECT status, kind, priority, next_fetch_at, last_fetched_at, last_error
                FROM frontier_url
                WHERE (shard, host_id, url_id) = (given.shard, given.host_id, given.url_id)
                LIMIT 1
            ) AS old ON true
            LEFT JOIN LATERAL (
                SELECT to_url
                FROM frontier_alias
                WHERE old.status IS NULL
                    AND (shard, host_id, url_id) = (given.shard, given.host_id, given.url_id)
                    AND expires_at > %(now)s
                LIMIT 1
            ) AS alias ON true
            LEFT JOIN LATERAL (
                SELECT url_count
                FROM hosts
                WHERE given.position IS NOT NULL AND (shard, host_id) = (given.shard, given.host_id)
                LIMIT 1
            ) AS queue ON true
        ), added AS (
            INSERT INTO frontier_url (
                host_id, url_id, next_fetch_at, discovered_at, source_id, shard, band, priority, depth, origin, kind,
                url, parent_url
            )
            SELECT host_id, url_id, next_fetch_at, %(now)s, source_id, shard, band, priority, depth, origin::"char",
                kind::"char", url, parent_url
            FROM looked
            WHERE is_new AND NOT is_full
            ORDER BY shard, host_id, url_id
            ON CONFLICT DO NOTHING
            RETURNING host_id, url_id
        ), changed AS (
            UPDATE frontier_url
            SET priority = greatest(frontier_url.priority, looked.priority),
                band = least(frontier_url.band, looked.band),
                next_fetch_at = least(frontier_url.next_fetch_at, looked.next_fetch_at),
                status = CASE WHEN is_revived THEN 'p' ELSE frontier_url.status END,
                kind = CASE WHEN is_more THEN looked.kind::"char" ELSE frontier_url.kind END,
                interval_s = CASE WHEN is_more THEN NULL ELSE interval_s END,
                etag = CASE WHEN is_more THEN NULL ELSE etag END,
                last_modified = CASE WHEN is_more THEN NULL ELSE last_modified END,
                retry_count = CASE WHEN is_revived THEN 0 ELSE retry_count END,
                failing_since = CASE WHEN is_revived THEN NULL ELSE failing_since END,
                last_error = CASE WHEN is_revived THEN NULL ELSE last_error END
            FROM looked
            WHERE (is_raised OR is_revived OR is_more)
                AND frontier_url.shard = looked.shard
                AND frontier_url.host_id = looked.host_id
                AND frontier_url.url_id = looked.url_id
                AND frontier_url.status = looked.status
            RETURNING CASE WHEN is_revived THEN 'revived' ELSE 'known' END AS fate, looked.number,
                frontier_url.source_id
        )
        SELECT 'queued', coalesce(array_agg(number), '{}'), NULL, NULL
        FROM added
        JOIN looked USING (host_id, url_id)
        UNION ALL
        SELECT fate, ARRAY[number], source_id, NULL FROM changed
        UNION ALL
        SELECT CASE WHEN to_url IS NULL THEN 'full' ELSE 'alias' END, ARRAY[number], NULL, to_url
        FROM looked
        WHERE to_url IS NOT NULL OR (is_new AND is_full)
        """,
        {
            **url_columns(wanted),
            "now": now,
            "dead_before": now - options.revive_after,
            "poison": POISON,
            "most": options.max_host_urls,
        },
    )
    return await cur.fetchall()


async def claim(
    conn: Connection,
    *,
    lease: UUID,
    now: datetime,
    leased_until: datetime,
    hosts: int,
    urls_per_host: int,
    shards: Sequence[int] = ALL_SHARDS,
    choice: float | None = None,
    options: FrontierOptions = DEFAULTS,
) -> list[ClaimedHost]:
    """Take up to so many ready hosts until the lease ends, each with its most urgent due URLs.

    Which band goes first is drawn from the lease and the time, unless a choice from 0 to below 1 is given. After a lost
    lease a host hands out only the URL at its head; whoever loses it three times with that one loses that URL.
    """
    choice = decide.draw(lease, now) if choice is None else choice
    bands = decide.turns(choice)
    held = await page_hosts.claim(
        conn,
        lease=lease,
        now=now,
        leased_until=leased_until,
        hosts=hosts,
        urls=urls_per_host,
        bands=bands,
        shards=decide.rotate(shards, choice * 7919 % 1),
    )
    if not held:
        return []
    due = await _due_urls(conn, held=held, bands=bands, now=now, urls_per_host=urls_per_host)
    claimed: list[ClaimedHost] = []
    returned: list[ClaimedHost] = []
    for host, rows in zip(held, due, strict=True):
        one = claimed_host(host, rows, lease, options)
        if host.strikes >= options.max_strikes and one.urls:
            await _give_up(conn, host=one, now=now)
        if host.strikes >= options.max_strikes or not one.urls:
            returned.append(one)
        else:
            claimed.append(one)
    if returned:
        releases = [_released(HostAnswer(host, None), options) for host in returned]
        await page_hosts.release(conn, releases=releases)
    return claimed


async def _due_urls(
    conn: Connection, *, held: Sequence[HeldHost], bands: Sequence[int], now: datetime, urls_per_host: int
) -> list[list[DueRow]]:
    """The most urgent due URLs of each of these hosts; of one that was lost only the first, in the order of bands."""
    async with conn.cursor(binary=True, row_factory=args_row(DueRow)) as cur:
        await cur.execute(
            """
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
                    WHERE shard = held.shard
                        AND frontier_url.band = turn.band
                        AND host_id = held.host_id
                        AND next_fetch_at <= %(now)s
                        AND next_fetch_at < 'infinity'
                    ORDER BY next_fetch_at
                    LIMIT %(urls)s
                ) AS best
                LIMIT CASE WHEN held.strikes = 0 THEN %(urls)s ELSE 1 END
            ) AS due
            LEFT JOIN LATERAL (
                SELECT min_delay_ms
                FROM sources
                WHERE sources.id = due.source_id
                LIMIT 1
            ) AS source ON true
            """,
            {
                "shards": numbers([shard_of(host.host_id) for host in held]),
                "host_ids": numbers([host.host_id for host in held]),
                "strikes": numbers([host.strikes for host in held]),
                "bands": numbers(bands),
                "now": now,
                "urls": urls_per_host,
            },
        )
        due: list[list[DueRow]] = [[] for _ in held]
        for row in await cur.fetchall():
            due[row.number - 1].append(row)
    return due


async def _give_up(conn: Connection, *, host: ClaimedHost, now: datetime) -> None:
    """The URL at the head has cost three leases: it is dead."""
    head = host.urls[0]
    place = place_of(head.id)
    await conn.execute(
        """
        WITH poisoned AS (
            UPDATE frontier_url
            SET status = 'd', next_fetch_at = 'infinity', last_error = %(poison)s, last_fetched_at = %(now)s
            WHERE shard = %(shard)s AND host_id = %(host_id)s AND url_id = %(url_id)s AND status = %(was)s
            RETURNING source_id
        )
        INSERT INTO frontier_tally (source_id, pending, fetched, failed, dead)
        SELECT source_id, -(%(was)s = 'p')::integer, -(%(was)s = 'f')::integer, -(%(was)s = 'r')::integer, 1
        FROM poisoned
        """,
        {
            "poison": POISON,
            "now": now,
            "shard": place.shard,
            "host_id": place.host_id,
            "url_id": place.url_id,
            "was": STATUS_LETTER[head.status],
        },
    )


async def answer(
    conn: Connection, *, answers: Sequence[HostAnswer], now: datetime, options: FrontierOptions = DEFAULTS
) -> None:
    """Write what came of claimed URLs and give their hosts back. Who lost a host cannot give it back."""
    moved: list[Answered] = []
    results: list[Result] = []
    for one in (one for host in answers for one in host.answered):
        if isinstance(one.answer, Redirected):
            moved.append(one)
        else:
            results.append(Result(place_of(one.url.id), one, decide.after(one.url, one.answer, one.at, options)))
    wakes: list[Wake] = []
    if moved:
        led, wakes = await _lead_on(conn, moved=moved, now=now, options=options)
        results += led
    own = {host_id_of(host.host.host) for host in answers}
    async with conn.pipeline():  # one way to the server and back
        if results:
            await _record(conn, results=sorted(results, key=lambda one: one.place))
        await lock(conn, host_ids=own | {wake.host_id for wake in wakes})
        await wake_for_pages(conn, wakes=wakes)
        await page_hosts.release(conn, releases=[_released(host, options) for host in answers])


def _released(given: HostAnswer, options: FrontierOptions) -> PageRelease:
    """A host, not before when it is asked again, and its pace."""
    host = given.host
    fine = sum(1 for one in given.answered if isinstance(one.answer, decide.SUCCESSES))
    pace = pace_after(
        host.pace,
        fine,
        was_rate_limited=given.was_rate_limited,
        eased_after=options.eased_after,
        most=options.most_slowed,
    )
    delay = host.delay if pace.slowed <= host.pace.slowed else max(host.delay, min(host.delay * 2, options.max_delay))
    times = [host.not_before, given.blocked_until, given.last_request_at and given.last_request_at + delay]
    not_before = max(time for time in times if time is not None)
    release = Release(host.host, host.lease, not_before, pace, given.answered_at)
    return PageRelease(release, given.pages_paused_until)


async def _record(conn: Connection, *, results: Sequence[Result]) -> None:
    """Write what came of URLs. One that is no longer as it was when it was claimed is left as it is."""
    await conn.execute(
        """
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
            SET status = given.status::"char",
                next_fetch_at = coalesce(given.next_fetch_at, 'infinity'),
                last_fetched_at = given.at,
                fetch_count = fetch_count + given.success,
                retry_count = given.retry_count,
                failing_since = given.failing_since,
                interval_s = given.interval_s,
                last_error = given.error,
                etag = given.etag,
                last_modified = given.last_modified,
                url = coalesce(given.new_url, url)
            FROM given
            WHERE frontier_url.shard = given.shard
                AND frontier_url.host_id = given.host_id
                AND frontier_url.url_id = given.url_id
                AND frontier_url.status = given.was::"char"
            RETURNING source_id, given.was, given.status AS is
        )
        INSERT INTO frontier_tally (source_id, pending, fetched, failed, dead)
        SELECT source_id,
            count(*) FILTER (WHERE "is" = 'p') - count(*) FILTER (WHERE was = 'p'),
            count(*) FILTER (WHERE "is" = 'f') - count(*) FILTER (WHERE was = 'f'),
            count(*) FILTER (WHERE "is" = 'r') - count(*) FILTER (WHERE was = 'r'),
            count(*) FILTER (WHERE "is" IN ('d', 'b'))
        FROM written
        WHERE was <> "is"
        GROUP BY source_id
        """,
        result_columns(results),
    )


async def _lead_on(
    conn: Connection, *, moved: Sequence[Answered], now: datetime, options: FrontierOptions
) -> tuple[list[Result], list[Wake]]:
    """Queue where redirects lead, and keep aliases of what they left. Returns what leads nowhere, and hosts to wake."""
    results: list[Result] = []
    leading: list[tuple[Answered, Redirected]] = []
    for one in moved:
        assert isinstance(one.answer, Redirected)
        plan = decide.after_redirect(one.url, one.answer, one.at, options)
        if plan is None:
            leading.append((one, one.answer))
        else:
            results.append(Result(place_of(one.url.id), one, plan))
    wanted = [decide.led_to(one.url, redirect) for one, redirect in leading]
    submitted, touched = await _submit(conn, wanted, now, options, MOST_HOPS)
    aliases: list[tuple[Answered, Redirected, UUID]] = []
    for (one, redirect), result in zip(leading, submitted, strict=True):
        if result.id is None or result.id == one.url.id:
            reason = result.reason or "redirect_loop"
            plan = decide.dead(one.url, f"{reason}: {redirect.to}", one.at)
            results.append(Result(place_of(one.url.id), one, plan))
        else:
            aliases.append((one, redirect, result.id))
    if aliases:
        for host_id, source_id, letter in await _keep_aliases(conn, aliases=aliases, now=now, options=options):
            touched.wakes.append(Wake(KNOWN_HOST, host_id, decide.LAST_BAND, None, -1))
            count(touched.counts, source_id, letter, -1)
    await _count(conn, counts=touched.counts)
    return results, touched.wakes


async def _keep_aliases(
    conn: Connection,
    *,
    aliases: Sequence[tuple[Answered, Redirected, UUID]],
    now: datetime,
    options: FrontierOptions,
) -> list[tuple[int, UUID | None, str]]:
    """What led elsewhere is an alias from now on, and no URL of its own. Returns those that went."""
    places = [place_of(one.url.id) for one, _, _ in aliases]
    targets = [place_of(to) for _, _, to in aliases]
    cur = await conn.execute(
        """
        WITH given AS MATERIALIZED (
            SELECT *
            FROM unnest(
                %(shards)s::smallint[], %(host_ids)s::bigint[], %(url_ids)s::bigint[], %(was)s::text[],
                %(to_host_ids)s::bigint[], %(to_url_ids)s::bigint[], %(until)s::timestamptz[], %(urls)s::text[],
                %(to_urls)s::text[]
            ) AS given (shard, host_id, url_id, was, to_host_id, to_url_id, expires_at, url, to_url)
        ), gone AS (
            DELETE FROM frontier_url
            USING given
            WHERE frontier_url.shard = given.shard
                AND frontier_url.host_id = given.host_id
                AND frontier_url.url_id = given.url_id
                AND frontier_url.status = given.was::"char"
            RETURNING frontier_url.shard, frontier_url.host_id, frontier_url.url_id, given.url, source_id,
                status, to_host_id, to_url_id, expires_at, to_url
        ), kept AS (
            INSERT INTO frontier_alias (shard, host_id, url_id, to_host_id, to_url_id, expires_at, url, to_url)
            SELECT shard, host_id, url_id, to_host_id, to_url_id, coalesce(expires_at, 'infinity'), url, to_url
            FROM gone
            ON CONFLICT ON CONSTRAINT frontier_alias_pkey DO UPDATE
            SET to_host_id = excluded.to_host_id,
                to_url_id = excluded.to_url_id,
                expires_at = excluded.expires_at,
                to_url = excluded.to_url
        )
        SELECT host_id, source_id, status::text FROM gone
        """,
        {
            **place_columns(places),
            "was": letters([STATUS_LETTER[one.url.status] for one, _, _ in aliases]),
            "to_host_ids": numbers([target.host_id for target in targets]),
            "to_url_ids": numbers([target.url_id for target in targets]),
            "until": times([None if redirect.is_permanent else now + options.alias_kept for _, redirect, _ in aliases]),
            "urls": texts([one.url.url for one, _, _ in aliases]),
            "to_urls": texts([redirect.to for _, redirect, _ in aliases]),
        },
    )
    return await cur.fetchall()


async def _count(conn: Connection, *, counts: Counts) -> None:
    """Note how many URLs of each source stand elsewhere now."""
    if not any(any(row) for row in counts.values()):
        return
    await conn.execute(
        """
        INSERT INTO frontier_tally (source_id, pending, fetched, failed, dead)
        SELECT *
        FROM unnest(
            %(tally_sources)s::uuid[], %(tally_p)s::integer[], %(tally_f)s::integer[], %(tally_r)s::integer[],
            %(tally_d)s::integer[]
        )
        """,
        tally_columns(counts),
    )


async def settle(
    conn: Connection, *, contents: Sequence[Settled], now: datetime, options: FrontierOptions = DEFAULTS
) -> None:
    """What reading fetched pages came to: how often they are fetched from now on, or never again."""
    found = {place: one for one in contents if (place := _place(one.url)) is not None}
    if not found:
        return
    rows = await _fetched(conn, places=sorted(found))
    settlements = [settlement_of(row, found[row.place], now, options) for row in rows]
    if not settlements:
        return
    touched = Touched()
    for one in settlements:
        one.touch(touched)
    await _settle(conn, settlements=settlements)
    await _count(conn, counts=touched.counts)
    await wake_for_pages(conn, wakes=touched.wakes)


def _place(url: str) -> Place | None:
    try:
        return locate(url).place
    except InvalidUrl:
        return None


async def _fetched(conn: Connection, *, places: Sequence[Place]) -> list[FetchedRow]:
    """How often fetched pages are fetched, under lock."""
    cur = await conn.execute(
        """
        SELECT page.*
        FROM unnest(%(shards)s::smallint[], %(host_ids)s::bigint[], %(url_ids)s::bigint[])
            AS given (shard, host_id, url_id)
        CROSS JOIN LATERAL (
            SELECT shard, host_id, url_id, kind::text, interval_s, fetch_count, last_fetched_at,
                nullif(next_fetch_at, 'infinity'), source_id, band
            FROM frontier_url
            WHERE frontier_url.shard = given.shard
                AND frontier_url.host_id = given.host_id
                AND frontier_url.url_id = given.url_id
                AND status = 'f'
            FOR UPDATE
        ) AS page
        """,
        place_columns(places),
    )
    return [FetchedRow(Place(*row[:3]), *row[3:]) for row in await cur.fetchall()]


async def _settle(conn: Connection, *, settlements: Sequence[Settlement]) -> None:
    await conn.execute(
        """
        UPDATE frontier_url
        SET content_hash = coalesce(given.content_hash, frontier_url.content_hash),
            interval_s = given.interval_s,
            next_fetch_at = coalesce(given.next_fetch_at, 'infinity'),
            status = CASE WHEN given.reason IS NULL THEN 'f' ELSE 'd' END::"char",
            last_error = given.reason
        FROM unnest(
            %(shards)s::smallint[], %(host_ids)s::bigint[], %(url_ids)s::bigint[], %(times)s::timestamptz[],
            %(intervals)s::integer[], %(hashes)b::bytea[], %(reasons)s::text[]
        ) AS given (shard, host_id, url_id, next_fetch_at, interval_s, content_hash, reason)
        WHERE frontier_url.shard = given.shard
            AND frontier_url.host_id = given.host_id
            AND frontier_url.url_id = given.url_id
        """,
        settlement_columns(settlements),
    )


async def revive_blocked(conn: Connection, *, host: str, now: datetime) -> int:
    """What robots.txt forbade is tried again. Returns how many URLs."""
    host_id = host_id_of(host)
    cur = await conn.execute(
        """
        UPDATE frontier_url
        SET status = 'p', next_fetch_at = %(now)s, retry_count = 0, failing_since = NULL, last_error = NULL
        WHERE shard = %(shard)s AND host_id = %(host_id)s AND status = 'b'
        RETURNING source_id, band
        """,
        {"now": now, "shard": shard_of(host_id), "host_id": host_id},
    )
    counts: Counts = {}
    wakes: list[Wake] = []
    for source_id, band in await cur.fetchall():
        count(counts, source_id, "d", -1)
        count(counts, source_id, "p", 1)
        wakes.append(Wake(host, host_id, band, now, 0))
    await _count(conn, counts=counts)
    await wake_for_pages(conn, wakes=wakes)
    return len(wakes)


async def retry(conn: Connection, *, ids: Sequence[UUID], now: datetime) -> list[UUID]:
    """Somebody wants these tried again, at once and from the beginning. Returns those that there are."""
    places = sorted({place_of(one) for one in ids})
    cur = await conn.execute(
        """
        WITH old AS MATERIALIZED (
            SELECT url.*
            FROM unnest(%(shards)s::smallint[], %(host_ids)s::bigint[], %(url_ids)s::bigint[])
                AS given (shard, host_id, url_id)
            CROSS JOIN LATERAL (
                SELECT shard, host_id, url_id, status
                FROM frontier_url
                WHERE frontier_url.shard = given.shard
                    AND frontier_url.host_id = given.host_id
                    AND frontier_url.url_id = given.url_id
                FOR UPDATE
            ) AS url
        )
        UPDATE frontier_url
        SET status = 'p', next_fetch_at = %(now)s, retry_count = 0, failing_since = NULL, last_error = NULL
        FROM old
        WHERE frontier_url.shard = old.shard
            AND frontier_url.host_id = old.host_id
            AND frontier_url.url_id = old.url_id
        RETURNING frontier_url.host_id, frontier_url.url_id, source_id, band, old.status::text
        """,
        {**place_columns(places), "now": now},
    )
    counts: Counts = {}
    wakes: list[Wake] = []
    retried: set[Place] = set()
    for host_id, url_id, source_id, band, letter in await cur.fetchall():
        count(counts, source_id, letter, -1)
        count(counts, source_id, "p", 1)
        wakes.append(Wake(KNOWN_HOST, host_id, band, now, 0))
        retried.add(Place(shard_of(host_id), host_id, url_id))
    await _count(conn, counts=counts)
    await wake_for_pages(conn, wakes=wakes)
    return [one for one in ids if place_of(one) in retried]


async def delete(conn: Connection, *, ids: Sequence[UUID]) -> list[UUID]:
    """Forget these URLs and their aliases. Returns those that there were."""
    places = sorted({place_of(one) for one in ids})
    cur = await conn.execute(
        """
        WITH given AS MATERIALIZED (
            SELECT *
            FROM unnest(%(shards)s::smallint[], %(host_ids)s::bigint[], %(url_ids)s::bigint[])
                AS given (shard, host_id, url_id)
        ), gone AS (
            DELETE FROM frontier_url
            USING given
            WHERE frontier_url.shard = given.shard
                AND frontier_url.host_id = given.host_id
                AND frontier_url.url_id = given.url_id
            RETURNING frontier_url.host_id, frontier_url.url_id, source_id, status::text AS letter
        ), pointing AS (
            DELETE FROM frontier_alias
            USING given
            WHERE frontier_alias.to_host_id = given.host_id AND frontier_alias.to_url_id = given.url_id
        ), led AS (
            DELETE FROM frontier_alias
            USING given
            WHERE frontier_alias.shard = given.shard
                AND frontier_alias.host_id = given.host_id
                AND frontier_alias.url_id = given.url_id
            RETURNING frontier_alias.host_id, frontier_alias.url_id
        )
        SELECT host_id, url_id, source_id, letter FROM gone
        UNION ALL
        SELECT host_id, url_id, NULL, NULL FROM led
        """,
        place_columns(places),
    )
    counts: Counts = {}
    wakes: list[Wake] = []
    deleted: set[Place] = set()
    for host_id, url_id, source_id, letter in await cur.fetchall():
        deleted.add(Place(shard_of(host_id), host_id, url_id))
        if letter is not None:
            count(counts, source_id, letter, -1)
            wakes.append(Wake(KNOWN_HOST, host_id, decide.LAST_BAND, None, -1))
    await _count(conn, counts=counts)
    await wake_for_pages(conn, wakes=wakes)
    return [one for one in ids if place_of(one) in deleted]


async def hand_on(conn: Connection, *, sources: Mapping[UUID, SourceId | None]) -> None:
    """These URLs belong to another source from now on, or to none."""
    places = sorted((place_of(one), to) for one, to in sources.items())
    cur = await conn.execute(
        """
        WITH given AS MATERIALIZED (
            SELECT *
            FROM unnest(
                %(shards)s::smallint[], %(host_ids)s::bigint[], %(url_ids)s::bigint[], %(source_ids)b::uuid[]
            ) AS given (shard, host_id, url_id, source_id)
        ), old AS MATERIALIZED (
            SELECT url.*, given.source_id AS new_source_id
            FROM given
            CROSS JOIN LATERAL (
                SELECT shard, host_id, url_id, source_id
                FROM frontier_url
                WHERE frontier_url.shard = given.shard
                    AND frontier_url.host_id = given.host_id
                    AND frontier_url.url_id = given.url_id
                FOR UPDATE
            ) AS url
        )
        UPDATE frontier_url
        SET source_id = old.new_source_id
        FROM old
        WHERE frontier_url.shard = old.shard
            AND frontier_url.host_id = old.host_id
            AND frontier_url.url_id = old.url_id
        RETURNING old.source_id, old.new_source_id, status::text
        """,
        {**place_columns([place for place, _ in places]), "source_ids": [to for _, to in places]},
    )
    counts: Counts = {}
    for before, after, letter in await cur.fetchall():
        count(counts, before, letter, -1)
        count(counts, after, letter, 1)
    await _count(conn, counts=counts)


async def find_submitted(conn: Connection, *, urls: Sequence[str], except_for: SourceId | None = None) -> set[str]:
    """Those of these URLs that were submitted by hand, other than for the given source."""
    places = {place: url for url in urls if (place := _place(url)) is not None}
    if not places:
        return set()
    cur = await conn.execute(
        """
        SELECT shard, host_id, url_id
        FROM unnest(%(shards)s::smallint[], %(host_ids)s::bigint[], %(url_ids)s::bigint[])
            AS given (shard, host_id, url_id)
        JOIN frontier_url USING (shard, host_id, url_id)
        WHERE origin = 'm' AND source_id IS DISTINCT FROM %(except_for)s::uuid
        """,
        {**place_columns(sorted(places)), "except_for": except_for},
    )
    return {places[Place(*row)] for row in await cur.fetchall()}


async def forget_tallies(conn: Connection, *, source_id: SourceId) -> None:
    """Forget the counters of a removed source. Waits for a `tidy` that is adding them up."""
    await conn.execute("SELECT pg_advisory_xact_lock(hashtext('frontier_tally'))")
    await conn.execute("DELETE FROM frontier_tally WHERE source_id = %(source_id)s", {"source_id": source_id})


async def tidy(conn: Connection, *, now: datetime) -> int:
    """Sum up what batches noted, and forget old aliases. Call it now and then; returns how many rows are left."""
    cur = await conn.execute(
        """
        WITH turn AS MATERIALIZED (
            SELECT pg_try_advisory_xact_lock(hashtext('frontier_tally')) AS is_mine
        ), noted AS (
            DELETE FROM frontier_tally
            WHERE (SELECT is_mine FROM turn)
            RETURNING source_id, pending, fetched, failed, dead
        )
        INSERT INTO frontier_tally (source_id, pending, fetched, failed, dead)
        SELECT source_id, sum(pending), sum(fetched), sum(failed), sum(dead)
        FROM noted
        GROUP BY source_id
        """
    )
    await conn.execute("DELETE FROM frontier_alias WHERE expires_at <= %(now)s", {"now": now})
    return cur.rowcount


async def repair_schedules(conn: Connection, *, now: datetime, latest: datetime, thoroughly: bool) -> None:
    """Make due what waits beyond any wait that is allowed, as a clock that was ahead wrote it.

    URLs found by that clock are always looked at; all others only `thoroughly`, which reads the whole table.
    """
    await conn.execute(
        """
        UPDATE frontier_url
        SET next_fetch_at = CASE WHEN next_fetch_at < 'infinity' THEN %(now)s ELSE next_fetch_at END,
            discovered_at = %(now)s,
            last_fetched_at = CASE WHEN last_fetched_at > %(now)s THEN %(now)s ELSE last_fetched_at END
        WHERE discovered_at > %(now)s::timestamptz + interval '1 hour'
        """,
        {"now": now},
    )
    if thoroughly:
        await _repair_urls(conn, now=now, latest=latest)


async def _repair_urls(conn: Connection, *, now: datetime, latest: datetime) -> None:
    await conn.execute(
        """
        UPDATE frontier_url
        SET next_fetch_at = CASE WHEN next_fetch_at < 'infinity' THEN %(now)s ELSE next_fetch_at END,
            last_fetched_at = CASE WHEN last_fetched_at > %(now)s THEN %(now)s ELSE last_fetched_at END,
            failing_since = CASE WHEN failing_since > %(now)s THEN %(now)s ELSE failing_since END
        WHERE (next_fetch_at > %(latest)s AND next_fetch_at < 'infinity')
            OR greatest(last_fetched_at, failing_since) > %(now)s::timestamptz + interval '1 hour'
        """,
        {"now": now, "latest": latest},
    )

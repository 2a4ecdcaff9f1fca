"""Every statement that writes `host`, `frontier_url`, `frontier_alias`, `host_robots` and `frontier_tally`, or claims.

Everybody writes URLs before hosts, and both in the order of their keys: two who write the same rows never wait for each
other in a circle. So submit, answer or settle once per transaction.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from psycopg.rows import args_row

from headwater.db import Connection
from headwater.errors import InvalidUrl
from headwater.frontier import decide
from headwater.frontier.arrays import letters, numbers, texts, times, uuids
from headwater.frontier.decide import POISON
from headwater.frontier.keys import SHARDS, Place, host_id_of, locate, place_of, shard_of
from headwater.frontier.rows import (
    STATUS_LETTER,
    AddedRow,
    ClaimRow,
    Counts,
    FetchedRow,
    Result,
    Settlement,
    Touched,
    Wake,
    Wanted,
    claimed_hosts,
    count,
    fates_of,
    place_columns,
    resubmitted,
    result_columns,
    robots_of,
    settlement_columns,
    settlement_of,
    sort_out,
    tally_columns,
    tell_fate,
    tell_where_led,
    url_columns,
    wake_columns,
)
from headwater.frontier.types import (
    Answered,
    ClaimedHost,
    FrontierOptions,
    HostAnswer,
    Redirected,
    Robots,
    Settled,
    Submission,
    Submitted,
)
from headwater.types import SourceId
from headwater.urls import host_of

DEFAULTS = FrontierOptions()
WAKE_CHANNEL = "headwater_frontier"
"""LISTEN to it to hear that a queue with nothing to do got something to do."""

KNOWN_HOST = ""  # a host that has its row, with its name
MOST_HOPS = 5
LONGEST_LEASE = timedelta(hours=1)
ALL_SHARDS = tuple(range(SHARDS))


async def submit(
    conn: Connection, *, submissions: Sequence[Submission], now: datetime, options: FrontierOptions = DEFAULTS
) -> list[Submitted]:
    """Queue URLs that somebody found; what is known is raised or brought forward when it waits, else left as it is.

    Returns what came of each, in the order given.
    """
    results, touched = await _submit(conn, submissions, now, options, MOST_HOPS)
    await _wake(conn, wakes=touched.wakes, counts=touched.counts, now=now)
    return results


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
                FROM host
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


async def _wake(conn: Connection, *, wakes: Iterable[Wake], counts: Counts, now: datetime) -> None:
    """These hosts have something to do, as soon as politeness lets them. Who holds one finds it when giving it back."""
    columns = wake_columns(wakes)
    if not columns["host_ids"]:
        return
    await conn.execute(
        """
        WITH idle AS MATERIALIZED (
            SELECT NOT EXISTS (
                SELECT
                FROM unnest(%(every_band)s::smallint[], %(every_shard)s::smallint[]) AS part (band, shard)
                CROSS JOIN LATERAL (
                    SELECT
                    FROM host
                    WHERE host.shard = part.shard
                        AND host.band = part.band
                        AND ready_at <= %(now)s
                        AND ready_at < 'infinity'
                    LIMIT 1
                ) AS ready
            ) AS is_idle
        ), woken AS (
            INSERT INTO host AS h (shard, host_id, name, band, ready_at, url_count)
            SELECT shard, host_id, name, band, coalesce(ready_at, 'infinity'), more
            FROM unnest(
                %(shards)s::smallint[], %(host_ids)s::bigint[], %(names)s::text[], %(bands)s::smallint[],
                %(times)s::timestamptz[], %(more)s::integer[]
            ) AS given (shard, host_id, name, band, ready_at, more)
            ORDER BY shard, host_id
            ON CONFLICT ON CONSTRAINT host_pkey DO UPDATE
            SET url_count = h.url_count + excluded.url_count,
                band = CASE
                    WHEN h.lease IS NOT NULL OR excluded.ready_at = 'infinity' THEN h.band
                    WHEN h.ready_at = 'infinity' THEN excluded.band
                    ELSE least(h.band, excluded.band)
                END,
                ready_at = CASE
                    WHEN h.lease IS NOT NULL THEN h.ready_at
                    ELSE least(h.ready_at, greatest(h.not_before, excluded.ready_at))
                END
            WHERE excluded.url_count <> 0
                OR h.lease IS NULL AND (
                    h.ready_at > greatest(h.not_before, excluded.ready_at) OR h.band > excluded.band
                )
            RETURNING lease IS NULL AND ready_at < 'infinity' AS can_be_claimed
        ), counted AS (
            INSERT INTO frontier_tally (source_id, pending, fetched, failed, dead)
            SELECT *
            FROM unnest(
                %(tally_sources)s::uuid[], %(tally_p)s::integer[], %(tally_f)s::integer[], %(tally_r)s::integer[],
                %(tally_d)s::integer[]
            )
        )
        SELECT pg_notify(%(channel)s, '')
        FROM idle
        WHERE is_idle AND EXISTS (SELECT FROM woken WHERE can_be_claimed)
        """,
        {**columns, **tally_columns(counts), **parts((0, 1, 2, 3), ALL_SHARDS), "now": now, "channel": WAKE_CHANNEL},
    )


def parts(bands: Sequence[int], shards: Sequence[int]) -> dict[str, str]:
    """Every part of the queue, band by band."""
    return {
        "every_band": numbers([band for band in bands for _ in shards]),
        "every_shard": numbers([shard for _ in bands for shard in shards]),
    }


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
    rows = await _claim(
        conn,
        lease=lease,
        now=now,
        leased_until=leased_until,
        hosts=hosts,
        urls_per_host=urls_per_host,
        bands=bands,
        shards=decide.rotate(shards, choice * 7919 % 1),
    )
    claimed: list[ClaimedHost] = []
    returned: list[ClaimedHost] = []
    for host, strikes in claimed_hosts(rows, lease, options):
        if strikes >= options.max_strikes and host.urls:
            await _give_up(conn, host=host, now=now)
        if strikes >= options.max_strikes or not host.urls:
            returned.append(host)
        else:
            claimed.append(host)
    if returned:
        await _lock(conn, host_ids={host_id_of(host.host) for host in returned})
        await _release(conn, hosts=[(host, host.not_before, host.slowed, host.successes) for host in returned])
    return claimed


async def _claim(
    conn: Connection,
    *,
    lease: UUID,
    now: datetime,
    leased_until: datetime,
    hosts: int,
    urls_per_host: int,
    bands: Sequence[int],
    shards: Sequence[int],
) -> list[ClaimRow]:
    """One statement. What is joined LATERAL is joined in the order given: bands in turn, no more than is needed."""
    async with conn.cursor(binary=True, row_factory=args_row(ClaimRow)) as cur:
        await cur.execute(
            """
            WITH ready AS MATERIALIZED (
                SELECT free.shard, free.host_id, free.lease, free.ready_at
                FROM unnest(%(every_band)s::smallint[], %(every_shard)s::smallint[]) AS part (band, shard)
                CROSS JOIN LATERAL (
                    SELECT shard, host_id, lease, ready_at
                    FROM host
                    WHERE host.shard = part.shard
                        AND host.band = part.band
                        AND ready_at <= %(now)s
                        AND ready_at < 'infinity'
                    ORDER BY ready_at
                    LIMIT %(hosts)s
                    FOR UPDATE SKIP LOCKED
                ) AS free
                LIMIT %(hosts)s
            ), leased AS (
                UPDATE host
                SET ready_at = %(leased_until)s,
                    lease = %(lease)s,
                    strikes = CASE WHEN ready.lease IS NULL THEN 0 ELSE host.strikes + 1 END,
                    claimed = CASE WHEN ready.lease IS NULL THEN %(urls)s ELSE 1 END
                FROM ready
                WHERE host.shard = ready.shard AND host.host_id = ready.host_id
                RETURNING host.shard, host.host_id, name, slowed, successes, strikes, robots_delay_ms,
                    greatest(not_before, ready.ready_at) AS not_before,
                    CASE WHEN ready.lease IS NOT NULL THEN ready.ready_at END AS lost_at
            )
            SELECT leased.host_id, name, slowed, successes, strikes, robots_delay_ms, not_before, lost_at,
                min_delay_ms, url_id, url, kind, origin, due.source_id, depth, priority, etag, last_modified,
                fetch_count, retry_count, failing_since, interval_s, status
            FROM leased
            LEFT JOIN LATERAL (
                SELECT best.*
                FROM unnest(
                    CASE WHEN strikes = 0 THEN %(bands)s::smallint[] ELSE ARRAY[0, 1, 2, 3]::smallint[] END
                ) AS turn (band)
                CROSS JOIN LATERAL (
                    SELECT url_id, url, kind, origin, source_id, depth, priority, etag, last_modified, fetch_count,
                        retry_count, failing_since, interval_s, status
                    FROM frontier_url
                    WHERE shard = leased.shard
                        AND frontier_url.band = turn.band
                        AND host_id = leased.host_id
                        AND next_fetch_at <= %(now)s
                        AND next_fetch_at < 'infinity'
                    ORDER BY next_fetch_at
                    LIMIT %(urls)s
                ) AS best
                LIMIT CASE WHEN leased.strikes = 0 THEN %(urls)s ELSE 1 END
            ) AS due ON true
            LEFT JOIN LATERAL (
                SELECT min_delay_ms
                FROM sources
                WHERE sources.id = due.source_id
                LIMIT 1
            ) AS source ON true
            """,
            {
                **parts(bands, shards),
                "bands": numbers(bands),
                "lease": lease,
                "now": now,
                "leased_until": leased_until,
                "hosts": hosts,
                "urls": urls_per_host,
            },
        )
        return await cur.fetchall()


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


async def renew(conn: Connection, *, hosts: Sequence[ClaimedHost], leased_until: datetime) -> list[str]:
    """Hold these hosts for longer. Returns those that were still ours."""
    await _lock(conn, host_ids=[host_id_of(host.host) for host in hosts])
    ids = sorted((shard_of(host_id_of(host.host)), host_id_of(host.host), host.lease) for host in hosts)
    cur = await conn.execute(
        """
        UPDATE host
        SET ready_at = %(leased_until)s
        FROM unnest(%(shards)s::smallint[], %(host_ids)s::bigint[], %(leases)s::uuid[]) AS mine (shard, host_id, lease)
        WHERE host.shard = mine.shard AND host.host_id = mine.host_id AND host.lease = mine.lease
        RETURNING name
        """,
        {
            "shards": numbers([shard for shard, _, _ in ids]),
            "host_ids": numbers([host_id for _, host_id, _ in ids]),
            "leases": uuids([lease for _, _, lease in ids]),
            "leased_until": leased_until,
        },
    )
    return [row[0] for row in await cur.fetchall()]


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
        await _lock(conn, host_ids=own | {wake.host_id for wake in wakes})
        await _wake(conn, wakes=wakes, counts={}, now=now)
        await _release(conn, hosts=[_given_back(host, options) for host in answers])


def _given_back(given: HostAnswer, options: FrontierOptions) -> tuple[ClaimedHost, datetime, int, int]:
    """A host, not before when it is asked again, and its pace."""
    host = given.host
    fine = sum(1 for one in given.answered if isinstance(one.answer, decide.SUCCESSES))
    slowed, successes = decide.pace(host.slowed, host.successes, fine, options, was_rate_limited=given.was_rate_limited)
    delay = host.delay if slowed <= host.slowed else max(host.delay, min(host.delay * 2, options.max_delay))
    times = [host.not_before, given.blocked_until, given.last_request_at and given.last_request_at + delay]
    return host, max(time for time in times if time is not None), slowed, successes


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


async def _lock(conn: Connection, *, host_ids: Iterable[int]) -> None:
    """Wait for whoever writes these hosts now, so that the next statement sees what they brought."""
    ids = sorted((shard_of(host_id), host_id) for host_id in host_ids)
    await conn.execute(
        """
        SELECT
        FROM unnest(%(shards)s::smallint[], %(host_ids)s::bigint[]) AS mine (shard, host_id)
        CROSS JOIN LATERAL (
            SELECT
            FROM host
            WHERE host.shard = mine.shard AND host.host_id = mine.host_id
            FOR UPDATE
        ) AS locked
        """,
        {"shards": numbers([shard for shard, _ in ids]), "host_ids": numbers([host_id for _, host_id in ids])},
    )


async def _release(conn: Connection, *, hosts: Sequence[tuple[ClaimedHost, datetime, int, int]]) -> None:
    """Give hosts back that are still ours: ready when politeness and the earliest of their URLs let them."""
    rows = sorted(hosts, key=lambda row: (shard_of(host_id_of(row[0].host)), host_id_of(row[0].host)))
    ids = [host_id_of(host.host) for host, _, _, _ in rows]
    await conn.execute(
        """
        WITH given AS MATERIALIZED (
            SELECT *
            FROM unnest(
                %(shards)s::smallint[], %(host_ids)s::bigint[], %(leases)s::uuid[], %(times)s::timestamptz[],
                %(slowed)s::smallint[], %(successes)s::smallint[]
            ) AS given (shard, host_id, lease, not_before, slowed, successes)
        ), first AS MATERIALIZED (
            SELECT given.*, band_0.due_at AS due_0, band_1.due_at AS due_1, band_2.due_at AS due_2,
                greatest(
                    not_before, coalesce(least(band_0.due_at, band_1.due_at, band_2.due_at, band_3.due_at), 'infinity')
                ) AS ready_at
            FROM given
            LEFT JOIN LATERAL (
                SELECT next_fetch_at AS due_at
                FROM frontier_url
                WHERE shard = given.shard AND band = 0 AND host_id = given.host_id AND next_fetch_at < 'infinity'
                ORDER BY next_fetch_at
                LIMIT 1
            ) AS band_0 ON true
            LEFT JOIN LATERAL (
                SELECT next_fetch_at AS due_at
                FROM frontier_url
                WHERE shard = given.shard AND band = 1 AND host_id = given.host_id AND next_fetch_at < 'infinity'
                ORDER BY next_fetch_at
                LIMIT 1
            ) AS band_1 ON true
            LEFT JOIN LATERAL (
                SELECT next_fetch_at AS due_at
                FROM frontier_url
                WHERE shard = given.shard AND band = 2 AND host_id = given.host_id AND next_fetch_at < 'infinity'
                ORDER BY next_fetch_at
                LIMIT 1
            ) AS band_2 ON true
            LEFT JOIN LATERAL (
                SELECT next_fetch_at AS due_at
                FROM frontier_url
                WHERE shard = given.shard AND band = 3 AND host_id = given.host_id AND next_fetch_at < 'infinity'
                ORDER BY next_fetch_at
                LIMIT 1
            ) AS band_3 ON true
        )
        UPDATE host
        SET lease = NULL,
            strikes = 0,
            slowed = first.slowed,
            successes = first.successes,
            not_before = first.not_before,
            ready_at = first.ready_at,
            band = CASE
                WHEN due_0 <= first.ready_at THEN 0
                WHEN due_1 <= first.ready_at THEN 1
                WHEN due_2 <= first.ready_at THEN 2
                ELSE 3
            END
        FROM first
        WHERE host.shard = first.shard AND host.host_id = first.host_id AND host.lease = first.lease
        """,
        {
            "shards": numbers([shard_of(host_id) for host_id in ids]),
            "host_ids": numbers(ids),
            "leases": uuids([host.lease for host, _, _, _ in rows]),
            "times": times([not_before for _, not_before, _, _ in rows]),
            "slowed": numbers([slowed for _, _, slowed, _ in rows]),
            "successes": numbers([successes for _, _, _, successes in rows]),
        },
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
    await _wake(conn, wakes=touched.wakes, counts={}, now=now)
    await _count(conn, counts=touched.counts)


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


async def next_ready_at(conn: Connection, *, shards: Sequence[int] = ALL_SHARDS) -> datetime | None:
    """When the next host can be claimed, perhaps in the past; None while nothing waits."""
    cur = await conn.execute(
        """
        SELECT min(ready_at)
        FROM unnest(%(every_band)s::smallint[], %(every_shard)s::smallint[]) AS part (band, shard)
        CROSS JOIN LATERAL (
            SELECT ready_at
            FROM host
            WHERE host.shard = part.shard AND host.band = part.band AND ready_at < 'infinity'
            ORDER BY ready_at
            LIMIT 1
        ) AS soonest
        """,
        parts((0, 1, 2, 3), shards),
    )
    row = await cur.fetchone()
    return row[0] if row else None


async def find_robots(conn: Connection, *, origins: Sequence[str]) -> dict[str, Robots]:
    """What is known of these origins' robots.txt, expired or not."""
    ids = [host_id_of(host_of(origin)) for origin in origins]
    cur = await conn.execute(
        """
        SELECT origin, status, body, fetched_at, expires_at, unreachable_since, crawl_delay_ms, sitemaps
        FROM unnest(%(shards)s::smallint[], %(host_ids)s::bigint[], %(origins)s::text[])
            AS given (shard, host_id, origin)
        JOIN host_robots USING (shard, host_id, origin)
        """,
        {
            "shards": numbers([shard_of(host_id) for host_id in ids]),
            "host_ids": numbers(ids),
            "origins": texts(origins),
        },
    )
    return {row[0]: robots_of(row) for row in await cur.fetchall()}


async def keep_robots(conn: Connection, *, robots: Robots) -> bool:
    """Keep a robots.txt for everybody. Returns whether it says something else than before.

    Only who holds the host asks for it, so that nobody else does at the same time.
    """
    host_id = host_id_of(host_of(robots.origin))
    delay_ms = None if robots.crawl_delay is None else int(robots.crawl_delay / timedelta(milliseconds=1))
    cur = await conn.execute(
        """
        WITH old AS MATERIALIZED (
            SELECT body, unreachable_since IS NULL AS is_reachable
            FROM host_robots
            WHERE shard = %(shard)s AND host_id = %(host_id)s AND origin = %(origin)s
        ), kept AS (
            INSERT INTO host_robots AS r (
                shard, host_id, origin, status, body, fetched_at, expires_at, unreachable_since, crawl_delay_ms,
                sitemaps
            )
            VALUES (
                %(shard)s, %(host_id)s, %(origin)s, %(status)s, %(body)s, %(fetched_at)s, %(expires_at)s,
                %(unreachable_since)s, %(delay_ms)s, %(sitemaps)s
            )
            ON CONFLICT ON CONSTRAINT host_robots_pkey DO UPDATE
            SET status = excluded.status,
                body = excluded.body,
                fetched_at = excluded.fetched_at,
                expires_at = excluded.expires_at,
                unreachable_since = excluded.unreachable_since,
                crawl_delay_ms = excluded.crawl_delay_ms,
                sitemaps = excluded.sitemaps
        ), slowed AS (
            UPDATE host
            SET robots_delay_ms = greatest(
                %(delay_ms)s,
                (
                    SELECT max(crawl_delay_ms)
                    FROM host_robots
                    WHERE shard = %(shard)s AND host_id = %(host_id)s AND origin <> %(origin)s
                )
            )
            WHERE shard = %(shard)s AND host_id = %(host_id)s
        )
        SELECT (body, is_reachable) IS DISTINCT FROM (%(body)s::text, %(unreachable_since)s::timestamptz IS NULL)
        FROM old
        """,
        {
            "shard": shard_of(host_id),
            "host_id": host_id,
            "origin": robots.origin,
            "status": robots.status,
            "body": robots.body,
            "fetched_at": robots.fetched_at,
            "expires_at": robots.expires_at,
            "unreachable_since": robots.unreachable_since,
            "delay_ms": delay_ms,
            "sitemaps": list(robots.sitemaps),
        },
    )
    row = await cur.fetchone()
    return row is None or row[0]


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
    await _wake(conn, wakes=wakes, counts=counts, now=now)
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
    await _wake(conn, wakes=wakes, counts=counts, now=now)
    return [one for one in ids if place_of(one) in retried]


async def delete(conn: Connection, *, ids: Sequence[UUID], now: datetime) -> list[UUID]:
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
    await _wake(conn, wakes=wakes, counts=counts, now=now)
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


async def repair_schedules(conn: Connection, *, now: datetime, latest: datetime, thoroughly: bool) -> int:
    """Make due what waits beyond any wait that is allowed, as a clock that was ahead wrote it. Returns how many hosts.

    The hosts themselves, and URLs found by that clock, are always looked at; all other URLs only `thoroughly`, which
    reads the whole table.
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
    cur = await conn.execute(
        """
        UPDATE host
        SET lease = NULL,
            not_before = CASE WHEN not_before > %(latest)s THEN %(now)s ELSE not_before END,
            ready_at = %(now)s,
            band = coalesce(
                (
                    SELECT min(frontier_url.band)
                    FROM frontier_url
                    WHERE frontier_url.shard = host.shard
                        AND frontier_url.host_id = host.host_id
                        AND frontier_url.next_fetch_at <= %(now)s
                ),
                host.band
            )
        WHERE ready_at > %(now)s
            AND ready_at < 'infinity'
            AND (
                ready_at > %(latest)s
                OR not_before > %(latest)s
                OR (lease IS NOT NULL AND ready_at > %(now)s::timestamptz + interval '1 day')
                OR (
                    %(thoroughly)s
                    AND lease IS NULL
                    AND not_before <= %(now)s
                    AND EXISTS (
                        SELECT
                        FROM frontier_url
                        WHERE frontier_url.shard = host.shard
                            AND frontier_url.host_id = host.host_id
                            AND frontier_url.next_fetch_at <= %(now)s
                    )
                )
            )
        """,
        {"now": now, "latest": latest, "thoroughly": thoroughly},
    )
    return cur.rowcount


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
    await conn.execute(
        """
        UPDATE host_robots
        SET expires_at = %(now)s, fetched_at = CASE WHEN fetched_at > %(now)s THEN %(now)s ELSE fetched_at END
        WHERE fetched_at > %(now)s::timestamptz + interval '1 hour'
        """,
        {"now": now},
    )

"""Queueing URLs: new ones are inserted, pending ones raised or brought forward, dead ones revived."""

from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from uuid import UUID

from headwater.db import Connection, fetch_value
from headwater.errors import InvalidUrl
from headwater.frontier.decide import CRAWLED, POISON, band_of, priority_of, trap
from headwater.frontier.keys import Located, UrlKey, locate, shortened
from headwater.frontier.store.tables import KIND_LETTER, KIND_OF, ORIGIN_LETTER, UrlChanges, key_columns, write_counts
from headwater.frontier.types import DEFAULTS, FrontierOptions, Origin, Submission, SubmitOutcome, Submitted
from headwater.hosts.arrays import flags, letters, numbers, once_per_run, texts, times, uuids
from headwater.hosts.store.due import wake_for_pages
from headwater.hosts.types import Wake
from headwater.types import PageKind, SourceId

MAX_HOPS = 5  # from alias to alias
MAX_DEPTH = 32_767  # of a smallint
SOURCE_DELETED = "source_deleted"

AddedRow = tuple[str, Sequence[int], UUID | None, str]
"""The result for some URLs of a batch, their numbers, and for a single one its source (of one that is published, that
before) and the target of its alias, or its status."""


async def submit(
    conn: Connection, *, submissions: Sequence[Submission], now: datetime, options: FrontierOptions = DEFAULTS
) -> list[Submitted]:
    """Queue URLs. Returns the result of each, in the order given."""
    results, wakes = await add(conn, submissions=submissions, now=now, options=options)
    await wake_for_pages(conn, wakes=wakes)
    return results


async def add(
    conn: Connection, *, submissions: Sequence[Submission], now: datetime, options: FrontierOptions = DEFAULTS
) -> tuple[list[Submitted], list[Wake]]:
    """As `submit`, for a caller that writes hosts later in the transaction: it still has to wake these."""
    results, changes = await add_uncounted(conn, submissions, now, options)
    await write_counts(conn, changes=changes)
    return results, changes.wakes


async def add_uncounted(
    conn: Connection, submissions: Sequence[Submission], now: datetime, options: FrontierOptions, hops: int = MAX_HOPS
) -> tuple[list[Submitted], UrlChanges]:
    """Write the URLs only. Instead of an alias, its target is queued."""
    wanted = {one.source_id for one in submissions if one.source_id is not None}
    public = await _find_sources(conn, source_ids=wanted)
    results, batch = merge(submissions, now, options, wanted.difference(public))
    changes = UrlChanges()
    rows = await _add(conn, batch=batch, public=public, now=now, options=options) if batch else []
    outcomes, aliases, published = _outcomes_of(rows, batch, changes)
    for at, (one, (outcome, reason)) in enumerate(zip(batch, outcomes, strict=True)):
        key = None if outcome is SubmitOutcome.INVALID else one.located.key
        for position, number in enumerate(one.numbers):  # new for the first submission of a URL only
            shown = SubmitOutcome.KNOWN if key and position else outcome
            url = one.located.url if at in published else None
            results[number] = Submitted(submissions[number].url, shown, key, reason, url)
    if aliases and hops:
        targets = [one.at_target(to_url) for one, to_url in aliases]
        found, more = await add_uncounted(conn, targets, now, options, hops - 1)
        changes.add(more)
        for (one, _), result in zip(aliases, found, strict=True):
            for number in one.numbers:
                results[number] = result._replace(url=submissions[number].url)
    return [one for one in results if one is not None], changes


@dataclass(slots=True)
class BatchUrl:
    located: Located
    submission: Submission
    priority: int
    next_fetch_at: datetime
    can_revive: bool
    numbers: tuple[int, ...]  # of its submissions

    def merge(self, other: "BatchUrl") -> None:
        if other.priority > self.priority:
            self.located, self.submission, self.priority = other.located, other.submission, other.priority
        self.next_fetch_at = min(self.next_fetch_at, other.next_fetch_at)
        self.can_revive |= other.can_revive
        self.numbers += other.numbers

    def at_target(self, url: str) -> Submission:
        origin = Origin.FEED if self.can_revive else self.submission.origin
        return self.submission._replace(url=url, priority=self.priority, not_before=self.next_fetch_at, origin=origin)


def merge(
    submissions: Sequence[Submission], now: datetime, options: FrontierOptions, deleted: Container[SourceId] = ()
) -> tuple[list[Submitted | None], list[BatchUrl]]:
    """The results of invalid submissions; the URLs of the others, each once, in the order of the table's key."""
    results: list[Submitted | None] = [None] * len(submissions)
    batch: dict[UrlKey, BatchUrl] = {}
    for number, submission in enumerate(submissions):
        try:
            located = locate(submission.url)
        except InvalidUrl as error:
            results[number] = Submitted(submission.url, SubmitOutcome.INVALID, reason=error.reason)
            continue
        reason = trap(located.canonical, origin=submission.origin, depth=submission.depth, options=options)
        if submission.source_id is not None and submission.source_id in deleted:
            reason = SOURCE_DELETED
        if reason is not None:
            results[number] = Submitted(submission.url, SubmitOutcome.INVALID, reason=reason)
            continue
        due_at = now if submission.not_before is None else max(now, submission.not_before)
        can_revive = submission.origin is Origin.FEED
        one = BatchUrl(located, submission, priority_of(submission), due_at, can_revive, (number,))
        if (known := batch.setdefault(located.key, one)) is not one:
            known.merge(one)
    return results, [batch[key] for key in sorted(batch)]


def publishes(one: Submission, public: Mapping[SourceId, bool]) -> bool:
    """Whether the URL is public from now on: an operator submits it, or a public source without a feed lists it. What
    a feed lists is linked to it by polling."""
    if one.source_id is not None:
        return one.origin is not Origin.FEED and public.get(one.source_id, False)
    return one.origin is Origin.MANUAL or one.origin in CRAWLED


def batch_columns(batch: Sequence[BatchUrl], public: Mapping[SourceId, bool] | None = None) -> dict[str, str]:
    submissions = [one.submission for one in batch]
    return {
        **key_columns([one.located.key for one in batch]),
        "urls": texts([shortened(one.located.url, one.located.host) for one in batch]),
        "source_ids": uuids([one.source_id for one in submissions]),
        "origins": letters(once_per_run([one.origin for one in submissions], ORIGIN_LETTER.__getitem__)),
        "kinds": letters(once_per_run([one.kind for one in submissions], KIND_LETTER.__getitem__)),
        "parents": texts([one.parent_url for one in submissions]),
        "depths": numbers([min(one.depth, MAX_DEPTH) for one in submissions]),
        "priorities": numbers([one.priority for one in batch]),
        "bands": numbers([band_of(one.priority) for one in batch]),
        "times": times([one.next_fetch_at for one in batch]),
        "can_revive": flags([one.can_revive for one in batch]),
        "publish": flags([publishes(one, public or {}) for one in submissions]),
        "positions": numbers(_positions_in_host(batch)),
    }


def _positions_in_host(batch: Sequence[BatchUrl]) -> list[int | None]:
    """The position of each URL among those of its host that the cap applies to."""
    counts: defaultdict[int, int] = defaultdict(int)
    positions: list[int | None] = []
    for one in batch:
        if one.submission.origin in CRAWLED:
            counts[one.located.key.host_id] += 1
            positions.append(counts[one.located.key.host_id])
        else:
            positions.append(None)
    return positions


def _outcomes_of(
    rows: Iterable[AddedRow], batch: Sequence[BatchUrl], changes: UrlChanges
) -> tuple[list[tuple[SubmitOutcome, str | None]], list[tuple[BatchUrl, str]], set[int]]:
    """The outcome for each URL of a batch with its reason, which of them are aliases of which URL, and which are
    published."""
    outcomes: list[tuple[SubmitOutcome, str | None]] = [(SubmitOutcome.KNOWN, None)] * len(batch)
    aliases: list[tuple[BatchUrl, str]] = []
    published: set[int] = set()
    for result, numbered, source_id, to_url in rows:
        if result == "queued":
            for number in numbered:
                outcomes[number - 1] = SubmitOutcome.QUEUED, None
            _count_queued([batch[number - 1] for number in sorted(numbered)], changes)
            continue
        position = numbered[0] - 1
        if result == "published":
            published.add(position)
            changes.count(source_id, to_url, -1)
            changes.count(batch[position].submission.source_id, to_url, 1)
            changes.wakes.append(_wake_for([batch[position]], 0))
        elif result == "alias":
            aliases.append((batch[position], to_url))
        elif result == "full":
            outcomes[position] = SubmitOutcome.INVALID, "host_full"
        else:
            changes.wakes.append(_wake_for([batch[position]], 0))
            if result == "revived":
                outcomes[position] = SubmitOutcome.REVIVED, None
                changes.move(source_id, "d", "p")
    return outcomes, aliases, published


def _count_queued(queued: Sequence[BatchUrl], changes: UrlChanges) -> None:
    """URLs of one host are next to each other, and mostly of one source."""
    for _, group in groupby(queued, key=lambda one: one.located.key.host_id):
        ones = list(group)
        changes.wakes.append(_wake_for(ones, len(ones)))
        for source_id, of_source in groupby([one.submission.source_id for one in ones]):
            changes.count(source_id, "p", sum(1 for _ in of_source))


def _wake_for(ones: Sequence[BatchUrl], more: int) -> Wake:
    located = ones[0].located
    band = band_of(max(one.priority for one in ones))
    return Wake(located.host, located.key.host_id, band, min(one.next_fetch_at for one in ones), more)


async def _find_sources(conn: Connection, *, source_ids: set[SourceId]) -> dict[SourceId, bool]:
    """Those of these sources that exist, and whether each is public. They cannot be deleted before the transaction
    ends: so no URL is queued for a deleted source, however late a worker submits it."""
    if not source_ids:
        return {}
    statement = """
        SELECT id, is_system OR coalesce(moderation_status = 'approved', false)
        FROM sources WHERE id = ANY(%(ids)s) ORDER BY id FOR KEY SHARE
    """
    cur = await conn.execute(statement, {"ids": list(source_ids)})
    return {SourceId(source_id): is_public for source_id, is_public in await cur.fetchall()}


async def _add(
    conn: Connection, *, batch: Sequence[BatchUrl], public: Mapping[SourceId, bool], now: datetime,
    options: FrontierOptions,
) -> list[AddedRow]:  # fmt: skip
    """Insert new URLs, raise pending ones, revive dead ones that a feed lists again. Returns what is not simply known.

    An article that is now submitted as a sitemap or a list of links is fetched again without its validators. So is a
    page that a reader saved or a user's feed lists, once an operator submits it or a public source without a feed finds
    it: from then on it belongs to that source, which lists it when it is read.
    The arrays go through a CTE, so that the plan is the same however long they are: by the index, one URL at a time.
    """
    cur = conn.cursor(binary=True)
    statement = """
        WITH batch AS MATERIALIZED (
            SELECT %(shards)s::smallint[] AS shards, %(host_ids)s::bigint[] AS host_ids,
                %(url_ids)s::bigint[] AS url_ids, %(urls)s::text[] AS urls, %(source_ids)s::uuid[] AS source_ids,
                %(origins)s::text[] AS origins, %(kinds)s::text[] AS kinds, %(parents)s::text[] AS parents,
                %(depths)s::smallint[] AS depths, %(priorities)s::smallint[] AS priorities,
                %(bands)s::smallint[] AS bands, %(times)s::timestamptz[] AS times,
                %(can_revive)s::boolean[] AS can_revive, %(publish)s::boolean[] AS publish,
                %(positions)s::integer[] AS positions
        ), looked AS MATERIALIZED (
            SELECT given.*, old.status, old.status IS NULL AND alias.to_url IS NULL AS is_new,
                old.status = 'p' AND (given.priority > old.priority OR given.next_fetch_at < old.next_fetch_at)
                    AS is_raised,
                old.status IN ('p', 'r', 'f') AND old.kind = 'a' AND given.kind <> 'a' AS is_more,
                given.publish AND (old.origin = 'v' OR (old.origin = 'f' AND NOT coalesce(owner.is_public, false)))
                    AS is_published, old.source_id AS old_source_id,
                old.status IN ('d', 'b') AND given.can_revive AND NOT given.publish
                    AND coalesce(old.last_fetched_at, '-infinity') <= %(dead_before)s
                    AND old.last_error IS DISTINCT FROM %(poison)s AS is_revived,
                alias.to_url, coalesce(coalesce(queue.url_count, 0) + given.position > %(most)s, false) AS is_full
            FROM batch
            CROSS JOIN LATERAL unnest(
                shards, host_ids, url_ids, urls, source_ids, origins, kinds, parents, depths, priorities, bands, times,
                can_revive, publish, positions
            ) WITH ORDINALITY AS given (
                shard, host_id, url_id, url, source_id, origin, kind, parent_url, depth, priority, band, next_fetch_at,
                can_revive, publish, position, number
            )
            LEFT JOIN LATERAL (
                SELECT status, kind, origin, source_id, priority, next_fetch_at, last_fetched_at, last_error
                FROM frontier_url WHERE (shard, host_id, url_id) = (given.shard, given.host_id, given.url_id)
                LIMIT 1
            ) AS old ON true
            LEFT JOIN LATERAL (
                SELECT is_system OR coalesce(moderation_status = 'approved', false) AS is_public
                FROM sources WHERE given.publish AND old.origin = 'f' AND sources.id = old.source_id
                LIMIT 1
            ) AS owner ON true
            LEFT JOIN LATERAL (
                SELECT to_url FROM frontier_alias
                WHERE old.status IS NULL AND (shard, host_id, url_id) = (given.shard, given.host_id, given.url_id)
                    AND expires_at > %(now)s
                LIMIT 1
            ) AS alias ON true
            LEFT JOIN LATERAL (
                SELECT url_count
                FROM hosts WHERE given.position IS NOT NULL AND (shard, host_id) = (given.shard, given.host_id)
                LIMIT 1
            ) AS queue ON true
        ), added AS (
            INSERT INTO frontier_url (
                host_id, url_id, next_fetch_at, discovered_at, source_id, shard, band, priority, depth, origin, kind,
                url, parent_url
            )
            SELECT host_id, url_id, next_fetch_at, %(now)s, source_id, shard, band, priority, depth, origin::"char",
                kind::"char", url, parent_url
            FROM looked WHERE is_new AND NOT is_full ORDER BY shard, host_id, url_id
            ON CONFLICT DO NOTHING
            RETURNING host_id, url_id
        ), changed AS (
            UPDATE frontier_url SET priority = greatest(frontier_url.priority, looked.priority),
                band = least(frontier_url.band, looked.band),
                next_fetch_at = CASE
                    WHEN looked.status IN ('d', 'b') AND NOT is_revived THEN frontier_url.next_fetch_at
                    ELSE least(frontier_url.next_fetch_at, looked.next_fetch_at)
                END,
                status = CASE WHEN is_revived THEN 'p' ELSE frontier_url.status END,
                kind = CASE WHEN is_more THEN looked.kind::"char" ELSE frontier_url.kind END,
                origin = CASE WHEN is_published THEN looked.origin::"char" ELSE frontier_url.origin END,
                source_id = CASE WHEN is_published THEN looked.source_id ELSE frontier_url.source_id END,
                interval_s = CASE WHEN is_more THEN NULL ELSE interval_s END,
                etag = CASE WHEN is_more OR is_published THEN NULL ELSE etag END,
                last_modified = CASE WHEN is_more OR is_published THEN NULL ELSE last_modified END,
                retry_count = CASE WHEN is_revived THEN 0 ELSE retry_count END,
                failing_since = CASE WHEN is_revived THEN NULL ELSE failing_since END,
                last_error = CASE WHEN is_revived THEN NULL ELSE last_error END
            FROM looked WHERE (is_raised OR is_revived OR is_more OR is_published)
                AND frontier_url.shard = looked.shard AND frontier_url.host_id = looked.host_id
                AND frontier_url.url_id = looked.url_id AND frontier_url.status = looked.status
            RETURNING CASE WHEN is_revived THEN 'revived' WHEN is_published THEN 'published' ELSE 'known' END AS result,
                looked.number, CASE WHEN is_published THEN looked.old_source_id ELSE frontier_url.source_id END
                    AS source_id, looked.status
        )
        SELECT 'queued', coalesce(array_agg(number), '{}'), NULL, NULL FROM added JOIN looked USING (host_id, url_id)
        UNION ALL
        SELECT result, ARRAY[number], source_id, status::text FROM changed
        UNION ALL
        SELECT CASE WHEN to_url IS NULL THEN 'full' ELSE 'alias' END, ARRAY[number], NULL, to_url
        FROM looked WHERE to_url IS NOT NULL OR (is_new AND is_full)
    """
    limits = {"dead_before": now - options.revive_after, "poison": POISON, "most": options.max_host_urls}
    await cur.execute(statement, {**batch_columns(batch, public), **limits, "now": now})
    return await cur.fetchall()


async def find_target(conn: Connection, *, url: str, now: datetime) -> str:
    """The URL that this one is known to redirect to, or itself. Raises InvalidUrl."""
    statement = """
        SELECT to_url FROM frontier_alias
        WHERE shard = %(shard)s AND host_id = %(host_id)s AND url_id = %(url_id)s AND expires_at > %(now)s
    """
    for _ in range(MAX_HOPS):
        to_url = await fetch_value(conn, statement, {**locate(url).key._asdict(), "now": now})
        if to_url is None:
            break
        url = to_url
    return url


async def find_known(
    conn: Connection, *, urls: Sequence[str], source_id: SourceId | None = None
) -> dict[str, PageKind | None]:
    """Which of these are in the frontier, and as what kind of page. None: an alias. For a public source, those that
    only a reader saved or a user's feed lists do not count: it may submit them (`publishes`)."""
    places: dict[tuple[int, int], list[str]] = {}
    for url in urls:
        try:
            place = locate(url).key
        except InvalidUrl:
            continue
        places.setdefault((place.host_id, place.url_id), []).append(url)
    shards = [locate(named[0]).key.shard for named in places.values()]
    cur = await conn.execute(
        """
        SELECT given.host_id, given.url_id, known.kind
        FROM unnest(%(shards)b::smallint[], %(host_ids)b::bigint[], %(url_ids)b::bigint[])
            AS given (shard, host_id, url_id)
        CROSS JOIN LATERAL (
            SELECT kind::text FROM frontier_url AS url
            WHERE (shard, host_id, url_id) = (given.shard, given.host_id, given.url_id)
                AND NOT (
                    url.origin IN ('v', 'f') AND EXISTS (
                        SELECT FROM sources
                        WHERE id = %(source_id)s AND (is_system OR moderation_status = 'approved')
                    ) AND NOT EXISTS (
                        SELECT FROM sources
                        WHERE id = url.source_id AND (is_system OR moderation_status = 'approved')
                    )
                )
            UNION ALL
            SELECT NULL FROM frontier_alias
            WHERE (shard, host_id, url_id) = (given.shard, given.host_id, given.url_id) LIMIT 1
        ) AS known
        """,
        {
            "shards": shards,
            "host_ids": [key[0] for key in places],
            "url_ids": [key[1] for key in places],
            "source_id": source_id,
        },
    )
    return {
        url: KIND_OF.get(letter) for host_id, url_id, letter in await cur.fetchall() for url in places[host_id, url_id]
    }

"""Articles as feeds and pages describe them.

Articles are partitioned by month, and one with a known id is in one partition. The planner does not rely on that for
a join and would read whole partitions: `OFFSET 0` makes it look up each article by itself.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from headwater.articles.decide import is_of_site
from headwater.articles.store import state
from headwater.articles.store.links import (
    AFTER_LISTING,
    ENTRY_ARRAYS,
    ENTRY_COLUMNS,
    RECORD_ARRAYS,
    RECORD_COLUMNS,
    SAID_ELSEWHERE,
    entry_values,
    link,
    record_values,
)
from headwater.articles.types import Kept, ListedEntry, NewArticle
from headwater.db import Connection, fetch_column, fetch_value
from headwater.db.arrays import byteas, texts, uuids
from headwater.ids import ids_at
from headwater.types import ArticleId, SourceId


async def keep(conn: Connection, *, seen_at: datetime, listed: Sequence[ListedEntry]) -> Mapping[SourceId, Kept]:
    """Store what feeds list: add new articles, update changed ones, link each to its source.

    Only feeds of the article's own site write the shared record; what others say is stored with their link. An article
    that retention has deleted is not added again while feeds still list it.
    """
    if not listed:
        return {}
    listed = await _known_by_id(conn, listed=listed)
    new, linked = await _keep(conn, seen_at=seen_at, listed=listed)
    links: dict[SourceId | None, list[NewArticle]] = {one.source_id: [] for one in listed}
    for one in linked:
        links[one.source_id].append(one.article)
    return {source_id: Kept(new[source_id], len(its), its) for source_id, its in links.items() if source_id}


async def keep_pages(conn: Connection, *, seen_at: datetime, pages: Sequence[ListedEntry]) -> dict[bytes, ArticleId]:
    """Store and lock articles as their pages describe them. Returns their ids by key, except for expired ones."""
    if not pages:
        return {}
    await _keep(conn, seen_at=seen_at, listed=pages)
    async with conn.cursor(binary=True) as cur:
        statement = """
            SELECT article_urls.url_key, articles.id
            FROM article_urls JOIN articles ON articles.id = article_id
            WHERE article_urls.url_key = ANY(%(url_keys)b::bytea[])
            ORDER BY articles.id FOR KEY SHARE OF articles
        """
        await cur.execute(statement, {"url_keys": byteas([one.article.url_key for one in pages])})
        return dict(await cur.fetchall())


async def _keep(
    conn: Connection, *, seen_at: datetime, listed: Sequence[ListedEntry]
) -> tuple[Counter[SourceId | None], list[ListedEntry]]:
    """How many articles are new by source, and which entries were linked to their source."""
    if not listed:
        return Counter(), []
    # One row per URL, always in the same order: two writers of the same URLs must not deadlock.
    first = {one.article.url_key: one for one in reversed(listed)}
    first |= {one.article.url_key: one for one in reversed(listed) if one.article.is_own is not False}
    keys = sorted(first)
    known = await _find_known(conn, url_keys=keys)
    fresh = [first[key] for key in keys if key not in known]
    made, linked = await _add(conn, seen_at=seen_at, listed=fresh)
    if len(made) < len(fresh):  # another transaction added them first
        lost = [one.article.url_key for one in fresh if one.article.url_key not in made]
        known |= await _find_known(conn, url_keys=lost)
    here = {key: article_id for key, (article_id, is_here) in known.items() if is_here}
    own = [first[key] for key in sorted(here) if first[key].article.is_own is not False]
    await _renew(conn, ids=here, listed=own, seen_at=seen_at)
    ids = made | here
    others = [one for one in listed if (key := one.article.url_key) in ids and not (key in made and one is first[key])]
    more, is_all = await link(conn, seen_at=seen_at, ids=ids, listed=others)
    linked += more
    new = Counter(first[key].source_id for key in made)
    if not is_all:
        # Some may be deleted since the lookup, with their last source. Without adding them again, a feed that is
        # deleted and added again would miss them until it changes.
        still = await _find_known(conn, url_keys=sorted(here))
        gone = [one for one in others if (key := one.article.url_key) in here and key not in still]
        readded, relinked = await _keep(conn, seen_at=seen_at, listed=gone)
        new, linked = new + readded, linked + relinked
    return new, linked


async def _find_known(conn: Connection, *, url_keys: Sequence[bytes]) -> dict[bytes, tuple[ArticleId, bool]]:
    """The ids of these URLs, and whether the article still exists."""
    async with conn.cursor(binary=True) as cur:
        statement = """
            SELECT article_urls.url_key, article_id,
                EXISTS (SELECT FROM articles WHERE articles.id = article_id OFFSET 0)
            FROM article_urls WHERE article_urls.url_key = ANY(%(url_keys)b::bytea[])
        """
        await cur.execute(statement, {"url_keys": byteas(url_keys)})
        return {key: (article_id, is_here) for key, article_id, is_here in await cur.fetchall()}


async def _add(
    conn: Connection, *, seen_at: datetime, listed: Sequence[ListedEntry]
) -> tuple[dict[bytes, ArticleId], list[ListedEntry]]:
    """Add and link articles. Returns the ids of those that no other transaction has added, and which were linked.

    A deleted source is not linked. From a feed of another site the shared record takes only the URL.
    """
    if not listed:
        return {}, []
    keys = [one.article.url_key for one in listed]
    ids = {key: ArticleId(new) for key, new in zip(keys, ids_at(seen_at, len(keys)), strict=True)}
    statement = f"""
        WITH entry AS MATERIALIZED (
            SELECT *
            FROM unnest({ENTRY_ARRAYS}, %(url_keys)b::bytea[])
                WITH ORDINALITY AS entry ({ENTRY_COLUMNS}, url_key, number)
        ), named AS (
            INSERT INTO article_urls (url_key, article_id)
            SELECT url_key, article_id FROM entry ON CONFLICT (url_key) DO NOTHING RETURNING article_id
        ), made AS (
            INSERT INTO articles (
                id, url, url_key, title, author, summary, content, published_at, seen_at, is_from_own_site
            )
            SELECT article_id, url, url_key, CASE WHEN is_own IS NOT false THEN title ELSE '' END,
                CASE WHEN is_own IS NOT false THEN author END, CASE WHEN is_own IS NOT false THEN summary END,
                CASE WHEN is_own IS NOT false THEN content END, CASE WHEN is_own IS NOT false THEN published_at END,
                %(seen_at)s, is_own IS true
            FROM entry JOIN named USING (article_id)
            RETURNING id
        ), linked AS (
            INSERT INTO article_sources (
                article_id, source_id, entry_id, seen_at, listed_at, title, author, summary, content, published_at,
                enclosures
            )
            SELECT made.id, source_id, entry_id, %(seen_at)s, least(published_at, %(seen_at)s::timestamptz),
                {SAID_ELSEWHERE}, entry.enclosures::jsonb
            FROM made JOIN entry ON entry.article_id = made.id
            WHERE EXISTS (SELECT FROM sources WHERE sources.id = entry.source_id OFFSET 0)
            RETURNING article_id
        ), state AS (
            INSERT INTO article_state (article_id, classify_at)
            SELECT made.id, %(classify_at)s FROM made JOIN entry ON entry.article_id = made.id
            WHERE is_own IS NOT false
        )
        SELECT number, made.id IS NOT NULL
        FROM entry
        LEFT JOIN made ON made.id = entry.article_id
        LEFT JOIN linked USING (article_id)
        WHERE linked.article_id IS NULL
    """
    values = {"seen_at": seen_at, "classify_at": seen_at + AFTER_LISTING, "url_keys": byteas(keys)}
    cur = await conn.execute(statement, entry_values(ids, listed) | values)
    unlinked: dict[int, bool] = {number - 1: is_made for number, is_made in await cur.fetchall()}
    made = {key: ids[key] for at, key in enumerate(keys) if unlinked.get(at, True)}
    return made, [one for at, one in enumerate(listed) if at not in unlinked]


async def _renew(
    conn: Connection, *, ids: Mapping[bytes, ArticleId], listed: Sequence[ListedEntry], seen_at: datetime
) -> None:
    """Update the shared records that differ; a missing value keeps the old one."""
    if not listed:
        return
    outdated = await _find_outdated(conn, ids=ids, listed=listed)
    if not outdated:
        return
    given = [one for one in listed if ids[one.article.url_key] in outdated]
    statement = f"""
        WITH locked AS MATERIALIZED (
            SELECT id FROM articles WHERE id = ANY(%(ids)b::uuid[]) ORDER BY id FOR UPDATE  -- against deadlocks
        )
        UPDATE articles
        SET title = coalesce(nullif(given.title, ''), articles.title),
            author = coalesce(given.author, articles.author),
            summary = coalesce(given.summary, articles.summary),
            content = coalesce(given.content, articles.content),
            published_at = coalesce(given.published_at, articles.published_at),
            -- A feed of another site may have listed it with parameters or a scheme that are not the site's.
            url = CASE WHEN given.is_own AND NOT articles.is_from_own_site THEN given.url ELSE articles.url END,
            is_from_own_site = articles.is_from_own_site OR given.is_own IS true
        FROM unnest({ENTRY_ARRAYS}) AS given ({ENTRY_COLUMNS}) JOIN locked ON locked.id = given.article_id
        WHERE articles.id = given.article_id AND articles.id = ANY(%(ids)b::uuid[])
    """
    await conn.execute(statement, entry_values(ids, given))
    await state.queue_classifying(conn, ids=sorted(outdated), at=seen_at + AFTER_LISTING)


async def _find_outdated(
    conn: Connection, *, ids: Mapping[bytes, ArticleId], listed: Sequence[ListedEntry]
) -> set[ArticleId]:
    """Articles whose shared record differs; usually none."""
    statement = f"""
        SELECT articles.id
        FROM unnest({RECORD_ARRAYS}) AS given ({RECORD_COLUMNS})
        CROSS JOIN LATERAL (SELECT * FROM articles WHERE articles.id = given.article_id OFFSET 0) AS articles
        WHERE (given.is_own AND NOT articles.is_from_own_site)
            OR (articles.title, articles.author, articles.summary, articles.content, articles.published_at)
            IS DISTINCT FROM (
                coalesce(nullif(given.title, ''), articles.title), coalesce(given.author, articles.author),
                coalesce(given.summary, articles.summary), coalesce(given.content, articles.content),
                coalesce(given.published_at, articles.published_at)
            )
    """
    return set(await fetch_column(conn, statement, record_values(ids, listed)))


async def _known_by_id(conn: Connection, *, listed: Sequence[ListedEntry]) -> Sequence[ListedEntry]:
    """Entries that their feed has listed before under the same id are the same article, whatever their URL is now.

    A feed that gives several entries one id has no ids: only one that meets one counts. Whether the feed may write the
    shared record is decided by the URL that the article is kept under, not by the one that the feed names now. An id
    that the feed gave while another site served it does not count once the article's own site serves it.
    """
    statement = """
        SELECT source_id, entry_id, (array_agg(articles.url_key))[1], (array_agg(articles.url))[1],
            bool_and(listed.is_own)
        FROM unnest(%(source_ids)b::uuid[], %(entry_ids)b::text[], %(url_keys)b::bytea[])
            AS entry (source_id, entry_id, url_key)
        CROSS JOIN LATERAL (
            SELECT article_id, title IS NULL AS is_own
            FROM article_sources
            WHERE article_sources.source_id = entry.source_id AND article_sources.entry_id = entry.entry_id
            OFFSET 0
        ) AS listed
        CROSS JOIN LATERAL (SELECT url_key, url FROM articles WHERE id = listed.article_id OFFSET 0) AS articles
        GROUP BY source_id, entry_id
        HAVING count(*) = 1 AND bool_and(articles.url_key <> entry.url_key)
    """
    cur = await conn.execute(
        statement,
        {
            "source_ids": uuids([one.source_id for one in listed]),
            "entry_ids": texts([one.article.entry_id for one in listed]),
            "url_keys": byteas([one.article.url_key for one in listed]),
        },
    )
    known = {
        (source_id, entry_id): (bytes(key), url, was_own)
        for source_id, entry_id, key, url, was_own in await cur.fetchall()
    }
    return [_as_known(one, known.get((one.source_id, one.article.entry_id))) for one in listed] if known else listed


def _as_known(one: ListedEntry, known: tuple[bytes, str, bool] | None) -> ListedEntry:
    if known is None:
        return one
    key, url, was_own = known
    is_own = is_of_site(url, key, one.site)
    if is_own and not was_own:
        return one
    return one._replace(article=replace(one.article, url_key=key, url=url, is_own=is_own))


async def repair_times(conn: Connection, *, now: datetime, latest: datetime) -> None:
    """Articles that a clock that was ahead listed in the future would stay first in lists until then."""
    articles = "UPDATE articles SET seen_at = %(now)s WHERE listed_at > %(latest)s"
    links = "UPDATE article_sources SET seen_at = %(now)s, listed_at = %(now)s WHERE listed_at > %(latest)s"
    await conn.execute(articles, {"now": now, "latest": latest})
    await conn.execute(links, {"now": now, "latest": latest})


async def forget_expired(conn: Connection, *, url_key: bytes) -> None:
    """Let a URL be added again whose article retention has deleted."""
    statement = """
        DELETE FROM article_urls
        WHERE url_key = %(url_key)s
            AND NOT EXISTS (SELECT FROM articles WHERE articles.id = article_urls.article_id OFFSET 0)
    """
    await conn.execute(statement, {"url_key": url_key})


async def find_by_url(conn: Connection, *, url_key: bytes) -> ArticleId | None:
    statement = """
        SELECT article_id FROM article_urls
        WHERE url_key = %(url_key)s
            AND EXISTS (SELECT FROM articles WHERE articles.id = article_urls.article_id OFFSET 0)
    """
    return await fetch_value(conn, statement, {"url_key": url_key})


async def rename(conn: Connection, *, article_id: ArticleId, url: str, url_key: bytes) -> bool:
    """Keep a locked article under the URL to which its page redirects. False: that URL has an article."""
    statement = """
        WITH named AS (
            INSERT INTO article_urls (url_key, article_id) VALUES (%(url_key)s, %(id)s)
            ON CONFLICT (url_key) DO NOTHING RETURNING article_id
        ), renamed AS (
            UPDATE articles SET url = %(url)s, url_key = %(url_key)s FROM named WHERE articles.id = %(id)s
        )
        DELETE FROM article_urls USING named
        WHERE article_urls.article_id = %(id)s AND url_key <> %(url_key)s RETURNING true
    """
    values = {"id": article_id, "url": url, "url_key": url_key}
    return bool(await fetch_value(conn, statement, values))


async def is_listed(conn: Connection, *, article_id: ArticleId) -> bool:
    """Whether a source lists an article."""
    statement = "SELECT EXISTS (SELECT FROM article_sources WHERE article_id = %(id)s)"
    return bool(await fetch_value(conn, statement, {"id": article_id}))


async def lock(conn: Connection, *, ids: Sequence[ArticleId]) -> dict[ArticleId, str]:
    """Lock these articles; returns their URLs. None is linked to a source before the transaction ends."""
    cur = await conn.execute(
        "SELECT id, url FROM articles WHERE id = ANY(%(ids)b::uuid[]) ORDER BY id FOR UPDATE", {"ids": uuids(ids)}
    )
    return dict(await cur.fetchall())


async def remove_unlisted(conn: Connection, *, ids: Sequence[ArticleId], except_for: SourceId | None = None) -> int:
    """Delete those of these locked articles that no other source lists, and that no user starred or saved. Returns how
    many."""
    statement = """
        DELETE FROM articles
        WHERE id = ANY(%(ids)b::uuid[])
            AND NOT EXISTS (
                SELECT FROM article_sources AS other
                WHERE other.article_id = articles.id AND other.source_id IS DISTINCT FROM %(except_for)s::uuid
                OFFSET 0
            )
            AND NOT EXISTS (
                SELECT FROM marks
                WHERE marks.article_id = articles.id AND (starred_at IS NOT NULL OR saved_at IS NOT NULL)
                OFFSET 0
            )
    """
    return (await conn.execute(statement, {"ids": uuids(ids), "except_for": except_for})).rowcount

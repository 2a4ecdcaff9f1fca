"""Every statement on `articles`, `article_urls` and `article_sources`.

Articles lie in months, and what is known by id lies in one of them. PostgreSQL does not count on that when it chooses
how to join, and would rather read whole months: `OFFSET 0` makes it ask for each article by itself.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from headwater.articles.decide import is_of_site
from headwater.articles.types import Kept, Listed, ListedArticle, NewArticle
from headwater.db import Connection, fetch_all, fetch_column
from headwater.db.arrays import bools, byteas, texts, times, uuids
from headwater.ids import ids_at
from headwater.types import ArticleId, SourceId


async def keep(conn: Connection, *, seen_at: datetime, listed: Sequence[Listed]) -> Mapping[SourceId, Kept]:
    """Keep what feeds list: new URLs are added, changed ones updated, each linked to its source.

    Only the article's own site and its page write the shared record; what other feeds say is kept with their link. An
    article that retention has deleted is not added again, however long feeds go on listing it.
    """
    if not listed:
        return {}
    listed = await _known_by_id(conn, listed=listed)
    # One row per URL, and always in the same order: two writers of the same URLs must not wait for each other.
    first = {one.article.url_key: one for one in reversed(listed)}
    first |= {one.article.url_key: one for one in reversed(listed) if one.writes_record}
    keys = sorted(first)
    known = await _find_known(conn, url_keys=keys)
    fresh = [first[key] for key in keys if key not in known]
    made, linked = await _add(conn, seen_at=seen_at, listed=fresh)
    if len(made) < len(fresh):  # another transaction added them first
        lost = [one.article.url_key for one in fresh if one.article.url_key not in made]
        known |= await _find_known(conn, url_keys=lost)
    here = {key: article_id for key, (article_id, is_here) in known.items() if is_here}
    await _renew(conn, ids=here, listed=[first[key] for key in sorted(here) if first[key].writes_record])
    ids = made | here
    others = [one for one in listed if (key := one.article.url_key) in ids and not (key in made and one is first[key])]
    more, is_all = await _link(conn, seen_at=seen_at, ids=ids, listed=others)
    linked += more
    new = Counter(first[key].source_id for key in made)
    if not is_all:
        readded, relinked = await _add_removed(conn, seen_at=seen_at, first=first, ids=here, listed=others)
        linked += relinked
        new.update(first[key].source_id for key in readded)
    links: dict[SourceId, list[NewArticle]] = {one.source_id: [] for one in listed}
    for one in linked:
        links[one.source_id].append(one.article)
    return {source_id: Kept(new[source_id], len(its), its) for source_id, its in links.items()}


async def _find_known(conn: Connection, *, url_keys: Sequence[bytes]) -> dict[bytes, tuple[ArticleId, bool]]:
    """The ids that these URLs ever had, and whether the article is still here."""
    async with conn.cursor(binary=True) as cur:
        await cur.execute(
            """
            SELECT article_urls.url_key, article_id,
                EXISTS (SELECT FROM articles WHERE articles.id = article_id OFFSET 0)
            FROM article_urls
            WHERE article_urls.url_key = ANY(%(url_keys)b::bytea[])
            """,
            {"url_keys": byteas(url_keys)},
        )
        return {key: (article_id, is_here) for key, article_id, is_here in await cur.fetchall()}


async def _add(
    conn: Connection, *, seen_at: datetime, listed: Sequence[Listed]
) -> tuple[dict[bytes, ArticleId], list[Listed]]:
    """The ids of those that no other transaction has added meanwhile, and which of them are linked to their source.

    All in one statement: what is new needs no look at what is there. A deleted source is not linked. Of a feed of
    another site the shared record takes the URL alone.
    """
    if not listed:
        return {}, []
    keys = [one.article.url_key for one in listed]
    ids = {key: ArticleId(new) for key, new in zip(keys, ids_at(seen_at, len(keys)), strict=True)}
    cur = await conn.execute(
        """
        WITH entry AS MATERIALIZED (
            SELECT *
            FROM unnest(
                %(ids)b::uuid[], %(urls)b::text[], %(url_keys)b::bytea[], %(titles)b::text[], %(authors)b::text[],
                %(summaries)b::text[], %(contents)b::text[], %(published)b::timestamptz[], %(source_ids)b::uuid[],
                %(entry_ids)b::text[], %(own)b::boolean[]
            ) WITH ORDINALITY AS entry (
                id, url, url_key, title, author, summary, content, published_at, source_id, entry_id, is_own, number
            )
        ), named AS (
            INSERT INTO article_urls (url_key, article_id)
            SELECT url_key, id
            FROM entry
            ON CONFLICT (url_key) DO NOTHING
            RETURNING article_id
        ), made AS (
            INSERT INTO articles (
                id, url, url_key, title, author, summary, content, published_at, seen_at, is_told_by_site
            )
            SELECT id, url, url_key, CASE WHEN is_own IS NOT false THEN title ELSE '' END,
                CASE WHEN is_own IS NOT false THEN author END, CASE WHEN is_own IS NOT false THEN summary END,
                CASE WHEN is_own IS NOT false THEN content END, CASE WHEN is_own IS NOT false THEN published_at END,
                %(seen_at)s, is_own IS true
            FROM entry
            JOIN named ON named.article_id = entry.id
            RETURNING id
        ), linked AS (
            INSERT INTO article_sources (
                article_id, source_id, entry_id, seen_at, listed_at, title, author, summary, content, published_at
            )
            SELECT made.id, source_id, entry_id, %(seen_at)s, least(published_at, %(seen_at)s::timestamptz),
                CASE WHEN NOT is_own THEN title END, CASE WHEN NOT is_own THEN author END,
                CASE WHEN NOT is_own THEN summary END, CASE WHEN NOT is_own THEN content END,
                CASE WHEN NOT is_own THEN published_at END
            FROM made
            JOIN entry USING (id)
            WHERE EXISTS (SELECT FROM sources WHERE sources.id = entry.source_id OFFSET 0)
            RETURNING article_id
        )
        SELECT number, made.id IS NOT NULL
        FROM entry
        LEFT JOIN made USING (id)
        LEFT JOIN linked ON linked.article_id = entry.id
        WHERE linked.article_id IS NULL
        """,
        {
            **_told(listed),
            "ids": uuids([ids[key] for key in keys]),
            "seen_at": seen_at,
            "urls": texts([one.article.url for one in listed]),
            "url_keys": byteas(keys),
            "source_ids": uuids([one.source_id for one in listed]),
            "entry_ids": texts([one.article.entry_id for one in listed]),
        },
    )
    unlinked: dict[int, bool] = {number - 1: is_made for number, is_made in await cur.fetchall()}
    made = {key: ids[key] for at, key in enumerate(keys) if unlinked.get(at, True)}
    return made, [one for at, one in enumerate(listed) if at not in unlinked]


async def _renew(conn: Connection, *, ids: Mapping[bytes, ArticleId], listed: Sequence[Listed]) -> None:
    """Update the shared records that differ from what is said now; what is left out stays as it was."""
    if not listed:
        return
    outdated = await _find_outdated(conn, ids=ids, listed=listed)
    if not outdated:
        return
    told = [one for one in listed if ids[one.article.url_key] in outdated]
    await conn.execute(
        """
        WITH locked AS MATERIALIZED (
            SELECT id
            FROM articles
            WHERE id = ANY(%(ids)b::uuid[])
            ORDER BY id  -- two that update the same ones do not wait for each other
            FOR UPDATE
        )
        UPDATE articles
        SET title = coalesce(nullif(told.title, ''), articles.title),
            author = coalesce(told.author, articles.author),
            summary = coalesce(told.summary, articles.summary),
            content = coalesce(told.content, articles.content),
            published_at = coalesce(told.published_at, articles.published_at),
            -- A feed of another site may have listed it with parameters or a scheme that are not the site's.
            url = CASE WHEN told.is_own AND NOT articles.is_told_by_site THEN told.url ELSE articles.url END,
            is_told_by_site = articles.is_told_by_site OR told.is_own IS true
        FROM unnest(
            %(ids)b::uuid[], %(titles)b::text[], %(authors)b::text[], %(summaries)b::text[], %(contents)b::text[],
            %(published)b::timestamptz[], %(urls)b::text[], %(own)b::boolean[]
        ) AS told (id, title, author, summary, content, published_at, url, is_own)
        JOIN locked USING (id)
        WHERE articles.id = told.id AND articles.id = ANY(%(ids)b::uuid[])
        """,
        {
            **_told(told),
            "ids": uuids([ids[one.article.url_key] for one in told]),
            "urls": texts([one.article.url for one in told]),
        },
    )


async def _find_outdated(
    conn: Connection, *, ids: Mapping[bytes, ArticleId], listed: Sequence[Listed]
) -> set[ArticleId]:
    """Articles whose shared record differs from what is said now; most often none."""
    return set(
        await fetch_column(
            conn,
            """
            SELECT articles.id
            FROM unnest(
                %(ids)b::uuid[], %(titles)b::text[], %(authors)b::text[], %(summaries)b::text[], %(contents)b::text[],
                %(published)b::timestamptz[], %(own)b::boolean[]
            ) AS told (id, title, author, summary, content, published_at, is_own)
            CROSS JOIN LATERAL (SELECT * FROM articles WHERE articles.id = told.id OFFSET 0) AS articles
            WHERE (told.is_own AND NOT articles.is_told_by_site)
                OR (articles.title, articles.author, articles.summary, articles.content, articles.published_at)
                IS DISTINCT FROM (
                    coalesce(nullif(told.title, ''), articles.title),
                    coalesce(told.author, articles.author),
                    coalesce(told.summary, articles.summary),
                    coalesce(told.content, articles.content),
                    coalesce(told.published_at, articles.published_at)
                )
            """,
            {**_told(listed), "ids": uuids([ids[one.article.url_key] for one in listed])},
        )
    )


def _told(listed: Sequence[Listed]) -> dict[str, object]:
    articles = [one.article for one in listed]
    return {
        "titles": texts([article.title for article in articles]),
        "authors": texts([article.author for article in articles]),
        "summaries": texts([article.summary for article in articles]),
        "contents": texts([article.content for article in articles]),
        "published": times([article.published_at for article in articles]),
        "own": bools([None if one.is_page else one.article.is_own for one in listed]),  # NULL for the page itself
    }


async def hold(conn: Connection, *, url_keys: Sequence[bytes]) -> dict[bytes, ArticleId]:
    """The articles of these URLs that are here: nobody forgets them before this transaction ends."""
    async with conn.cursor(binary=True) as cur:
        await cur.execute(
            """
            SELECT article_urls.url_key, articles.id
            FROM article_urls
            JOIN articles ON articles.id = article_id
            WHERE article_urls.url_key = ANY(%(url_keys)b::bytea[])
            ORDER BY articles.id
            FOR KEY SHARE OF articles
            """,
            {"url_keys": byteas(url_keys)},
        )
        return dict(await cur.fetchall())


async def _known_by_id(conn: Connection, *, listed: Sequence[Listed]) -> Sequence[Listed]:
    """Entries that their feed has listed before under the same id are the same article, whatever their URL is now.

    A feed that gives several entries one id has no ids: only one that meets one counts. Whether the feed may write the
    shared record is decided by the URL that the article is kept under, not by the one that the feed names now. An id
    that the feed gave while another site served it does not count once the article's own site serves it.
    """
    by_feeds = [one for one in listed if not one.is_page]
    if not by_feeds:
        return listed
    cur = await conn.execute(
        """
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
        """,
        {
            "source_ids": uuids([one.source_id for one in by_feeds]),
            "entry_ids": texts([one.article.entry_id for one in by_feeds]),
            "url_keys": byteas([one.article.url_key for one in by_feeds]),
        },
    )
    known = {
        (source_id, entry_id): (bytes(key), url, was_own)
        for source_id, entry_id, key, url, was_own in await cur.fetchall()
    }
    if not known:
        return listed
    return [
        _as_known(one, known[mark]) if not one.is_page and (mark := (one.source_id, one.article.entry_id)) in known
        else one
        for one in listed
    ]  # fmt: skip


def _as_known(one: Listed, known: tuple[bytes, str, bool]) -> Listed:
    key, url, was_own = known
    is_own = is_of_site(url, key, one.site)
    if is_own and not was_own:
        return one
    return one._replace(article=replace(one.article, url_key=key, url=url, is_own=is_own))


async def _add_removed(
    conn: Connection,
    *,
    seen_at: datetime,
    first: Mapping[bytes, Listed],
    ids: Mapping[bytes, ArticleId],
    listed: Sequence[Listed],
) -> tuple[dict[bytes, ArticleId], list[Listed]]:
    """Add articles that were here when we looked and were removed, with their last source, before we linked them.

    Returns them, and what was linked. A feed that is deleted and added again would miss them until it changes.
    """
    known = await _find_known(conn, url_keys=sorted(ids))
    gone = [first[key] for key in sorted(ids) if key not in known]
    made, linked = await _add(conn, seen_at=seen_at, listed=gone)
    rest = [one for one in listed if (key := one.article.url_key) in made and one is not first[key]]
    more, _ = await _link(conn, seen_at=seen_at, ids=made, listed=rest)
    return made, linked + more


async def _link(
    conn: Connection, *, seen_at: datetime, ids: Mapping[bytes, ArticleId], listed: Sequence[Listed]
) -> tuple[list[Listed], bool]:
    """Those that their source had not listed before, and whether all are linked now. A deleted source is not linked.

    Each feed gives the article a place of its own in the lists of its readers. What a feed of another site says is
    kept with its link, and updated when it changes.
    """
    if not listed:
        return [], True
    # A feed may list an article twice; the first time counts.
    pairs = {(ids[one.article.url_key], one.source_id): one for one in reversed(listed)}
    entries = list(pairs.values())
    cur = await conn.execute(
        """
        WITH entry AS MATERIALIZED (
            SELECT *
            FROM unnest(
                %(article_ids)b::uuid[], %(source_ids)b::uuid[], %(entry_ids)b::text[], %(titles)b::text[],
                %(authors)b::text[], %(summaries)b::text[], %(contents)b::text[], %(published)b::timestamptz[],
                %(own)b::boolean[]
            ) WITH ORDINALITY AS entry (
                article_id, source_id, entry_id, title, author, summary, content, published_at, is_own, number
            )
        ), known AS MATERIALIZED (
            SELECT number,
                CASE
                    WHEN is_own THEN known.title IS NOT NULL
                    WHEN NOT is_own THEN
                        (known.title, known.author, known.summary, known.content, known.published_at)
                        IS DISTINCT FROM (
                            entry.title,
                            coalesce(entry.author, known.author),
                            coalesce(entry.summary, known.summary),
                            coalesce(entry.content, known.content),
                            coalesce(entry.published_at, known.published_at)
                        )
                END AS is_outdated
            FROM entry
            CROSS JOIN LATERAL (
                SELECT *
                FROM article_sources
                WHERE article_sources.article_id = entry.article_id AND article_sources.source_id = entry.source_id
                OFFSET 0
            ) AS known
        ), linked AS (
            INSERT INTO article_sources (
                article_id, source_id, entry_id, seen_at, listed_at, title, author, summary, content, published_at
            )
            SELECT entry.article_id, sources.id, entry.entry_id, %(seen_at)s,
                least(entry.published_at, %(seen_at)s::timestamptz),
                CASE WHEN NOT is_own THEN entry.title END, CASE WHEN NOT is_own THEN entry.author END,
                CASE WHEN NOT is_own THEN entry.summary END, CASE WHEN NOT is_own THEN entry.content END,
                CASE WHEN NOT is_own THEN entry.published_at END
            FROM entry
            CROSS JOIN LATERAL (SELECT * FROM articles WHERE articles.id = entry.article_id OFFSET 0) AS articles
            JOIN sources ON sources.id = entry.source_id
            WHERE NOT EXISTS (SELECT FROM known WHERE known.number = entry.number)
            ORDER BY entry.article_id, sources.id
            FOR KEY SHARE OF articles
            ON CONFLICT (article_id, source_id) DO NOTHING
            RETURNING article_id, source_id
        )
        SELECT (SELECT array_agg(number) FROM linked JOIN entry USING (article_id, source_id)),
            (SELECT array_agg(number) FROM known WHERE is_outdated), (SELECT count(*) FROM known)
        """,
        {
            **_told(entries),
            "seen_at": seen_at,
            "article_ids": uuids([article_id for article_id, _ in pairs]),
            "source_ids": uuids([source_id for _, source_id in pairs]),
            "entry_ids": texts([one.article.entry_id for one in entries]),
        },
    )
    row: tuple[list[int] | None, list[int] | None, int] | None = await cur.fetchone()
    new, outdated, known = row or (None, None, 0)
    if outdated:
        await _tell_again(conn, ids=ids, listed=[entries[number - 1] for number in outdated])
    return [entries[number - 1] for number in new or ()], len(new or ()) + known == len(entries)


async def _tell_again(conn: Connection, *, ids: Mapping[bytes, ArticleId], listed: Sequence[Listed]) -> None:
    """Update what feeds of other sites say; a feed of the article's own site says it in the shared record.

    A feed that its article's site has begun to serve has that site's id from now on.
    """
    await conn.execute(
        """
        WITH told AS MATERIALIZED (
            SELECT *
            FROM unnest(
                %(article_ids)b::uuid[], %(source_ids)b::uuid[], %(entry_ids)b::text[], %(titles)b::text[],
                %(authors)b::text[], %(summaries)b::text[], %(contents)b::text[], %(published)b::timestamptz[],
                %(own)b::boolean[]
            ) AS told (article_id, source_id, entry_id, title, author, summary, content, published_at, is_own)
        ), locked AS MATERIALIZED (
            SELECT article_id, source_id
            FROM article_sources
            WHERE article_id = ANY(%(article_ids)b::uuid[]) AND source_id = ANY(%(source_ids)b::uuid[])
            ORDER BY article_id, source_id  -- two that update the same ones do not wait for each other
            FOR UPDATE
        )
        UPDATE article_sources AS link
        SET entry_id = CASE WHEN is_own THEN told.entry_id ELSE link.entry_id END,
            title = CASE WHEN NOT is_own THEN told.title END,
            author = CASE WHEN NOT is_own THEN coalesce(told.author, link.author) END,
            summary = CASE WHEN NOT is_own THEN coalesce(told.summary, link.summary) END,
            content = CASE WHEN NOT is_own THEN coalesce(told.content, link.content) END,
            published_at = CASE WHEN NOT is_own THEN coalesce(told.published_at, link.published_at) END
        FROM told
        JOIN locked USING (article_id, source_id)
        WHERE link.article_id = told.article_id
            AND link.source_id = told.source_id
            AND link.article_id = ANY(%(article_ids)b::uuid[])
        """,
        {
            **_told(listed),
            "article_ids": uuids([ids[one.article.url_key] for one in listed]),
            "source_ids": uuids([one.source_id for one in listed]),
            "entry_ids": texts([one.article.entry_id for one in listed]),
        },
    )


async def latest(conn: Connection, *, limit: int) -> list[ListedArticle]:
    """The newest articles of all sources."""
    return await fetch_all(
        conn,
        ListedArticle,
        """
        SELECT id, number, url, coalesce(nullif(articles.title, ''), told.title, url) AS title,
            coalesce(articles.author, told.author) AS author, coalesce(articles.summary, told.summary) AS summary,
            coalesce(articles.published_at, told.published_at) AS published_at, listed_at,
            ARRAY(
                SELECT sources.name
                FROM article_sources
                JOIN sources ON sources.id = article_sources.source_id
                WHERE article_sources.article_id = articles.id
                ORDER BY article_sources.seen_at, sources.name
            ) AS sources
        FROM (
            SELECT *
            FROM articles
            WHERE NOT EXISTS (SELECT FROM source_ids WHERE removed_at IS NOT NULL)  -- then none is being removed
                OR NOT EXISTS (SELECT FROM article_sources WHERE article_id = articles.id OFFSET 0)
                OR EXISTS (
                    SELECT
                    FROM article_sources
                    JOIN sources ON sources.id = source_id
                    WHERE article_id = articles.id
                    OFFSET 0
                )
            ORDER BY listed_at DESC, id DESC
            LIMIT %(limit)s
        ) AS articles
        LEFT JOIN LATERAL (
            -- Until the article's own site or its page has said anything: the feed that listed it first.
            SELECT title, author, summary, published_at
            FROM article_sources
            JOIN sources ON sources.id = source_id
            WHERE articles.title = '' AND article_sources.article_id = articles.id AND title IS NOT NULL
            ORDER BY seen_at, source_id
            LIMIT 1
        ) AS told ON true
        ORDER BY listed_at DESC, id DESC
        """,
        {"limit": limit},
    )


async def latest_of_source(conn: Connection, *, source_id: SourceId, limit: int) -> list[ListedArticle]:
    """The newest articles that one source lists."""
    return await fetch_all(
        conn,
        ListedArticle,
        """
        SELECT articles.id, articles.number, articles.url,
            coalesce(nullif(articles.title, ''), article_sources.title, articles.url) AS title,
            coalesce(articles.author, article_sources.author) AS author,
            coalesce(articles.summary, article_sources.summary) AS summary,
            coalesce(articles.published_at, article_sources.published_at) AS published_at,
            article_sources.listed_at, ARRAY[sources.name] AS sources
        FROM article_sources
        JOIN articles ON articles.id = article_sources.article_id
        JOIN sources ON sources.id = article_sources.source_id
        WHERE article_sources.source_id = %(source_id)s
        ORDER BY article_sources.listed_at DESC, article_id DESC
        LIMIT %(limit)s
        """,
        {"source_id": source_id, "limit": limit},
    )


async def find_by_numbers(conn: Connection, *, numbers: Sequence[int]) -> dict[int, ArticleId]:
    """The articles with these numbers. A number contains the time of the id, so each is looked up in one month."""
    cur = await conn.execute(
        """
        SELECT wanted.number, articles.id
        FROM unnest(%(numbers)s::bigint[]) AS wanted (number)
        CROSS JOIN LATERAL (
            SELECT id
            FROM articles
            WHERE articles.number = wanted.number
                AND id BETWEEN first_id_of_number(wanted.number) AND last_id_of_number(wanted.number)
            OFFSET 0
        ) AS articles
        """,
        {"numbers": list(numbers)},
    )
    return {number: ArticleId(article_id) for number, article_id in await cur.fetchall()}


async def relink(conn: Connection, *, source_id: SourceId, to: SourceId) -> int:
    """What one source lists is listed by another from now on. Returns how many that one had not listed."""
    cur = await conn.execute(
        """
        INSERT INTO article_sources (
            article_id, source_id, entry_id, seen_at, listed_at, title, author, summary, content, published_at
        )
        SELECT article_id, %(to)s, entry_id, seen_at, listed_at, title, author, summary, content, published_at
        FROM article_sources
        WHERE source_id = %(source_id)s
        ON CONFLICT (article_id, source_id) DO NOTHING
        """,
        {"source_id": source_id, "to": to},
    )
    return cur.rowcount


async def list_linked(conn: Connection, *, source_id: SourceId, limit: int) -> list[ArticleId]:
    """Some articles that a source lists."""
    return await fetch_column(
        conn,
        "SELECT article_id FROM article_sources WHERE source_id = %(source_id)s LIMIT %(limit)s",
        {"source_id": source_id, "limit": limit},
    )


async def lock(conn: Connection, *, ids: Sequence[ArticleId]) -> dict[ArticleId, str]:
    """The URLs of those of these articles that are here. Nobody links one to a source before the transaction ends."""
    cur = await conn.execute(
        "SELECT id, url FROM articles WHERE id = ANY(%(ids)b::uuid[]) ORDER BY id FOR UPDATE", {"ids": uuids(ids)}
    )
    return dict(await cur.fetchall())


async def forget_unowned(conn: Connection, *, ids: Sequence[ArticleId], except_for: SourceId | None = None) -> int:
    """Delete those of these articles that no source but the given one lists and nobody starred, locked before.

    Returns how many went; their texts, links and marks go with them.
    """
    cur = await conn.execute(
        """
        DELETE FROM articles
        WHERE id = ANY(%(ids)b::uuid[])
            AND NOT EXISTS (
                SELECT
                FROM article_sources AS other
                WHERE other.article_id = articles.id AND other.source_id IS DISTINCT FROM %(except_for)s::uuid
                OFFSET 0
            )
            AND NOT EXISTS (
                SELECT FROM marks WHERE marks.article_id = articles.id AND starred_at IS NOT NULL OFFSET 0
            )
        """,
        {"ids": uuids(ids), "except_for": except_for},
    )
    return cur.rowcount


async def unlink(conn: Connection, *, source_id: SourceId, ids: Sequence[ArticleId]) -> None:
    """A source lists these articles no more."""
    await conn.execute(
        "DELETE FROM article_sources WHERE article_id = ANY(%(ids)b::uuid[]) AND source_id = %(source_id)s",
        {"source_id": source_id, "ids": uuids(ids)},
    )


async def find_owners(conn: Connection, *, url_keys: Sequence[bytes]) -> dict[bytes, SourceId | None]:
    """Those of these URLs that are articles here, each with a source that lists it, if there is one."""
    cur = await conn.execute(
        """
        SELECT url_key, owner.id
        FROM article_urls
        LEFT JOIN LATERAL (
            SELECT sources.id
            FROM article_sources
            JOIN sources ON sources.id = source_id
            WHERE article_sources.article_id = article_urls.article_id
            ORDER BY article_sources.seen_at, sources.id
            LIMIT 1
        ) AS owner ON true
        WHERE url_key = ANY(%(url_keys)b::bytea[])
            AND EXISTS (SELECT FROM articles WHERE articles.id = article_urls.article_id OFFSET 0)
        """,
        {"url_keys": byteas(url_keys)},
    )
    return {bytes(key): source_id for key, source_id in await cur.fetchall()}

"""Every statement on `articles`, `article_urls` and `article_sources`.

Articles lie in months, and what is known by id lies in one of them. PostgreSQL does not count on that when it chooses
how to join, and would rather read whole months: `OFFSET 0` makes it ask for each article by itself.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from psycopg.rows import class_row

from headwater.articles.types import Kept, Listed, ListedArticle, NewArticle
from headwater.db import Connection
from headwater.db.arrays import byteas, texts, times, uuids
from headwater.ids import ids_at
from headwater.types import ArticleId, SourceId


async def keep(conn: Connection, *, seen_at: datetime, listed: Sequence[Listed]) -> Mapping[SourceId, Kept]:
    """Keep what feeds list: new URLs are added, changed ones renewed, each linked to its source.

    What was forgotten in its time stays forgotten, however long feeds go on listing it.
    """
    if not listed:
        return {}
    listed = await _known_by_id(conn, listed=listed)
    # One row per URL, and always in the same order: two writers of the same URLs must not wait for each other.
    first = {one.article.url_key: one for one in reversed(listed)}
    keys = sorted(first)
    known = await _find_known(conn, url_keys=keys)
    fresh = [first[key] for key in keys if key not in known]
    made, linked = await _add(conn, seen_at=seen_at, listed=fresh)
    if len(made) < len(fresh):  # somebody was quicker
        lost = [one.article.url_key for one in fresh if one.article.url_key not in made]
        known |= await _find_known(conn, url_keys=lost)
    here = {key: article_id for key, (article_id, is_here) in known.items() if is_here}
    await _renew(conn, ids=here, articles=[first[key].article for key in sorted(here)])
    ids = made | here
    others = [one for one in listed if (key := one.article.url_key) in ids and not (key in made and one is first[key])]
    linked += await _link(conn, seen_at=seen_at, ids=ids, listed=others)
    new = Counter(first[key].source_id for key in made)
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
    """The ids of those that nobody else has added meanwhile, and which are linked to the source that lists them.

    All in one statement: what is new needs no look at what is there. A source that is gone lists nothing.
    """
    if not listed:
        return {}, []
    articles = [one.article for one in listed]
    keys = [article.url_key for article in articles]
    ids = {key: ArticleId(new) for key, new in zip(keys, ids_at(seen_at, len(keys)), strict=True)}
    cur = await conn.execute(
        """
        WITH entry AS MATERIALIZED (
            SELECT *
            FROM unnest(
                %(ids)b::uuid[], %(urls)b::text[], %(url_keys)b::bytea[], %(titles)b::text[], %(authors)b::text[],
                %(summaries)b::text[], %(contents)b::text[], %(published)b::timestamptz[], %(source_ids)b::uuid[],
                %(entry_ids)b::text[]
            ) WITH ORDINALITY AS entry (
                id, url, url_key, title, author, summary, content, published_at, source_id, entry_id, number
            )
        ), named AS (
            INSERT INTO article_urls (url_key, article_id)
            SELECT url_key, id
            FROM entry
            ON CONFLICT (url_key) DO NOTHING
            RETURNING article_id
        ), made AS (
            INSERT INTO articles (id, url, url_key, title, author, summary, content, published_at, seen_at)
            SELECT id, url, url_key, title, author, summary, content, published_at, %(seen_at)s
            FROM entry
            JOIN named ON named.article_id = entry.id
            RETURNING id, listed_at
        ), linked AS (
            INSERT INTO article_sources (article_id, source_id, entry_id, seen_at, listed_at)
            SELECT made.id, entry.source_id, entry.entry_id, %(seen_at)s, made.listed_at
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
            **_told(ids, articles),
            "seen_at": seen_at,
            "urls": texts([article.url for article in articles]),
            "url_keys": byteas(keys),
            "source_ids": uuids([one.source_id for one in listed]),
            "entry_ids": texts([article.entry_id for article in articles]),
        },
    )
    unlinked: dict[int, bool] = {number - 1: is_made for number, is_made in await cur.fetchall()}
    made = {key: ids[key] for at, key in enumerate(keys) if unlinked.get(at, True)}
    return made, [one for at, one in enumerate(listed) if at not in unlinked]


async def _renew(conn: Connection, *, ids: Mapping[bytes, ArticleId], articles: Sequence[NewArticle]) -> None:
    """Articles that are here become what is told of them now, as far as that is something."""
    if not articles:
        return
    outdated = await _find_outdated(conn, ids=ids, articles=articles)
    if not outdated:
        return
    told = [article for article in articles if ids[article.url_key] in outdated]
    await conn.execute(
        """
        WITH locked AS MATERIALIZED (
            SELECT id
            FROM articles
            WHERE id = ANY(%(ids)b::uuid[])
            ORDER BY id  -- two who renew the same ones do not wait for each other
            FOR UPDATE
        )
        UPDATE articles
        SET title = coalesce(nullif(told.title, ''), articles.title),
            author = coalesce(told.author, articles.author),
            summary = coalesce(told.summary, articles.summary),
            content = coalesce(told.content, articles.content),
            published_at = coalesce(told.published_at, articles.published_at)
        FROM unnest(
            %(ids)b::uuid[], %(titles)b::text[], %(authors)b::text[], %(summaries)b::text[], %(contents)b::text[],
            %(published)b::timestamptz[]
        ) AS told (id, title, author, summary, content, published_at)
        JOIN locked USING (id)
        WHERE articles.id = told.id AND articles.id = ANY(%(ids)b::uuid[])
        """,
        _told(ids, told),
    )


async def _find_outdated(
    conn: Connection, *, ids: Mapping[bytes, ArticleId], articles: Sequence[NewArticle]
) -> set[ArticleId]:
    """Those of which something else is told now; most often none."""
    cur = await conn.execute(
        """
        SELECT articles.id
        FROM unnest(
            %(ids)b::uuid[], %(titles)b::text[], %(authors)b::text[], %(summaries)b::text[], %(contents)b::text[],
            %(published)b::timestamptz[]
        ) AS told (id, title, author, summary, content, published_at)
        CROSS JOIN LATERAL (SELECT * FROM articles WHERE articles.id = told.id OFFSET 0) AS articles
        WHERE (articles.title, articles.author, articles.summary, articles.content, articles.published_at)
            IS DISTINCT FROM (
                coalesce(nullif(told.title, ''), articles.title),
                coalesce(told.author, articles.author),
                coalesce(told.summary, articles.summary),
                coalesce(told.content, articles.content),
                coalesce(told.published_at, articles.published_at)
            )
        """,
        _told(ids, articles),
    )
    return {ArticleId(row[0]) for row in await cur.fetchall()}


def _told(ids: Mapping[bytes, ArticleId], articles: Sequence[NewArticle]) -> dict[str, object]:
    return {
        "ids": uuids([ids[article.url_key] for article in articles]),
        "titles": texts([article.title for article in articles]),
        "authors": texts([article.author for article in articles]),
        "summaries": texts([article.summary for article in articles]),
        "contents": texts([article.content for article in articles]),
        "published": times([article.published_at for article in articles]),
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

    A feed that gives several entries one id has no ids: only one that meets one counts.
    """
    cur = await conn.execute(
        """
        SELECT source_id, entry_id, (array_agg(articles.url_key))[1]
        FROM unnest(%(source_ids)b::uuid[], %(entry_ids)b::text[], %(url_keys)b::bytea[])
            AS entry (source_id, entry_id, url_key)
        CROSS JOIN LATERAL (
            SELECT article_id
            FROM article_sources
            WHERE article_sources.source_id = entry.source_id AND article_sources.entry_id = entry.entry_id
            OFFSET 0
        ) AS listed
        CROSS JOIN LATERAL (SELECT url_key FROM articles WHERE id = listed.article_id OFFSET 0) AS articles
        GROUP BY source_id, entry_id
        HAVING count(*) = 1 AND bool_and(articles.url_key <> entry.url_key)
        """,
        {
            "source_ids": uuids([one.source_id for one in listed]),
            "entry_ids": texts([one.article.entry_id for one in listed]),
            "url_keys": byteas([one.article.url_key for one in listed]),
        },
    )
    known = {(source_id, entry_id): bytes(key) for source_id, entry_id, key in await cur.fetchall()}
    if not known:
        return listed
    return [
        one._replace(article=replace(one.article, url_key=known[mark]))
        if (mark := (one.source_id, one.article.entry_id)) in known
        else one
        for one in listed
    ]


async def _link(
    conn: Connection, *, seen_at: datetime, ids: Mapping[bytes, ArticleId], listed: Sequence[Listed]
) -> list[Listed]:
    """Those that their source had not listed before. A source that is gone lists nothing."""
    if not listed:
        return []
    # A feed may list an article twice; the first time counts.
    pairs = {(ids[one.article.url_key], one.source_id): one for one in reversed(listed)}
    cur = await conn.execute(
        """
        WITH entry AS MATERIALIZED (
            SELECT *
            FROM unnest(%(article_ids)b::uuid[], %(source_ids)b::uuid[], %(entry_ids)b::text[])
                WITH ORDINALITY AS entry (article_id, source_id, entry_id, number)
        ), linked AS (
            INSERT INTO article_sources (article_id, source_id, entry_id, seen_at, listed_at)
            SELECT entry.article_id, sources.id, entry.entry_id, %(seen_at)s,
                coalesce(
                    -- As it is listed already, though its date may have changed: it has one place in every list.
                    (
                        SELECT known.listed_at
                        FROM article_sources AS known
                        WHERE known.article_id = entry.article_id
                        LIMIT 1
                    ),
                    articles.listed_at
                )
            FROM entry
            CROSS JOIN LATERAL (SELECT * FROM articles WHERE articles.id = entry.article_id OFFSET 0) AS articles
            JOIN sources ON sources.id = entry.source_id
            WHERE NOT EXISTS (
                SELECT
                FROM article_sources AS known
                WHERE known.article_id = entry.article_id AND known.source_id = entry.source_id
                OFFSET 0
            )
            ORDER BY entry.article_id, sources.id
            FOR KEY SHARE OF articles
            ON CONFLICT (article_id, source_id) DO NOTHING
            RETURNING article_id, source_id
        )
        SELECT array_agg(number)
        FROM linked
        JOIN entry USING (article_id, source_id)
        """,
        {
            "seen_at": seen_at,
            "article_ids": uuids([article_id for article_id, _ in pairs]),
            "source_ids": uuids([source_id for _, source_id in pairs]),
            "entry_ids": texts([one.article.entry_id for one in pairs.values()]),
        },
    )
    row: tuple[list[int] | None] | None = await cur.fetchone()
    numbers = row[0] if row else None
    unlinked = list(pairs.values())
    return [unlinked[number - 1] for number in numbers or ()]


async def latest(conn: Connection, *, limit: int) -> list[ListedArticle]:
    """The newest articles of all sources."""
    async with conn.cursor(row_factory=class_row(ListedArticle)) as cur:
        await cur.execute(
            """
            SELECT id, url, title, author, summary, published_at, listed_at,
                ARRAY(
                    SELECT sources.name
                    FROM article_sources
                    JOIN sources ON sources.id = article_sources.source_id
                    WHERE article_sources.article_id = articles.id
                    ORDER BY article_sources.seen_at, sources.name
                ) AS sources
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
            """,
            {"limit": limit},
        )
        return await cur.fetchall()


async def latest_of_source(conn: Connection, *, source_id: SourceId, limit: int) -> list[ListedArticle]:
    """The newest articles that one source lists."""
    async with conn.cursor(row_factory=class_row(ListedArticle)) as cur:
        await cur.execute(
            """
            SELECT articles.id, articles.url, articles.title, author, summary, published_at, articles.listed_at,
                ARRAY[sources.name] AS sources
            FROM article_sources
            JOIN articles ON articles.id = article_sources.article_id
            JOIN sources ON sources.id = article_sources.source_id
            WHERE article_sources.source_id = %(source_id)s
            ORDER BY article_sources.listed_at DESC, article_id DESC
            LIMIT %(limit)s
            """,
            {"source_id": source_id, "limit": limit},
        )
        return await cur.fetchall()


async def relink(conn: Connection, *, source_id: SourceId, to: SourceId) -> int:
    """What one source lists is listed by another from now on. Returns how many that one had not listed."""
    cur = await conn.execute(
        """
        INSERT INTO article_sources (article_id, source_id, entry_id, seen_at, listed_at)
        SELECT article_id, %(to)s, entry_id, seen_at, listed_at
        FROM article_sources
        WHERE source_id = %(source_id)s
        ON CONFLICT (article_id, source_id) DO NOTHING
        """,
        {"source_id": source_id, "to": to},
    )
    return cur.rowcount


async def list_linked(conn: Connection, *, source_id: SourceId, limit: int) -> list[ArticleId]:
    """Some articles that a source lists."""
    cur = await conn.execute(
        "SELECT article_id FROM article_sources WHERE source_id = %(source_id)s LIMIT %(limit)s",
        {"source_id": source_id, "limit": limit},
    )
    return [ArticleId(row[0]) for row in await cur.fetchall()]


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

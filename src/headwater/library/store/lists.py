"""Lists of a user's articles, and one article in full.

Articles are partitioned by month, and one with a known id is in one partition. The planner does not rely on that for
a join and would read whole partitions: `OFFSET 0` makes it look up each article by itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final
from uuid import UUID

from headwater.db import Connection, fetch_all, fetch_one, fetch_value
from headwater.library.types import ArticleFull, ArticleLine, ArticlesQuery, Shelf
from headwater.types import ArticleId

# How many of the newest articles of all sources are read for each line, before every feed is read.
LOOK_PER_LINE = 40
LOOK_MAX = 5_000
BEFORE: Final = "(listed_at, article_id) < (%(listed_at)s::timestamptz, %(article_id)s::uuid)"
AFTER: Final = "(listed_at, article_id) > (%(listed_at)s::timestamptz, %(article_id)s::uuid)"
# A category has those nested in it: `News` has `News/Local`.
IN_CATEGORY: Final = """
    (lower(category) = lower(%(category)s) OR starts_with(lower(category), lower(%(category)s) || '/'))
"""
IN_FEED: Final = f"""
    (%(feed)s::uuid IS NULL OR subscriptions.id = %(feed)s) AND (%(category)s::text IS NULL OR {IN_CATEGORY})
"""
IS_READ: Final = """
    coalesce(marks.is_read, (
        SELECT bool_and(listed.listed_at <= read_until)
        FROM article_sources AS listed JOIN subscriptions USING (source_id)
        WHERE listed.article_id = articles.id
    ), false) AS is_read
"""
IS_UNREAD: Final = """
    NOT EXISTS (
        SELECT FROM marks
        WHERE marks.article_id = article_sources.article_id AND (is_read OR hidden_at IS NOT NULL)
        OFFSET 0
    )
"""
# With the parameter that lets hidden articles be listed.
_LISTS_UNREAD: Final = """
    NOT EXISTS (
        SELECT FROM marks
        WHERE marks.article_id = article_sources.article_id
            AND (is_read OR (hidden_at IS NOT NULL AND NOT %(with_hidden)s::boolean))
        OFFSET 0
    )
"""
# Most users have no hidden article: then none is looked up.
_LISTS_SHOWN: Final = """
    (%(with_hidden)s::boolean OR NOT (SELECT EXISTS (SELECT FROM marks WHERE hidden_at IS NOT NULL)) OR NOT EXISTS (
        SELECT FROM marks
        WHERE marks.article_id = article_sources.article_id AND hidden_at IS NOT NULL
        OFFSET 0
    ))
"""
_LISTS_WANTED: Final = """
    NOT EXISTS (
        SELECT FROM marks
        WHERE marks.article_id = article_sources.article_id
            AND ((is_read AND %(is_unread)s::boolean) OR (hidden_at IS NOT NULL AND NOT %(with_hidden)s::boolean))
        OFFSET 0
    )
"""
NEWEST_ARTICLES: Final = """
    FROM newest
    CROSS JOIN LATERAL (SELECT * FROM articles WHERE articles.id = newest.article_id OFFSET 0) AS articles
    LEFT JOIN LATERAL (SELECT * FROM marks WHERE marks.article_id = newest.article_id OFFSET 0) AS marks ON true
"""
IS_KEPT: Final = "starred_at IS NOT NULL AS is_starred, saved_at IS NOT NULL AS is_saved"
TITLE: Final = "coalesce(nullif(described.title, ''), nullif(articles.title, ''), articles.url) AS title"
DESCRIBED: Final = f"""
    {TITLE},
    coalesce(described.author, articles.author) AS author, coalesce(described.summary, articles.summary) AS summary
"""
READING_TIME: Final = "content.language, content.word_count"
CONTENT_OF_WANTED: Final = """
    LEFT JOIN LATERAL (
        SELECT language, word_count FROM content WHERE content.article_id = wanted.id OFFSET 0
    ) AS content ON true
"""
_FROM_NEWEST: Final = NEWEST_ARTICLES + " ORDER BY newest.listed_at DESC, newest.article_id DESC"
_LINE: Final = """
    articles.id, number, url, coalesce(nullif(articles.title, ''), url) AS title, articles.author, articles.summary,
    newest.listed_at, newest.name AS feed_name, coalesce(marks.tags, '{}') AS tags
"""
_NEWEST: Final = """
    newest AS MATERIALIZED (
        SELECT DISTINCT ON (listed_at, article_id) listed_at, article_id, name
        FROM listed ORDER BY listed_at DESC, article_id DESC, name LIMIT %(limit)s
    )
"""
_WALKED: Final = f"""
    SELECT listed_at, article_id, name
    FROM (
        SELECT listed_at, article_id, source_id
        FROM article_sources WHERE %(feed)s::uuid IS NULL AND %(category)s::text IS NULL AND {BEFORE}
        ORDER BY listed_at DESC, article_id DESC LIMIT %(look)s
    ) AS article_sources
"""


# An article that the user starred or saved, whether or not a feed of theirs lists it.
_CHOSEN_LINE: Final = f"""
    coalesce(feed.name, '') AS feed_name, {IS_READ}, {IS_KEPT}, marks.tags, feed.id AS feed_id, {READING_TIME}
    FROM marks
    LEFT JOIN LATERAL (
        SELECT subscriptions.id, subscriptions.name
        FROM article_sources JOIN subscriptions USING (source_id)
        WHERE article_sources.article_id = marks.article_id ORDER BY subscriptions.name LIMIT 1
    ) AS feed ON true
    CROSS JOIN LATERAL (SELECT marks.article_id AS id) AS wanted
    {CONTENT_OF_WANTED}
    JOIN articles ON articles.id = marks.article_id
    LEFT JOIN LATERAL article_for_user(marks.article_id) AS described ON true
    WHERE ((%(feed)s::uuid IS NULL AND %(category)s::text IS NULL) OR EXISTS (
        SELECT FROM article_sources JOIN subscriptions USING (source_id)
        WHERE article_sources.article_id = marks.article_id AND {IN_FEED}
    ))
"""
_STARRED: Final = f"""
    SELECT articles.id, number, url, {DESCRIBED}, marks.starred_at AS listed_at, {_CHOSEN_LINE}
        AND starred_at IS NOT NULL
"""
_SAVED: Final = f"""
    SELECT articles.id, number, url, {DESCRIBED}, marks.saved_at AS listed_at, {_CHOSEN_LINE}
        AND saved_at IS NOT NULL
"""


async def list_newest(conn: Connection, *, query: ArticlesQuery, is_unread: bool = False) -> list[ArticleLine]:
    """Articles of the user's feeds, or the unread ones, each once, as their subscriptions describe it; the newest
    first, or the oldest, as the query says.

    Each article is at its newest position; a page is full unless the list ends. Few articles have several positions.
    Where duplicates fill a page, the next step reads twice as many.
    """
    lines: list[ArticleLine] = []
    step = query
    while True:
        places = await _list_places(conn, query=step, is_unread=is_unread)
        views = await _view(conn, article_ids=[line.id for line in places], query=query, is_unread=is_unread)
        lines += [views[line.id].shown(line) for line in places if line.listed_at >= views[line.id].newest_at]
        if len(places) < step.limit or len(lines) >= query.limit:
            return lines[: query.limit]
        step = replace(step, after=places[-1].place, limit=min(2 * step.limit, LOOK_MAX))


@dataclass(frozen=True, slots=True)
class _View:
    """What the user's subscriptions say about an article, and its newest position in the list."""

    id: ArticleId
    title: str | None
    author: str | None
    summary: str | None
    newest_at: datetime
    feed_id: UUID | None
    language: str | None
    word_count: int | None

    def shown(self, line: ArticleLine) -> ArticleLine:
        line = replace(line, feed_id=self.feed_id, language=self.language, word_count=self.word_count)
        if self.title is None:
            return line
        author = line.author if self.author is None else self.author
        summary = line.summary if self.summary is None else self.summary
        return replace(line, title=self.title or line.title, author=author, summary=summary)


async def _view(
    conn: Connection, *, article_ids: Sequence[ArticleId], query: ArticlesQuery, is_unread: bool
) -> dict[ArticleId, _View]:
    """A statement of its own: as part of those that find the positions it would double their planning time."""
    if not article_ids:
        return {}
    statement = f"""
        SELECT wanted.id, described.title, described.author, described.summary,
            coalesce(placed.newest_at, '-infinity') AS newest_at, placed.feed_id, {READING_TIME}
        FROM unnest(%(article_ids)s::uuid[]) AS wanted (id)
        LEFT JOIN LATERAL article_for_user(wanted.id) AS described ON true
        {CONTENT_OF_WANTED}
        CROSS JOIN LATERAL (
            SELECT max(listed_at) AS newest_at,
                (array_agg(subscriptions.id ORDER BY listed_at DESC, subscriptions.name))[1] AS feed_id
            FROM (SELECT source_id, listed_at FROM article_sources WHERE article_id = wanted.id OFFSET 0) AS listed
            JOIN subscriptions USING (source_id)
            WHERE {IN_FEED}
                AND (
                    NOT %(is_unread)s::boolean
                    OR listed_at > read_until
                    OR EXISTS (SELECT FROM marks WHERE marks.article_id = wanted.id AND NOT is_read)
                )
        ) AS placed
    """
    values = {**page_values(query), "article_ids": list(article_ids), "is_unread": is_unread}
    return {row.id: row for row in await fetch_all(conn, _View, statement, values)}


async def _list_places(conn: Connection, *, query: ArticlesQuery, is_unread: bool) -> list[ArticleLine]:
    if query.is_oldest_first:
        return await _list_oldest_places(conn, query=query, is_unread=is_unread)
    list_newest_first = _list_unread_places if is_unread else _list_newest_places
    return await list_newest_first(conn, query=query)


async def _list_newest_places(conn: Connection, *, query: ArticlesQuery) -> list[ArticleLine]:
    """The newest positions of articles in the user's feeds: an article may have one in each.

    A user with many subscriptions finds a page among the newest articles of all sources: `walked`. Otherwise each feed
    is read: the newest N articles are among the newest N of the N feeds with the newest first article (by rank, since
    feeds may share it). So the cost grows with the number of feeds, never with the number of articles.
    """
    statement = f"""
        WITH walked AS MATERIALIZED (
            {_WALKED} JOIN subscriptions USING (source_id) WHERE {_LISTS_SHOWN}
        ), fresh AS MATERIALIZED (
            SELECT source_id, name, dense_rank() OVER (ORDER BY listed_at DESC, article_id DESC) AS rank
            FROM subscriptions
            CROSS JOIN LATERAL (
                SELECT listed_at, article_id
                FROM article_sources
                WHERE article_sources.source_id = subscriptions.source_id AND {BEFORE} AND {_LISTS_SHOWN}
                ORDER BY listed_at DESC, article_id DESC LIMIT 1
            ) AS newest
            WHERE {IN_FEED} AND (SELECT count(DISTINCT article_id) FROM walked) < %(limit)s
        ), listed AS (
            SELECT listed_at, article_id, name FROM walked
            UNION ALL
            SELECT listed_at, article_id, name
            FROM fresh
            CROSS JOIN LATERAL (
                SELECT listed_at, article_id
                FROM article_sources
                WHERE article_sources.source_id = fresh.source_id AND {BEFORE} AND {_LISTS_SHOWN}
                ORDER BY listed_at DESC, article_id DESC LIMIT %(limit)s
            ) AS listed
            WHERE rank <= %(limit)s
        ), {_NEWEST}
        SELECT {_LINE}, {IS_READ}, {IS_KEPT}
        {_FROM_NEWEST}
    """
    # prepare=False: a generic plan is four times as slow with a million articles
    return await fetch_all(conn, ArticleLine, statement, page_values(query), prepare=False)


async def _list_unread_places(conn: Connection, *, query: ArticlesQuery) -> list[ArticleLine]:
    """Positions after `read_until` and not read, or marked unread; found as in `_list_newest_places`."""
    statement = f"""
        WITH feed AS MATERIALIZED (
            SELECT source_id, name, read_until FROM subscriptions WHERE {IN_FEED}
        ), walked AS MATERIALIZED (
            {_WALKED}
            JOIN feed USING (source_id)
            WHERE listed_at > read_until AND {_LISTS_UNREAD}
        ), fresh AS MATERIALIZED (
            SELECT source_id, name, read_until, dense_rank() OVER (ORDER BY listed_at DESC, article_id DESC) AS rank
            FROM feed
            CROSS JOIN LATERAL (
                SELECT listed_at, article_id
                FROM article_sources
                WHERE article_sources.source_id = feed.source_id AND listed_at > feed.read_until AND {BEFORE}
                    AND {_LISTS_UNREAD}
                ORDER BY listed_at DESC, article_id DESC LIMIT 1
            ) AS newest
            WHERE (SELECT count(DISTINCT article_id) FROM walked) < %(limit)s
        ), listed AS (
            SELECT listed_at, article_id, name FROM walked
            UNION ALL
            SELECT listed_at, article_id, name
            FROM fresh
            CROSS JOIN LATERAL (
                SELECT listed_at, article_id
                FROM article_sources
                WHERE article_sources.source_id = fresh.source_id AND listed_at > fresh.read_until AND {BEFORE}
                    AND {_LISTS_UNREAD}
                ORDER BY listed_at DESC, article_id DESC LIMIT %(limit)s
            ) AS listed
            WHERE rank <= %(limit)s
            UNION ALL
            SELECT listed_at, article_id, name
            FROM marks
            CROSS JOIN LATERAL (
                SELECT source_id, listed_at FROM article_sources WHERE article_id = marks.article_id OFFSET 0
            ) AS listed
            JOIN feed USING (source_id)
            WHERE NOT is_read AND listed_at <= feed.read_until AND {BEFORE}
                AND (hidden_at IS NULL OR %(with_hidden)s::boolean)
        ), {_NEWEST}
        SELECT {_LINE}, false AS is_read, {IS_KEPT}
        {_FROM_NEWEST}
    """
    # prepare=False: a generic plan is four times as slow with a million articles
    return await fetch_all(conn, ArticleLine, statement, page_values(query), prepare=False)


async def _list_oldest_places(conn: Connection, *, query: ArticlesQuery, is_unread: bool) -> list[ArticleLine]:
    """The oldest positions of articles, or of unread ones. Each feed is read, as in `_list_newest_places`: what is
    oldest among all sources is seldom among a user's."""
    statement = f"""
        WITH feed AS MATERIALIZED (
            SELECT source_id, name, read_until,
                CASE WHEN %(is_unread)s::boolean THEN read_until ELSE '-infinity' END AS begins_at
            FROM subscriptions WHERE {IN_FEED}
        ), first AS MATERIALIZED (
            SELECT source_id, name, begins_at, dense_rank() OVER (ORDER BY listed_at, article_id) AS rank
            FROM feed
            CROSS JOIN LATERAL (
                SELECT listed_at, article_id
                FROM article_sources
                WHERE article_sources.source_id = feed.source_id AND listed_at > feed.begins_at AND {AFTER}
                    AND {_LISTS_WANTED}
                ORDER BY listed_at, article_id LIMIT 1
            ) AS oldest
        ), listed AS (
            SELECT listed_at, article_id, name
            FROM first
            CROSS JOIN LATERAL (
                SELECT listed_at, article_id
                FROM article_sources
                WHERE article_sources.source_id = first.source_id AND listed_at > first.begins_at AND {AFTER}
                    AND {_LISTS_WANTED}
                ORDER BY listed_at, article_id LIMIT %(limit)s
            ) AS listed
            WHERE rank <= %(limit)s
            UNION ALL
            SELECT listed_at, article_id, name
            FROM marks
            CROSS JOIN LATERAL (
                SELECT source_id, listed_at FROM article_sources WHERE article_id = marks.article_id OFFSET 0
            ) AS listed
            JOIN feed USING (source_id)
            WHERE NOT is_read AND listed_at <= feed.begins_at AND {AFTER}
                AND (hidden_at IS NULL OR %(with_hidden)s::boolean)
        ), newest AS MATERIALIZED (
            SELECT DISTINCT ON (listed_at, article_id) listed_at, article_id, name
            FROM listed ORDER BY listed_at, article_id, name LIMIT %(limit)s
        )
        SELECT {_LINE}, {IS_READ}, {IS_KEPT}
        {NEWEST_ARTICLES} ORDER BY newest.listed_at, newest.article_id
    """
    # prepare=False: as the others
    return await fetch_all(conn, ArticleLine, statement, {**page_values(query), "is_unread": is_unread}, prepare=False)


def page_values(query: ArticlesQuery) -> dict[str, object]:
    first = ("-infinity", UUID(int=0)) if query.is_oldest_first else ("infinity", UUID(int=2**128 - 1))
    listed_at, article_id = query.after or first
    return {
        "feed": query.feed, "category": query.category, "listed_at": listed_at, "article_id": article_id,
        "limit": query.limit, "look": min(query.limit * LOOK_PER_LINE, LOOK_MAX), "with_hidden": query.with_hidden,
    }  # fmt: skip


async def has_articles(conn: Connection) -> bool:
    """Whether a feed of the user lists an article."""
    statement = "SELECT EXISTS (SELECT FROM subscriptions JOIN article_sources USING (source_id))"
    return await fetch_value(conn, statement)


async def list_chosen(conn: Connection, *, query: ArticlesQuery) -> list[ArticleLine]:
    """Starred or saved articles, as the list of the query says."""
    return await (list_saved if query.shelf is Shelf.LATER else list_starred)(conn, query=query)


async def list_starred(conn: Connection, *, query: ArticlesQuery) -> list[ArticleLine]:
    """Starred articles, the latest star first, including those of feeds without a subscription."""
    if query.is_oldest_first:
        return await _list_starred_oldest(conn, query=query)
    statement = f"""
        {_STARRED} AND (starred_at, article_id) < (%(listed_at)s::timestamptz, %(article_id)s::uuid)
        ORDER BY starred_at DESC, article_id DESC LIMIT %(limit)s
    """
    return await fetch_all(conn, ArticleLine, statement, page_values(query))


async def _list_starred_oldest(conn: Connection, *, query: ArticlesQuery) -> list[ArticleLine]:
    statement = f"""
        {_STARRED} AND (starred_at, article_id) > (%(listed_at)s::timestamptz, %(article_id)s::uuid)
        ORDER BY starred_at, article_id LIMIT %(limit)s
    """
    return await fetch_all(conn, ArticleLine, statement, page_values(query))


async def list_saved(conn: Connection, *, query: ArticlesQuery) -> list[ArticleLine]:
    """Articles that were saved for later, the latest first, or the oldest, as the query says."""
    if query.is_oldest_first:
        return await _list_saved_oldest(conn, query=query)
    statement = f"""
        {_SAVED} AND (saved_at, article_id) < (%(listed_at)s::timestamptz, %(article_id)s::uuid)
        ORDER BY saved_at DESC, article_id DESC LIMIT %(limit)s
    """
    return await fetch_all(conn, ArticleLine, statement, page_values(query))


async def _list_saved_oldest(conn: Connection, *, query: ArticlesQuery) -> list[ArticleLine]:
    statement = f"""
        {_SAVED} AND (saved_at, article_id) > (%(listed_at)s::timestamptz, %(article_id)s::uuid)
        ORDER BY saved_at, article_id LIMIT %(limit)s
    """
    return await fetch_all(conn, ArticleLine, statement, page_values(query))


async def find_saved(conn: Connection, *, article_id: ArticleId) -> ArticleLine | None:
    """An article in Read later."""
    statement = f"{_SAVED} AND article_id = %(article_id)s"
    return await fetch_one(conn, ArticleLine, statement, {"feed": None, "category": None, "article_id": article_id})


async def find_article(conn: Connection, *, article_id: ArticleId, prefers_feed: bool = False) -> ArticleFull | None:
    """An article of the user's feeds, or a starred or saved one; with the text of its page or that of the feed, where
    there is one."""
    statement = """
        SELECT articles.id, number, articles.url,
            coalesce(nullif(described.title, ''), nullif(articles.title, ''), content.title, articles.url)
                AS title,
            coalesce(described.author, articles.author, array_to_string(content.authors, ', ')) AS author,
            texts.html, texts.is_extracted,
            coalesce(described.published_at, articles.published_at, content.published_at) AS published_at,
            coalesce(mine.listed_at, articles.listed_at) AS listed_at,
            content.language, content.word_count, coalesce(mine.names, '{}') AS feeds,
            coalesce(mine.ids, '{}') AS feed_ids,
            coalesce(marks.is_read, mine.is_read, false) AS is_read,
            starred_at IS NOT NULL AS is_starred, saved_at IS NOT NULL AS is_saved,
            coalesce(marks.tags, '{}') AS tags, marks.hidden_at, marks.starred_at, marks.saved_at
        FROM articles
        LEFT JOIN content ON content.article_id = articles.id
        LEFT JOIN content AS original ON original.article_id = content.duplicate_of
        LEFT JOIN marks ON marks.article_id = articles.id
        CROSS JOIN LATERAL (
            SELECT array_agg(subscriptions.name ORDER BY subscriptions.name, subscriptions.id) AS names,
                array_agg(subscriptions.id ORDER BY subscriptions.name, subscriptions.id) AS ids,
                max(article_sources.listed_at) AS listed_at,
                bool_and(article_sources.listed_at <= read_until) AS is_read
            FROM article_sources JOIN subscriptions USING (source_id)
            WHERE article_sources.article_id = articles.id
        ) AS mine
        LEFT JOIN LATERAL article_for_user(articles.id) AS described ON true
        CROSS JOIN LATERAL (
            SELECT coalesce(content.html, original.html) AS page,
                coalesce(described.content, described.summary, articles.content, articles.summary) AS feed
        ) AS given
        CROSS JOIN LATERAL (
            SELECT CASE WHEN %(prefers_feed)s THEN coalesce(feed, page) ELSE coalesce(page, feed) END AS html,
                page IS NOT NULL AND (feed IS NULL OR NOT %(prefers_feed)s) AS is_extracted
        ) AS texts
        WHERE articles.id = %(id)s AND (mine.names IS NOT NULL OR coalesce(starred_at, saved_at) IS NOT NULL)
    """
    return await fetch_one(conn, ArticleFull, statement, {"id": article_id, "prefers_feed": prefers_feed})

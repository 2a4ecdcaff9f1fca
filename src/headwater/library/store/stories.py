"""The stories of articles, and their other articles that a user can see.

Run under `Database.as_user`: row-level security leaves only the user's subscriptions and marks, so an article of a feed
that the user does not follow is neither returned nor counted.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from headwater.db import Connection, fetch_all
from headwater.ids import ids_around
from headwater.library.store.lists import IN_FEED, TITLE
from headwater.library.types import ArticlesQuery, StoryMember
from headwater.types import ArticleId

MEMBERS_MAX = 50  # of one story, the newest that the user can see
# Ids begin with their time. A story spans 72 hours, so most months are not read.
AROUND = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class _PlacedMember:
    """What `StoryMember` says of an article of the user's feeds, without its title."""

    story_id: UUID
    id: ArticleId
    feed_name: str
    listed_at: datetime | None  # None: of no feed, and starred or saved
    place_at: datetime | None
    is_read: bool


@dataclass(frozen=True, slots=True)
class _Described:
    id: ArticleId
    url: str
    title: str
    listed_at: datetime


async def find_stories(conn: Connection, *, article_ids: Sequence[ArticleId]) -> dict[ArticleId, UUID]:
    """The story of each article that is in one."""
    if not article_ids:
        return {}
    statement = """
        SELECT wanted.id, state.story_id
        FROM unnest(%(article_ids)s::uuid[]) AS wanted (id)
        CROSS JOIN LATERAL (SELECT story_id FROM article_state WHERE article_id = wanted.id OFFSET 0) AS state
        WHERE state.story_id IS NOT NULL
    """
    cur = await conn.execute(statement, {"article_ids": list(article_ids)})
    return {ArticleId(article_id): story_id for article_id, story_id in await cur.fetchall()}


async def list_members(
    conn: Connection, *, told: Mapping[ArticleId, UUID], query: ArticlesQuery | None = None, is_unread: bool = False
) -> list[StoryMember]:
    """The articles of these stories that the user's feeds list, the newest first, those given among them; none of a
    story of which the user can see one article only. Of a large story, the newest `MEMBERS_MAX`. Hidden articles are
    left out, except those given.

    `query`: the list in which they have a position. None: starred and saved articles are returned, too.
    """
    if not told:
        return []
    visible = await _list_placed(conn, told=told, query=query or ArticlesQuery(), is_unread=is_unread)
    placed = _newest_of_each(one for one in visible if query is None or one.listed_at is not None)
    times = Counter(one.story_id for one in placed)
    several = [one for one in placed if times[one.story_id] > 1]
    described = await _describe(conn, article_ids=[one.id for one in several])
    found = [(one, described[one.id]) for one in several if one.id in described]
    members = [
        StoryMember(
            one.story_id, one.id, said.url, said.title, one.feed_name, one.listed_at or said.listed_at, one.place_at,
            one.is_read,
        )
        for one, said in found
    ]  # fmt: skip
    return sorted(members, key=lambda one: (one.listed_at, one.id), reverse=True)


async def _list_placed(
    conn: Connection, *, told: Mapping[ArticleId, UUID], query: ArticlesQuery, is_unread: bool
) -> list[_PlacedMember]:
    """Articles of the user's feeds, and starred ones; of those of any feed, the newest 500 of a story are looked up."""
    statement = f"""
        SELECT stories.id AS story_id, member.article_id AS id, coalesce(mine.name, '') AS feed_name, mine.listed_at,
            mine.place_at, coalesce(marks.is_read, mine.is_read, false) AS is_read
        FROM unnest(%(stories)s::uuid[], %(earliest)s::uuid[], %(latest)s::uuid[]) AS stories (id, earliest, latest)
        CROSS JOIN LATERAL (
            SELECT article_id
            FROM article_state
            WHERE story_id = stories.id AND article_id BETWEEN stories.earliest AND stories.latest
            ORDER BY article_id DESC LIMIT 500
        ) AS member
        LEFT JOIN LATERAL (
            SELECT is_read, coalesce(starred_at, saved_at) AS kept_at, hidden_at
            FROM marks WHERE marks.article_id = member.article_id OFFSET 0
        ) AS marks ON true
        CROSS JOIN LATERAL (
            SELECT count(*) AS times, max(listed_at) AS listed_at, bool_and(listed_at <= read_until) AS is_read,
                (array_agg(subscriptions.name ORDER BY listed_at DESC, subscriptions.name))[1] AS name,
                max(listed_at) FILTER (
                    WHERE {IN_FEED}
                        AND (NOT %(is_unread)s::boolean OR NOT coalesce(marks.is_read, listed_at <= read_until))
                ) AS place_at
            FROM (
                SELECT source_id, listed_at FROM article_sources WHERE article_id = member.article_id OFFSET 0
            ) AS listed
            JOIN subscriptions USING (source_id)
        ) AS mine
        WHERE (mine.times > 0 OR kept_at IS NOT NULL)
            AND (hidden_at IS NULL OR member.article_id = ANY(%(told)s::uuid[]))
    """
    windows = _windows(told)
    values = {
        "stories": list(windows), "earliest": [first for first, _ in windows.values()],
        "latest": [last for _, last in windows.values()], "feed": query.feed, "category": query.category,
        "is_unread": is_unread, "told": list(told),
    }  # fmt: skip
    return await fetch_all(conn, _PlacedMember, statement, values)


async def _describe(conn: Connection, *, article_ids: Sequence[ArticleId]) -> dict[ArticleId, _Described]:
    """A statement of its own: as part of the other it would be planned anew each time, for longer than it runs."""
    if not article_ids:
        return {}
    statement = f"""
        SELECT articles.id, url, {TITLE}, articles.listed_at
        FROM unnest(%(article_ids)s::uuid[]) AS wanted (id)
        CROSS JOIN LATERAL (SELECT * FROM articles WHERE articles.id = wanted.id OFFSET 0) AS articles
        LEFT JOIN LATERAL article_for_user(wanted.id) AS described ON true
    """
    rows = await fetch_all(conn, _Described, statement, {"article_ids": list(article_ids)})
    return {row.id: row for row in rows}


def _newest_of_each(placed: Iterable[_PlacedMember]) -> list[_PlacedMember]:
    """At most `MEMBERS_MAX` of each story."""
    kept: list[_PlacedMember] = []
    times: Counter[UUID] = Counter()
    for one in sorted(placed, key=lambda one: one.id, reverse=True):
        times[one.story_id] += 1
        if times[one.story_id] <= MEMBERS_MAX:
            kept.append(one)
    return kept


def _windows(told: Mapping[ArticleId, UUID]) -> dict[UUID, tuple[UUID, UUID]]:
    """For each story, the ids between which its articles are."""
    ids: dict[UUID, list[ArticleId]] = {}
    for article_id, story_id in told.items():
        ids.setdefault(story_id, []).append(article_id)
    return {story_id: ids_around(some, AROUND) for story_id, some in ids.items()}

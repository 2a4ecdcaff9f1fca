"""A user with three feeds that report one event; so does a fourth feed, which only another user follows."""

import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from litestar import Litestar

from headwater.articles.store import records
from headwater.articles.types import ListedEntry
from headwater.db import Connection, Database
from headwater.labels.store import replace_labels
from headwater.labels.types import Method, NewLabel, Scheme
from headwater.sources.store import sources
from headwater.types import ArticleId
from tests.builders import an_article
from tests.clock import START, MovableClock
from tests.web.visitor import Person, a_person

STORY = UUID(int=77)
# Of each article the feed, its title and the minute of its date, and whether it reports the event.
ARTICLES = (
    ("daily", "Storm hits Bremvik", 1, True),
    ("weekly", "Bremvik after the storm", 2, True),
    ("evening", "Chess champion resigns", 3, False),
    ("evening", "Harbour of Bremvik flooded", 4, True),
    ("secret", "Storm: the leaked report", 5, True),
    ("daily", "Cake for beginners", 6, False),
)
FOLLOWED = ("daily", "weekly", "evening")


@dataclass(frozen=True)
class Newsroom:
    ada: Person
    articles: dict[str, ArticleId]


@asynccontextmanager
async def open_newsroom(app: Litestar, database: Database, clock: MovableClock) -> AsyncIterator[Newsroom]:
    async with a_person(app) as bob:
        await bob.register("bob@example.com")
        await bob.send("POST", "/feeds", name="Secret", url="https://secret.example/feed")
    async with a_person(app) as ada:
        await ada.register("ada@example.com")
        for name in FOLLOWED:
            await ada.send(
                "POST", "/feeds", name=name.capitalize(), url=f"https://{name}.example/feed", category="News"
            )
        async with database.as_system() as conn:
            articles = {title: await _add(conn, feed, title, minute) for feed, title, minute, _ in ARTICLES}
            await join(conn, STORY, [articles[title] for _, title, _, reports in ARTICLES if reports])
        clock.move(hours=2)
        yield Newsroom(ada, articles)


async def _add(conn: Connection, feed: str, title: str, minute: int) -> ArticleId:
    source = await sources.find_by_url(conn, url=f"https://{feed}.example/feed")
    article = an_article(
        f"https://{feed}.example/{minute}", title=title, published_at=START + timedelta(minutes=minute)
    )
    await records.keep(conn, seen_at=START + timedelta(hours=1), listed=[ListedEntry(source.id, article)])
    row = await (await conn.execute("SELECT id FROM articles WHERE title = %(title)s", {"title": title})).fetchone()
    assert row is not None
    return ArticleId(row[0])


async def join(conn: Connection, story_id: UUID, article_ids: Sequence[ArticleId]) -> None:
    """Make these articles one story."""
    statement = """
        INSERT INTO article_state (article_id, story_id) SELECT id, %(story)s FROM unnest(%(ids)s::uuid[]) AS id
        ON CONFLICT (article_id) DO UPDATE SET story_id = excluded.story_id
    """
    await conn.execute(statement, {"story": story_id, "ids": list(article_ids)})


async def say(
    database: Database, article_id: ArticleId, scheme: Scheme, label: str, *, method: Method = Method.MODEL,
    score: float = 0.83, detail: dict[str, float] | None = None,
) -> None:  # fmt: skip
    """Add a label to those that the method has given before in other schemes."""
    async with database.as_system() as conn:
        new = NewLabel(scheme, label, score, "1", detail)
        await replace_labels(conn, given={article_id: [new]}, method=method, schemes=[scheme], now=START)


def without_icons(page: str) -> str:
    """The page with names of feeds alone in their links."""
    bare = re.sub(r'<(?:img|span) class="feed-icon[^>]*>(?:</span>)?\s*', "", page)
    return re.sub(r'<span class="name">([^<]*)</span>', r"\1", bare)

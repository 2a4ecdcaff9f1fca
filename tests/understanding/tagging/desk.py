"""What the tests of tagging stand on: articles that wait, sources with readers, and a stand-in for the service."""

import json
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from hashlib import sha256
from typing import Any

from headwater.ai.client import AiClient
from headwater.ai.types import AiOptions
from headwater.articles.store import content, records
from headwater.articles.types import Extracted, ListedEntry, NewContent
from headwater.db import Database, fetch_rows, fetch_value
from headwater.ids import new_id
from headwater.labels.store import find_labels
from headwater.labels.types import ArticleLabel, Method
from headwater.types import ArticleId, SourceId
from headwater.understanding.tagging.types import TaggingOptions, TaggingOutcome
from headwater.understanding.tagging.worker import Tagger
from headwater.urls import url_key
from tests.ai.service import Reply, Service, completion
from tests.builders import a_reader, a_source, an_article
from tests.clock import START, MovableClock

KEY = "sk-or-v1-0123456789abcdef"
MODEL = "openai/gpt-4o-mini"
TEXT = "The reactor at Lindau reached a record output on Sunday, its operators said."
GOOD: dict[str, Any] = {
    "topics": ["Nuclear energy", "record output", "Lindau"],
    "sentiment": "positive",
    "categories": ["Science & Health", "Technology"],
    "confidence": 0.85,
}


def says(answer: object = None, *, cost: float = 0.0002, **changes: object) -> Reply:
    """An answer of the service: an object, or good tags with some changes."""
    content = answer if isinstance(answer, str) else json.dumps(GOOD | changes if answer is None else answer)
    return Reply(body=completion(content, cost=cost))


class Desk:
    """A database with articles that wait, and taggers that share it."""

    def __init__(self, database: Database, clock: MovableClock, service: Service) -> None:
        self.database, self.clock, self.service = database, clock, service
        self._count = 0

    def tagger(self, *, key: str | None = KEY, **budget: str) -> Tagger:
        return Tagger(self.database, self.clock, self.client(key=key, **budget), TaggingOptions())

    def client(self, *, key: str | None = KEY, ceiling: str = "500", price_out: str = "0.80") -> AiClient:
        options = AiOptions(
            api_key=key, base_url=self.service.url, monthly_budget=Decimal(ceiling), price_out=Decimal(price_out)
        )
        return AiClient(self.database, self.clock, options)

    async def source(self, readers: int = 0, url: str | None = None, *, is_system: bool = True) -> SourceId:
        self._count += 1
        async with self.database.as_system() as conn:
            source = await a_source(conn, url=url or f"https://site{self._count}.example/feed.xml")
            values = {"id": source.id, "is_system": is_system}
            await conn.execute("UPDATE sources SET is_system = %(is_system)s WHERE id = %(id)s", values)
        for _ in range(readers):
            self._count += 1
            user_id = await a_reader(self.database, f"user{self._count}@example.com")
            statement = """
                INSERT INTO subscriptions (id, user_id, source_id, name, created_at)
                VALUES (%(id)s, %(user_id)s, %(source_id)s, 'Feed', %(now)s)
            """
            values = {"id": new_id(), "user_id": user_id, "source_id": source.id, "now": START}
            async with self.database.as_system() as conn:
                await conn.execute(statement, values)
        return source.id

    async def article(
        self, *sources: SourceId, title: str = "Reactor sets record", text: str = TEXT, at: datetime | None = None
    ) -> ArticleId:
        """An article with the text of its page that classifying has just queued, a second after the last. Without a
        source given, it is of a public one without readers."""
        sources = sources or (await self.source(),)
        self._count += 1
        self.clock.move(seconds=1)
        url, at = f"https://pages.example/{self._count}", at or self.clock()
        listed = [ListedEntry(one, an_article(url, title=title), "pages.example") for one in sources]
        async with self.database.transaction() as conn:
            await records.keep(conn, seen_at=at, listed=listed)
            article_id = await fetch_value(conn, "SELECT id FROM articles WHERE url = %(url)s", {"url": url})
            digest = sha256(text.encode()).digest() if text else None
            extracted = Extracted(title=title, text=text, word_count=len(text.split()), content_hash=digest)
            await content.save(conn, records=[NewContent(article_id, url, url_key(url), extracted)], now=at)
        await self.queue(article_id)
        return article_id

    async def queue(self, article_id: ArticleId) -> None:
        statement = """
            INSERT INTO article_state (article_id, ai_due_at) VALUES (%(id)s, %(now)s)
            ON CONFLICT (article_id) DO UPDATE SET ai_due_at = excluded.ai_due_at
        """
        async with self.database.transaction() as conn:
            await conn.execute(statement, {"id": article_id, "now": self.clock()})

    async def run(self, tagger: Tagger, limit: int = 1) -> list[TaggingOutcome]:
        """One run of the stage: what a claim gives, one after the other."""
        return [await tagger.work(one) for one in await tagger.claim(limit)]

    async def order(self, tagger: Tagger, *names: tuple[str, ArticleId], limit: int = 100) -> list[str]:
        """The names of the articles that a claim gives, in its order."""
        by_id = {article_id: name for name, article_id in names}
        return [by_id[one.article_id] for one in await tagger.claim(limit)]

    async def state(self, article_id: ArticleId) -> dict[str, Any]:
        statement = """
            SELECT ai_tagged, ai_tagged_at, ai_attempts, ai_due_at, ai_lease
            FROM article_state WHERE article_id = %(id)s
        """
        async with self.database.transaction() as conn:
            (row,) = await fetch_rows(conn, statement, {"id": article_id})
        return row

    async def labels(self, article_id: ArticleId) -> list[ArticleLabel]:
        """By the language model."""
        async with self.database.transaction() as conn:
            found = await find_labels(conn, article_ids=[article_id])
        return [one for one in found.get(article_id, []) if one.method is Method.AI]

    async def tags(self, article_id: ArticleId) -> set[tuple[str, str, float]]:
        return {(one.scheme.value, one.label, round(one.score, 4)) for one in await self.labels(article_id)}

    def sent(self) -> Sequence[dict[str, str]]:
        """The messages of the last request."""
        return self.service.requests[-1]["messages"]

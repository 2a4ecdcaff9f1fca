"""A reader with two feeds, articles that arrive, and the stage that applies rules."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from headwater.accounts.quotas import Quotas
from headwater.articles.store import records
from headwater.articles.types import ListedEntry
from headwater.db import Database, fetch_rows
from headwater.ids import new_id
from headwater.library.rules import operate, store
from headwater.library.rules.types import ReaderRuleFields, RuleActions
from headwater.library.rules.worker import RuleApplier
from headwater.library.store import subscriptions
from headwater.sources.types import Source
from headwater.types import ArticleId, UserId
from tests.builders import a_reader, a_source, an_article
from tests.clock import MovableClock


@dataclass
class RuleReader:
    database: Database
    clock: MovableClock
    user_id: UserId
    sources: dict[str, Source] = field(default_factory=dict[str, Source])
    quotas: Quotas = field(default_factory=Quotas)

    async def follow(self, name: str, category: str | None = None) -> None:
        async with self.database.as_system() as conn:
            source = self.sources.get(name) or await a_source(conn, url=f"https://{name.lower()}.example/feed")
            await subscriptions.add(
                conn, subscription_id=new_id(), user_id=self.user_id, source_id=source.id, name=name,
                category=category, now=self.clock(),
            )  # fmt: skip
        self.sources[name] = source

    async def arrive(self, title: str, source: str = "Daily", *, seen_at: datetime | None = None) -> ArticleId:
        """An article that its feed lists, with its next revision."""
        now = seen_at or self.clock()
        url = f"https://x.example/{len(title)}-{'-'.join(title.lower().split())}"
        entry = ListedEntry(self.sources[source].id, an_article(url, title=title, published_at=now))
        async with self.database.as_system() as conn:
            await records.keep(conn, seen_at=now, listed=[entry])
            rows = await fetch_rows(conn, "SELECT id FROM articles WHERE url = %(url)s", {"url": url})
        article_id = ArticleId(rows[0]["id"])
        await self.revise(article_id)
        return article_id

    async def revise(self, article_id: ArticleId) -> None:
        async with self.database.as_system() as conn:
            await conn.execute(
                """
                WITH taken AS (UPDATE publishing_state SET last_revision = last_revision + 1 RETURNING last_revision)
                INSERT INTO article_state (article_id, revision, revised_at)
                SELECT %(id)s, last_revision, %(now)s FROM taken
                ON CONFLICT (article_id) DO UPDATE SET revision = excluded.revision, revised_at = excluded.revised_at
                """,
                {"id": article_id, "now": self.clock()},
            )

    async def save(self, query: str, actions: RuleActions, name: str = "") -> UUID:
        async with self.database.as_user(self.user_id) as conn:
            return await operate.save_rule(
                conn, ReaderRuleFields(name, query, actions), user_id=self.user_id, most=100, now=self.clock()
            )

    def stage(self) -> RuleApplier:
        return RuleApplier(self.database, self.clock, self.quotas)

    async def apply(self, stage: RuleApplier | None = None) -> int:
        """Apply the rules to all that waits. Returns how often one acted on an article."""
        stage, done = stage or self.stage(), 0
        while turns := await stage.claim(1):
            done += await stage.work(turns[0])
        return done

    async def marks(self) -> dict[ArticleId, dict[str, object]]:
        async with self.database.as_user(self.user_id) as conn:
            rows = await fetch_rows(
                conn,
                """
                SELECT article_id, is_read, starred_at IS NOT NULL AS is_starred, hidden_at IS NOT NULL AS is_hidden,
                    tags
                FROM marks
                """,
            )
        return {ArticleId(row.pop("article_id")): row for row in rows}

    async def log(self, rule_id: UUID) -> Sequence[tuple[str, Sequence[str]]]:

        async with self.database.as_user(self.user_id) as conn:
            return [(line.title, line.actions) for line in await store.list_log(conn, rule_id=rule_id, limit=50)]


async def a_rule_reader(
    database: Database, clock: MovableClock, email: str = "ada@example.com", beside: RuleReader | None = None
) -> RuleReader:
    """With the same feeds as the reader `beside`."""
    known = dict(beside.sources) if beside else {}
    reader = RuleReader(database, clock, await a_reader(database, email), known)
    await reader.follow("Daily", "News/Local")
    await reader.follow("Weekly")
    return reader


LONG_AGO = timedelta(days=8)

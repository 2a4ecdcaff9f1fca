"""A Headwater of several months, in which articles are seen, starred and forgotten."""

from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import Any
from uuid import UUID

from headwater.articles.store import content
from headwater.articles.store.records import keep
from headwater.articles.types import Kept, ListedEntry, NewContent
from headwater.db import Database
from headwater.ids import new_id
from headwater.library.store import lists, marks, subscriptions
from headwater.library.types import ArticleFull
from headwater.retention import store
from headwater.retention.types import RetentionOptions, RetentionReport, RetentionTurn
from headwater.retention.worker import Retainer
from headwater.timekeeping.decide import ClockOptions
from headwater.types import ArticleId, SourceId, UserId
from headwater.urls import url_key
from tests.articles.builders import WORDS, a_record
from tests.builders import a_source, an_article
from tests.clock import MovableClock
from tests.months import make_months
from tests.owner import as_owner

JANUARY, FEBRUARY, MARCH = date(2026, 1, 1), date(2026, 2, 1), date(2026, 3, 1)
ADA, BOB = UserId(UUID(int=1)), UserId(UUID(int=2))
OPTIONS = RetentionOptions(
    articles=timedelta(days=90),
    events=timedelta(days=365),
    polls=timedelta(days=30),
    clicks=timedelta(days=90),
    pause=timedelta(0),
    tries=2,
    clock=ClockOptions(jump=timedelta.max, apart=timedelta.max),  # the tests' clock stands where it is put
)


class World:
    """January to August, with two readers and a source."""

    def __init__(self, database: Database, clock: MovableClock) -> None:
        self.database = database
        self.clock = clock
        self.source = SourceId(UUID(int=0))

    async def begin(self) -> None:
        async with as_owner(self.database) as owner:
            await make_months(owner, since=JANUARY, until=date(2026, 8, 1))
        async with self.database.as_system() as conn:
            await conn.execute("UPDATE retention_state SET due_at = %(now)s", {"now": self.clock()})
            for user in (ADA, BOB):
                await conn.execute(
                    "INSERT INTO users (id, email, email_key) VALUES (%(id)s, %(email)s, %(email)s)",
                    {"id": user, "email": f"{user}@example.com"},
                )
            self.source = (await a_source(conn)).id
            for user in (ADA, BOB):
                await subscriptions.add(
                    conn,
                    subscription_id=new_id(),
                    user_id=user,
                    source_id=self.source,
                    name="Example",
                    category=None,
                    now=self.clock(),
                )

    async def see(
        self, url: str, seen_at: datetime, *, text: str | None = None, source: SourceId | None = None
    ) -> Kept:
        """A feed lists this; with a text, its page was read too."""
        article = an_article(url, published_at=seen_at)
        async with self.database.as_system() as conn:
            kept = await keep(conn, seen_at=seen_at, listed=[ListedEntry(source or self.source, article)])
        if text is not None:
            async with self.database.as_system() as conn:
                record = NewContent(await self.id_of(url), url, article.url_key, a_record(text))
                await content.save(conn, records=[record], now=seen_at)
        return kept[source or self.source]

    async def id_of(self, url: str) -> ArticleId:
        ((article_id,),) = await self.rows(
            "SELECT article_id FROM article_urls WHERE url_key = %(key)s", key=url_key(url)
        )
        return ArticleId(article_id)

    async def star(self, url: str, user: UserId = ADA, *, is_starred: bool = True) -> None:
        article_id = await self.id_of(url)
        async with self.database.as_user(user) as conn:
            await marks.mark(
                conn, user_id=user, article_id=article_id, is_read=None, is_starred=is_starred, now=self.clock()
            )

    async def open(self, url: str, user: UserId = ADA) -> ArticleFull | None:
        article_id = await self.id_of(url)
        async with self.database.as_user(user) as conn:
            return await lists.find_article(conn, article_id=article_id)

    async def urls(self) -> set[str]:
        return {row[0] for row in await self.rows("SELECT url FROM articles")}

    async def counts(self) -> dict[str, int]:
        return {
            table: (await self.rows(f"SELECT count(*) FROM {table}"))[0][0]
            for table in ("articles", "article_sources", "content", "marks")
        }

    async def months(self) -> list[date]:
        async with self.database.as_system() as conn:
            return await store.list_months(conn)

    async def rows(self, statement: str, **values: object) -> list[tuple[Any, ...]]:
        async with self.database.as_system() as conn:
            return await (await conn.execute(statement.encode(), values)).fetchall()

    async def rows_changed(self, statement: str, **values: object) -> None:
        async with self.database.as_system() as conn:
            await conn.execute(statement.encode(), values)

    def retainer(self, **options: Any) -> Retainer:
        return Retainer(self.database, self.clock, replace(OPTIONS, **options))

    async def retain(self, progress: Callable[[str], None] = lambda _: None, **options: Any) -> RetentionReport:
        """One run, with all the time there is."""
        turn = RetentionTurn(new_id(), self.clock() + timedelta(minutes=10), progress)
        return await self.retainer(**options).run(turn)


TEXT = WORDS
OTHER = (
    "Nobody had expected that the orchard would bear so early in this year and the pickers were not there yet at all"
)

"""How long it takes to let a month of articles go, and what readers notice of it.

An embedded PostgreSQL with 5,000,000 articles in twelve months; every tenth has a text, and a reader of 1,000 sources
has starred some. Before each of the first months lies an empty one, so that full and empty ones go in turns and meet
the same weather. What is timed is all that changes something: handing on shared texts, putting the month aside,
dropping its tables. What gave way to a reader and is tried again is counted (`gave_way`), not timed. `ratio` is the
median of the full months over that of the empty ones; it must stay below 3.

Meanwhile four connections read, as a reader's pages do: the newest articles, the unread ones, one article.
`readers_ms` has their median and their slowest in a quiet time, and while months go.
The last line is one JSON object.
"""

import argparse
import asyncio
import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from uuid import UUID

import psycopg

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

from headwater.db import Connection, Database  # noqa: E402
from headwater.db.embedded import EmbeddedServer  # noqa: E402
from headwater.db.migrate import migrate_up  # noqa: E402
from headwater.library.store import lists  # noqa: E402
from headwater.library.types import ArticlesQuery, Shelf  # noqa: E402
from headwater.retention import store  # noqa: E402
from headwater.retention.decide import after, ends_before, starts_at  # noqa: E402
from headwater.retention.store import Busy  # noqa: E402
from headwater.types import ArticleId, UserId  # noqa: E402

ARTICLES = 5_000_000
MONTHS = 12
ROUNDS = 3
SOURCES = 5_000
READERS = 4
QUIET_S = 10.0
FIRST = date(2025, 1, 1)
READER = UserId(UUID(int=1))
LOADING = {"max_wal_size": "8GB", "shared_buffers": "512MB", "maintenance_work_mem": "512MB", "fsync": "off"}

PEOPLE = (
    "INSERT INTO users (id, email, email_key) VALUES (%(reader)s, 'reader@example.com', 'reader@example.com')",
    """
    INSERT INTO sources (id, name, feed_url, feed_url_key)
    SELECT md5('s' || n)::uuid, 'Source ' || n, 'https://s' || n || '.example/feed', sha256(('s' || n)::bytea)
    FROM generate_series(0, %(sources)s - 1) AS n
    """,
    """
    INSERT INTO subscriptions (id, user_id, source_id, name, created_at)
    SELECT md5('r' || n)::uuid, %(reader)s, md5('s' || n)::uuid, 'Feed ' || n, now()
    FROM generate_series(0, %(sources)s - 1, 5) AS n
    """,
)
# An id begins with its time, as ours do.
A_MONTH = (
    """
    CREATE TEMPORARY TABLE made AS
    SELECT n, at, (
            lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '7' || substr(md5(n::text), 14)
        )::uuid AS id
    FROM (
        SELECT n, %(start)s::timestamptz + interval '27 days' * (n::float / %(articles)s) AS at
        FROM generate_series(1, %(articles)s) AS n
    ) AS timed
    """,
    """
    INSERT INTO articles (id, url, url_key, title, summary, published_at, seen_at)
    SELECT id, 'https://s' || n %% %(sources)s || '.example/' || id, sha256(id::text::bytea), 'Title ' || n %% 30000,
        'What this article is about, in a few words.', at, at
    FROM made
    """,
    """
    INSERT INTO article_sources (article_id, source_id, entry_id, seen_at, listed_at)
    SELECT id, md5('s' || n %% %(sources)s)::uuid, n::text, at, at
    FROM made
    """,
    """
    INSERT INTO content (article_id, url, url_key, title, text, keywords, authors, language, open_graph, linked_data,
        origins, word_count, content_hash, simhash, richness, extracted_at)
    SELECT id, 'https://s' || n %% %(sources)s || '.example/' || id, sha256(id::text::bytea), 'Title ' || n,
        'Some words about w' || n %% 20000 || ' and w' || n %% 30011 || repeat(' and more of it', 40), '{}', '{}', 'en',
        '{}', '{}', '{}', 170, sha256(('t' || id)::bytea), hashtextextended(id::text, 0), 1, at
    FROM made
    WHERE n %% 10 = 0
    """,
    """
    INSERT INTO marks (user_id, article_id, is_read, starred_at)
    SELECT %(reader)s, id, true, CASE WHEN n %% (%(articles)s / %(starred)s) = 0 THEN at END
    FROM made
    WHERE n %% (%(articles)s / %(starred)s) = 0 OR n %% 1000 = 0
    """,
    "DROP TABLE made",
)


def main() -> None:
    """Measure, print a table, and end with the numbers as JSON."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--articles", type=int, default=ARTICLES, help="articles in all months together")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="how many full and empty months go")
    parser.add_argument("--starred", type=int, default=100, help="starred articles in each month")
    parser.add_argument("--seconds", type=float, default=QUIET_S, help="how long readers are watched in a quiet time")
    options = parser.parse_args()
    with open_folder() as folder:
        server = EmbeddedServer(folder / "data", options=LOADING)
        server.start()
        try:
            result = asyncio.run(measure(server.conninfo_of("postgres"), options))
        finally:
            server.leave()
    print(json.dumps({"bench": "retention", "articles": options.articles, "months": MONTHS, **result}))


@contextmanager
def open_folder() -> Iterator[Path]:
    """A folder that other users can enter: PostgreSQL refuses root, and runs as another user then."""
    with tempfile.TemporaryDirectory(prefix="headwater-bench-", ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o755)
        yield Path(name)


async def measure(conninfo: str, options: argparse.Namespace) -> dict[str, object]:
    """Fill the database, then measure reads while months are dropped, and while nothing else happens."""
    await migrate_up(conninfo)
    full, empty = await fill(conninfo, options)
    async with Database(conninfo, pool_size=READERS + 3, wait=timedelta(minutes=5)) as database:
        ids = await some_ids(database)
        await read(database, ids, rest(1))  # warm
        quiet = await read(database, ids, rest(options.seconds))
        going = Going(database)
        busy = await read(database, ids, going.let_go(sorted([*full, *empty])[: 2 * options.rounds]))
        kept = await count_kept(database)
    month, none = ([going.took[one] for one in months if one in going.took] for months in (full, empty))
    print(f"{'full months':16}{' '.join(f'{one * 1000:8.0f}' for one in month)} ms")
    print(f"{'empty months':16}{' '.join(f'{one * 1000:8.0f}' for one in none)} ms")
    for name, times in (("quiet", quiet), ("while they go", busy)):
        print(f"{name:16}{statistics.median(times):8.1f} ms median {max(times):8.1f} ms slowest of {len(times)} reads")
    return {
        "ratio": round(statistics.median(month) / statistics.median(none), 2),
        "month_ms": round(statistics.median(month) * 1000),
        "empty_ms": round(statistics.median(none) * 1000),
        "gave_way": going.gave_way,
        "starred_kept": kept,
        "readers_ms": {
            "quiet": [round(statistics.median(quiet), 1), round(max(quiet), 1)],
            "going": [round(statistics.median(busy), 1), round(max(busy), 1)],
        },
    }


async def fill(conninfo: str, options: argparse.Namespace) -> tuple[list[date], list[date]]:
    """Twelve months of articles, with an empty one before each of the first."""
    months = [FIRST]
    while len(months) < MONTHS + options.rounds:
        months.append(after(months[-1]))
    empty = months[: 2 * options.rounds : 2]
    full = [month for month in months if month not in empty]
    values = {"reader": READER, "sources": SOURCES, "articles": options.articles // MONTHS, "starred": options.starred}
    async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as conn:
        await conn.execute("SELECT begin_article_months(%(first)s)", {"first": FIRST})
        await conn.execute(
            "SELECT make_article_months(%(first)s, %(last)s)", {"first": FIRST, "last": after(months[-1])}
        )
        for statement in PEOPLE:
            await conn.execute(statement, values)
        indexes = await drop_indexes(conn)
        for month in full:
            started = time.perf_counter()
            for statement in A_MONTH:
                await conn.execute(statement, values | {"start": starts_at(month)})
            print(f"{month:%Y-%m} filled in {time.perf_counter() - started:.0f} s", file=sys.stderr)
        for statement in indexes:
            await conn.execute(statement.encode())
        await conn.execute("VACUUM ANALYZE")
        await conn.execute("CHECKPOINT")
    return full, empty


async def drop_indexes(conn: psycopg.AsyncConnection) -> list[str]:
    """Loading is much faster without them. Returns the statements that create them again."""
    cur = await conn.execute(
        """
        SELECT indexdef, indexname
        FROM pg_indexes
        WHERE schemaname = 'public' AND tablename IN ('articles', 'article_sources', 'content', 'marks')
            AND indexname NOT LIKE '%_pkey'
        """
    )
    found = await cur.fetchall()
    for _, name in found:
        await conn.execute(f"DROP INDEX {name}".encode())
    return [definition.replace(" ON ONLY ", " ON ") for definition, _ in found]


async def some_ids(database: Database) -> list[ArticleId]:
    """Articles of the reader's, of the last months."""
    async with database.as_user(READER) as conn:
        lines = await lists.list_newest(conn, query=ArticlesQuery(Shelf.ALL, None, None, None, 100))
    return [line.id for line in lines]


async def rest(seconds: float) -> None:
    """Only readers."""
    await asyncio.sleep(seconds)


async def read(database: Database, ids: Sequence[ArticleId], meanwhile: Coroutine[None, None, None]) -> list[float]:
    """Milliseconds of each read, until `meanwhile` is finished."""
    other = asyncio.create_task(meanwhile)
    times: list[float] = []

    async def reader() -> None:
        while not other.done():
            started = time.perf_counter()
            async with database.as_user(READER) as conn:
                match random.randrange(3):
                    case 0:
                        await lists.list_newest(conn, query=ArticlesQuery(Shelf.ALL, None, None, None, 30))
                    case 1:
                        await lists.list_newest(
                            conn, query=ArticlesQuery(Shelf.UNREAD, None, None, None, 30), is_unread=True
                        )
                    case _:
                        assert await lists.find_article(conn, article_id=random.choice(ids))
            times.append((time.perf_counter() - started) * 1000)
            await asyncio.sleep(0.02)

    async with asyncio.TaskGroup() as readers:
        for _ in range(READERS):
            readers.create_task(reader())
    await other
    return times


class Going:
    """Drops months, and measures the time of those that succeed."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.took: dict[date, float] = {}
        self.gave_way = 0

    async def let_go(self, months: Sequence[date]) -> None:
        """One after the other, with a pause between."""
        for month in months:
            self.took[month] = await self._let_one_go(month)
            await asyncio.sleep(1)

    async def _let_one_go(self, month: date) -> float:
        spent = await self._try(lambda conn: store.reassign_texts(conn, before=ends_before(month), most=500))
        spent += await self._try(lambda conn: store.detach_month(conn, month=month))
        async with self._database.transaction() as conn:
            gone = await store.list_detached(conn)
        for table in gone:
            spent += await self._try(lambda conn, table=table: store.drop_detached(conn, table=table))
        return spent

    async def _try(self, step: Callable[[Connection], Awaitable[object]]) -> float:
        while True:
            started = time.perf_counter()
            try:
                async with self._database.transaction() as conn:
                    await step(conn)
            except Busy:
                self.gave_way += 1
                await asyncio.sleep(0.2)
            else:
                return time.perf_counter() - started


async def count_kept(database: Database) -> int:
    """Articles of dropped months that were kept."""
    async with database.transaction() as conn:
        row = await (await conn.execute("SELECT count(*) FROM months.articles_kept")).fetchone()
    return row[0] if row else 0


if __name__ == "__main__":
    started_at = datetime.now(UTC)
    main()
    print(f"in {(datetime.now(UTC) - started_at).total_seconds():.0f} s", file=sys.stderr)

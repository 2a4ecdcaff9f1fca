"""How long a reader waits for a list, with few articles and with very many; and how much of that is our own doing.

An embedded PostgreSQL with two databases: 10,000 and 1,000,000 articles of 5,000 sources, a few of which bring most.
In each, one reader with 1,000 subscriptions, half of them read up to some moment, 900 articles marked one by one; and
200 other readers, whose rows are in the way. A tenth of the articles has a text. Each has labels, and five in a row are
a story, which a list shows as one line. The server is what `headwater serve`
runs, in a process of its own, one for each database at the same time.

Each page is asked for one after another over one connection, the two servers in turns, so that both meet the same
weather; the best of each counts. `ratio` is how much longer the lists of articles (unread, all, one feed) take with a
hundred times the articles, all together; it must stay below 1.5. `ratio_feeds` is that of GET /feeds. Beside them: the
list of feeds with counts of what is unread, which a reader of very many feeds gets after the articles, and the search
for a word that stands in every third title, and for a rare one; and lists of a topic and of a rare keyword.

Then requests per second, eight at a time: a list of articles beside a static file from the same server.
The last line is one JSON object.
"""

import argparse
import asyncio
import hashlib
import http.client
import json
import multiprocessing
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from typing import Any, NoReturn
from uuid import UUID

import aiohttp
import psycopg
from psycopg.conninfo import make_conninfo

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

from headwater.accounts.access import Access, LoggedIn  # noqa: E402
from headwater.accounts.types import AccountOptions, Visitor  # noqa: E402
from headwater.asgi.session import ACCESS_COOKIE  # noqa: E402
from headwater.db import Database  # noqa: E402
from headwater.db.embedded import EmbeddedServer  # noqa: E402
from headwater.db.migrate import migrate_up  # noqa: E402
from headwater.observability.log import configure_log  # noqa: E402
from headwater.runtime import utc_now  # noqa: E402
from headwater.server import create_app, listen, serve  # noqa: E402

SMALL, LARGE = 10_000, 1_000_000
SOURCES = 5_000
SUBSCRIPTIONS = 1_000
STRANGERS = 200
ROUNDS = 60
WARM_UP = 5
AT_ONCE = 8
BUSY_S = 5.0
READER = UUID(int=1)
BUSY_FEED = UUID(hashlib.md5(b"r0", usedforsecurity=False).hexdigest())  # of the source that brings most
PROCESSES = multiprocessing.get_context("spawn")
QUICK = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "max_wal_size": "8GB"}

LISTS = {"unread": "/read", "all": "/read?shelf=all", "feed": f"/read?shelf=all&feed={BUSY_FEED}"}
OTHERS = {
    "feeds": "/feeds",
    "beside": "/read/feeds",
    "search_common": "/read?shelf=all&q=water",
    "search_rare": "/read?shelf=all&q=quokka77",
    "filter_common": "/read?shelf=all&topic=sport",
    "filter_rare": "/read?shelf=all&keyword=quokka77",
}
STATIC = "/static/headwater.css"

FILL = (
    "SELECT begin_article_months(date_trunc('month', %(now)s::timestamptz - interval '1 year')::date)",
    """
    SELECT make_article_months(
        date_trunc('month', %(now)s::timestamptz - interval '1 year')::date,
        date_trunc('month', %(now)s::timestamptz + interval '1 month')::date
    )
    """,
    """
    INSERT INTO users (id, email, email_key)
    SELECT lpad(to_hex(n), 32, '0')::uuid, n || '@example.com', n || '@example.com'
    FROM generate_series(2, 1 + %(strangers)s) AS n
    """,
    """
    INSERT INTO sources (id, name, feed_url, feed_url_key)
    SELECT md5('s' || n)::uuid, 'Source ' || n, 'https://s' || n || '.example/feed', sha256(('s' || n)::bytea)
    FROM generate_series(0, %(sources)s - 1) AS n
    """,
    """
    INSERT INTO feed_state (source_id, feed_url, host, next_poll_at, last_polled_at, last_error)
    SELECT id, feed_url, name, %(now)s, %(now)s, CASE WHEN feed_url LIKE '%%7.example/feed' THEN 'gone' END
    FROM sources
    """,
    # A few sources bring most. Times are spread over a year; an id begins with its time, as ours do.
    """
    CREATE TEMP TABLE made AS
    SELECT n, at, lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') AS prefix,
        floor(%(sources)s * power(random(), 3))::integer AS source
    FROM (
        SELECT n, %(now)s::timestamptz - interval '1 year' * (1 - n::float / %(articles)s) AS at
        FROM generate_series(1, %(articles)s) AS n
    ) AS timed
    """,
    """
    INSERT INTO articles (id, url, url_key, title, author, summary, published_at, seen_at)
    SELECT (prefix || '7' || substr(md5('a' || n), 14))::uuid, 'https://s' || source || '.example/' || n,
        sha256(('a' || n)::bytea),
        CASE WHEN n %% 3 = 0 THEN 'Water' ELSE 'Stone' END || ' and w' || floor(3000 * power(random(), 2)) || ' near w'
            || floor(3000 * power(random(), 2)) || CASE WHEN n %% 4001 = 0 THEN ' quokka77' ELSE '' END,
        'Author ' || source, repeat('What this article is about, in a few words. ', 4), at, at
    FROM made
    """,
    """
    INSERT INTO article_sources (article_id, source_id, entry_id, seen_at, listed_at)
    SELECT (prefix || '7' || substr(md5('a' || n), 14))::uuid, md5('s' || source)::uuid, n::text, at, at
    FROM made
    """,
    """
    INSERT INTO content (article_id, url, url_key, title, text, html, keywords, authors, language, open_graph,
        linked_data, origins, word_count, richness, extracted_at)
    SELECT (prefix || '7' || substr(md5('a' || n), 14))::uuid, 'https://s' || source || '.example/' || n,
        sha256(('a' || n)::bytea), 'Title ' || n, words.text, words.text, '{}', '{}',
        (ARRAY['en', 'en', 'de', 'fr', NULL])[1 + n %% 5], '{}', '{}', '{}', 60, 1, at
    FROM made
    CROSS JOIN LATERAL (
        SELECT string_agg('w' || floor(20000 * power(random(), 3)), ' ') || CASE WHEN n %% 20 = 0 THEN ' water' ELSE ''
            END AS text
        FROM generate_series(1, 60 + 0 * n)
    ) AS words
    WHERE n %% 10 = 0
    """,
    """
    INSERT INTO labels (article_id, scheme, label, method, score, version, made_at, is_shown, is_disputed)
    SELECT (prefix || '7' || substr(md5('a' || n), 14))::uuid, given.scheme, given.label, 'model', 0.8, '1', at, true,
        false
    FROM made
    CROSS JOIN LATERAL (VALUES
        ('topic', (ARRAY['sport', 'health', 'weather', 'education', 'labour', 'religion', 'society'])[1 + n %% 7]),
        ('keyword', CASE WHEN n %% 4001 = 0 THEN 'quokka77' ELSE 'w' || n %% 3000 END)
    ) AS given (scheme, label)
    """,
    # Five articles in a row are one story.
    """
    INSERT INTO article_state (article_id, story_id)
    SELECT (prefix || '7' || substr(md5('a' || n), 14))::uuid, md5('story' || n / 5)::uuid FROM made
    """,
    """
    UPDATE feed_state
    SET article_count = counted.count
    FROM (SELECT source_id, count(*) FROM article_sources GROUP BY source_id) AS counted
    WHERE counted.source_id = feed_state.source_id
    """,
    """
    INSERT INTO subscriptions (id, user_id, source_id, name, category, read_until, created_at)
    SELECT md5('r' || n)::uuid, %(reader)s, md5('s' || n)::uuid, 'Feed ' || n,
        CASE WHEN n %% 3 > 0 THEN 'Category ' || n %% 40 END,
        CASE WHEN n %% 2 = 0 THEN '-infinity' ELSE %(now)s::timestamptz - interval '1 day' * (n %% 100) END, %(now)s
    FROM generate_series(0, %(sources)s - 1, %(sources)s / %(subscriptions)s) AS n
    """,
    """
    INSERT INTO subscriptions (id, user_id, source_id, name, created_at)
    SELECT md5(u || 'x' || n)::uuid, lpad(to_hex(u), 32, '0')::uuid, md5('s' || (n * 41 + u) %% %(sources)s)::uuid,
        'Feed ' || n, %(now)s
    FROM generate_series(2, 1 + %(strangers)s) AS u
    CROSS JOIN generate_series(1, 100) AS n
    """,
    """
    INSERT INTO marks (user_id, article_id, is_read, read_at, starred_at)
    SELECT %(reader)s, article_id, number %% 60 > 0, %(now)s, CASE WHEN number %% 12 = 0 THEN listed_at END
    FROM (
        SELECT article_id, listed_at, row_number() OVER (ORDER BY listed_at DESC) AS number
        FROM article_sources
        JOIN subscriptions USING (source_id)
        WHERE user_id = %(reader)s
        ORDER BY listed_at DESC
        LIMIT 1800
    ) AS recent
    WHERE number %% 2 = 0
    """,
    """
    INSERT INTO marks (user_id, article_id, is_read, read_at)
    SELECT lpad(to_hex(2 + n %% %(strangers)s), 32, '0')::uuid, article_id, true, %(now)s
    FROM (SELECT article_id, row_number() OVER () AS n FROM article_sources LIMIT 200000) AS numbered
    """,
)


@dataclass(frozen=True)
class Served:
    """A server on one of the databases, and the reader who is logged in to it."""

    port: int
    access: str

    @property
    def cookie(self) -> dict[str, str]:
        """The cookie header of the reader."""
        return {"Cookie": f"{ACCESS_COOKIE}={self.access}", "Accept": "text/html"}


def main() -> None:
    """Measure, print a table, and end with the numbers as JSON."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--small", type=int, default=SMALL, help="articles in the small database")
    parser.add_argument("--large", type=int, default=LARGE, help="articles in the large database")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="how often each page is asked for")
    parser.add_argument("--seconds", type=float, default=BUSY_S, help="how long each is kept busy")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, give_up)
    with ExitStack() as stack:
        folder = stack.enter_context(open_folder())
        server = EmbeddedServer(folder / "data", options=QUICK)
        server.start()
        stack.callback(server.leave)
        small, large = (
            stack.enter_context(served(prepare(server, articles), articles))
            for articles in (options.small, options.large)
        )
        result = growth(small, large, options.rounds) | throughput(large, options.seconds)
    print(json.dumps({"bench": "web", "articles": [options.small, options.large], "rounds": options.rounds, **result}))


def give_up(*_: object) -> NoReturn:
    """Exit by an exception, so that context managers stop their processes."""
    sys.exit(1)


def growth(small: Served, large: Served, rounds: int) -> dict[str, Any]:
    """The time of each page on each server, and how they compare."""
    pages = LISTS | OTHERS
    took = in_turns([small, large], pages, rounds)
    print(f"{'':16}{'small ms':>10}{'large ms':>10}{'growth':>8}")
    for name in pages:
        few, many = took[0][name], took[1][name]
        print(f"{name:16}{few:10.1f}{many:10.1f}{many / few:8.2f}")
    few, many = (sum(one[name] for name in LISTS) for one in took)
    result: dict[str, Any] = {
        "ratio": round(many / few, 2),
        "ratio_feeds": round(took[1]["feeds"] / took[0]["feeds"], 2),
    }
    for name in pages:
        result[f"{name}_ms"] = [round(one[name], 1) for one in took]
    return result


def in_turns(servers: Sequence[Served], pages: Mapping[str, str], rounds: int) -> list[dict[str, float]]:
    """Each page of each server, again and again, one at a time."""
    connections = [http.client.HTTPConnection("127.0.0.1", served.port) for served in servers]
    times: list[dict[str, list[float]]] = [{name: [] for name in pages} for _ in servers]
    for number in range(WARM_UP + rounds):
        for name, path in pages.items():
            both = list(enumerate(zip(servers, connections, strict=True)))
            for index, (served, connection) in both if number % 2 else reversed(both):
                start = time.perf_counter()
                connection.request("GET", path, headers=served.cookie)
                response = connection.getresponse()
                body = response.read()
                if number >= WARM_UP:
                    times[index][name].append(time.perf_counter() - start)
                assert response.status == 200, f"{path} was answered with {response.status}: {body[:200]!r}"
    for connection in connections:
        connection.close()
    return [{name: min(measured) * 1000 for name, measured in one.items()} for one in times]


def throughput(served: Served, seconds: float) -> dict[str, Any]:
    """Requests per second, several at a time, beside a static file."""
    rates = {name: asyncio.run(keep_busy(served, path, seconds)) for name, path in BUSY.items()}
    for name, rate in rates.items():
        print(f"{name:16}{rate:10.0f} requests/s")
    return {f"{name}_per_second": round(rate, 1) for name, rate in rates.items()}


BUSY = {"static": STATIC, "unread": LISTS["unread"], "feeds": OTHERS["feeds"]}


async def keep_busy(served: Served, path: str, seconds: float) -> float:
    """How many requests a second are answered when several are always waiting."""
    done, end = 0, time.perf_counter() + seconds

    async def ask(session: aiohttp.ClientSession) -> None:
        nonlocal done
        while time.perf_counter() < end:
            async with session.get(f"http://127.0.0.1:{served.port}{path}") as response:
                await response.read()
                assert response.status == 200, f"{path} was answered with {response.status}"
            done += 1

    start = time.perf_counter()
    async with aiohttp.ClientSession(headers=served.cookie) as session, asyncio.TaskGroup() as group:
        for _ in range(AT_ONCE):
            group.create_task(ask(session))
    return done / (time.perf_counter() - start)


# What the databases hold.


def prepare(server: EmbeddedServer, articles: int) -> str:
    """Create a database with this many articles; return its conninfo."""
    start, name = time.perf_counter(), f"bench_{articles}"
    with psycopg.connect(server.conninfo, autocommit=True) as conn:
        conn.execute(f"CREATE DATABASE {name}".encode())
    conninfo = make_conninfo(server.conninfo, dbname=name)
    asyncio.run(migrate_up(conninfo))
    fill(conninfo, articles)
    print(f"{articles:,} articles made in {time.perf_counter() - start:.0f} s", flush=True)
    return conninfo


def fill(conninfo: str, articles: int) -> None:
    """Sources, articles, a reader and many others."""
    values = {
        "articles": articles,
        "sources": SOURCES,
        "subscriptions": SUBSCRIPTIONS,
        "strangers": STRANGERS,
        "reader": READER,
        "now": datetime.now(UTC) - timedelta(minutes=1),
    }
    with psycopg.connect(conninfo, autocommit=True) as conn:
        conn.execute("SELECT setseed(0.5)")
        conn.execute(
            "INSERT INTO users (id, email, email_key) VALUES (%(reader)s, 'r@example.com', 'r@example.com')", values
        )
        for statement in FILL:
            conn.execute(statement.encode(), values)
        conn.execute("VACUUM ANALYZE")
        conn.execute("CHECKPOINT")


# The server, in a process of its own.


@contextmanager
def served(conninfo: str, articles: int) -> Iterator[Served]:
    """What `headwater serve` runs, on one database, with the reader logged in."""
    ours, theirs = PROCESSES.Pipe()
    process = PROCESSES.Process(target=run_server, args=(conninfo, theirs), name=f"server-{articles}")
    process.start()
    try:
        if not ours.poll(60):
            sys.exit("the server did not start")
        yield ours.recv()
    finally:
        ours.send("stop")
        process.join(10)
        process.kill()


def run_server(conninfo: str, pipe: Pipe) -> None:
    """Serve until the pipe says stop."""
    configure_log("INFO", "json")
    asyncio.run(_serve(conninfo, pipe))


async def _serve(conninfo: str, pipe: Pipe) -> None:
    stop = asyncio.Event()
    with listen("127.0.0.1", 0) as listener:
        async with Database(conninfo, pool_size=10, wait=timedelta(seconds=30)) as database:
            access = await _log_in(database)
            pipe.send(Served(listener.getsockname()[1], access))
            asyncio.get_running_loop().add_reader(pipe.fileno(), stop.set)
            await serve(create_app(database, utc_now), listener, stop, timedelta(seconds=1))


async def _log_in(database: Database) -> str:
    """Register an account by the page, and give it the rows of the reader."""
    access = Access(database, utc_now, AccountOptions(access_lifetime=timedelta(days=1)))
    came = await access.register("reader@example.com", "correct horse battery", Visitor("127.0.0.1", "bench"))
    assert isinstance(came, LoggedIn), "nobody has to confirm an address here"
    async with database.as_system() as conn:
        await conn.execute("UPDATE sessions SET user_id = %(reader)s", {"reader": READER})
    return came.tokens.access


@contextmanager
def open_folder() -> Iterator[Path]:
    """A folder that other users can enter: PostgreSQL refuses root, and runs as another user then."""
    with tempfile.TemporaryDirectory(prefix="headwater-bench-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


if __name__ == "__main__":
    main()

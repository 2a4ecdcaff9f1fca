"""The frontier beside the one that seed 004 plans: claims and answers a second, submits a second, bytes and WAL a URL.

Both stand on one embedded PostgreSQL with durable commits, in databases of their own, with the same URLs. The seed's
tables are in `seed_frontier.sql`; its claim, its answer and its submit are its own statements, one URL at a time. Ours
are `headwater.frontier.store`, as the stages call it, with the parsing of URLs. The seed has sixteen client processes,
ours eight; they take turns, and the best of each counts. Nobody fetches anything: what is measured is the queue.

Two frontiers: an even one, and one where half of the URLs sit on one host that is inside its delay. With `--large` ours
is measured again at ten times the size. The last line is one JSON object: `ratio` and `ratio_submit` on the even
frontier, `growth` by how much claims get slower from the small frontier to the large one.
"""

import argparse
import asyncio
import json
import multiprocessing
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import md5, sha256
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from random import Random
from typing import Any, NoReturn
from uuid import UUID

import psycopg
import uvloop
from psycopg.conninfo import conninfo_to_dict

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src")]

from headwater.db.embedded import EmbeddedServer  # noqa: E402
from headwater.db.migrate import migrate_up  # noqa: E402
from headwater.frontier.store import claims, queue  # noqa: E402
from headwater.frontier.types import Answered, Fetched, HostAnswer, Origin, Submission  # noqa: E402
from headwater.ids import new_id  # noqa: E402
from headwater.types import SourceId  # noqa: E402
from headwater.urls import canonical, host_of  # noqa: E402

PROCESSES = multiprocessing.get_context("spawn")
URLS = 500_000
LARGE = 5_000_000
URLS_PER_HOST = 25
RUN = 5  # so many URLs of a host arrive together
SECONDS = 6.0
ROUNDS = 2
CLIENTS = {"seed": 16, "ours": 8}  # of 2, 4, 8 and 16 eight submitted most for ours; the seed's was not varied here
HOSTS_AT_ONCE = 64
URLS_AT_ONCE = 10
FEED = 20
KNOWN = 9  # of the twenty: 45 %
FEEDS_AT_ONCE = 100  # as many as polling writes at once
BIG = "www.big.example"

LOAD_HOSTS = """
    CREATE TEMP TABLE sites AS
    SELECT n, name, ('x' || encode(substr(sha256(name::bytea), 1, 8), 'hex'))::bit(64)::bigint AS host_id,
        md5(name)::uuid AS source_id
    FROM (
        SELECT n, 'www.site' || n || '.example' AS name FROM generate_series(0, %(hosts)s - 1) AS n
        UNION ALL
        SELECT -1, 'www.big.example'
    ) AS named
"""
# URL j is one of a run of five that came together, for one host after the other. The older two of five were fetched.
LOAD_URLS = """
    CREATE TEMP TABLE urls AS
    SELECT j, name, host_id, source_id, '/2026/03/01/news/story-of-the-day-' || j AS path,
        'https://' || name || '/2026/03/01/news/story-of-the-day-' || j AS url,
        CASE WHEN n >= 0 AND j / %(run)s / %(hosts)s < 2 THEN 'fetched' ELSE 'pending' END AS status,
        CASE WHEN n >= 0 THEN 7 ELSE 9 END AS priority,
        now() - interval '1 day' + j / %(run)s * interval '1 millisecond' AS found_at
    FROM (
        SELECT j, CASE WHEN j < %(even)s THEN j / %(run)s * 7919::bigint %% %(hosts)s ELSE -1 END AS n
        FROM generate_series(0, %(urls)s - 1) AS j
    ) AS numbered
    JOIN sites USING (n)
"""
LOAD_SEED = (
    """
    INSERT INTO url_frontier (
        url, url_hash, host, source_id, origin, priority, status, next_fetch_at, discovered_at, created_at, updated_at,
        fetch_count, last_fetched_at
    )
    SELECT url, encode(sha256(url::bytea), 'hex'), name, source_id::text, 'feed', priority, status, found_at, found_at,
        found_at, found_at, (status = 'fetched')::integer, CASE WHEN status = 'fetched' THEN found_at END
    FROM urls
    ORDER BY j
    """,
    """
    INSERT INTO host_state (host, last_fetch_at, min_delay_ms)
    SELECT name, now() - interval '1 hour', 1000 FROM sites WHERE n >= 0
    UNION ALL
    SELECT 'www.big.example', now(), 3600000 WHERE %(even)s < %(urls)s
    """,
)
LOAD_OURS = (
    """
    INSERT INTO sources (id, name, feed_url, feed_url_key)
    SELECT source_id, name, 'https://' || name || '/feed', sha256(name::bytea) FROM sites
    """,
    """
    INSERT INTO frontier_url (
        host_id, url_id, next_fetch_at, discovered_at, last_fetched_at, source_id, fetch_count, shard, band, priority,
        status, origin, kind, url
    )
    SELECT host_id, ('x' || encode(substr(sha256(substr(url, 6)::bytea), 1, 8), 'hex'))::bit(64)::bigint,
        CASE WHEN status = 'fetched' THEN 'infinity' ELSE found_at END, found_at,
        CASE WHEN status = 'fetched' THEN found_at END, source_id, (status = 'fetched')::integer,
        mod(mod(host_id, 16) + 16, 16), CASE WHEN priority = 9 THEN 0 ELSE 1 END, priority,
        left(status, 1)::"char", 'f', 'a', path
    FROM urls
    ORDER BY j
    """,
    """
    INSERT INTO hosts (host_id, page_due_at, free_at, not_before, url_count, shard, band, name)
    SELECT host_id, now() - interval '1 day' + n * interval '1 millisecond',
        CASE WHEN n >= 0 THEN '-infinity' ELSE now() + interval '1 h' END,
        CASE WHEN n >= 0 THEN '-infinity' ELSE now() + interval '1 h' END, %(per_host)s,
        mod(mod(host_id, 16) + 16, 16), CASE WHEN n >= 0 THEN 1 ELSE 0 END, name
    FROM sites
    """,
)
# The statements of seed 004, task 5 and task 6.
SEED_CLAIM = """
    SELECT f.id, f.url, f.host, f.source_id, f.etag, f.last_modified, f.fetch_count
    FROM url_frontier f
    LEFT JOIN host_state h ON h.host = f.host
    WHERE f.status = 'pending'
      AND f.next_fetch_at <= NOW()
      AND (h.host IS NULL OR h.last_fetch_at + (h.min_delay_ms * INTERVAL '1 millisecond') <= NOW())
    ORDER BY f.priority DESC, f.next_fetch_at ASC
    LIMIT 1
    FOR UPDATE OF f SKIP LOCKED
"""
SEED_TAKE = "UPDATE url_frontier SET status = 'fetching', updated_at = NOW() WHERE id = %s"
SEED_FETCHED = """
    UPDATE url_frontier
    SET status = 'fetched', last_fetched_at = NOW(), fetch_count = fetch_count + 1, etag = %s, last_modified = %s,
        content_hash = %s, retry_count = 0, last_error = NULL, updated_at = NOW()
    WHERE id = %s
"""
SEED_LAST_FETCH = """
    INSERT INTO host_state (host, last_fetch_at) VALUES (%s, NOW())
    ON CONFLICT (host) DO UPDATE SET last_fetch_at = NOW(), updated_at = NOW()
"""
SEED_SUBMIT = """
    INSERT INTO url_frontier (url, url_hash, host, source_id, origin, parent_url, depth, priority, next_fetch_at)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)
    ON CONFLICT (url_hash) DO UPDATE SET
        priority = GREATEST(url_frontier.priority, EXCLUDED.priority),
        next_fetch_at = LEAST(url_frontier.next_fetch_at, EXCLUDED.next_fetch_at),
        updated_at = NOW()
    WHERE url_frontier.status = 'pending'
"""


@dataclass(frozen=True)
class Frontier:
    """One of the frontiers that are compared: how many URLs, and how many of them are spread evenly."""

    urls: int
    even: int

    @property
    def hosts(self) -> int:
        """Of those that are spread evenly."""
        return self.even // URLS_PER_HOST


@dataclass(frozen=True)
class Measured:
    """URLs a second, and the write-ahead log of each."""

    rate: float
    wal: float


def main() -> None:
    """Measure, print a table, and end with the numbers as JSON."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--large", action="store_true", help=f"also measure ours with {LARGE:,} URLs")
    parser.add_argument("--urls", type=int, default=URLS, help="how many URLs")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="how long each measurement takes")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, give_up)
    even, half = Frontier(options.urls, options.urls), Frontier(options.urls, options.urls // 2)
    with open_folder() as folder, open_server(folder) as server:
        bench = Bench(server, options.seconds)
        result = bench.compare(even, "even") | bench.compare(half, "half on one host inside its delay", "_skewed")
        if options.large:
            result |= bench.growth(even, Frontier(LARGE, LARGE))
    print(json.dumps({"bench": "claim", "urls": options.urls, **result}))


def give_up(*_: object) -> NoReturn:
    """Exit by an exception, so that context managers stop their processes."""
    sys.exit(1)


class Bench:
    """The measurements, on one server."""

    def __init__(self, server: EmbeddedServer, seconds: float) -> None:
        self._server = server
        self._seconds = seconds

    def compare(self, frontier: Frontier, title: str, mark: str = "") -> dict[str, Any]:
        """Both on one frontier: claims and answers, then submits."""
        print(f"{frontier.urls:,} URLs, {title}", flush=True)
        seed = self._load("seed", frontier)
        ours = self._load("ours", frontier)
        sizes = bytes_per_url(seed, "url_frontier", frontier), bytes_per_url(ours, "frontier_url", frontier)
        claims = self._in_turns((seed, claim_seed), (ours, claim_ours), frontier)
        submits = self._in_turns((seed, submit_seed), (ours, submit_ours), frontier)
        show("claim and answer, URLs/s", claims[0].rate, claims[1].rate)
        show("submit, 45 % known, URLs/s", submits[0].rate, submits[1].rate)
        show("bytes a URL", *sizes)
        show("WAL a claim and answer, bytes", claims[0].wal, claims[1].wal)
        show("WAL a submit, bytes", submits[0].wal, submits[1].wal)
        for conninfo in (seed, ours):
            self._execute(f'DROP DATABASE "{conninfo_to_dict(conninfo)["dbname"]}"')
        return {
            f"ratio{mark}": round(claims[1].rate / claims[0].rate, 1),
            f"ratio_submit{mark}": round(submits[1].rate / submits[0].rate, 1),
            f"claims{mark}": round(claims[1].rate),
            f"claims_seed{mark}": round(claims[0].rate, 1),
            f"submits{mark}": round(submits[1].rate),
            f"submits_seed{mark}": round(submits[0].rate),
            f"bytes{mark}": round(sizes[1]),
            f"bytes_seed{mark}": round(sizes[0]),
            f"wal_claim{mark}": round(claims[1].wal),
            f"wal_claim_seed{mark}": round(claims[0].wal),
            f"wal_submit{mark}": round(submits[1].wal),
            f"wal_submit_seed{mark}": round(submits[0].wal),
        }

    def growth(self, small: Frontier, large: Frontier) -> dict[str, Any]:
        """Ours on a small and on a large frontier, one right after the other."""
        print(f"{large.urls:,} URLs, even, ours alone", flush=True)
        little, much = self._load("ours", small), self._load("ours", large)
        size = bytes_per_url(much, "frontier_url", large)
        claims = [one.rate for one in self._in_turns((little, claim_ours), (much, claim_ours), small, large)]
        submits = [one.rate for one in self._in_turns((little, submit_ours), (much, submit_ours), small, large)]
        print(f"  claim and answer {claims[1]:,.0f}/s, with {small.urls:,} URLs {claims[0]:,.0f}/s")
        print(f"  submit {submits[1]:,.0f}/s, with {small.urls:,} URLs {submits[0]:,.0f}/s; {size:.0f} bytes a URL")
        return {
            "growth": round(claims[0] / claims[1], 2),
            "growth_submit": round(submits[0] / submits[1], 2),
            "claims_large": round(claims[1]),
            "submits_large": round(submits[1]),
            "bytes_large": round(size),
        }

    def _load(self, whose: str, frontier: Frontier) -> str:
        name = f"{whose}_{new_id().hex[-8:]}"
        self._execute(f'CREATE DATABASE "{name}"')
        conninfo = self._server.conninfo_of(name)
        if whose == "ours":
            uvloop.run(migrate_up(conninfo))
        else:
            with psycopg.connect(conninfo) as conn:
                conn.execute(Path(ROOT / "benchmarks" / "seed_frontier.sql").read_bytes())
        values = {
            "hosts": frontier.hosts,
            "urls": frontier.urls,
            "even": frontier.even,
            "run": RUN,
            "per_host": URLS_PER_HOST,
        }
        with psycopg.connect(conninfo, autocommit=True) as conn:
            for statement in (LOAD_HOSTS, LOAD_URLS, *(LOAD_OURS if whose == "ours" else LOAD_SEED)):
                conn.execute(statement, values)
            conn.execute("VACUUM ANALYZE")
        return conninfo

    def _in_turns(
        self, one: tuple[str, "Work"], other: tuple[str, "Work"], frontier: Frontier, others: Frontier | None = None
    ) -> tuple[Measured, Measured]:
        """Each several times, one after the other; the best of each."""
        runs = [(self._run(*one, frontier), self._run(*other, others or frontier)) for _ in range(ROUNDS)]
        return max((run[0] for run in runs), key=rate_of), max((run[1] for run in runs), key=rate_of)

    def _run(self, conninfo: str, work: "Work", frontier: Frontier) -> Measured:
        """Run several clients at once for some seconds."""
        self._execute("CHECKPOINT")
        before = self._wal()
        pipes: list[Any] = []
        processes: list[Any] = []
        for _ in range(CLIENTS["seed" if work in {claim_seed, submit_seed} else "ours"]):
            ours, its = PROCESSES.Pipe()
            arguments = (its, work, conninfo, frontier, self._seconds)
            process = PROCESSES.Process(target=run_client, args=arguments, daemon=True)
            process.start()
            pipes.append(ours)
            processes.append(process)
        try:
            for pipe in pipes:
                pipe.recv()  # it is ready
            for pipe in pipes:
                pipe.send(None)
            done = [pipe.recv() for pipe in pipes]
        finally:
            for process in processes:
                process.kill()
                process.join()
        urls = sum(number for number, _ in done)
        return Measured(sum(number / seconds for number, seconds in done), (self._wal() - before) / max(1, urls))

    def _wal(self) -> int:
        with psycopg.connect(self._server.conninfo) as conn:
            row = conn.execute("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn").fetchone()
        return int(row[0]) if row else 0

    def _execute(self, statement: str) -> None:
        with psycopg.connect(self._server.conninfo, autocommit=True) as conn:
            conn.execute(statement.encode())


def rate_of(measured: Measured) -> float:
    """URLs a second."""
    return measured.rate


Work = Callable[[str, Frontier, Callable[[], bool]], int]


def run_client(pipe: Pipe, work: Work, conninfo: str, frontier: Frontier, seconds: float) -> None:
    """One client: reports that it is ready, works for the given time, and sends the number of URLs and the seconds."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is ended by us, after Ctrl-C too
    ends = [0.0]
    started = [0.0]

    def goes_on() -> bool:
        if not started[0]:
            pipe.send(None)
            pipe.recv()
            started[0] = time.monotonic()
            ends[0] = started[0] + seconds
        return time.monotonic() < ends[0]

    done = work(conninfo, frontier, goes_on)
    pipe.send((done, time.monotonic() - started[0]))


def claim_seed(conninfo: str, _: Frontier, goes_on: Callable[[], bool]) -> int:
    """Claim one URL, store its result and the time of its host: three transactions, as specified in seed 004."""
    done = 0
    with psycopg.connect(conninfo, autocommit=True) as conn:
        conn.prepare_threshold = 1
        while goes_on():
            with conn.transaction():
                row = conn.execute(SEED_CLAIM).fetchone()
                if row is None:
                    continue
                conn.execute(SEED_TAKE, (row[0],))
            conn.execute(SEED_FETCHED, ('"5f3-abc"', None, None, row[0]))
            conn.execute(SEED_LAST_FETCH, (row[2],))
            done += 1
    return done


def claim_ours(conninfo: str, _: Frontier, goes_on: Callable[[], bool]) -> int:
    """Claim hosts and store the results of their URLs: two transactions."""
    return uvloop.run(_claim_ours(conninfo, goes_on))


async def _claim_ours(conninfo: str, goes_on: Callable[[], bool]) -> int:
    done = 0
    async with await psycopg.AsyncConnection.connect(conninfo) as conn:
        conn.prepare_threshold = 1
        while goes_on():
            now = datetime.now(UTC)
            hosts = await claims.claim(
                conn,
                lease=new_id(),
                now=now,
                leased_until=now + timedelta(minutes=5),
                hosts=HOSTS_AT_ONCE,
                urls_per_host=URLS_AT_ONCE,
            )
            await conn.commit()
            if not hosts:
                await asyncio.sleep(0.01)
                continue
            now = datetime.now(UTC)
            fetched = Fetched('"5f3-abc"', None)
            answers = [HostAnswer(host, now, [Answered(url, fetched, now) for url in host.urls]) for host in hosts]
            await claims.answer(conn, answers=answers, now=now)
            await conn.commit()
            done += sum(len(host.urls) for host in hosts)
    return done


def submit_seed(conninfo: str, frontier: Frontier, goes_on: Callable[[], bool]) -> int:
    """Submit one URL after the other."""
    done = 0
    feeds = feeds_of(frontier)
    with psycopg.connect(conninfo, autocommit=True) as conn:
        conn.prepare_threshold = 1
        while goes_on():
            for url, source_id in next(feeds):
                form = canonical(url)
                digest = sha256(form.encode()).hexdigest()
                now = datetime.now(UTC)
                conn.execute(SEED_SUBMIT, (url, digest, host_of(form), str(source_id), "feed", None, 0, 7, now))
                done += 1
    return done


def submit_ours(conninfo: str, frontier: Frontier, goes_on: Callable[[], bool]) -> int:
    """Submit what some feeds list in one batch."""
    return uvloop.run(_submit_ours(conninfo, feeds_of(frontier), goes_on))


async def _submit_ours(conninfo: str, feeds: Iterator[list[tuple[str, UUID]]], goes_on: Callable[[], bool]) -> int:
    done = 0
    async with await psycopg.AsyncConnection.connect(conninfo) as conn:
        conn.prepare_threshold = 1
        while goes_on():
            listed = [entry for _ in range(FEEDS_AT_ONCE) for entry in next(feeds)]
            submissions = [Submission(url, Origin.FEED, SourceId(source_id)) for url, source_id in listed]
            await queue.submit(conn, submissions=submissions, now=datetime.now(UTC))
            await conn.commit()
            done += len(submissions)
    return done


def feeds_of(frontier: Frontier) -> Iterator[list[tuple[str, UUID]]]:
    """What feeds list: of twenty entries nine are known, and were fetched."""
    random = Random()
    number = random.randrange(10**9)  # each round brings new URLs
    back = pow(7919, -1, frontier.hosts)
    count = 0
    while True:
        host = random.randrange(frontier.hosts)
        source_id = UUID(bytes=md5_of(f"www.site{host}.example"))
        site = f"https://www.site{host}.example/2026/03/01/news/story-of-the-day-"
        runs = [(host * back % frontier.hosts + turn * frontier.hosts) * RUN for turn in range(2)]
        known = [start + place for start in runs for place in range(RUN)][:KNOWN]
        new = [f"n{number}-{count + place}" for place in range(FEED - KNOWN)]
        count += len(new)
        yield [(f"{site}{name}", source_id) for name in (*known, *new)]


def md5_of(text: str) -> bytes:
    """As PostgreSQL's md5(text)::uuid."""
    return md5(text.encode(), usedforsecurity=False).digest()


def bytes_per_url(conninfo: str, table: str, frontier: Frontier) -> float:
    """The table with its indexes, in bytes a URL."""
    with psycopg.connect(conninfo) as conn:
        row = conn.execute("SELECT pg_total_relation_size(%s::regclass)", (table,)).fetchone()
    return row[0] / frontier.urls if row else 0


def show(what: str, seed: float, ours: float) -> None:
    """A line of the table."""
    print(f"  {what:32} seed {seed:>10,.1f}   ours {ours:>10,.1f}", flush=True)


@contextmanager
def open_server(folder: Path) -> Iterator[EmbeddedServer]:
    """PostgreSQL with the settings of the embedded server: fsync is on, every commit waits for the disk."""
    server = EmbeddedServer(folder / "data")
    try:
        server.start()
        yield server
    finally:
        server.leave()


@contextmanager
def open_folder() -> Iterator[Path]:
    """A temporary folder."""
    with tempfile.TemporaryDirectory(prefix="headwater-bench-", ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o755)  # as root, PostgreSQL runs under another account
        yield Path(name)


if __name__ == "__main__":
    main()

"""How fast deliveries are sent, to a local Redis and to a webhook on loopback, beside what a user would write.

20,000 classified articles of 3 kB, a delivery of each for one channel; an embedded PostgreSQL with durable
commits, the same for both. `plain_sender.py` is what a user would write: a cursor in a table, redis-py's XADD or an
aiohttp post for each article. Ours is what `headwater work delivering` runs, its log included: it reads the whole
record, sends in order, in batches of a hundred, under ids that stay the same, signs what goes to the webhook, and
writes what became of each delivery. Each measurement is a process of its own, timed from when it is ready until all is
sent and written; the two take turns, and the best of each counts. They share the machine's cores with PostgreSQL, Redis
and the webhook.

`ratio` is the smaller of `ratio_redis` and `ratio_webhook`. `ratio_pipelined` is beside a plain sender that sends its
hundred XADDs in one go. Afterwards the stream and the webhook must have each article once. The last line is one JSON
object.
"""

import argparse
import asyncio
import json
import multiprocessing
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from typing import Any, NoReturn, ParamSpec
from uuid import UUID

import psycopg
import redis
import uvloop
from aiohttp import web

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "benchmarks"), str(ROOT)]

import plain_sender  # noqa: E402

from headwater.audit.types import COMMAND_LINE  # noqa: E402
from headwater.channels import operate  # noqa: E402
from headwater.channels.types import ChannelFields, DestinationKind, DestinationLimits  # noqa: E402
from headwater.cli.terminal import run  # noqa: E402
from headwater.db import Database  # noqa: E402
from headwater.db.embedded import EmbeddedServer  # noqa: E402
from headwater.db.migrate import migrate_up  # noqa: E402
from headwater.observability.log import configure_log  # noqa: E402
from headwater.query.grammar import parse  # noqa: E402
from headwater.query.types import Audience  # noqa: E402
from headwater.runtime import open_runtime, utc_now  # noqa: E402
from headwater.settings import load_settings  # noqa: E402
from headwater.sources.follow import follow  # noqa: E402
from headwater.workers import run_stages  # noqa: E402
from scripts import brokers  # noqa: E402

P = ParamSpec("P")

ARTICLES = 20_000
ROUNDS = 3
GIVE_UP_S = 600
LOOK_EVERY_S = 0.01
STREAM, PLAIN_STREAM = "ours", "plain"
LIMITS = DestinationLimits(hosts=frozenset({"127.0.0.1"}), allow_loopback=True)
PROCESSES = multiprocessing.get_context("spawn")
# Written with the last batch. Counting what waits would read all that was just delivered.
WAITING = "SELECT EXISTS (SELECT FROM channels WHERE delivered < (SELECT last_revision FROM publishing_state))"
SECRETS = re.compile(rb'"delivery_id":"[0-9a-f-]+:(\d+)"')

ARTICLES_SQL = """
    WITH given AS (
        SELECT number, (left(first_id_at(now())::text, 24) || lpad(to_hex(number), 12, '0'))::uuid AS id
        FROM generate_series(1, %(count)s) AS number
    ), written AS (
        INSERT INTO articles (id, url, url_key, title, author, summary, published_at, seen_at)
        SELECT id, 'https://news.example/' || number, sha256(number::text::bytea), 'Article number ' || number,
            'Ines Harrow', 'A summary of two sentences. It is short.', now(), now()
        FROM given
    ), texts AS (
        INSERT INTO content (article_id, url, url_key, title, text, html, description, keywords, authors, published_at,
            language, open_graph, linked_data, origins, word_count, content_hash, richness, extracted_at)
        SELECT id, 'https://news.example/' || number, sha256(number::text::bytea), 'Article number ' || number,
            number || repeat(' The committee met on Tuesday and decided to decide later.', 52), NULL, 'A description.',
            '{}', '{Ines Harrow}', now(), 'en', '{"title": "An article"}', '[]', '{}', 520, sha256(number::text::bytea),
            3000, now()
        FROM given
    ), linked AS (
        INSERT INTO article_sources (article_id, source_id, entry_id, seen_at, listed_at)
        SELECT id, %(source)s, id::text, now(), now() FROM given
    ), stated AS (
        INSERT INTO article_state (article_id, classified_at, revision, revised_at)
        SELECT id, now(), number, now() FROM given
    ), labelled AS (
        INSERT INTO labels (article_id, scheme, label, score, method, version, made_at, is_shown, is_disputed)
        SELECT id, scheme, label, 0.9, 'model', '1', now(), true, false
        FROM given, (VALUES ('topic', 'sport'), ('topic', 'society'), ('type', 'article'), ('quality', 'quality'),
            ('language', 'en'), ('sentiment', 'neutral')) AS one (scheme, label)
    )
    UPDATE publishing_state SET last_revision = %(count)s
"""
DELIVERIES_SQL = """
    INSERT INTO deliveries (channel_id, revision, article_id, queued_at)
    SELECT %(id)s, revision, article_id, now() FROM article_state WHERE revision IS NOT NULL
"""


def main() -> None:
    """Measure, print a table, and end with the numbers as JSON."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--articles", type=int, default=ARTICLES, help="how many articles")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="how often each is measured")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, give_up)
    if brokers.main() or brokers.find("redis-server") is None:
        sys.exit("This benchmark needs redis-server.")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.chmod(0o755)
        server = EmbeddedServer(folder / "data")
        server.start()
        stack.callback(server.leave)
        port = stack.enter_context(open_redis(folder))
        hook = stack.enter_context(open_hook())
        asyncio.run(migrate_up(server.conninfo))
        bench = Bench(server.conninfo, folder, port, hook, options.articles)
        result = bench.measure(options.rounds)
    print(json.dumps({"bench": "channel", "articles": options.articles, "rounds": options.rounds, **result}))


def give_up(*_: object) -> NoReturn:
    """Exit by an exception, so that context managers stop their processes."""
    sys.exit(1)


class Bench:
    """The measurements, on one database, one Redis and one webhook."""

    def __init__(self, conninfo: str, folder: Path, port: int, hook: str, articles: int) -> None:
        self._conninfo, self._folder, self._port, self._hook, self._articles = conninfo, folder, port, hook, articles
        self._redis: Any = redis.Redis(port=port)
        prepare(conninfo, articles)

    def measure(self, rounds: int) -> dict[str, Any]:
        """All senders in turns; the best of each."""
        seconds: defaultdict[str, list[float]] = defaultdict(list)
        for _ in range(rounds):
            for name, once in self._senders().items():
                seconds[name].append(once())
        return report({name: min(each) for name, each in seconds.items()}, self._articles)

    def _senders(self) -> Mapping[str, Callable[[], float]]:
        return {
            "plain_redis": lambda: self._plain_redis(is_pipelined=False),
            "plain_redis_pipelined": lambda: self._plain_redis(is_pipelined=True),
            "headwater_redis": self._our_redis,
            "plain_webhook": self._plain_webhook,
            "headwater_webhook": self._our_webhook,
        }

    def _plain_redis(self, *, is_pipelined: bool) -> float:
        self._redis.flushall()
        rewind(self._conninfo, PLAIN_STREAM)
        seconds = apart(run_plain_redis, self._conninfo, self._port, is_pipelined=is_pipelined)
        assert self._redis.xlen(PLAIN_STREAM) == self._articles, "the plain sender lost something"
        return seconds

    def _our_redis(self) -> float:
        self._redis.flushall()
        options = {"url": f"redis://127.0.0.1:{self._port}", "stream": STREAM}
        seconds = self._ours(DestinationKind.REDIS, options)
        sent = [SECRETS.findall(fields[b"data"])[0] for _, fields in self._redis.xrange(STREAM)]
        assert [int(one) for one in sent] == list(range(1, self._articles + 1)), "not each article once, in order"
        return seconds

    def _plain_webhook(self) -> float:
        rewind(self._conninfo, "webhook")
        taken(self._hook)
        seconds = apart(run_plain_webhook, self._conninfo, f"{self._hook}/plain")
        assert len(taken(self._hook)) == self._articles, "the plain sender lost something"
        return seconds

    def _our_webhook(self) -> float:
        taken(self._hook)
        seconds = self._ours(DestinationKind.WEBHOOK, {"url": f"{self._hook}/ours"})
        assert taken(self._hook) == list(range(1, self._articles + 1)), "not each article once, in order"
        return seconds

    def _ours(self, kind: DestinationKind, options: Mapping[str, Any]) -> float:
        asyncio.run(queue_all(self._conninfo, kind, options))
        settings = {"DATABASE_URL": self._conninfo, "HEADWATER_CHANNEL_HOSTS": "127.0.0.1"}
        return apart(run_ours, settings, self._folder)


def report(best: Mapping[str, float], articles: int) -> dict[str, Any]:
    """The table, and its numbers."""
    print(f"{'':26}{'deliveries/s':>13}{'seconds':>9}")
    for name, seconds in best.items():
        print(f"{name:26}{articles / seconds:13.0f}{seconds:9.2f}")
    ratios = {
        "ratio_redis": best["plain_redis"] / best["headwater_redis"],
        "ratio_webhook": best["plain_webhook"] / best["headwater_webhook"],
        "ratio_pipelined": best["plain_redis_pipelined"] / best["headwater_redis"],
    }
    ratios = {"ratio": min(ratios["ratio_redis"], ratios["ratio_webhook"])} | ratios
    rounded = {name: round(ratio, 2) for name, ratio in ratios.items()}
    return rounded | {f"{name}_per_second": round(articles / seconds) for name, seconds in best.items()}


# What runs in a process of its own.


def apart(function: Callable[P, float], *args: P.args, **kwargs: P.kwargs) -> float:
    """What a function returns in a new process."""
    with ProcessPoolExecutor(1, mp_context=PROCESSES) as pool:
        return pool.submit(function, *args, **kwargs).result(GIVE_UP_S)


def run_plain_redis(conninfo: str, port: int, *, is_pipelined: bool) -> float:
    start = time.perf_counter()
    plain_sender.send_to_redis(conninfo, port, PLAIN_STREAM, is_pipelined=is_pipelined)
    return time.perf_counter() - start


def run_plain_webhook(conninfo: str, url: str) -> float:
    start = time.perf_counter()
    uvloop.run(plain_sender.send_to_webhook(conninfo, url))
    return time.perf_counter() - start


def run_ours(environment: Mapping[str, str], folder: Path) -> float:
    """The stage until nothing waits, logging to a file."""
    with (folder / "headwater.log").open("a") as sys.stderr:
        return run(deliver_until_done(environment))


async def deliver_until_done(environment: Mapping[str, str]) -> float:
    settings = load_settings(environment).values
    configure_log(settings.log_level, settings.log_format)
    stop = asyncio.Event()
    async with open_runtime(settings) as runtime:
        start = time.perf_counter()
        async with asyncio.timeout(GIVE_UP_S), asyncio.TaskGroup() as tasks:
            tasks.create_task(run_stages(runtime.tools, ["delivering"], stop, settings.drain_timeout))
            while await is_waiting(runtime.database):  # noqa: ASYNC110  nobody else knows
                await asyncio.sleep(LOOK_EVERY_S)
            seconds = time.perf_counter() - start
            stop.set()
    return seconds


async def is_waiting(database: Database) -> bool:
    async with database.transaction() as conn:
        row = await (await conn.execute(WAITING)).fetchone()
    return bool(row and row[0])


def keep_hook(port: Pipe) -> None:
    """A webhook that keeps the numbers of what it was sent, until it is asked for them."""
    sent: list[int] = []

    async def receive(request: web.Request) -> web.Response:
        body = await request.read()
        sent.extend([int(one) for one in SECRETS.findall(body)] or [0])
        return web.Response(status=204)

    async def tell(_: web.Request) -> web.Response:
        told = list(sent)
        sent.clear()
        return web.json_response(told)

    async def keep() -> None:
        app = web.Application(client_max_size=100_000_000)
        app.add_routes([web.post("/{name}", receive), web.get("/", tell)])
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port.send(runner.addresses[0][1])
        await asyncio.Event().wait()

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is ended by us, after Ctrl-C too
    uvloop.run(keep())


# What they work on.


@contextmanager
def open_hook() -> Iterator[str]:
    """The address of a webhook in a process of its own."""
    ours, its = PROCESSES.Pipe()
    process = PROCESSES.Process(target=keep_hook, args=(its,), daemon=True)
    process.start()
    try:
        yield f"http://127.0.0.1:{ours.recv()}"
    finally:
        process.kill()
        process.join()


def taken(hook: str) -> list[int]:
    """The revisions that the webhook was sent since this was last asked; 0 for a plain message."""
    with urllib.request.urlopen(f"{hook}/", timeout=60) as answer:  # noqa: S310
        return json.load(answer)


@contextmanager
def open_redis(folder: Path) -> Iterator[int]:
    """The port of a Redis that keeps nothing on disk."""
    program = brokers.find("redis-server")
    assert program is not None, "main looks for it"
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    command = [program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
    process = subprocess.Popen(command, env=brokers.environment(), stdout=subprocess.DEVNULL)
    try:
        client: Any = redis.Redis(port=port)
        while True:
            try:
                client.ping()
                break
            except redis.ConnectionError:
                time.sleep(0.05)
        yield port
    finally:
        process.terminate()
        process.wait()


def prepare(conninfo: str, articles: int) -> None:
    """Classified articles of one source, and the cursors of the plain sender."""
    source = asyncio.run(a_source(conninfo))
    with psycopg.connect(conninfo) as conn:
        conn.execute(ARTICLES_SQL, {"count": articles, "source": source})
        conn.execute(plain_sender.SCHEMA)
        conn.commit()
        conn.autocommit = True
        conn.execute("VACUUM ANALYZE")


async def a_source(conninfo: str) -> UUID:
    async with await psycopg.AsyncConnection.connect(conninfo) as conn:
        return (await follow(conn, url="https://news.example/feed", name="News", now=utc_now())).id


def rewind(conninfo: str, name: str) -> None:
    with psycopg.connect(conninfo) as conn:
        conn.execute("DELETE FROM plain.cursor")
        zero = "00000000-0000-0000-0000-000000000000"
        conn.execute("INSERT INTO plain.cursor VALUES (%(name)s, %(zero)s)", {"name": name, "zero": zero})


async def queue_all(conninfo: str, kind: DestinationKind, options: Mapping[str, Any]) -> None:
    """One channel, and a delivery of each article for it."""
    async with await psycopg.AsyncConnection.connect(conninfo) as conn:
        await conn.execute("DELETE FROM channels")
        await conn.execute("TRUNCATE deliveries")
        fields = ChannelFields("bench", "*", kind, options)
        query = parse("*", Audience.EVERYONE)
        made = await operate.create(conn, fields=fields, query=query, limits=LIMITS, actor=COMMAND_LINE, now=utc_now())
        await conn.execute(DELIVERIES_SQL, {"id": made.channel.id})
        await conn.execute("ANALYZE deliveries")
    async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as conn:
        await conn.execute("CHECKPOINT")  # the same start for everybody


if __name__ == "__main__":
    main()

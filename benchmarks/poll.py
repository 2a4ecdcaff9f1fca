"""How fast due feeds are polled, as a multiple of what a user would write, and at what cost.

2,000 feeds on 500 hosts of the zoo, which runs in a process of its own; an embedded PostgreSQL with durable commits,
the same for both, a database for each. `plain_poller.py` is what a user would write: 16 threads, requests, feedparser.
Ours is what `headwater work polling` runs, its log included, with more polls at a time and, as the plain one, no delay
per host. Each measurement is a process of its own, timed from when it is ready to ask until all is written; the two
take turns, and the best of each counts. They share the machine's cores with the zoo, PostgreSQL and the processes that
parse.

`ratio` (200s with 25 entries each) and `ratio_304` (nothing has changed) are those of a zoo that is 200 ms away, since
no site answers at once, and waiting for many at a time is half of what a poller is for. `ratio_near` and
`ratio_304_near` are those of a zoo that answers at once: there, CPU alone counts.

Then, from the zoo's own log and the database: that two pollers at once never ask a host twice within its delay; that
pollers killed at random lose nothing, and that what they leave is asked for again only when their lease has ended; and
with `--large` that 20,000 feeds take no more memory than 2,000. The last line is one JSON object.
"""

import argparse
import asyncio
import json
import logging
import multiprocessing
import random
import resource
import signal
import socket
import sys
import tempfile
import time
import urllib.request
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from http.client import HTTPResponse
from itertools import pairwise
from multiprocessing.connection import Connection as Pipe
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, NoReturn, ParamSpec, TypeVar
from unittest.mock import patch

import psycopg
import uvloop
from aiohttp import web
from psycopg.conninfo import make_conninfo

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "lab"), str(ROOT / "benchmarks")]

from plain_poller import SCHEMA, PlainPoller  # noqa: E402

from headwater.cli.terminal import run  # noqa: E402
from headwater.db import Database  # noqa: E402
from headwater.db.embedded import EmbeddedServer  # noqa: E402
from headwater.db.migrate import migrate_up  # noqa: E402
from headwater.net.client import allow_many_connections  # noqa: E402
from headwater.observability.log import configure_log  # noqa: E402
from headwater.polling.read import read_feed  # noqa: E402
from headwater.runtime import WRITING, open_runtime, utc_now  # noqa: E402
from headwater.settings import load_settings  # noqa: E402
from headwater.sources.follow import follow  # noqa: E402
from headwater.workers import run_stages  # noqa: E402
from headwater_lab.zoo import DOMAIN, Zoo  # noqa: E402

P = ParamSpec("P")
R = TypeVar("R")

FEEDS = 2_000
LARGE = 20_000
FEEDS_PER_HOST = 4
ENTRIES = 25
ROUNDS = 3
THREADS = 16
CONCURRENCY = 100
DISTANCE_S = 0.2
DISTANT_CONCURRENCY = 500
POLITE_DELAY_S = 1.0
POLLERS_IN_CHAOS = 3
CONCURRENCY_IN_CHAOS = 20
KILLS = 8
TIMEOUT_S = 10
PARSE_TIMEOUT_S = 5
IN_CHAOS = {
    "HEADWATER_POLL_CONCURRENCY": str(CONCURRENCY_IN_CHAOS),
    "HEADWATER_POLL_TIMEOUT": f"{TIMEOUT_S}s",  # a lease lasts as long as all of these, and we wait for some to end
    "HEADWATER_PARSE_TIMEOUT": f"{PARSE_TIMEOUT_S}s",
}
GIVE_UP_S = 600
LOOK_EVERY_S = 0.01
FASTEST = 10_000  # polls a second: no look at what is still due is needed before so many could be done
DUE = "SELECT count(*) FROM feed_state WHERE next_poll_at <= now()"
CASES = ((200, "25 entries", ""), (304, "not modified", "_304"))
WAKE_UP = b"<rss version='2.0'><channel><title>Wake up</title></channel></rss>"
WOKEN: Any = {"url": "http://zoo.test/", "feed_url": "http://zoo.test/", "content_type": None, "max_entries": 1}
PROCESSES = multiprocessing.get_context("spawn")


@dataclass(frozen=True)
class Run:
    """One measurement: of one process, and of those it started."""

    seconds: float
    cpu: float
    megabytes: float


@dataclass(frozen=True)
class Visit:
    """A line of the zoo's log."""

    at: float
    host: str
    path: str
    status: int | None


def main() -> None:
    """Measure, print tables, and end with the numbers as JSON."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--large", action="store_true", help=f"also poll {LARGE:,} feeds, for memory")
    parser.add_argument("--chaos", action="store_true", help="only kill pollers, and see what is lost")
    parser.add_argument("--keep-alive", action="store_true", help="the plain poller keeps connections open")
    parser.add_argument("--feeds", type=int, default=FEEDS, help="how many feeds")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="how often each is measured")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, give_up)
    with ExitStack() as stack:
        folder = stack.enter_context(open_folder())
        server = stack.enter_context(open_server(folder))
        near, far = (stack.enter_context(open_zoo(distance)) for distance in (0, DISTANCE_S))
        at_hand = Bench(server, near, folder, CONCURRENCY, keep_alive=options.keep_alive)
        distant = Bench(server, far, folder, DISTANT_CONCURRENCY, keep_alive=options.keep_alive)
        result: dict[str, Any] = {}
        if not options.chaos:
            print(f"{options.feeds} feeds on {options.feeds // FEEDS_PER_HOST} hosts, best of {options.rounds} rounds")
            result = at_hand.throughput(options.feeds, options.rounds, "_near")
            print(f"the same with sites {DISTANCE_S * 1000:g} ms away")
            result = distant.throughput(options.feeds, options.rounds, "") | result
            result |= at_hand.politeness(options.feeds)
        result |= at_hand.chaos(options.feeds)
        if options.large:
            result |= at_hand.memory(options.feeds, LARGE)
    print(json.dumps({"bench": "poll", "feeds": options.feeds, "rounds": options.rounds, **result}))


def give_up(*_: object) -> NoReturn:
    """Exit by an exception, so that context managers stop their processes."""
    sys.exit(1)


class Bench:
    """The measurements, on one server and one zoo."""

    def __init__(
        self, server: EmbeddedServer, zoo: "ZooProcess", folder: Path, concurrency: int, *, keep_alive: bool
    ) -> None:
        self._server = server
        self._zoo = zoo
        self._folder = folder
        self._concurrency = concurrency
        self._keep_alive = keep_alive

    def throughput(self, feeds: int, rounds: int, suffix: str) -> dict[str, Any]:
        """Both pollers, both cases, in turns."""
        runs: defaultdict[tuple[str, int], list[Run]] = defaultdict(list)
        for _ in range(rounds):
            with self._new_database(feeds, prepare_plain) as plain, self._new_database(feeds, prepare_ours) as ours:
                for status, *_ in CASES:
                    measured = self._seen(feeds, status, run_plain, plain, self._folder, keep_alive=self._keep_alive)
                    runs["plain", status].append(measured)
                    settings = self._settings(ours, delay_s=0)
                    runs["headwater", status].append(self._seen(feeds, status, run_ours, settings, self._folder))
                    make_due(ours)
                assert count_articles(plain) == count_articles(ours) == feeds * ENTRIES, "not every article was kept"
        return report({key: min(runs[key], key=lambda run: run.seconds) for key in runs}, feeds, suffix)

    def politeness(self, feeds: int) -> dict[str, Any]:
        """The shortest time between two requests to one host, with two pollers at once, by the zoo's own log."""
        with self._new_database(feeds, prepare_ours) as ours:
            self._zoo.forget_visits()
            settings = self._settings(ours, POLITE_DELAY_S)
            pollers = [apart(run_ours, settings, self._folder) for _ in range(2)]
            took = max(poller.result().seconds for poller in pollers)
            assert count_articles(ours) == feeds * ENTRIES, "not every article was kept"
        visits = self._zoo.visits()
        assert len(visits) == feeds, f"{len(visits)} requests for {feeds} feeds"
        gap = shortest_gap(visits)
        assert gap >= POLITE_DELAY_S * 0.999, f"a host was asked again after {gap:.3f} s"
        print(f"two pollers, {POLITE_DELAY_S:g} s between requests to a host: {took:.1f} s, shortest gap {gap:.3f} s")
        return {"host_delay_s": POLITE_DELAY_S, "shortest_gap_s": round(gap, 3)}

    def chaos(self, feeds: int) -> dict[str, Any]:
        """Killed pollers lose nothing; the feeds they had claimed are requested again when their lease expires."""
        with self._new_database(feeds, prepare_ours) as ours:
            self._zoo.forget_visits()
            kills, took = self._kill_pollers(ours, feeds)
            assert count_articles(ours) == feeds * ENTRIES, "not every article was kept"
            assert count_answers(ours) == (feeds, feeds), "not every feed was polled, and written, once"
        visits = self._zoo.visits()
        gap, again = shortest_gap(visits), times_between(visits)
        lease = TIMEOUT_S + PARSE_TIMEOUT_S + WRITING.total_seconds()
        assert gap >= POLITE_DELAY_S * 0.999, f"a host was asked again after {gap:.3f} s"
        assert len({(visit.host, visit.path) for visit in visits}) == feeds, "not every feed was asked for"
        assert len(again) <= kills * CONCURRENCY_IN_CHAOS, "more was asked for again than the dead had in hand"
        assert min(again, default=lease) >= lease - TIMEOUT_S, "something was asked for again before its lease ended"
        print(
            f"{POLLERS_IN_CHAOS} pollers, {kills} times one was killed: {took:.1f} s, nothing lost, {len(again)} feeds"
            f" asked for again after {min(again, default=0):.1f} s or more, shortest gap at a host {gap:.3f} s"
        )
        return {"kills": kills, "asked_again_after_kills": len(again), "shortest_gap_in_chaos_s": round(gap, 3)}

    def _kill_pollers(self, conninfo: str, feeds: int) -> tuple[int, float]:
        """Several pollers, one after another killed at a random moment and replaced, until nothing is due."""
        settings = self._settings(conninfo, POLITE_DELAY_S) | IN_CHAOS
        chance, kills, start = random.Random(7), 0, time.perf_counter()
        with ExitStack() as stack:
            pollers = [stack.enter_context(a_poller(settings, self._folder)) for _ in range(POLLERS_IN_CHAOS)]
            while due := count_due(conninfo):
                if kills < KILLS and due < feeds:
                    pollers.pop(0).kill()
                    pollers.append(stack.enter_context(a_poller(settings, self._folder)))
                    kills += 1
                assert time.perf_counter() - start < GIVE_UP_S, "it does not end"
                time.sleep(chance.uniform(0.3, 0.9))
        return kills, time.perf_counter() - start

    def memory(self, *sizes: int) -> dict[str, Any]:
        """The poller's own peak, by number of feeds."""
        peaks: dict[str, int] = {}
        for feeds in sizes:
            with self._new_database(feeds, prepare_ours) as ours:
                run = apart(run_ours, self._settings(ours, delay_s=0), self._folder).result()
                assert count_articles(ours) == feeds * ENTRIES, "not every article was kept"
            peaks[str(feeds)] = round(run.megabytes)
            print(f"{feeds} feeds: {run.megabytes:.0f} MB at most, {feeds / run.seconds:.0f} polls/s")
        return {"peak_mb_by_feeds": peaks}

    def _seen(self, feeds: int, status: int, run: Callable[P, Run], *args: P.args, **kwargs: P.kwargs) -> Run:
        """Run a poller, and check by the zoo's log that each feed was requested once and answered with this status."""
        self._zoo.forget_visits()
        measured = apart(run, *args, **kwargs).result()
        statuses = Counter(visit.status for visit in self._zoo.visits())
        assert statuses == {status: feeds}, f"the zoo answered {dict(statuses)}"
        return measured

    @contextmanager
    def _new_database(self, feeds: int, prepare: Callable[[str, Sequence[str]], None]) -> Iterator[str]:
        name = f"bench_{time.monotonic_ns()}"
        conninfo = make_conninfo(self._server.conninfo, dbname=name)
        with psycopg.connect(self._server.conninfo, autocommit=True) as conn:
            conn.execute(f"CREATE DATABASE {name}".encode())
            try:
                prepare(conninfo, [self._zoo.feed_url(number) for number in range(feeds)])
                conn.execute("CHECKPOINT")  # the same start for everybody
                yield conninfo
            finally:
                conn.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())

    def _settings(self, conninfo: str, delay_s: float) -> dict[str, str]:
        return {
            "DATABASE_URL": conninfo,
            "HEADWATER_ALLOW_LOOPBACK": "true",
            "HEADWATER_RESOLVE": f"{DOMAIN}=127.0.0.1",
            "HEADWATER_POLL_CONCURRENCY": str(self._concurrency),
            "HEADWATER_POLL_HOST_DELAY": f"{delay_s}s",
        }


def shortest_gap(visits: Sequence[Visit]) -> float:
    """Between two arrivals at one host."""
    by_host: defaultdict[str, list[float]] = defaultdict(list)
    for visit in visits:
        by_host[visit.host].append(visit.at)
    return min(later - earlier for times in by_host.values() for earlier, later in pairwise(times))


def times_between(visits: Sequence[Visit]) -> list[float]:
    """Seconds between two requests of one feed."""
    by_feed: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    for visit in visits:
        by_feed[visit.host, visit.path].append(visit.at)
    return [later - earlier for times in by_feed.values() for earlier, later in pairwise(times)]


def report(best: Mapping[tuple[str, int], Run], feeds: int, place: str) -> dict[str, Any]:
    """The table, and its numbers."""
    print(f"{'':26}{'polls/s':>9}{'ratio':>8}{'seconds':>9}{'CPU s':>8}{'MB':>6}")
    result: dict[str, Any] = {}
    for status, label, suffix in CASES:
        for name in ("plain", "headwater"):
            run, ratio = best[name, status], best["plain", status].seconds / best[name, status].seconds
            print(
                f"{name + ', ' + label:26}{feeds / run.seconds:9.0f}{ratio:8.1f}{run.seconds:9.2f}{run.cpu:8.2f}"
                f"{run.megabytes:6.0f}"
            )
            result |= {
                f"ratio{suffix}{place}": round(ratio, 1),
                f"{name}_polls_per_second{suffix}{place}": round(feeds / run.seconds),
                f"{name}_cpu_s{suffix}{place}": round(run.cpu, 2),
                f"{name}_peak_mb{suffix}{place}": round(run.megabytes),
            }
    return result


# What runs in a process of its own.


def apart(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> Future[R]:
    """Start a function in a new process."""
    pool = ProcessPoolExecutor(1, mp_context=PROCESSES)
    future = pool.submit(function, *args, **kwargs)
    pool.shutdown(wait=False)
    return future


def run_plain(conninfo: str, folder: Path, *, keep_alive: bool) -> Run:
    """The plain poller; the names of the zoo are resolved without DNS."""
    at_home = partial(socket.getaddrinfo, "127.0.0.1")
    logging.basicConfig(filename=folder / "plain.log", level=logging.INFO, format="%(asctime)s %(message)s")
    with (
        patch.object(socket, "getaddrinfo", lambda _, *more: at_home(*more)),  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
        PlainPoller(conninfo, threads=THREADS, keep_alive=keep_alive) as poller,
    ):
        poller.start()
        before, start = own_cpu(), time.perf_counter()
        poller.poll_all()
        seconds = time.perf_counter() - start
    return measured(seconds, before)


def run_ours(environment: Mapping[str, str], folder: Path) -> Run:
    """The polling stage until nothing is due, logging to a file."""
    with (folder / "headwater.log").open("a") as sys.stderr:
        seconds, before = run(poll_until_done(environment))
        return measured(seconds, before)


async def poll_until_done(environment: Mapping[str, str]) -> tuple[float, float]:
    """Seconds from ready to done, and the CPU time of getting ready."""
    settings = load_settings(environment).values
    configure_log(settings.log_level, settings.log_format)
    stop = asyncio.Event()
    async with open_runtime(settings) as runtime:
        sandbox, readers = runtime.tools.sandbox, range(settings.parse_processes)
        await asyncio.gather(*(sandbox.run(read_feed, WAKE_UP, **WOKEN) for _ in readers))
        before, start = own_cpu(), time.perf_counter()
        async with asyncio.timeout(GIVE_UP_S), asyncio.TaskGroup() as tasks:
            tasks.create_task(run_stages(runtime.tools, ["polling"], stop, settings.drain_timeout))
            while due := await how_many_are_due(runtime.database):  # noqa: ASYNC110  nobody else knows
                await asyncio.sleep(max(LOOK_EVERY_S, due / FASTEST))
            seconds = time.perf_counter() - start
            stop.set()
    return seconds, before


def poll_for_ever(environment: Mapping[str, str], folder: Path) -> None:
    """Run the polling stage until the process is killed."""

    async def work() -> None:
        settings = load_settings(environment).values
        configure_log(settings.log_level, settings.log_format)
        async with open_runtime(settings) as runtime:
            await run_stages(runtime.tools, ["polling"], asyncio.Event(), settings.drain_timeout)

    with (folder / "chaos.log").open("a") as sys.stderr:
        run(work())


@contextmanager
def a_poller(environment: Mapping[str, str], folder: Path) -> Iterator[BaseProcess]:
    """A poller in another process, killed at the end."""
    process = PROCESSES.Process(target=poll_for_ever, args=(environment, folder), daemon=True)
    process.start()
    try:
        yield process
    finally:
        process.kill()
        process.join()


async def how_many_are_due(database: Database) -> int:
    """How many feeds are due, or being polled."""
    async with database.transaction() as conn:
        cur = await conn.execute(DUE)
        row = await cur.fetchone()
    return row[0] if row else 0


def measured(seconds: float, cpu_before: float) -> Run:
    """CPU time of this process since then, and of its children."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024**2 if sys.platform == "darwin" else 1024)
    return Run(seconds, own_cpu() - cpu_before + children.ru_utime + children.ru_stime, peak)


def own_cpu() -> float:
    """Seconds of CPU that this process has used."""
    return time.process_time()


# What they work on.


def prepare_plain(conninfo: str, urls: Sequence[str]) -> None:
    """The tables of `plain_poller.py`, and its feeds."""
    with psycopg.connect(conninfo) as conn:
        conn.execute(SCHEMA)
        conn.cursor().executemany("INSERT INTO feeds (url) VALUES (%s)", [(url,) for url in urls])
        conn.execute("ANALYZE feeds")


def prepare_ours(conninfo: str, urls: Sequence[str]) -> None:
    """Headwater's tables, and its sources."""
    uvloop.run(follow_all(conninfo, urls))


async def follow_all(conninfo: str, urls: Sequence[str]) -> None:
    """Follow these feeds; all are due at once."""
    await migrate_up(conninfo)
    async with await psycopg.AsyncConnection.connect(conninfo) as conn:
        async with conn.pipeline():
            for url in urls:
                await follow(conn, url=url, name=None, now=utc_now())
        # Not the empty tables: PostgreSQL would believe that they stay so.
        await conn.execute("ANALYZE sources, feed_state, hosts")


def make_due(conninfo: str) -> None:
    """Make all feeds due again."""
    with psycopg.connect(conninfo) as conn:
        conn.execute("UPDATE feed_state SET next_poll_at = now()")
        conn.execute("UPDATE hosts SET feed_due_at = now(), free_at = now(), not_before = now()")


def count_due(conninfo: str) -> int:
    """How many feeds are due, or being polled."""
    with psycopg.connect(conninfo) as conn:
        row = conn.execute(DUE).fetchone()
    return row[0] if row else 0


def count_answers(conninfo: str) -> tuple[int, int]:
    """How many good polls were written, and of how many feeds."""
    with psycopg.connect(conninfo) as conn:
        row = conn.execute(
            "SELECT count(*), count(DISTINCT source_id) FROM poll_events WHERE outcome = 'polled'"
        ).fetchone()
    return row or (0, 0)


def count_articles(conninfo: str) -> int:
    """How many there are; the table has the same name in both."""
    with psycopg.connect(conninfo) as conn:
        row = conn.execute("SELECT count(*) FROM articles").fetchone()
    return row[0] if row else 0


@dataclass(frozen=True)
class ZooProcess:
    """A zoo in another process."""

    port: int

    def feed_url(self, number: int) -> str:
        """One of any number of feeds."""
        host, feed = divmod(number, FEEDS_PER_HOST)
        return f"http://h{host}.crowd.{DOMAIN}:{self.port}/feed/{feed}.xml"

    def visits(self) -> list[Visit]:
        """Its log, in the order of arrival."""
        with self._control("GET") as answer:
            lines = [json.loads(line) for line in answer]
        return [Visit(line["at"], line["host"], line["path"], line["status"]) for line in lines]

    def forget_visits(self) -> None:
        """Begin a new log."""
        with self._control("DELETE"):
            pass

    def _control(self, method: str) -> HTTPResponse:
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/__zoo__/visits", method=method)
        return urllib.request.urlopen(request, timeout=60)  # noqa: S310


class DistantZoo(Zoo):
    """A zoo with a delay before each response."""

    def __init__(self, distance_s: float) -> None:
        super().__init__()
        self._distance_s = distance_s

    async def _receive(self, request: web.BaseRequest) -> web.StreamResponse:
        await asyncio.sleep(self._distance_s)
        return await super()._receive(request)


def keep_zoo(port: Pipe, distance_s: float) -> None:
    """Run a zoo for as long as the process lives."""

    async def keep() -> None:
        async with DistantZoo(distance_s) if distance_s else Zoo() as zoo:
            port.send(zoo.port)
            await asyncio.Event().wait()

    allow_many_connections()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is ended by us, after Ctrl-C too
    uvloop.run(keep())


@contextmanager
def open_zoo(distance_s: float) -> Iterator[ZooProcess]:
    """A zoo in a process of its own."""
    ours, its = PROCESSES.Pipe()
    process = PROCESSES.Process(target=keep_zoo, args=(its, distance_s), daemon=True)
    process.start()
    try:
        yield ZooProcess(ours.recv())
    finally:
        process.kill()
        process.join()


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

"""What a user would write to poll feeds: threads, requests, feedparser, an INSERT for each entry, an UPDATE per feed.

Written with care, as the yardstick of poll.py: validators are sent, each thread has its own database connection, and a
feed is one transaction. It has no leases, no delay between requests to a host, no limits. Nor a session: what follows
thousands of feeds comes back to a host minutes later, when no connection is open any more. `keep_alive` gives it one.
"""

import logging
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, Self, cast

import feedparser
import psycopg
import requests
from requests.adapters import HTTPAdapter

parse = cast("Callable[..., Mapping[str, Any]]", feedparser.parse)  # pyright: ignore[reportUnknownMemberType]
log = logging.getLogger("plain")

USER_AGENT = "plain-poller/1.0"

SCHEMA = """
    CREATE TABLE feeds (
        id integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
        url text NOT NULL UNIQUE,
        etag text,
        last_modified text,
        polled_at timestamptz,
        error text
    );
    CREATE TABLE articles (
        id integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
        feed_id integer NOT NULL REFERENCES feeds,
        url text NOT NULL UNIQUE,
        title text,
        author text,
        summary text,
        published text,
        seen_at timestamptz NOT NULL DEFAULT now()
    );
"""


class Feed(NamedTuple):
    """A row of `feeds`."""

    id: int
    url: str
    etag: str | None
    last_modified: str | None


class PlainPoller:
    """Polls every feed once. Use as a context manager."""

    def __init__(self, conninfo: str, *, threads: int, keep_alive: bool = False) -> None:
        self._conninfo = conninfo
        self._threads = threads
        self._mine = threading.local()
        self._pool = ThreadPoolExecutor(threads, initializer=self._start_thread)
        self._session = requests.Session() if keep_alive else None
        if self._session is not None:
            self._session.mount("http://", HTTPAdapter(pool_connections=threads, pool_maxsize=threads))
        self._get = self._session.get if self._session is not None else requests.get

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown()
        if self._session is not None:
            self._session.close()

    def start(self) -> None:
        """Start the threads and connect them."""
        together = threading.Barrier(self._threads)
        for ready in [self._pool.submit(together.wait) for _ in range(self._threads)]:
            ready.result()

    def poll_all(self) -> None:
        """Every feed, in order of its address: where connections are kept, a host's feeds find theirs still open."""
        with psycopg.connect(self._conninfo) as conn:
            rows = conn.execute("SELECT id, url, etag, last_modified FROM feeds ORDER BY url").fetchall()
        for _ in self._pool.map(self._poll, [Feed(*row) for row in rows]):
            pass

    def _start_thread(self) -> None:
        self._mine.conn = psycopg.connect(self._conninfo)

    def _poll(self, feed: Feed) -> None:
        conn: psycopg.Connection = self._mine.conn
        try:
            response = self._get(feed.url, headers=_headers(feed), timeout=30)
            response.raise_for_status()
            count = _save(conn, feed, response) if response.status_code == 200 else 0
        except (requests.RequestException, psycopg.Error) as error:
            conn.rollback()
            conn.execute("UPDATE feeds SET error = %s, polled_at = now() WHERE id = %s", (str(error), feed.id))
            log.warning("%s failed: %s", feed.url, error)
        else:
            conn.execute(
                """
                UPDATE feeds
                SET etag = coalesce(%s, etag), last_modified = coalesce(%s, last_modified), polled_at = now(),
                    error = NULL
                WHERE id = %s
                """,
                (response.headers.get("ETag"), response.headers.get("Last-Modified"), feed.id),
            )
            log.info("%s: %s, %d entries", feed.url, response.status_code, count)
        conn.commit()


def _headers(feed: Feed) -> dict[str, str]:
    given = {"User-Agent": USER_AGENT, "If-None-Match": feed.etag, "If-Modified-Since": feed.last_modified}
    return {name: value for name, value in given.items() if value}


def _save(conn: psycopg.Connection, feed: Feed, response: requests.Response) -> int:
    entries = parse(response.content, response_headers=dict(response.headers))["entries"]
    for entry in entries:
        conn.execute(
            """
            INSERT INTO articles (feed_id, url, title, author, summary, published)
            VALUES (%s, %s, %s, %s, %s, %s)
            ON CONFLICT (url) DO UPDATE
            SET title = excluded.title, author = excluded.author, summary = excluded.summary,
                published = excluded.published
            """,
            (feed.id, *(entry.get(name) for name in ("link", "title", "author", "summary", "published"))),
        )
    return len(entries)

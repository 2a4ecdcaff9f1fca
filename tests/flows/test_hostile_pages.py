"""Hostile pages each end in a stored reason, within the limits, and the fetcher lives on."""

from datetime import timedelta
from pathlib import Path

import psycopg
import pytest

from headwater.db import Database
from headwater.fetching.types import FetchingOptions
from headwater.frontier.store import queue
from headwater.frontier.types import FrontierOptions, Origin, Submission
from headwater.runtime import utc_now
from tests.flows.fetcher_process import start_fetcher
from tests.flows.zoo_thread import open_zoo
from tests.headwater_process import PATIENCE_S, wait_for

pytestmark = pytest.mark.database

SECOND = timedelta(seconds=1)
MEGABYTE = 1_000_000
OPTIONS = FetchingOptions(
    concurrency=10,
    timeout=10 * SECOND,
    idle=SECOND / 10,
    crawl_delay_max=SECOND,
    hold=30 * SECOND,
    lease=30 * SECOND,
    urls_per_host=10,
    max_bytes=10 * MEGABYTE,
    sitemap_max_bytes=20_000_000,
    robot="headwater",
)
FRONTIER = FrontierOptions(min_delay=SECOND / 20)
ENDS = {
    "/huge.html": ("d", "too_large"),
    "/nested.html": ("f", None),  # five megabytes are no crime; what they hold is judged by who reads them
    "/attributes.html": ("f", None),
    "/bomb.html": ("d", "too_large"),
    "/drip.html": ("r", "timeout"),
    "/archive.html": ("d", "not_html"),
    "/leaflet.html": ("d", "not_html"),
}


async def test_each_hostile_page_ends_in_a_stored_reason_and_the_fetcher_lives_on(
    conninfo: str, database: Database
) -> None:
    with open_zoo() as zoo:
        await submit(database, [zoo.url("den", path) for path in ENDS])
        fetcher = start_fetcher("Fetcher/1", conninfo, OPTIONS, FRONTIER)
        try:
            wait_for(lambda: not waiting(conninfo))
            peak = peak_memory(fetcher.pid)
            await submit(database, [zoo.url("h1.crowd", "/article/1.html")])
            wait_for(lambda: not waiting(conninfo))
            fetcher.terminate()
            fetcher.join(PATIENCE_S)
        finally:
            fetcher.kill()
        ends = ends_of(conninfo)

    assert {path: ends[path] for path in ENDS} == ENDS
    assert ends["/article/1.html"] == ("f", None)
    assert fetcher.exitcode == 0
    # The body, the copies that writing it takes, and no fifty megabytes nor a quarter of a gigabyte.
    assert peak < 200 * MEGABYTE


async def submit(database: Database, urls: list[str]) -> None:
    async with database.transaction() as conn:
        submissions = [Submission(url, Origin.FEED) for url in urls]
        await queue.submit(conn, submissions=submissions, now=utc_now(), options=FRONTIER)


def waiting(conninfo: str) -> bool:
    return any(status == "p" for status, _ in ends_of(conninfo).values())


def ends_of(conninfo: str) -> dict[str, tuple[str, str | None]]:
    """Where each page stands and for which reason, by its path."""
    with psycopg.connect(conninfo) as conn:
        rows = conn.execute("SELECT url, status::text, last_error FROM frontier_url").fetchall()
    return {f"/{url.split('/', 3)[3]}": (status, error and error.partition(":")[0]) for url, status, error in rows}


def peak_memory(pid: int | None) -> int:
    """Bytes; 0 where it is not counted."""
    told = Path(f"/proc/{pid}/status")
    lines = told.read_text().splitlines() if told.exists() else []
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM")), 0)

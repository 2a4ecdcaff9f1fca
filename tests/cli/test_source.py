"""`headwater source add|poll`, as processes of their own against a site on loopback: their output about a poll."""

import asyncio
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.headwater_process import Headwater
from tests.site import Site, a_site, rss

pytestmark = pytest.mark.database


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with a_site() as site:
        site.answers["good.example/feed"] = rss("Good", "First")
        yield site


@pytest.fixture
def headwater(open_folder: Path, conninfo: str) -> Headwater:
    settings = {"DATABASE_URL": conninfo, "HEADWATER_ALLOW_LOOPBACK": "true", "HEADWATER_RESOLVE": "example=127.0.0.1"}
    return Headwater(open_folder, **settings)


# In threads, since the site needs this one.


async def run(headwater: Headwater, *arguments: str) -> subprocess.CompletedProcess[str]:
    return await asyncio.to_thread(headwater.run, "source", *arguments)


async def told(headwater: Headwater, *arguments: str) -> list[dict[str, Any]]:
    return await asyncio.to_thread(headwater.json, "source", *arguments)


async def test_the_http_status_is_printed_for_every_outcome(headwater: Headwater, site: Site) -> None:
    places = ("good.example/feed", "missing.example/feed", "closed.example/feed")
    good, missing, closed = (site.url(place) for place in places)
    closed = closed.replace(str(site.port), "9")

    added = await told(headwater, "add", good, missing, closed)
    (polled,) = await told(headwater, "poll", good)

    assert [source["poll"]["status"] for source in added] == [200, 404, None]
    assert (polled["outcome"], polled["status"]) == ("polled", 200)
    assert "story" not in polled


async def test_the_explanation_of_a_poll_is_printed_as_json(headwater: Headwater, site: Site) -> None:
    url = site.url("missing.example/feed")
    await run(headwater, "add", url)

    (polled,) = await told(headwater, "poll", url, "--explain")

    asked, answer, decision, next_try = polled["story"]
    assert asked.startswith(f"Requested {url}; that took")
    assert answer.startswith("It answered 404.")
    assert answer.endswith("That is the class not_found.")
    assert decision.startswith("It is failure 2 of this class in a row")
    assert next_try.startswith("The next try is at 20")


async def test_one_article_is_singular(headwater: Headwater, site: Site) -> None:
    site.answers["twice.example/feed"] = rss("Twice", "First", "Second", link="https://twice.example/")

    one = await run(headwater, "add", site.url("good.example/feed"))
    two = await run(headwater, "add", site.url("twice.example/feed"))

    assert one.stdout.endswith("polled, 1 new article.\n")
    assert two.stdout.endswith("polled, 2 new articles.\n")

"""Each article has a positive 64-bit number beside its UUID."""

from datetime import timedelta

import pytest

from headwater.articles.store import listing, records
from headwater.articles.types import ListedEntry
from headwater.db import Connection
from tests.builders import a_source, an_article
from tests.clock import START

pytestmark = pytest.mark.database

MILLISECOND = timedelta(milliseconds=1)


async def arrive(conn: Connection, *urls: str, after: int) -> None:
    """Articles that arrive so many milliseconds after the start."""
    source = await a_source(conn, url=f"https://example.com/feeds/{urls[0]}")
    listed = [ListedEntry(source.id, an_article(f"https://example.com/{url}"), "example.com") for url in urls]
    await records.keep(conn, seen_at=START + after * MILLISECOND, listed=listed)


async def test_numbers_are_positive_and_unique_also_within_one_millisecond(conn: Connection) -> None:
    await arrive(conn, *(f"a{n}" for n in range(200)), after=0)
    await arrive(conn, *(f"b{n}" for n in range(200)), after=0)

    numbers = [article.number for article in await listing.latest(conn, limit=1000)]

    assert len(set(numbers)) == len(numbers) == 400
    assert all(0 < number < 2**63 for number in numbers)


async def test_numbers_increase_with_the_time_of_arrival(conn: Connection) -> None:
    for after in (0, 1, 2, 1_000, 86_400_000):
        await arrive(conn, f"{after}", after=after)

    articles = sorted(await listing.latest(conn, limit=10), key=lambda article: article.number)

    assert [article.url.rpartition("/")[2] for article in articles] == ["0", "1", "2", "1000", "86400000"]


async def test_an_article_keeps_its_number_when_it_changes(conn: Connection) -> None:
    await arrive(conn, "a", after=0)
    (before,) = await listing.latest(conn, limit=1)
    source = await a_source(conn, url="https://example.com/other")
    changed = an_article("https://example.com/a", title="Another title")
    await records.keep(conn, seen_at=START, listed=[ListedEntry(source.id, changed, "example.com")])

    (after,) = await listing.latest(conn, limit=1)

    assert (after.number, after.title) == (before.number, "Another title")

"""/admin/popularity: how much each source is read, without revealing who reads what."""

import re
from collections.abc import AsyncIterator
from datetime import timedelta
from html import unescape

import pytest
from litestar import Litestar

from headwater.analytics.types import PopularityStep, ReaderAction
from headwater.db import Database
from headwater.web.routes.admin.popularity import HEIGHT, WIDTH, bars_of
from tests.analytics.crowd import a_crowd, does
from tests.app import create_app
from tests.clock import START, MovableClock
from tests.web.visitor import Person, a_person

pytestmark = pytest.mark.database


@pytest.fixture
def app(database: Database, clock: MovableClock) -> Litestar:
    return create_app(database, clock)


@pytest.fixture
async def operator(app: Litestar) -> AsyncIterator[Person]:
    """The first user, who is super_admin."""
    async with a_person(app) as person:
        await person.register("operator@example.com")
        yield person


def rows(page: str) -> list[list[str]]:
    """The cells of the table."""
    body = re.search(r"<tbody>(.*?)</tbody>", page, re.DOTALL)
    lines = re.findall(r"<tr>(.*?)</tr>", body[1], re.DOTALL) if body else []
    return [[words(cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", line, re.DOTALL)] for line in lines]


def words(html: str) -> str:
    return unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", html))).strip()


async def test_without_consent_of_any_user_the_page_says_so(operator: Person) -> None:
    shown = words((await operator.open("/admin/popularity")).text)

    assert "0 of 1 reader agreed to be counted" in shown
    assert "No reader has agreed to be counted yet" in shown
    assert "readers in this period" in shown


async def test_each_source_has_numbers_and_a_rate(operator: Person, database: Database) -> None:
    crowd = await a_crowd(database, size=4)
    for reader in crowd.readers:
        await does(database, reader, ReaderAction.OPEN, crowd.articles[0], START - timedelta(minutes=1))
        await does(database, reader, ReaderAction.OPEN, crowd.articles[1], START - timedelta(minutes=1))
    for reader in crowd.readers[:3]:
        await does(database, reader, ReaderAction.CLICK, crowd.articles[0], START - timedelta(minutes=1))

    page = (await operator.open("/admin/popularity")).text

    assert rows(page) == [["Daily", "4", "8", "8", "3", "38 %", "– fewer than 3 readers"]]
    assert "4 of 5 readers agreed" in words(page)
    assert "highest: 8 articles" in words(page)
    assert page.count('<rect class="reads"') == 7


async def test_sources_with_few_readers_are_not_shown(operator: Person, database: Database) -> None:
    crowd = await a_crowd(database, name="secret", size=2)
    for reader in crowd.readers:
        await does(database, reader, ReaderAction.OPEN, crowd.articles[0], START)

    page = (await operator.open("/admin/popularity")).text

    assert "Secret" not in page
    assert "1 source with fewer than 3 such readers is not shown" in words(page)
    assert rows(page) == []


@pytest.mark.parametrize(("period", "reads"), [("day", "3"), ("week", "6"), ("month", "9")])
async def test_each_period_has_its_own_numbers(operator: Person, database: Database, period: str, reads: str) -> None:
    crowd = await a_crowd(database, size=3)
    for days, article in ((0.5, 0), (3, 1), (20, 2), (40, 3)):
        for reader in crowd.readers:
            await does(database, reader, ReaderAction.OPEN, crowd.articles[article], START - timedelta(days=days))

    page = (await operator.part(f"/admin/popularity/numbers?period={period}")).text

    assert rows(page)[0][2] == reads
    assert f'href="/admin/popularity?period={period}&amp;sort=reads" aria-current="true"' in page


async def test_a_click_on_a_column_sorts_by_it(operator: Person, database: Database) -> None:
    opened = await a_crowd(database, name="opened", size=3)
    starred = await a_crowd(database, name="starred", size=3)
    for crowd, deed in ((opened, ReaderAction.OPEN), (starred, ReaderAction.STAR)):
        for reader in crowd.readers:
            await does(database, reader, deed, crowd.articles[0], START)

    by_reads = (await operator.open("/admin/popularity?sort=reads")).text
    by_stars = (await operator.open("/admin/popularity?sort=stars")).text

    assert [row[0] for row in rows(by_reads)] == ["Opened", "Starred"]
    assert [row[0] for row in rows(by_stars)] == ["Starred", "Opened"]
    assert re.search(r'aria-sort="descending"><a id="sort-stars"', by_stars)


@pytest.mark.parametrize("query", ["period=year", "sort=x", "period=", "sort=%ff"], ids=range(4))
async def test_invalid_periods_and_orders_are_refused(operator: Person, query: str) -> None:
    for path in ("/admin/popularity", "/admin/popularity/numbers"):
        refused = await operator.open(f"{path}?{query}")

        assert refused.status_code == 400
        assert "Unknown period or order" in refused.text


async def test_readers_are_refused(app: Litestar, operator: Person) -> None:
    async with a_person(app) as reader:
        await reader.register("reader@example.com")

        assert (await reader.open("/admin/popularity")).status_code == 403
        assert (await reader.part("/admin/popularity/numbers")).status_code == 403


def test_the_highest_bar_fills_the_plot_and_hidden_numbers_have_none() -> None:
    moments = [PopularityStep(START, 5, 3), PopularityStep(START, None, None), PopularityStep(START, 10, None)]

    bars = bars_of(moments)

    assert [bar.reads for bar in bars] == [HEIGHT / 2, 0, HEIGHT]
    assert [bar.clicks for bar in bars] == [HEIGHT * 0.3, 0, 0]
    assert all(bar.x >= 0 and bar.x + bar.width <= WIDTH for bar in bars)
    assert bars_of([]) == []

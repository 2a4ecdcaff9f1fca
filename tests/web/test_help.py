"""The documentation inside the app: every page, its links, its search, and the help of each page."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from httpx import AsyncClient

from headwater.db import Database
from headwater.web.manual import GROUPS, HELP_OF_PAGES, help_url, pages, search
from tests.app import create_app
from tests.browser import visit
from tests.clock import MovableClock

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture
async def client(database: Database, clock: MovableClock) -> AsyncIterator[AsyncClient]:
    async with visit(create_app(database, clock)) as client:
        yield client


def test_every_file_of_docs_is_a_page_and_the_contents_list_those_of_its_top_folder() -> None:
    files = {path.relative_to(DOCS).with_suffix("").as_posix() for path in DOCS.rglob("*.md")}
    listed = [name for names in GROUPS.values() for name in names]

    assert set(pages()) == files
    assert sorted(listed) == sorted(name for name in files if "/" not in name)


def test_links_between_pages_lead_to_pages_and_sections_of_the_app() -> None:
    anchors = {name: {section.anchor for section in page.sections} for name, page in pages().items()}
    links = [(name, link) for name, page in pages().items() for link in re.findall(r'href="([^"]+)"', page.html)]
    lost: list[tuple[str, str]] = []
    for name, link in links:
        target, _, anchor = link.partition("#")
        if "://" in link:
            continue
        page = target.removeprefix("/help").strip("/") if target else name
        if page and (page not in anchors or (anchor and anchor not in anchors[page])):
            lost.append((name, link))

    assert len(links) > 200
    assert lost == []


@pytest.mark.parametrize("path", HELP_OF_PAGES)
def test_the_help_of_a_page_is_a_section_that_exists(path: str) -> None:
    name, _, anchor = help_url(path).removeprefix("/help/").partition("#")

    assert help_url(f"{path}/more") == help_url(path)
    assert name in pages()
    assert not anchor or anchor in {section.anchor for section in pages()[name].sections}


def test_a_search_finds_sections_with_all_words_and_titles_first() -> None:
    found = search("Retention MONTH")

    assert found[0].url == "/help/operating#retention"
    assert any("month" in one.excerpt.casefold() or "retention" in one.excerpt.casefold() for one in found)
    assert search("retention zzzunknown") == []
    assert search("   ") == []


@pytest.mark.database
async def test_help_needs_no_login_and_is_searched(client: AsyncClient) -> None:
    contents = await client.get("/help")
    page = await client.get("/help/reading")
    found = await client.get("/help", params={"q": "retry-after <b>"})

    assert [contents.status_code, page.status_code, found.status_code] == [200] * 3
    assert '<a href="/help/reading">Reading</a>' in contents.text
    assert '<h2 id="lists">Lists</h2>' in page.text
    assert "<b>" not in found.text.replace("&lt;b&gt;", "")
    assert (await client.get("/help/decisions/0002-no-orm")).status_code == 200
    assert (await client.get("/help/%2e%2e/settings.md")).status_code == 404
    assert (await client.get("/help/nothing")).status_code == 404


@pytest.mark.database
async def test_docs_leads_to_help_and_every_page_links_to_its_own(client: AsyncClient) -> None:
    moved = await client.get("/docs")

    assert moved.headers["location"] == "/help"
    assert '<a href="/help/accounts">Help</a>' in (await client.get("/auth/register")).text
    assert '<a href="/help">Help</a>' in (await client.get("/privacy")).text

"""The pages of a reader's rules, and Mute."""

import re
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from litestar import Litestar

from headwater.articles.store import records
from headwater.articles.types import ListedEntry
from headwater.db import Database
from headwater.sources.store import sources
from tests.app import create_app
from tests.builders import an_article
from tests.clock import START, MovableClock
from tests.web.visitor import Person, a_person

pytestmark = pytest.mark.database

FEED = "https://example.com/feed.xml"
TITLES = ("Otters return to the river", "Heron seen at dawn", "Otters and herons")


@pytest.fixture
def app(database: Database, clock: MovableClock) -> Litestar:
    return create_app(database, clock)


@pytest.fixture
async def ada(app: Litestar, database: Database, clock: MovableClock) -> AsyncIterator[Person]:
    """Follows one feed with three articles by Ann Writer."""
    async with a_person(app) as person:
        await person.register()
        await person.send("POST", "/feeds", name="River <News>", url=FEED)
        async with database.as_system() as conn:
            source = await sources.find_by_url(conn, url=FEED)
            listed = [
                ListedEntry(
                    source.id,
                    an_article(
                        f"https://example.com/{n}", title=title, author="Ann Writer",
                        published_at=START + timedelta(minutes=n),
                    ),
                )
                for n, title in enumerate(TITLES)
            ]  # fmt: skip
            await records.keep(conn, seen_at=START + timedelta(hours=1), listed=listed)
        clock.move(hours=2)
        yield person


def shown(page: str) -> list[str]:
    return re.findall(r"data-open>([^<]+)<", page)


def article_ids(page: str) -> dict[str, str]:
    return {title: one for one, title in re.findall(r'/articles/([0-9a-f-]+)" data-open>([^<]+)<', page)}


async def rule_id(person: Person) -> str:
    return re.findall(r'href="/rules/([0-9a-f-]{36})"', (await person.open("/rules")).text)[0]


async def test_a_preview_shows_what_the_rule_would_have_matched_and_saves_nothing(ada: Person) -> None:
    found = await ada.submit("/rules/preview", query="otters", star="yes", tags="Water, otters")

    assert "<b>Matches 2 of 3 articles</b>" in found.text
    assert re.findall(r'dir="auto">(Otter[^<]+)</a>', found.text) == ["Otters and herons", "Otters return to the river"]
    assert 'value="Water, otters"' in found.text
    assert "No rules yet." in (await ada.open("/rules")).text


async def test_articles_older_than_a_week_are_not_in_a_preview(ada: Person, clock: MovableClock) -> None:
    clock.move(days=8)

    found = await ada.submit("/rules/preview", query="otters", star="yes")

    assert "<b>Matches 0 of 0 articles</b>" in found.text


async def test_a_rule_is_saved_changed_disabled_and_deleted_with_undo(ada: Person) -> None:
    assert (await ada.submit("/rules", query="otters", star="yes", tags="Water", email="yes")).status_code == 303
    rule = await rule_id(ada)
    listed = (await ada.open("/rules")).text
    assert all(text in listed for text in ('<code dir="auto">otters</code>', "starred", "tagged #water", "daily email"))

    await ada.submit(f"/rules/{rule}", query="herons", name="Birds & more", hide="yes")
    opened = (await ada.open(f"/rules/{rule}")).text
    assert 'value="herons"' in opened
    assert 'value="Birds &amp; more"' in opened
    assert re.findall(r'name="(\w+)" value="yes" checked', opened) == ["hide"]
    assert "This rule has done nothing" in opened

    await ada.submit(f"/rules/{rule}/disable")
    assert "Disabled" in (await ada.open("/rules")).text
    await ada.submit(f"/rules/{rule}/enable")

    deleted = await ada.submit(f"/rules/{rule}/delete")
    page = (await ada.open(deleted.headers["location"])).text
    assert "No rules yet." in page
    assert f'action="/rules/{rule}/restore"' in page
    await ada.submit(f"/rules/{rule}/restore")
    assert await rule_id(ada) == rule


async def test_a_deleted_rule_can_be_restored_for_a_day_only(ada: Person, clock: MovableClock) -> None:
    await ada.submit("/rules", query="otters", star="yes")
    rule = await rule_id(ada)
    await ada.submit(f"/rules/{rule}/delete")
    clock.move(hours=25)

    assert (await ada.submit(f"/rules/{rule}/restore")).status_code == 404


@pytest.mark.parametrize("path", ["/rules", "/rules/preview"])
async def test_problems_are_shown_at_their_fields(ada: Person, path: str) -> None:
    answer = await ada.submit(path, query='"<b>" topik:x', name="x" * 101, tags="#")

    assert answer.status_code == 400
    assert re.search(r"<mark>topik:?</mark>", answer.text)
    assert "A name has at most 100 characters." in answer.text
    assert "A tag needs a letter or digit." in answer.text
    assert "<b>" not in answer.text


async def test_the_place_of_a_problem_in_the_query_is_marked(ada: Person) -> None:
    answer = await ada.submit("/rules/preview", query="  otter topik:sport", star="yes")

    assert "did you mean `topic:`?" in answer.text
    assert re.search(r"otter <mark>topik:?</mark>:?sport", answer.text)


async def test_a_rule_must_do_something(ada: Person) -> None:
    answer = await ada.submit("/rules", query="otters")

    assert answer.status_code == 400
    assert "Choose what happens to the articles." in answer.text


async def test_hostile_fields_are_kept_out(ada: Person) -> None:
    await ada.submit("/rules", query="otters", name="<script>", star="yes", tags="<b>", pager="yes")

    page = (await ada.open("/rules")).text
    assert "&lt;script&gt;" in page
    assert "<script>" not in page.replace('<script src="', "")
    assert "&lt;b&gt;" in page


async def test_a_click_mutes_a_word_hides_its_articles_and_can_be_undone(ada: Person) -> None:
    article = article_ids((await ada.open("/read")).text)["Otters return to the river"]
    menu = (await ada.part(f"/articles/{article}/mute")).text
    assert re.findall(r'aria-label="Mute (\w+ [^"]+)"', menu) == [
        "source River &lt;News&gt;", "author Ann Writer", "word Otters", "word return", "word river",
    ]  # fmt: skip

    muted = (await ada.send("POST", f"/articles/{article}/mute", kind="word", value="Otters")).text
    assert "2 articles hidden" in muted
    assert shown((await ada.open("/read")).text) == ["Heron seen at dawn"]
    assert "2 articles hidden in 30 days" in (await ada.open("/rules")).text

    again = (await ada.send("POST", f"/articles/{article}/mute", kind="word", value="Otters")).text
    assert "0 articles hidden" in again

    (undo,) = re.findall(r'hx-post="(/rules/[^"]+/unmute)"', muted)
    assert "no longer muted" in (await ada.send("POST", undo)).text
    assert len(shown((await ada.open("/read")).text)) == 3
    assert "Nothing is muted." in (await ada.open("/rules")).text


@pytest.mark.parametrize("kind", ["author", "source"])
async def test_an_author_or_a_source_is_muted(ada: Person, kind: str) -> None:
    article = article_ids((await ada.open("/read")).text)["Heron seen at dawn"]
    menu = (await ada.part(f"/articles/{article}/mute")).text
    (value,) = re.findall(rf'name="kind" value="{kind}"><input type="hidden" name="value" value="([^"]+)"', menu)

    answer = await ada.submit(f"/articles/{article}/mute", kind=kind, value=value)

    assert answer.headers["location"] == "/rules#mutes"
    assert shown((await ada.open("/read")).text) == []
    name = {"author": "Ann Writer", "source": "River &lt;News&gt;"}[kind]
    assert f'<b dir="auto">{name}</b>' in (await ada.open("/rules")).text


@pytest.mark.parametrize(
    "form",
    [
        {"kind": "word", "value": "  "},
        {"kind": "word", "value": "***"},
        {"kind": "word", "value": "x" * 201},
        {"kind": "source", "value": "x"},
        {"kind": "source", "value": "00000000-0000-0000-0000-000000000007"},
        {"kind": "everything", "value": "x"},
        {},
    ],
)
async def test_what_cannot_be_muted_is_refused(ada: Person, form: dict[str, str]) -> None:
    article = article_ids((await ada.open("/read")).text)["Heron seen at dawn"]

    assert (await ada.send("POST", f"/articles/{article}/mute", **(form or {"x": "y"}))).status_code == 400
    assert len(shown((await ada.open("/read")).text)) == 3


async def test_a_word_with_quotes_is_muted_as_it_is(ada: Person) -> None:
    article = article_ids((await ada.open("/read")).text)["Heron seen at dawn"]

    answer = await ada.send("POST", f"/articles/{article}/mute", kind="word", value='the "river" -or- (x')

    assert answer.status_code == 200
    assert len(shown((await ada.open("/read")).text)) == 3

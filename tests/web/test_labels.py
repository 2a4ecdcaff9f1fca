"""The pages about labels: the numbers, the queue where methods disagree, and labels that people set."""

import re
from collections.abc import AsyncIterator

import pytest
from litestar import Litestar

from headwater.accounts.types import Role
from headwater.audit import store as audit
from headwater.audit.types import HEADWATER
from headwater.db import Database, fetch_value
from headwater.labels.store import find_labels, replace_labels
from headwater.labels.types import Method, NewLabel, Scheme
from headwater.sources.subscribe import add_feed
from headwater.types import ArticleId
from headwater.understanding.rulebook import operate
from headwater.understanding.rulebook.types import RuleFields
from tests.app import create_app
from tests.builders import a_source
from tests.clock import START, MovableClock
from tests.labels.given import an_article_of, disagree, say
from tests.web.test_moderation import set_role
from tests.web.visitor import Person, a_person

pytestmark = pytest.mark.database
REVIEW = "/admin/labels/review"


@pytest.fixture
def app(database: Database, clock: MovableClock) -> Litestar:
    return create_app(database, clock)


@pytest.fixture
async def mo(app: Litestar, database: Database) -> AsyncIterator[Person]:
    """A moderator; the first account is an administrator's."""
    async with a_person(app) as first, a_person(app) as person:
        await first.register("first@example.com")
        await person.register("mo@example.com")
        await set_role(database, "mo@example.com", Role.MODERATOR)
        yield person


@pytest.fixture
async def disputed(database: Database) -> ArticleId:
    async with database.transaction() as conn:
        article_id = await an_article_of(conn, "<b>Bold</b> & brave")
        await disagree(conn, article_id)
    return article_id


async def shown(database: Database, article_id: ArticleId) -> list[str]:
    async with database.transaction() as conn:
        found = await find_labels(conn, article_ids=[article_id], only_shown=True)
    return sorted(one.label for one in found.get(article_id, []))


async def actions(database: Database) -> list[tuple[str, str]]:
    async with database.as_system() as conn:
        found = await audit.list_entries(conn, limit=50)
    return [(str(one.action), one.actor_name) for one in found.entries]


async def test_without_labels_the_pages_say_so(mo: Person) -> None:
    assert "No labels yet." in (await mo.open("/admin/labels")).text
    assert "Nothing to review." in (await mo.open(REVIEW)).text


async def test_readers_may_not_see_them(app: Litestar, mo: Person, disputed: ArticleId) -> None:
    async with a_person(app) as ada:
        await ada.register("ada@example.com")

        for path in ("/admin/labels", REVIEW, f"/admin/labels/{disputed}"):
            assert (await ada.open(path)).status_code == 403
        assert (await ada.send("POST", f"/admin/labels/{disputed}/type", labels="job")).status_code == 403


async def test_the_overview_counts_labels_methods_and_progress(
    mo: Person, database: Database, disputed: ArticleId
) -> None:
    async with database.transaction() as conn:
        await say(conn, disputed, Method.MODEL, "quality", scheme=Scheme.QUALITY, score=0.93)
        await say(conn, disputed, Method.AI, "sport", scheme=Scheme.TOPIC)
        source = await a_source(conn, url="https://good.example/feed", name="Good & true")
        values = {"id": source.id, "now": START}
        await conn.execute("UPDATE sources SET is_system = true WHERE id = %(id)s", values)
        await conn.execute("INSERT INTO source_reputation VALUES (%(id)s, 40, 71.6, 0.025, 77.8, %(now)s)", values)

    page = (await mo.open("/admin/labels")).text

    assert "Of all 1 article of the last 7 days." in page
    assert re.search(r'<th scope="row">sport</th>.*?1 <span class="quiet">100.0 %', page)
    assert re.search(r'<th scope="row">80 to 100</th>', page)
    assert re.search(r'<th scope="row">Language model</th>.*?33.3 %', page)
    assert re.search(r'Good &amp; true</th><td class="number">78</td><td class="number">72</td>.*?2.5 %', page)
    assert re.search(r'id="disputed-count" class="tally">1<', page)
    assert "/admin/sources/" not in page.split("Best reputation")[1]  # moderators may not open it


async def test_a_line_shows_what_each_method_says(mo: Person, disputed: ArticleId) -> None:
    page = (await mo.open(REVIEW)).text

    assert "&lt;b&gt;Bold&lt;/b&gt; &amp; brave" in page
    assert "https://example.com/1" in page
    assert re.search(r"<b>job</b> · Rule 90 % <span class=\"quiet\">\(deleted rule\)", page)
    assert re.search(r"<b>event</b> · Model 80 % <span class=\"quiet\">\(model 1\)", page)
    assert re.search(r'<button name="labels" value="job" data-key="1">', page)


async def test_a_rule_is_shown_by_its_name(mo: Person, database: Database, disputed: ArticleId) -> None:
    fields = RuleFields("Jobs & more", Scheme.TYPE, "job", ["vacancy"])
    async with database.transaction() as conn:
        rule = await operate.create(conn, fields=fields, actor=HEADWATER, now=START)
        new = {disputed: [NewLabel(Scheme.TYPE, "job", 0.9, f"{rule.id} 1")]}
        await replace_labels(conn, given=new, method=Method.RULE, schemes=[Scheme.TYPE], now=START)

    assert "(Jobs &amp; more, version 1)" in (await mo.open(REVIEW)).text
    assert "(Jobs &amp; more, version 1)" in (await mo.part(f"/admin/labels/{disputed}")).text


async def test_one_click_sets_a_label_and_another_undoes_it(
    mo: Person, database: Database, disputed: ArticleId
) -> None:
    await mo.open(REVIEW)

    said = await mo.send("POST", f"/admin/labels/{disputed}/type", labels="event", is_review="yes")

    assert "type is set to event." in said.text
    assert re.search(r'id="disputed-count" class="tally" hx-swap-oob="true">0<', said.text)
    assert await shown(database, disputed) == ["event"]
    assert "Nothing to review." in (await mo.open(REVIEW)).text

    undone = await mo.send("POST", f"/admin/labels/{disputed}/type/withdraw", is_review="yes")

    assert '<button name="labels" value="event"' in undone.text
    assert await shown(database, disputed) == ["job"]
    assert await actions(database) == [("labels.withdrawn", "mo@example.com"), ("labels.set", "mo@example.com")]


async def test_the_queue_works_without_scripts(mo: Person, database: Database, disputed: ArticleId) -> None:
    await mo.open(REVIEW)

    went = await mo.submit(f"/admin/labels/{disputed}/type", labels="recipe", is_review="yes")

    assert (went.status_code, went.headers["location"]) == (303, REVIEW)
    assert await shown(database, disputed) == ["recipe"]


async def test_skipping_shows_older_articles_only(mo: Person, database: Database, disputed: ArticleId) -> None:
    async with database.transaction() as conn:
        older = await an_article_of(conn, "Another", url="https://example.com/2")
        await disagree(conn, older)
    newest, oldest = sorted([disputed, older], reverse=True)

    page = (await mo.open(f"{REVIEW}?before={newest}")).text

    assert f"label-{oldest}-type" in page
    assert f"label-{newest}-type" not in page
    assert "No older articles to review." in (await mo.open(f"{REVIEW}?before={oldest}")).text
    assert (await mo.open(f"{REVIEW}?before=x")).status_code == 400


async def test_what_only_private_feeds_list_is_not_in_the_queue(
    mo: Person, database: Database, disputed: ArticleId
) -> None:
    async with database.transaction() as conn:
        await conn.execute("UPDATE sources SET is_system = false, feed_url = feed_url || '?key=8c1f2a'")

    page = (await mo.open(REVIEW)).text

    assert str(disputed) not in page
    assert "Bold" not in page


async def test_labels_of_what_only_private_feeds_list_are_shown_to_its_readers_only(
    mo: Person, database: Database, disputed: ArticleId
) -> None:
    async with database.transaction() as conn:
        url = await fetch_value(conn, "SELECT feed_url FROM sources")
        await conn.execute("UPDATE sources SET is_system = false, feed_url = feed_url || '?key=8c1f2a'")
    place = f"/admin/labels/{disputed}"

    shown = await mo.send("GET", place)
    given = await mo.send("POST", f"{place}/type", labels="event")
    withdrawn = await mo.send("POST", f"{place}/type/withdraw")
    async with database.as_system() as conn:
        user_id = await fetch_value(conn, "SELECT id FROM users WHERE email = 'mo@example.com'")
        await add_feed(conn, user_id=user_id, name="Mine", url=url, now=START)

    assert [one.status_code for one in (shown, given, withdrawn)] == [404] * 3
    assert (await mo.send("GET", place)).status_code == 200


LINE = re.compile(r"data-line[ >]")


async def test_a_long_queue_has_pages(
    mo: Person, database: Database, disputed: ArticleId, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headwater.web.routes.admin.labels.PAGE", 1)
    async with database.transaction() as conn:
        await disagree(conn, await an_article_of(conn, "Another", url="https://example.com/2"))

    first = (await mo.open(REVIEW)).text
    found = re.search(r'href="(/admin/labels/review\?before=[^"]+)">Next<', first)

    assert found is not None
    assert len(LINE.findall(first)) == 1
    assert len(LINE.findall((await mo.open(found[1])).text)) == 1


async def test_the_labels_of_any_article_can_be_set_and_withdrawn(
    mo: Person, database: Database, disputed: ArticleId
) -> None:
    part = (await mo.part(f"/admin/labels/{disputed}")).text
    assert "What each method says." in part
    assert "quality" not in part  # it is computed

    topics = await mo.client.post(
        f"/admin/labels/{disputed}/topic",
        headers={"HX-Request": "true", "X-CSRF-Token": mo.token},
        data={"labels": ["sport", "health"]},
    )
    await mo.send("POST", f"/admin/labels/{disputed}/keyword", keywords="river, two words,, river")
    language = await mo.send("POST", f"/admin/labels/{disputed}/language", labels="PT")

    assert "Saved." in topics.text
    assert "<b>pt</b> · set by a person" in language.text
    assert await shown(database, disputed) == ["health", "job", "pt", "river", "sport", "two words"]
    withdrawn = await mo.send("POST", f"/admin/labels/{disputed}/topic/withdraw")
    assert "Withdrawn." in withdrawn.text
    assert await shown(database, disputed) == ["job", "pt", "river", "two words"]


async def test_what_the_vocabulary_does_not_have_is_refused_in_place(
    mo: Person, database: Database, disputed: ArticleId
) -> None:
    await mo.open(REVIEW)
    nobodys = "00000000-0000-0000-0000-000000000007"

    refused = await mo.send("POST", f"/admin/labels/{disputed}/type", labels="<i>poem</i>")

    assert (refused.status_code, refused.headers["hx-retarget"]) == (400, f"#label-{disputed}-type-errors")
    assert "&lt;i&gt;poem&lt;/i&gt;" in refused.text
    for scheme in ("quality", "mood"):
        assert (await mo.send("POST", f"/admin/labels/{disputed}/{scheme}", labels="job")).status_code == 400
    assert (await mo.send("POST", f"/admin/labels/{disputed}/type")).status_code == 400
    assert (await mo.send("POST", f"/admin/labels/{disputed}/type/withdraw")).status_code == 404
    assert (await mo.send("POST", f"/admin/labels/{nobodys}/type", labels="job")).status_code == 404
    assert (await mo.part(f"/admin/labels/{nobodys}")).status_code == 404
    assert await actions(database) == []


async def test_a_label_of_the_page_is_a_revision(mo: Person, database: Database, disputed: ArticleId) -> None:
    async with database.transaction() as conn:
        await conn.execute("UPDATE article_state SET classified_at = now()")
    await mo.open(REVIEW)
    revision = 0
    for path in ("type", "type/withdraw"):
        await mo.send("POST", f"/admin/labels/{disputed}/{path}", labels="event", is_review="yes")
        async with database.transaction() as conn:
            before, revision = revision, await fetch_value(conn, "SELECT revision FROM article_state")
        assert revision > before

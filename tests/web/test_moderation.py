"""The moderation page: pending suggestions, decisions in place, and blocked domains."""

import re
from collections.abc import AsyncIterator
from html import unescape

import pytest
from litestar import Litestar

from headwater.accounts.decide import email_key
from headwater.accounts.store import users
from headwater.accounts.types import Role, User
from headwater.db import Database
from headwater.sources.custom import store as custom_store
from headwater.sources.custom.inspect import Inspector
from headwater.sources.custom.submit import submit
from headwater.sources.custom.types import CustomFeed, Proposal
from headwater.sources.follow import follow
from headwater.web import WebOptions
from tests.app import create_app
from tests.clock import MovableClock
from tests.site import MakeInspector, Site, a_site, inspectors, rss
from tests.web.visitor import Person, a_person

pytestmark = pytest.mark.database
WHY = "It is a farm of links."


@pytest.fixture(scope="module")
async def make_inspector() -> AsyncIterator[MakeInspector]:
    async with inspectors() as make:
        yield make


@pytest.fixture
def inspector(make_inspector: MakeInspector, database: Database, clock: MovableClock) -> Inspector:
    return make_inspector(database, clock)


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with a_site() as one:
        one.answers["good.example/feed"] = rss("Good News", "The harbour opens", "<b>Bold</b> & brave")
        yield one


@pytest.fixture
def app(database: Database, clock: MovableClock, inspector: Inspector) -> Litestar:
    return create_app(database, clock, web=WebOptions(inspector=inspector))


@pytest.fixture
async def mo(app: Litestar, database: Database) -> AsyncIterator[Person]:
    """A moderator; the first account is an administrator's."""
    async with a_person(app) as first, a_person(app) as person:
        await first.register("first@example.com")
        await person.register("mo@example.com")
        await set_role(database, "mo@example.com", Role.MODERATOR)
        yield person


@pytest.fixture
async def ada(app: Litestar, mo: Person, database: Database) -> User:
    async with a_person(app) as person:
        await person.register("ada@example.com")
    return await find(database, "ada@example.com")


async def find(database: Database, email: str) -> User:
    async with database.as_system() as conn:
        found = await users.find_credentials(conn, email_key=email_key(email))
    assert found is not None
    return found.user


async def set_role(database: Database, email: str, role: Role) -> None:
    user = await find(database, email)
    async with database.as_system() as conn:
        await users.set_role(conn, user_id=user.id, role=role)


class Desk:
    """Suggests feeds as Ada does."""

    def __init__(self, database: Database, inspector: Inspector, site: Site, clock: MovableClock, ada: User) -> None:
        self.database, self.inspector, self.site, self.clock, self.ada = database, inspector, site, clock, ada

    async def suggest(self, place: str = "good.example/feed", name: str = "Good News") -> CustomFeed:
        self.clock.move(seconds=1)
        self.site.answers.setdefault(place, rss(name, "x"))
        proposal = Proposal(name, self.site.url(place), "News", 30)
        return await submit(self.database, self.inspector, self.clock, user=self.ada, proposal=proposal)

    async def karma(self) -> int:
        async with self.database.as_system() as conn:
            return await users.find_karma(conn, user_id=self.ada.id)

    async def status(self) -> list[tuple[str, str | None]]:
        async with self.database.as_user(self.ada.id) as conn:
            return [(one.status.value, one.reason) for one in await custom_store.list_own(conn, limit=50)]


@pytest.fixture
def desk(database: Database, inspector: Inspector, site: Site, clock: MovableClock, ada: User) -> Desk:
    return Desk(database, inspector, site, clock, ada)


async def test_an_empty_queue_says_so(mo: Person) -> None:
    page = (await mo.open("/admin/moderation")).text

    assert "No pending suggestions." in page
    for show in ("unreviewed", "approved", "rejected"):
        assert (await mo.open(f"/admin/moderation?show={show}")).status_code == 200
    assert "No blocked domains." in (await mo.open("/admin/moderation/domains")).text


async def test_a_line_has_what_a_decision_needs(mo: Person, desk: Desk) -> None:
    async with desk.database.as_system() as conn:
        await follow(conn, url="https://elsewhere.example/rss", name="Good news", now=desk.clock())
    feed = await desk.suggest()

    page = (await mo.open("/admin/moderation")).text

    for text in (
        "Good News",
        feed.url,
        "ada@example.com",
        "reputation 0, 0 approved, 0 rejected",
        "2 articles",
        "The harbour opens",
        "Bold &amp; brave",
        "polled every 30 minutes",
        "Possible duplicates",
        "same name",
    ):
        assert text in page
    assert '<span id="waiting-count" class="tally">1</span>' in page


async def test_approving_replaces_the_line(mo: Person, desk: Desk) -> None:
    feed = await desk.suggest()
    await mo.open("/admin/moderation")

    said = await mo.send("POST", f"/admin/moderation/{feed.id}/approve")

    assert said.status_code == 200
    assert "is approved" in said.text
    assert "now has a reputation of 1" in said.text
    assert 'hx-swap-oob="true">0<' in said.text
    assert await desk.status() == [("approved", None)]
    assert await desk.karma() == 1
    assert "Good News" in (await mo.open("/admin/moderation?show=approved")).text


async def test_rejecting_requires_a_reason_and_shows_it(mo: Person, desk: Desk) -> None:
    feed = await desk.suggest()
    await mo.open("/admin/moderation")

    without = await mo.send("POST", f"/admin/moderation/{feed.id}/reject", reason=" ")
    said = await mo.send("POST", f"/admin/moderation/{feed.id}/reject", reason=WHY)

    assert (without.status_code, without.headers["hx-retarget"]) == (400, f"#suggestion-{feed.id}-errors")
    assert "A reason of 1 to" in without.text
    assert WHY in said.text
    assert await desk.status() == [("rejected", WHY)]
    assert WHY in (await mo.open("/admin/moderation?show=rejected")).text


async def test_a_decision_of_another_moderator_is_reported(mo: Person, desk: Desk) -> None:
    feed = await desk.suggest()
    await mo.open("/admin/moderation")
    await mo.send("POST", f"/admin/moderation/{feed.id}/approve")

    again = await mo.send("POST", f"/admin/moderation/{feed.id}/reject", reason=WHY)
    nothing = await mo.send("POST", "/admin/moderation/00000000-0000-0000-0000-000000000007/approve")

    assert (again.status_code, nothing.status_code) == (409, 404)
    assert "is already approved" in unescape(again.text)


async def test_forms_work_without_scripts(mo: Person, desk: Desk) -> None:
    feed = await desk.suggest()
    await mo.open("/admin/moderation")

    went = await mo.submit(f"/admin/moderation/{feed.id}/reject", reason=WHY)
    blocked = await mo.submit("/admin/moderation/domains", domain="spam.example", reason=WHY)

    assert (went.status_code, went.headers["location"]) == (303, "/admin/moderation")
    assert (blocked.status_code, blocked.headers["location"]) == (303, "/admin/moderation/domains")
    assert await desk.status() == [("rejected", WHY)]


async def test_new_suggestions_are_appended(mo: Person, desk: Desk) -> None:
    await desk.suggest()
    page = (await mo.open("/admin/moderation")).text
    watch = re.search(r'class="watch" hidden hx-get="([^"]+)"', page)
    assert watch is not None

    nothing = await mo.part(unescape(watch[1]))
    await desk.suggest("next.example/feed", "Next")
    news = await mo.part(unescape(watch[1]))

    assert nothing.status_code == 204
    assert "Next" in news.text
    assert "Good News" not in news.text
    assert 'hx-swap-oob="true">2<' in news.text


async def test_a_long_queue_has_pages(mo: Person, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headwater.web.routes.admin.moderation.PAGE", 2)
    for number in range(3):
        await desk.suggest(f"n{number}.example/feed", f"Number {number}")

    first = (await mo.open("/admin/moderation")).text
    follows = re.search(r'href="([^"]+)">Next<', first)
    assert follows is not None
    second = (await mo.open(unescape(follows[1]))).text

    assert [n for n in range(3) if f"Number {n}" in first] == [0, 1]
    assert [n for n in range(3) if f"Number {n}" in second] == [2]


async def test_the_queue_is_searched(mo: Person, desk: Desk) -> None:
    await desk.suggest()
    await desk.suggest("next.example/feed", "Next")

    assert "Good News" not in (await mo.open("/admin/moderation?q=NEXT")).text
    assert "No suggestions match" in (await mo.open("/admin/moderation?q=zzz")).text


@pytest.mark.parametrize("query", ["show=odd", "cursor=odd", "cursor=é", "q=" + "x" * 201, "q=%00"])
async def test_invalid_filters_are_refused_with_a_message(mo: Person, query: str) -> None:
    for path in ("/admin/moderation", "/admin/moderation/more"):
        assert (await mo.open(f"{path}?{query}")).status_code == 400


async def test_domains_are_blocked_and_unblocked(mo: Person, desk: Desk) -> None:
    feed = await desk.suggest()
    page = (await mo.open(f"/admin/moderation/domains?domain={'good.example'}")).text
    assert 'value="good.example"' in page

    blocked = await mo.send("POST", "/admin/moderation/domains", domain="good.example", reason=WHY, reject="yes")
    again = await mo.send("POST", "/admin/moderation/domains", domain="GOOD.example", reason=WHY)
    odd = await mo.send("POST", "/admin/moderation/domains", domain="com", reason=WHY)
    unblocked = await mo.send("POST", "/admin/moderation/domains/unblock", domain="good.example")
    gone = await mo.send("POST", "/admin/moderation/domains/unblock", domain="good.example")

    assert "1 suggestion was rejected" in blocked.text
    assert await desk.status() == [("rejected", WHY)]
    assert (again.status_code, odd.status_code, gone.status_code) == (409, 400, 404)
    assert "No blocked domains." in unblocked.text
    assert str(feed.id) in (await mo.open("/admin/moderation?show=rejected")).text


async def test_auto_approved_suggestions_can_be_confirmed_or_rejected(mo: Person, desk: Desk) -> None:
    async with desk.database.as_system() as conn:
        await users.add_karma(conn, user_id=desk.ada.id, karma=10)
    first, second = await desk.suggest(), await desk.suggest("next.example/feed", "Next")
    page = (await mo.open("/admin/moderation?show=unreviewed")).text
    assert "Confirm" in page

    await mo.send("POST", f"/admin/moderation/{first.id}/approve")
    assert await desk.karma() == 11
    await mo.send("POST", f"/admin/moderation/{second.id}/reject", reason=WHY)
    assert await desk.karma() == 10


async def test_a_moderator_reaches_suggestions_and_labels_only(mo: Person) -> None:
    page = (await mo.open("/admin/moderation")).text

    tabs = re.search(r'<nav class="tabs".*?</nav>', page, re.DOTALL)
    assert tabs is not None
    assert re.findall(r'href="([^"]+)"', tabs[0]) == [
        "/admin/moderation", "/admin/labels", "/admin/rules", "/admin/stories", "/admin/channels",
    ]  # fmt: skip
    for path in ("/admin/people", "/admin/audit", "/admin/settings"):
        assert (await mo.open(path)).status_code == 403

"""An operator before the frontier and the popularity of sources, a reader before the question, in a real browser."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Browser, Dialog, Page, Route, expect

from headwater.analytics.types import ReaderAction
from headwater.articles.store.content import save
from headwater.db import Database
from headwater.frontier.store import changes, claims, queue
from headwater.frontier.types import Answered, GivenUp, HostAnswer, Origin, Submission
from headwater.ids import new_id
from headwater_lab.zoo import Zoo
from tests.ai.spending import spend
from tests.analytics.crowd import a_crowd, does
from tests.articles.builders import a_content, a_record
from tests.builders import a_source
from tests.flows.browser.person import CHROMIUM, Place, open_page, register
from tests.flows.browser.served import Served, serve_pages
from tests.flows.browser.test_every_page import faults_of

pytestmark = [pytest.mark.database, pytest.mark.soak]

DEAD = [f"https://gone{n}.example/a/long/way/to/a/story-that-is-not-there-any-more-{n}.html" for n in range(6)]


@pytest.fixture(scope="module")
def served(server_conninfo: str) -> Iterator[Served]:
    if CHROMIUM is None:
        pytest.skip("no browser")
    with serve_pages(server_conninfo) as served:
        yield served


@pytest.fixture(scope="module")
def operator(browser: Browser, served: Served) -> Iterator[Page]:
    """Whoever registers first looks after the place."""
    with open_page(browser, place_of(served)) as page:
        register(page)
        yield page


@pytest.fixture
def dead(served: Served) -> None:
    """URLs that were given up."""

    async def fill(database: Database) -> None:
        now = datetime.now(UTC)
        async with database.as_system() as conn:
            ids = [one.id for one in await queue.submit(conn, submissions=submitted(), now=now) if one.id]
            await changes.retry(conn, ids=ids, now=now)  # where an earlier test left them
        async with database.as_system() as conn:
            later = now + timedelta(minutes=1)
            hosts = await claims.claim(conn, lease=new_id(), now=later, leased_until=later, hosts=50, urls_per_host=9)
            gone = GivenUp("gone", "410 Gone")
            answers = [HostAnswer(host, now, [Answered(url, gone, now) for url in host.urls]) for host in hosts]
            await claims.answer(conn, answers=answers, now=later)

    served.run(fill)


def submitted() -> list[Submission]:
    return [Submission(url, Origin.MANUAL) for url in DEAD]


def place_of(served: Served) -> Place:
    return Place(served.url, Zoo())


def test_the_frontier_has_no_fault_empty_or_full(operator: Page, served: Served) -> None:
    operator.goto("/admin/frontier", wait_until="networkidle")
    assert faults_of(operator) == []
    expect(operator.get_by_text("The crawl queue is empty")).to_be_visible()


def test_what_is_chosen_stays_chosen_while_the_table_renews_itself(operator: Page, dead: None) -> None:
    operator.goto("/admin/frontier?status=dead", wait_until="networkidle")
    assert faults_of(operator) == []
    tick = operator.get_by_role("checkbox", name=f"Select {DEAD[2]}")
    tick.check()

    with operator.expect_response("**/admin/frontier/urls?**"):
        operator.locator("#frontier-filters [name=origin]").select_option("manual")
    operator.wait_for_load_state("networkidle")

    expect(tick).to_be_checked()
    bar = operator.get_by_role("form", name="Selected URLs")
    expect(bar.locator(".chosen")).to_have_text("1 selected")
    bar.get_by_role("button", name="Preview").press("Enter")
    expect(operator.get_by_role("heading", name="Retry 1 URL?")).to_be_visible()
    assert faults_of(operator) == []
    operator.get_by_role("button", name="Retry 1 URL").press("Enter")
    expect(operator.get_by_text("1 URL queued for retry.")).to_be_visible()
    expect(operator.locator(".of-urls .queued")).to_have_count(len(DEAD) - 1)
    expect(bar).to_be_hidden()


def test_deleting_asks_first_and_the_line_goes_without_a_reload(operator: Page, dead: None) -> None:
    operator.goto("/admin/frontier?status=dead", wait_until="networkidle")
    asked: list[str] = []

    def refuse(dialog: Dialog) -> None:
        asked.append(dialog.message)
        dialog.dismiss()

    def agree(dialog: Dialog) -> None:
        asked.append(dialog.message)
        dialog.accept()

    operator.once("dialog", refuse)
    button = operator.get_by_role("button", name=f"Delete {DEAD[0]}")
    button.click()
    expect(operator.locator(".of-urls .queued")).to_have_count(len(DEAD))

    operator.once("dialog", agree)
    button.click()

    expect(operator.get_by_text("1 URL deleted.")).to_be_visible()
    expect(operator.locator(".of-urls .queued")).to_have_count(len(DEAD) - 1)
    assert all(DEAD[0] in message for message in asked)
    assert len(asked) == 2


def test_all_that_fit_are_tried_again_and_it_says_how_many(operator: Page, dead: None) -> None:
    operator.goto("/admin/frontier", wait_until="networkidle")
    operator.locator("#frontier-filters [name=status]").select_option("dead")
    expect(operator).to_have_url("/admin/frontier?status=dead")
    operator.get_by_role("checkbox", name="Select all URLs shown").check()

    operator.get_by_role("button", name="Preview").click()
    operator.get_by_role("button", name=f"Retry {len(DEAD)} URLs").click()

    expect(operator.get_by_text(f"{len(DEAD)} URLs queued for retry.")).to_be_visible()
    expect(operator.get_by_text("No URLs match this filter.")).to_be_visible()


@pytest.mark.parametrize("width", [390, 1440])
def test_the_frontier_is_sorted_by_keyboard(operator: Page, dead: None, width: int) -> None:
    operator.set_viewport_size({"width": width, "height": 900})
    operator.goto("/admin/frontier?status=dead", wait_until="networkidle")

    operator.locator("#sort-retries").press("Enter")

    expect(operator).to_have_url("/admin/frontier?status=dead&sort=-retries")
    expect(operator.locator(".of-urls .queued")).to_have_count(len(DEAD))
    expect(operator.locator("th[aria-sort=descending]")).to_contain_text("Retries")
    assert faults_of(operator) == []
    assert operator.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_url_is_submitted_and_appears(operator: Page) -> None:
    operator.goto("/admin/frontier?host=new.example", wait_until="networkidle")
    operator.get_by_text("Submit a URL", exact=True).click()
    operator.get_by_label("URL", exact=True).fill("https://new.example/story")
    operator.get_by_role("button", name="Submit").click()

    expect(operator.get_by_text("https://new.example/story is queued.")).to_be_visible()
    expect(operator.locator(".of-urls .queued")).to_have_count(1)


def test_popularity_has_no_fault_empty_or_full(operator: Page, served: Served) -> None:
    operator.goto("/admin/popularity", wait_until="networkidle")
    assert faults_of(operator) == []

    async def fill(database: Database) -> None:
        crowd = await a_crowd(database, size=4)
        for reader in crowd.readers:
            for deed in (ReaderAction.OPEN, ReaderAction.CLICK):
                await does(database, reader, deed, crowd.articles[0], datetime.now(UTC))

    served.run(fill)
    operator.goto("/admin/popularity?period=day", wait_until="networkidle")

    assert faults_of(operator) == []
    expect(operator.get_by_role("row", name="Daily")).to_contain_text("100 %")
    operator.get_by_role("link", name="Stars").press("Enter")
    expect(operator).to_have_url("/admin/popularity?period=day&sort=stars")


def test_ai_usage_has_no_fault_and_its_ceiling_is_changed_by_keyboard(operator: Page, served: Served) -> None:
    operator.goto("/admin/ai-usage", wait_until="networkidle")
    assert faults_of(operator) == []
    today = datetime.now(UTC).date().isoformat()

    async def fill(database: Database) -> None:
        await spend(database, today, 400_000_000, requests=1000, failures=2, tokens=(10**6, 10**5))

    served.run(fill)
    operator.goto("/admin/ai-usage", wait_until="networkidle")
    expect(operator.get_by_text("Saving: from 75 % on")).to_be_visible()
    assert faults_of(operator) == []

    operator.get_by_label("Dollars").fill("1000")
    operator.get_by_label("Dollars").press("Enter")
    expect(operator.get_by_role("status")).to_contain_text("is $1,000.00 now. It was $500.00.")
    expect(operator.get_by_text("Normal", exact=True)).to_be_visible()
    operator.get_by_label("Dollars").fill("a lot")
    operator.get_by_role("button", name="Change").click()
    expect(operator.locator("#ceiling-errors")).to_contain_text("Enter an amount in dollars")
    assert faults_of(operator) == []


@pytest.fixture
def reader(browser: Browser, served: Served) -> Iterator[Page]:
    """Somebody who follows a feed with an article."""
    with open_page(browser, place_of(served)) as page:
        email = register(page)

        async def fill(database: Database) -> None:
            crowd = await a_crowd(database, name=f"stream{email[:6]}", size=1, agree=False)
            async with database.as_system() as conn:
                await conn.execute(
                    """
                    INSERT INTO subscriptions (id, user_id, source_id, name, created_at)
                    SELECT gen_random_uuid(), id, %(source)s, 'Stream', now() FROM users WHERE email = %(email)s
                    """,
                    {"source": crowd.source.id, "email": email},
                )

        served.run(fill)
        page.context.route("https://*.example/**", answer_elsewhere)
        yield page


def answer_elsewhere(route: Route) -> None:
    route.fulfill(status=200, content_type="text/html", body="<title>The original</title>")


def clicks(served: Served) -> int:
    async def count(database: Database) -> int:
        async with database.as_system() as conn:
            row = await (await conn.execute("SELECT count(*) FROM feed_item_clicks WHERE kind = 'click'")).fetchone()
        return row[0] if row else 0

    return served.run(count)


def read_the_original(page: Page) -> Page:
    page.goto("/read?shelf=all", wait_until="networkidle")
    with page.context.expect_page() as opened:
        page.locator("[data-original]").first.click()
    opened.value.wait_for_load_state()
    return opened.value


def test_a_reader_consents_on_the_dashboard_and_clicks_are_sent_separately(reader: Page, served: Served) -> None:
    before = clicks(served)
    reader.goto("/dashboard", wait_until="networkidle")
    assert faults_of(reader) == []
    reader.get_by_role("button", name="Yes", exact=True).click()
    expect(reader.get_by_text("Thank you.")).to_be_visible()
    assert faults_of(reader) == []

    with reader.expect_response("**/click") as told:
        original = read_the_original(reader)

    assert told.value.status == 204
    assert original.title() == "The original"
    assert original.url.startswith("https://stream")
    assert clicks(served) == before + 1
    reader.goto("/dashboard", wait_until="networkidle")
    expect(reader.get_by_text("May we count")).to_have_count(0)


def test_clicks_of_a_reader_who_declined_are_not_sent(reader: Page, served: Served) -> None:
    told: list[str] = []
    reader.on("request", lambda request: told.append(request.url) if request.url.endswith("/click") else None)
    reader.goto("/dashboard", wait_until="networkidle")
    reader.get_by_role("button", name="No", exact=True).click()
    expect(reader.get_by_text("You will not be asked again.")).to_be_visible()

    original = read_the_original(reader)

    assert original.title() == "The original"
    assert told == []


def test_a_link_works_when_sending_the_click_fails(reader: Page, served: Served) -> None:
    reader.goto("/account#analytics")
    reader.get_by_role("button", name="Allow counting").click()
    expect(reader.get_by_text("You agreed.")).to_be_visible()
    reader.route("**/click", lambda route: route.abort())

    original = read_the_original(reader)

    assert original.title() == "The original"


def test_a_browser_that_asks_not_to_be_followed_is_not_asked(browser: Browser, served: Served) -> None:
    with open_page(browser, place_of(served), extra_http_headers={"Sec-GPC": "1"}) as page:
        register(page)
        page.goto("/dashboard", wait_until="networkidle")

        expect(page.get_by_text("May we count")).to_have_count(0)
        page.goto("/account")
        expect(page.get_by_text("sends Do Not Track or Global Privacy Control")).to_be_visible()


def test_the_page_of_all_components_has_no_fault(operator: Page) -> None:
    operator.goto("/admin/design", wait_until="networkidle")

    assert faults_of(operator) == []
    for name in ("Text", "Colours", "Buttons", "Form fields", "Messages and states", "Articles: cards", "Empty lists"):
        expect(operator.get_by_role("heading", name=name, exact=True)).to_be_visible()


def test_a_url_of_the_crawl_queue_leads_to_its_article(operator: Page, served: Served) -> None:
    url = "https://harbour.example/bridge.html"

    async def fill(database: Database) -> None:
        async with database.as_system() as conn:
            source = await a_source(
                conn, url="https://harbour.example/feed", name="Harbour Post", now=datetime.now(UTC)
            )
            await queue.submit(conn, submissions=[Submission(url, Origin.MANUAL)], now=datetime.now(UTC))
            record = await a_content(conn, source.id, url, a_record())
            await save(conn, records=[record], now=datetime.now(UTC))

    served.run(fill)
    operator.goto("/admin/frontier?host=harbour.example", wait_until="networkidle")
    operator.get_by_role("link", name=f"Article of {url}").press("Enter")

    expect(operator.get_by_role("heading", name="Labels")).to_be_visible()
    assert faults_of(operator) == []
    expect(operator.get_by_role("link", name="Harbour Post")).to_be_visible()

"""The whole story in a real browser: make an account, follow, read, keep, find, leave; on a phone, by keyboard."""

import re
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.flows.browser.newsstand import open_newsstand
from tests.flows.browser.person import (
    PASSWORD,
    PHONE,
    Place,
    feed_line,
    follow,
    open_page,
    overflow_of,
    register,
    state_of,
    subscribe,
)

LIST = "/read?shelf=all"


class Reader(NamedTuple):
    """Somebody who follows two feeds of the zoo: many articles in two languages."""

    email: str
    profile: dict[str, object]


@pytest.fixture(scope="module")
def reader(browser: Browser, place: Place) -> Reader:
    with open_page(browser, place) as page:
        email = register(page)
        follow(page, "Zoo Daily", place.zoo.url("daily", "/feed.xml"), "News")
        follow(page, "Rivage", place.zoo.url("rivage", "/flux.xml"))
        return Reader(email, dict(page.context.storage_state()))


@pytest.fixture
def at_list(browser: Browser, place: Place, reader: Reader) -> Iterator[Page]:
    with open_page(browser, place, storage_state=reader.profile) as page:
        page.goto(LIST)
        yield page


@pytest.fixture
def at_feeds(browser: Browser, place: Place, reader: Reader) -> Iterator[Page]:
    with open_page(browser, place, storage_state=reader.profile) as page:
        page.goto("/dashboard")
        expect(state_of(page, "Zoo Daily")).to_be_visible()
        yield page


def test_register_follow_read_star_search_and_log_out(page: Page, place: Place) -> None:
    register(page)
    expect(page.locator("#feed-list-container")).to_contain_text("No feeds yet")
    follow(page, "Zoo Daily", place.zoo.url("daily", "/feed.xml"), "News")

    page.get_by_role("link", name="Read", exact=True).click()
    title = page.locator("[data-open]").first.inner_text()
    page.locator("[data-open]").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text(title)
    page.get_by_role("button", name="Star", exact=True).click()
    expect(page.get_by_role("button", name="Unstar")).to_be_visible()

    page.goto("/read?shelf=starred")
    expect(page.locator("[data-open]")).to_have_text([title])
    page.get_by_role("combobox", name="Search these articles").fill(title)
    page.get_by_role("button", name="Search").click()
    expect(page.locator("[data-open]")).to_have_text([title])

    page.get_by_role("button", name="Log out").click()
    page.wait_for_url("**/auth/login")
    page.goto("/read")
    expect(page).to_have_url(re.compile("/auth/login$"))


def test_a_feed_changes_from_pending_to_healthy_without_a_reload(at_feeds: Page) -> None:
    with open_newsstand() as stand:
        stand.documents = {"/feed.xml": ("application/rss+xml", RSS)}
        stand.gate.clear()
        subscribe(at_feeds, "Slow Review", stand.url("/feed.xml"))
        expect(state_of(at_feeds, "Slow Review")).to_have_text("Pending")

        stand.gate.set()

        expect(state_of(at_feeds, "Slow Review")).to_have_text("Healthy")
        expect(feed_line(at_feeds, "Slow Review")).to_contain_text("1 article ")


RSS = """<rss version="2.0"><channel><title>Slow Review</title><link>http://x.example/</link>
<item><title>At last</title><link>http://x.example/1</link><description>Good.</description></item></channel></rss>"""


def test_a_day_is_summed_up_where_the_feeds_are(at_feeds: Page) -> None:
    at_feeds.locator("#summary-container").get_by_role("button", name="Generate").click()

    expect(at_feeds.locator("#summary-container")).to_contain_text("Generated on this server")


def test_feeds_come_along_from_another_reader_and_leave_again(page: Page, place: Place) -> None:
    register(page)
    page.get_by_role("link", name="Import and export").click()
    page.get_by_label("OPML file").set_input_files(
        {
            "name": "mine.opml",
            "mimeType": "text/x-opml",
            "buffer": OPML.format(place.zoo.url("daily", "/feed.xml")).encode(),
        }
    )
    page.get_by_role("button", name="Import").click()
    expect(page.locator("#import-progress")).to_contain_text("1 added")

    page.goto("/dashboard")
    expect(state_of(page, "Zoo Daily")).to_be_visible()
    page.get_by_role("link", name="Import and export").click()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download OPML").click()
    assert "daily.zoo.test" in download.value.path().read_text()


OPML = """<opml version="2.0"><body><outline text="News">
<outline type="rss" text="Zoo Daily" xmlUrl="{}"/></outline></body></opml>"""


def test_the_empty_list_leads_to_the_form_that_fills_it(page: Page) -> None:
    register(page)
    page.goto("/read")

    page.get_by_role("link", name="Add a feed").click()

    expect(page.locator("#feed-add-form").get_by_label("Website or feed URL")).to_be_visible()


def test_a_refused_feed_says_why_and_keeps_what_was_typed(at_feeds: Page, place: Place) -> None:
    at_feeds.get_by_text("Add a feed", exact=True).click()
    form = at_feeds.locator("#feed-add-form")
    form.get_by_label("Name").fill("Again")
    form.get_by_label("Website or feed URL").fill(place.zoo.url("daily", "/feed.xml"))

    form.get_by_role("button", name="Add feed").click()

    expect(form.get_by_role("alert")).to_have_text("You have already added this feed")
    expect(form.get_by_label("Name")).to_have_value("Again")


def test_who_comes_back_logs_in(page: Page, reader: Reader) -> None:
    page.goto("/auth/login")
    page.get_by_label("Email").fill(reader.email)
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("alert")).to_contain_text("Invalid email or password")

    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()

    page.wait_for_url(re.compile(r"/read\?shelf=unread$"))


RIGHT_OF_TEXT = """one => {
    const range = document.createRange();
    range.selectNodeContents(one);
    return range.getBoundingClientRect().right;
}"""


def test_a_phone_reaches_everything_and_nothing_sticks_out(browser: Browser, place: Place, reader: Reader) -> None:
    with open_page(
        browser, place, storage_state=reader.profile, viewport=PHONE, has_touch=True, is_mobile=True
    ) as page:
        page.goto(LIST)
        expect(page.locator("#total-unread")).not_to_be_empty()
        name = page.locator(".shelves > ul a").first.evaluate(RIGHT_OF_TEXT)
        number = page.locator("#total-unread").bounding_box()
        assert number
        assert number["x"] >= name
        page.get_by_role("button", name="Choose feed").tap()
        page.locator("#feed-shelves").get_by_role("link", name="Rivage").tap()
        expect(page.get_by_role("heading", level=1)).to_have_text("Rivage")
        widths = [overflow_of(page)]
        page.locator("[data-open]").first.tap()
        expect(page.locator("article.page")).to_be_visible()
        widths.append(overflow_of(page))
        page.get_by_role("button", name="Star", exact=True).tap()
        expect(page.get_by_role("button", name="Unstar")).to_be_visible()
        page.get_by_role("button", name="Unstar").tap()
        page.get_by_role("navigation", name="Main").get_by_role("link", name="Feeds").tap()
        expect(state_of(page, "Rivage")).to_be_visible()
        widths.append(overflow_of(page))

    assert widths == [0, 0, 0]


def test_marking_moves_nothing_and_keeps_the_focus(at_list: Page) -> None:
    line = at_list.locator(".line").nth(1)
    button = line.locator('[data-key="s"]')
    before = [box.bounding_box() for box in (line, at_list.locator(".line").nth(2), button)]
    button.focus()

    at_list.keyboard.press("Enter")

    expect(line.get_by_role("button", name="Unstar")).to_be_focused()
    assert [box.bounding_box() for box in (line, at_list.locator(".line").nth(2), button)] == before
    at_list.keyboard.press("Enter")
    expect(line.get_by_role("button", name="Star", exact=True)).to_be_focused()


def test_the_keys_walk_mark_and_open(at_list: Page) -> None:
    press = at_list.keyboard.press
    lines = at_list.locator(".line")
    press("j")
    press("j")
    expect(lines.nth(1)).to_have_class(re.compile("current"))
    expect(lines.nth(1).locator("[data-open]")).to_be_focused()
    press("k")
    expect(lines.nth(0)).to_have_class(re.compile("current"))
    expect(at_list.locator(".line.current")).to_have_count(1)

    was_read = lines.nth(0).locator('[data-action="unread"]').count()
    press("m")
    expect(lines.nth(0).locator(f'[data-action="{"read" if was_read else "unread"}"]')).to_be_visible()
    press("s")
    expect(lines.nth(0).locator('[data-action="unstar"]')).to_be_visible()
    press("s")
    expect(lines.nth(0).locator('[data-action="star"]')).to_be_visible()
    expect(lines.nth(0).locator("[data-open]")).to_be_focused()

    title = lines.nth(0).locator("[data-open]").inner_text()
    press("Enter")
    expect(at_list.get_by_role("heading", level=1)).to_have_text(title)
    press("s")
    expect(at_list.locator('[data-action="unstar"]')).to_be_visible()
    press("s")
    expect(at_list.locator('[data-action="star"]')).to_be_visible()


def test_o_opens_and_v_opens_the_original_elsewhere(at_list: Page) -> None:
    at_list.keyboard.press("j")
    original = at_list.locator(".line.current [data-original]").get_attribute("href")
    with at_list.context.expect_page() as opened:
        at_list.keyboard.press("v")
    assert opened.value.url in {original, "about:blank", "chrome-error://chromewebdata/"}
    opened.value.close()

    at_list.keyboard.press("o")

    expect(at_list.locator("article.page")).to_be_visible()
    assert at_list.locator("[data-original]").get_attribute("href") == original


def test_walking_on_from_the_last_line_brings_more(at_list: Page) -> None:
    expect(at_list.locator(".line")).to_have_count(30)
    last = at_list.locator(".line").nth(29)
    last.locator("[data-open]").focus()
    at_list.keyboard.press("k")
    at_list.keyboard.press("j")

    at_list.keyboard.press("j")

    expect(at_list.locator(".line").nth(30)).to_have_class(re.compile("current"))
    expect(at_list.locator(".line").nth(30).locator("[data-open]")).to_be_in_viewport()
    at_list.keyboard.press("k")
    expect(last).to_have_class(re.compile("current"))


@pytest.mark.parametrize(
    ("key", "leads"),
    [("a", r"shelf=all"), ("u", r"shelf=unread"), ("s", r"shelf=starred"), ("f", r"/dashboard")],
    ids=["all", "unread", "starred", "feeds"],
)
def test_g_and_a_letter_go_places(at_list: Page, key: str, leads: str) -> None:
    at_list.goto("/account")

    at_list.keyboard.press("g")
    at_list.keyboard.press(key)

    expect(at_list).to_have_url(re.compile(leads))


def test_the_search_is_completed_by_keyboard(at_list: Page) -> None:
    box = at_list.get_by_role("combobox", name="Search these articles")
    options = at_list.get_by_role("listbox", name="Completions").get_by_role("option")
    at_list.keyboard.press("/")
    at_list.keyboard.type("-sour")
    expect(options).to_have_text([re.compile("^source:")])
    expect(box).to_have_attribute("aria-expanded", "true")

    at_list.keyboard.press("ArrowDown")
    at_list.keyboard.press("Enter")
    expect(box).to_have_value("-source:")
    expect(options.first).to_be_visible()
    at_list.keyboard.type("zoo")
    expect(options).to_have_text(['source:"Zoo Daily"'])
    at_list.keyboard.press("ArrowDown")
    active = options.get_attribute("id")
    expect(box).to_have_attribute("aria-activedescendant", active or "")
    at_list.keyboard.press("Tab")
    expect(box).to_have_value('-source:"Zoo Daily" ')
    expect(options).to_have_count(0)

    at_list.keyboard.press("Enter")
    expect(at_list).to_have_url(re.compile("q=-source"))
    expect(at_list.locator(".from").first).not_to_have_text("Zoo Daily")
    assert at_list.locator(".from").all_inner_texts().count("Zoo Daily") == 0


def test_what_cannot_be_read_is_marked_and_corrected_by_a_click(at_list: Page) -> None:
    box = at_list.get_by_role("combobox", name="Search these articles")
    box.fill("sorce:rivage")
    box.press("Enter")

    expect(at_list.get_by_role("alert")).to_contain_text("Unknown field `sorce:`, did you mean `source:`?")
    expect(at_list.locator("mark")).to_have_text("sorce:")
    at_list.get_by_role("link", name="Search for source:rivage").click()
    expect(at_list.locator(".from").first).to_have_text("Rivage")


def test_keys_are_letters_where_one_types(at_list: Page) -> None:
    at_list.keyboard.press("/")
    at_list.keyboard.type("jokes g?")

    expect(at_list.get_by_role("combobox", name="Search these articles")).to_have_value("jokes g?")
    expect(at_list.locator("#keys")).to_be_hidden()
    at_list.keyboard.press("Escape")
    at_list.keyboard.press("j")
    expect(at_list.locator(".line").first).to_have_class(re.compile("current"))


def test_a_question_mark_shows_the_keys_and_escape_gives_the_focus_back(at_list: Page) -> None:
    at_list.keyboard.press("j")
    at_list.keyboard.press("?")
    expect(at_list.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    at_list.keyboard.press("j")
    expect(at_list.locator(".line").first).to_have_class(re.compile("current"))

    at_list.keyboard.press("Escape")

    expect(at_list.locator("#keys")).to_be_hidden()
    expect(at_list.locator(".line [data-open]").first).to_be_focused()


def test_sign_up_to_first_article_works_by_keyboard_alone(page: Page, place: Place) -> None:
    keys = page.keyboard
    page.goto("/auth/register")
    for text in ("eve@example.com", PASSWORD, PASSWORD):
        keys.type(text)
        keys.press("Tab")
    keys.press("Space")
    keys.press("Enter")
    page.wait_for_url("**/dashboard")

    press_until(page, "Tab", "details.add summary")
    keys.press("Enter")
    for text in (place.zoo.url("rivage", "/flux.xml"), "Rivage", "", ""):
        keys.press("Tab")
        keys.type(text)
    keys.press("Enter")
    expect(state_of(page, "Rivage")).to_have_text("Healthy")
    page.locator("body").focus()
    press_until(page, "Tab", ".feed .name")
    keys.press("Enter")
    page.wait_for_url("**/read?feed=*")
    keys.press("j")
    keys.press("Enter")
    expect(page.locator("article.page")).to_be_visible()


def press_until(page: Page, key: str, selector: str) -> None:
    for _ in range(60):
        page.keyboard.press(key)
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
    raise AssertionError(f"{key} never reached {selector}")


def test_a_whole_list_is_read_at_once(browser: Browser, place: Place) -> None:
    with open_page(browser, place) as page:
        register(page)
        follow(page, "Rivage", place.zoo.url("rivage", "/flux.xml"))
        page.goto("/read")
        expect(page.locator(".line").first).to_be_visible()

        page.keyboard.press("A")

        expect(page.get_by_role("heading", name="No unread articles")).to_be_visible()

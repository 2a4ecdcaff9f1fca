"""Takes screenshots of every page, light and dark, wide and narrow, into screenshots/. Needs chromium, but no internet.

Run from the checkout: `python -m scripts.screenshots`, or with `--docs` to renew the two pictures of the README.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.flows.browser.person import (
    CHROMIUM,
    PHONE,
    WIDE,
    Place,
    open_browser,
    open_page,
    register,
    running,
    state_of,
    subscribe,
)
from tests.flows.zoo_thread import open_zoo

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "screenshots"
README = ROOT / "docs" / "images"
FEEDS = (
    ("Zoo Daily", "daily", "/feed.xml", "News"),
    ("The Observatory Quarterly of Slow Astronomy", "observatory", "/atom.xml", "Science"),
    ("Rivage", "rivage", "/flux.xml", "Across the water"),
    ("Möwe", "moewe", "/feed.xml", "Across the water"),
    ("Plaza", "plaza", "/atom.xml", "Across the water"),
    ("Ακτή", "akti", "/feed.xml", "Across the water"),
    ("Sparrow", "sparrow", "/feed.xml", ""),
)
FAULTS = (
    ("Moved away without a word", "missing", "/feed.xml", ""),
    ("Rate-limited Review", "busy", "/feed.xml", ""),
    ("A page in place of a feed", "lobby", "/feed.xml", ""),
)
SUGGESTED = ("Minato", "minato", "/feed.xml")
OUTSIDE = {
    "login": "/auth/login",
    "register": "/auth/register",
    "forgot": "/auth/forgot",
    "privacy": "/privacy",
    "nothing-here": "/nothing",
    "api": "/api/docs",
    "help": "/help",
    "help-page": "/help/reading",
}
INSIDE = {
    "feeds": "/dashboard",
    "all": "/read?shelf=all",
    "unread": "/read",
    "category": "/read?shelf=all&category=Across+the+water",
    "starred": "/read?shelf=starred",
    "search": "/read?shelf=all&q=tower",
    "nothing-found": "/read?shelf=all&q=zzzz",
    "account": "/account",
    "settings": "/settings",
    "opml": "/opml",
    "discover": "/discover",
}
OPERATING = {  # for administrators
    "operate-health": "/admin",
    "operate-alerts": "/admin/alerts",
    "operate-sources": "/admin/sources",
    "operate-frontier": "/admin/frontier",
    "operate-frontier-dead": "/admin/frontier?status=dead",
    "operate-popularity": "/admin/popularity",
    "operate-ai-usage": "/admin/ai-usage",
    "operate-moderation": "/admin/moderation",
    "operate-domains": "/admin/moderation/domains",
    "operate-labels": "/admin/labels",
    "operate-review": "/admin/labels/review",
    "operate-rules": "/admin/rules",
    "operate-stories": "/admin/stories",
    "operate-channels": "/admin/channels",
    "operate-people": "/admin/people",
    "operate-audit": "/admin/audit",
    "operate-settings": "/admin/settings",
    "operate-design": "/admin/design",
}


def main() -> int:
    if CHROMIUM is None:
        print("No browser was found. Install chromium, then try again.", file=sys.stderr)
        return 1
    with sync_playwright() as playwright, open_browser(playwright) as browser, a_place() as place:
        if "--docs" in sys.argv[1:]:
            photograph_for_readme(browser, place)
        else:
            photograph_everything(browser, place)
    return 0


@contextmanager
def a_place() -> Iterator[Place]:
    with TemporaryDirectory(prefix="headwater-looks-", ignore_cleanup_errors=True) as name, open_zoo() as zoo:
        Path(name).chmod(0o755)
        with running(Path(name), zoo) as place:
            yield place


DRESSES = [(scheme, width) for scheme in ("light", "dark") for width in ("wide", "narrow")]
SIZES = {"wide": WIDE, "narrow": PHONE}


def photograph_everything(
    browser: Browser, place: Place, out: Path = OUT, dresses: Sequence[tuple[str, str]] = tuple(DRESSES)
) -> None:
    """Every page, in each colour scheme and width."""
    out.mkdir(exist_ok=True)
    with open_page(browser, place) as page:
        register(page)
        photograph(page, {"first-feeds": "/dashboard", "first-read": "/read"}, "light-wide", out)
        operator = dict(page.context.storage_state())
    profile = settle_in(browser, place, (*FEEDS, *FAULTS))
    for scheme, width in dresses:
        dress: dict[str, Any] = {"color_scheme": scheme, "viewport": SIZES[width]}
        name = f"{scheme}-{width}"
        with open_page(browser, place, **dress) as page:
            photograph(page, OUTSIDE, name, out)
        with open_page(browser, place, storage_state=profile, **dress) as page:
            photograph(page, INSIDE, name, out)
            photograph_what_opens(page, name, out)
            photograph_import(page, name, out)
        with open_page(browser, place, storage_state=operator, **dress) as page:
            photograph(page, OPERATING, name, out)
            photograph_source(page, name, out)
    print(f"{len(list(out.glob('*.png')))} pictures are in {out.name}/")


def settle_in(browser: Browser, place: Place, feeds: tuple[tuple[str, str, str, str], ...]) -> dict[str, object]:
    """Register a user, follow the feeds, and wait until all have been polled."""
    with open_page(browser, place) as page:
        register(page)
        for name, host, path, category in feeds:
            subscribe(page, name, place.zoo.url(host, path), category)
        for name, *_ in feeds:
            expect(state_of(page, name)).not_to_have_text("Pending", timeout=60_000)
        page.locator("#summary-container").get_by_role("button", name="Generate").click()
        expect(page.locator("#summary-container time")).to_be_visible(timeout=60_000)
        suggest(page, SUGGESTED[0], place.zoo.url(*SUGGESTED[1:]))
        return dict(page.context.storage_state())


def suggest(page: Page, name: str, url: str) -> None:
    """Suggest a feed, which stays pending."""
    page.goto("/discover")
    form = page.locator("#suggest-form")
    form.get_by_label("Name").fill(name)
    form.get_by_label("Feed URL").fill(url)
    form.get_by_role("button", name="Suggest").click()
    expect(page.locator("#suggested .rows")).to_contain_text(name, timeout=60_000)


def photograph(page: Page, pages: dict[str, str], dress: str, out: Path) -> None:
    for name, path in pages.items():
        page.goto(path, wait_until="networkidle")
        page.screenshot(path=out / f"{name}-{dress}.png")


def photograph_what_opens(page: Page, dress: str, out: Path) -> None:
    page.goto("/dashboard", wait_until="networkidle")
    page.get_by_text("Add a feed", exact=True).click()
    page.get_by_role("button", name="Edit", exact=False).first.click()
    expect(page.get_by_role("button", name="Save")).to_be_visible()
    page.screenshot(path=out / f"forms-{dress}.png")
    page.goto("/read?shelf=all")
    page.keyboard.press("j")
    page.keyboard.press("?")
    page.screenshot(path=out / f"keys-{dress}.png")
    page.keyboard.press("Escape")
    if page.get_by_role("button", name="Choose feed").is_visible():
        page.get_by_role("button", name="Choose feed").click()
        page.screenshot(path=out / f"choose-{dress}.png")
        page.keyboard.press("Escape")
    page.locator("[data-open]").nth(3).click()
    page.wait_for_url("**/articles/*")
    page.screenshot(path=out / f"article-{dress}.png")


def photograph_source(page: Page, dress: str, out: Path) -> None:
    page.goto("/admin/sources?status=failing")
    page.locator(".sources tbody a").first.click()
    expect(page.locator("#source-now")).to_be_visible()
    page.screenshot(path=out / f"operate-source-{dress}.png")


def photograph_import(page: Page, dress: str, out: Path) -> None:
    lines = ("https://a.example/feed", "https://a.example/feed", "file:///etc/passwd", "")
    outlines = "".join(f'<outline type="rss" text="Line {n}" xmlUrl="{url}"/>' for n, url in enumerate(lines))
    page.goto("/opml")
    page.get_by_label("OPML file").set_input_files(
        {"name": "mine.opml", "mimeType": "text/x-opml", "buffer": f"<opml><body>{outlines}</body></opml>".encode()}
    )
    page.get_by_role("button", name="Import").click()
    page.get_by_role("link", name="Report").or_(page.locator("#import-report")).first.wait_for()
    if page.locator("#import-report").count() == 0:
        page.get_by_role("link", name="Report").click()
    page.wait_for_timeout(2000)  # until it has ended, and the report has come
    page.screenshot(path=out / f"import-{dress}.png")


def photograph_for_readme(browser: Browser, place: Place) -> None:
    profile = settle_in(browser, place, FEEDS)
    for scheme in ("light", "dark"):
        dress: dict[str, Any] = {"color_scheme": scheme, "viewport": {"width": 1200, "height": 760}}
        with open_page(browser, place, storage_state=profile, **dress) as page:
            page.goto("/read?shelf=all", wait_until="networkidle")
            if scheme == "light":
                page.get_by_role("button", name="Mark as read").nth(2).click()
                page.get_by_role("button", name="Star", exact=True).nth(1).click()
                expect(page.get_by_role("button", name="Unstar")).to_be_visible()
            page.keyboard.press("j")
            page.mouse.move(0, 0)
            page.evaluate("scrollTo(0, 0)")
            page.screenshot(path=README / f"reader-{scheme}.png")
            print(f"docs/images/reader-{scheme}.png")


if __name__ == "__main__":
    sys.exit(main())

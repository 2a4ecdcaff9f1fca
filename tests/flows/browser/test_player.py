"""Audio of an article plays in its page, at the speed and position of the last time; nothing loads before a click."""

import io
import re
import wave
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, Request, Route, expect

from headwater.articles.enclosures import as_json
from headwater.articles.store import records
from headwater.articles.types import ListedEntry
from headwater.db import Database, fetch_value
from headwater.feeds.types import Enclosure
from headwater.sources.store import sources
from headwater_lab.zoo import Zoo
from tests.builders import an_article
from tests.clock import START
from tests.flows.browser.person import CHROMIUM, Place, open_page, register
from tests.flows.browser.served import Served, serve_pages

pytestmark = [pytest.mark.database, pytest.mark.soak]

FEED = "https://talk.example/feed"
SOUND = "https://cdn.example/1.wav"
PLAYED_TO_12 = """(one) => new Promise((done) =>
    one.addEventListener("timeupdate", () => { if (one.currentTime > 12) done(); }))"""
VIDEO = "https://www.youtube.com/watch?v=dQw4w9WgXcQ"


@pytest.fixture(scope="module")
def served(server_conninfo: str) -> Iterator[Served]:
    if CHROMIUM is None:
        pytest.skip("no browser")
    with serve_pages(server_conninfo) as served:
        yield served


@pytest.fixture
def page(browser: Browser, served: Served) -> Iterator[Page]:
    with open_page(browser, Place(served.url, Zoo())) as page:
        register(page)
        page.evaluate(
            """([url, token]) => fetch("/feeds", {method: "POST", headers: {"X-CSRF-Token": token},
                body: new URLSearchParams({name: "Talk", url})})""",
            [FEED, page.locator("input[name=_csrf_token], input[type=hidden]").first.input_value()],
        )
        yield page


def silence() -> bytes:
    """Thirty seconds of it."""
    made = io.BytesIO()
    with wave.open(made, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(1)
        file.setframerate(8_000)
        file.writeframes(b"\x80" * 8_000 * 30)
    return made.getvalue()


async def listed(database: Database, url: str) -> str:
    async with database.as_system() as conn:
        source = await sources.find_by_url(conn, url=FEED)
        assert source
        article = an_article(url, is_own=False, enclosures=as_json([Enclosure(SOUND, "audio/wav")]) or "")
        await records.keep(conn, seen_at=START, listed=[ListedEntry(source.id, article)])
        return str(await fetch_value(conn, "SELECT id FROM articles WHERE url = %(url)s", {"url": url}))


def test_audio_loads_at_a_click_and_goes_on_where_it_was(page: Page, served: Served) -> None:
    sent: list[Request] = []

    def send_sound(route: Route) -> None:
        sent.append(route.request)
        route.fulfill(body=silence(), content_type="audio/wav", headers={"Accept-Ranges": "bytes"})

    page.route(SOUND, send_sound)
    path = f"/articles/{served.run(lambda database: listed(database, 'https://talk.example/1'))}"
    page.goto(path, wait_until="networkidle")
    player = page.locator("audio[data-player]")
    assert sent == []

    page.get_by_label("Speed").select_option("1.5")
    player.evaluate("async (one) => { await one.play(); one.currentTime = 12; }")
    player.evaluate(PLAYED_TO_12)
    player.evaluate("(one) => new Promise((done) => { one.addEventListener('pause', done); one.pause(); })")
    page.goto(path, wait_until="networkidle")
    position = player.evaluate("async (one) => { await one.play(); return one.currentTime; }")

    assert sent
    assert position >= 12
    assert player.evaluate("(one) => one.playbackRate") == 1.5
    expect(page.get_by_label("Speed")).to_have_value("1.5")


def test_a_video_of_youtube_is_loaded_at_a_click_only(page: Page, served: Served) -> None:
    asked: list[str] = []

    def send_video(route: Route) -> None:
        asked.append(route.request.url)
        route.fulfill(body="<title>Video</title>", content_type="text/html")

    page.route(re.compile(r"https://[^/]*youtube"), send_video)
    page.goto(f"/articles/{served.run(lambda database: listed(database, VIDEO))}", wait_until="networkidle")
    assert asked == []

    page.get_by_role("button", name="Play video").click()
    expect(page.locator("iframe.video")).to_be_focused()
    page.wait_for_load_state("networkidle")

    assert asked == ["https://www.youtube-nocookie.com/embed/dQw4w9WgXcQ?autoplay=1"]

"""/admin/frontier: queued and failed URLs, throttled hosts, and the actions of an operator."""

import csv
import io
import json
import re
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from html import unescape
from uuid import UUID

import pytest
from httpx import Response
from litestar import Litestar

from headwater.articles.store.content import save
from headwater.audit import store as audit
from headwater.audit.types import AuditAction, AuditEntry
from headwater.db import Database
from headwater.frontier.store import claims, listing, queue
from headwater.frontier.types import (
    Answer,
    Answered,
    Fetched,
    FetchFailed,
    FrontierOptions,
    GivenUp,
    HostAnswer,
    Origin,
    Status,
    Submission,
    UrlFilter,
)
from headwater.hosts.store import robots as robots_store
from headwater.hosts.types import Robots
from headwater.ids import new_id
from headwater.sources.follow import follow
from headwater.sources.types import Source, SourceOverrides
from headwater.types import SourceId
from headwater.web import WebOptions
from headwater.web.routes.admin import frontier as page
from tests.app import create_app
from tests.articles.builders import a_content, a_record, an_article_id
from tests.clock import START, MovableClock
from tests.web.visitor import Person, a_person

pytestmark = pytest.mark.database

DOWN = FetchFailed("upstream_failure", "503")
GONE = GivenUp("gone", "410")


@pytest.fixture
def app(database: Database, clock: MovableClock) -> Litestar:
    return create_app(database, clock, web=WebOptions(frontier=FrontierOptions(min_delay=timedelta(seconds=2))))


@pytest.fixture
async def operator(app: Litestar) -> AsyncIterator[Person]:
    """The first user, who is super_admin."""
    async with a_person(app) as person:
        await person.register("operator@example.com")
        yield person


async def queue_urls(
    database: Database, *urls: str, origin: Origin = Origin.FEED, source_id: SourceId | None = None
) -> list[UUID]:
    async with database.as_system() as conn:
        submissions = [Submission(url, origin, source_id=source_id) for url in urls]
        return [one.id for one in await queue.submit(conn, submissions=submissions, now=START) if one.id]


async def a_site(database: Database, name: str = "Harbour News", mode: str = "both") -> Source:
    async with database.as_system() as conn:
        overrides = SourceOverrides(site=f"https://{name.split(maxsplit=1)[0].lower()}.example/", mode=mode)
        return await follow(
            conn,
            url=f"https://{name.split(maxsplit=1)[0].lower()}.example/feed",
            name=name,
            now=START,
            overrides=overrides,
        )


async def answer(
    database: Database, given: Answer, *, blocked: timedelta | None = None, was_rate_limited: bool = False
) -> None:
    """Every due URL is fetched with this outcome."""
    async with database.as_system() as conn:
        until = START + timedelta(minutes=5)
        hosts = await claims.claim(conn, lease=new_id(), now=START, leased_until=until, hosts=50, urls_per_host=100)
        answers = [
            HostAnswer(
                host,
                START,
                [Answered(url, given, START) for url in host.urls],
                blocked_until=START + blocked if blocked else None,
                was_rate_limited=was_rate_limited,
            )
            for host in hosts
        ]
        await claims.answer(conn, answers=answers, now=START)


async def status_of(database: Database, url_id: UUID) -> Status | None:
    async with database.as_system() as conn:
        found = await listing.find(conn, id=url_id, now=START)
    return found.status if found else None


async def written(database: Database) -> Sequence[AuditEntry]:
    async with database.as_system() as conn:
        return (await audit.list_entries(conn, limit=100)).entries


def listed(answered: Response) -> list[str]:
    return [unescape(url) for url in re.findall(r'<a id="url-[^"]+" href="([^"]+)"', answered.text)]


async def test_an_empty_frontier_says_so(operator: Person) -> None:
    shown = await operator.open("/admin/frontier")

    assert shown.status_code == 200
    assert "The crawl queue is empty" in shown.text
    assert "No URLs yet" in shown.text
    assert "No throttled hosts." in shown.text


async def test_statistics_count_statuses_and_sources_with_their_mode(operator: Person, database: Database) -> None:
    source = await a_site(database)
    await queue_urls(database, "https://harbour.example/1", "https://harbour.example/2", source_id=source.id)
    await answer(database, GONE)
    deleted = await a_site(database, name="Other News")
    await queue_urls(database, "https://other.example/1", source_id=deleted.id)
    async with database.as_system() as conn:  # its URLs stay until they are removed in the background
        await conn.execute("DELETE FROM sources WHERE id = %(id)s", {"id": deleted.id})

    shown = re.sub(r"\s+", " ", (await operator.part("/admin/frontier/stats")).text)

    assert '<a href="/admin/frontier?status=dead">Gave up</a></dt><dd>' in shown
    assert f'href="/admin/frontier?source={source.id}">Harbour News</a>' in shown
    assert '<span class="mode both">both</span>' in shown
    assert str(deleted.id) not in shown


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("status=dead", {"https://harbour.example/dead"}),
        ("status=pending&host=harbour.example", {"https://harbour.example/new?a=1&b=%22x%22"}),
        ("host=OTHER.example", {"https://other.example/1"}),
        ("origin=manual", {"https://other.example/1"}),
        ("q=new", {"https://harbour.example/new?a=1&b=%22x%22"}),
        ("status=failed", set[str]()),
    ],
    ids=["status", "status and host", "host", "origin", "text", "none"],
)
async def test_filters_narrow_the_table(operator: Person, database: Database, query: str, expected: set[str]) -> None:
    await queue_urls(database, "https://harbour.example/dead")
    await answer(database, GONE)
    await queue_urls(database, 'https://harbour.example/new?a=1&b="x"')
    await queue_urls(database, "https://other.example/1", origin=Origin.MANUAL)

    whole, part = await operator.open(f"/admin/frontier?{query}"), await operator.part(f"/admin/frontier/urls?{query}")

    assert set(listed(whole)) >= expected
    assert set(listed(whole)) == set(listed(part))
    assert {url.rstrip("/") for url in listed(part) if "harbour.example/feed" not in url} == expected
    assert part.headers["hx-replace-url"].startswith("/admin/frontier?")
    assert ("No URLs match this filter" in part.text) == (not expected)


async def test_a_source_narrows_the_table_and_is_named(operator: Person, database: Database) -> None:
    source = await a_site(database, mode="feed")
    await queue_urls(database, "https://harbour.example/1", source_id=source.id)
    await queue_urls(database, "https://harbour.example/2")

    shown = await operator.open(f"/admin/frontier?source={source.id}")

    assert listed(shown) == ["https://harbour.example/1"]
    assert "Source: <b>Harbour News</b>" in shown.text


async def test_each_url_is_on_one_page(operator: Person, database: Database) -> None:
    names = [f"https://h{n}.example/a" for n in range(2 * page.PAGE + 3)]
    await queue_urls(database, *names)
    path, seen = "/admin/frontier/urls?status=pending", list[str]()
    for _ in range(3):
        shown = await operator.part(path)
        seen += listed(shown)
        found = re.search(r'id="more-rows" href="[^"]+" hx-get="([^"]+)"', shown.text)
        path = unescape(found[1]) if found else ""

    assert path == ""
    assert sorted(seen) == sorted(names)


async def test_the_outcome_of_a_url_is_described(operator: Person, database: Database, clock: MovableClock) -> None:
    await queue_urls(database, "https://down.example/1")
    await answer(database, DOWN)
    await queue_urls(database, "https://gone.example/1")
    await answer(database, GONE)
    await queue_urls(database, "https://well.example/1")
    await answer(database, Fetched(None, None))
    await queue_urls(database, "https://new.example/1")
    clock.move(minutes=1)

    words = re.sub(r"\s+", " ", unescape((await operator.open("/admin/frontier")).text))

    assert re.search(r"Failed 1 time: upstream_failure: 503; next retry in \d+ (minutes|hours?)", words)
    assert "Gave up 1 minute ago: gone: 410" in words
    assert re.search(r"Fetched 1 minute ago, next fetch in 1[12] hours", words)
    assert "Waiting for its host" in words


async def test_throttled_hosts_are_listed_with_reason_and_time(operator: Person, database: Database) -> None:
    await queue_urls(database, "https://busy.example/1", "https://busy.example/2")
    await answer(database, FetchFailed("rate_limited", "429"), blocked=timedelta(hours=2), was_rate_limited=True)
    await queue_urls(database, "https://patient.example/1")
    await answer(database, DOWN, blocked=timedelta(hours=3))
    await queue_urls(database, "https://mute.example/1")
    async with database.as_system() as conn:
        robots = Robots("https://mute.example", 503, None, START, START + timedelta(hours=1), unreachable_since=START)
        await robots_store.keep(conn, robots=robots)
    await answer(database, DOWN, blocked=timedelta(hours=4))
    await queue_urls(database, "https://well.example/1")

    words = re.sub(r"\s+", " ", (await operator.part("/admin/frontier/stats")).text)

    assert re.search(r"busy\.example.*?2 URLs · 4 s apart.*?429: too many requests; next request.*?in 2 hours", words)
    assert re.search(r"patient\.example.*?1 URL · 2 s apart.*?Retry-After; next request.*?in 3 hours", words)
    assert re.search(r"mute\.example.*?robots.txt cannot be read; next request.*?in 4 hours", words)
    assert "well.example" not in words


async def test_a_filter_by_host_shows_the_status_of_the_host(operator: Person, database: Database) -> None:
    await queue_urls(database, "https://busy.example/1")
    await answer(database, FetchFailed("rate_limited", "429"), blocked=timedelta(hours=2), was_rate_limited=True)

    words = re.sub(r"\s+", " ", (await operator.open("/admin/frontier?host=busy.example")).text)

    assert "<b>busy.example</b>: 1 URL, 4 s between requests, slowed 1 time after a 429 response." in words
    assert "next request in 2 hours" in words


async def test_a_retry_of_one_url_is_in_the_audit_log(operator: Person, database: Database) -> None:
    [url_id] = await queue_urls(database, "https://gone.example/1")
    await answer(database, GONE)

    done = await operator.send("POST", "/admin/frontier/retry", ids=str(url_id))

    assert "1 URL queued for retry" in done.text
    assert done.headers["hx-trigger"] == "refreshFrontier"
    assert await status_of(database, url_id) is Status.PENDING
    [line] = await written(database)
    assert (line.action, line.actor_name) == (AuditAction.URLS_RETRIED, "operator@example.com")
    assert (line.subject_name, line.subject_id) == ("https://gone.example/1", url_id)


async def test_selected_urls_are_retried_without_scripts(operator: Person, database: Database) -> None:
    ids = await queue_urls(database, *(f"https://gone{n}.example/" for n in range(3)))
    await answer(database, GONE)
    await operator.open("/admin/frontier")

    sent = {"_csrf_token": operator.token, "ids": [str(one) for one in ids[:2]], "back": "status=dead"}
    done = await operator.client.post("/admin/frontier/retry", headers={"Accept": "text/html"}, data=sent)

    assert (done.status_code, done.headers["location"]) == (303, "/admin/frontier?status=dead")
    assert [await status_of(database, one) for one in ids] == [Status.PENDING, Status.PENDING, Status.DEAD]
    [line] = await written(database)
    assert line.subject_name == "2 URLs"
    assert line.detail == {"urls": ["https://gone0.example/", "https://gone1.example/"]}


async def test_all_matching_urls_are_retried_in_steps(
    operator: Person, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headwater.frontier.matching.PAGE", 2)
    monkeypatch.setattr(page, "RETRY_PAGES", 2)
    ids = await queue_urls(database, *(f"https://gone{n}.example/" for n in range(7)))
    await answer(database, GONE)
    kept = await queue_urls(database, "https://down.example/")
    await answer(database, DOWN)

    sent, steps, said = {"status": "dead"}, 0, ""
    while sent:
        said = (await operator.send("POST", "/admin/frontier/retry-all", **sent)).text
        steps += 1
        found = re.search(r"hx-vals='([^']+)'", said)
        sent = {} if found is None else {name: str(value) for name, value in json.loads(found[1]).items()}

    assert steps > 1
    assert "7 URLs queued for retry" in said
    assert {await status_of(database, one) for one in ids} == {Status.PENDING}
    assert await status_of(database, kept[0]) is Status.FAILED
    lines = await written(database)
    assert 1 <= len(lines) <= steps
    assert {(line.action, line.subject_name) for line in lines} == {(AuditAction.URLS_RETRIED, "all given-up URLs")}


async def test_only_failed_and_dead_urls_are_retried(operator: Person) -> None:
    refused = await operator.send("POST", "/admin/frontier/retry-all", status="fetched")

    assert refused.status_code == 400
    assert "Only failed or given-up" in refused.text
    assert refused.headers["hx-retarget"] == "#frontier-said"


ORDERS = {
    "priority": ["a", "b", "c"],
    "-priority": ["c", "b", "a"],
    "retries": ["a", "c", "b"],
    "-retries": ["b", "c", "a"],
    "fetched": ["a", "c", "b"],
    "-fetched": ["b", "c", "a"],
    "due": ["a", "b", "c"],
    "-due": ["c", "b", "a"],
}


@pytest.mark.parametrize("sort", ORDERS)
@pytest.mark.parametrize("size", [1, 2, 50])
async def test_the_table_is_sorted_by_a_column_page_by_page(
    operator: Person, database: Database, sort: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page, "PAGE", size)
    await three_urls(database)
    address, seen = f"/admin/frontier?sort={sort}", list[str]()
    while address:
        shown = await operator.open(address)
        seen += [url.split("/")[2][0] for url in listed(shown)]
        found = re.search(r'id="more-rows" href="([^"]+)"', shown.text)
        address = unescape(found[1]) if found else ""

    assert seen == ORDERS[sort]


async def three_urls(database: Database) -> None:
    """Each differs from the others in every column; a was never fetched."""
    await queue_urls(database, *(f"https://{host}.example/1" for host in "abc"))
    async with database.as_system() as conn:
        for host, priority, retries, due, fetched in (("a", 1, 0, 0, None), ("b", 5, 2, 9, 1), ("c", 9, 1, None, 2)):
            await conn.execute(
                """
                UPDATE frontier_url
                SET priority = %(priority)s, retry_count = %(retries)s, last_fetched_at = %(fetched)s,
                    next_fetch_at = coalesce(%(due)s::timestamptz, 'infinity')
                FROM hosts
                WHERE hosts.shard = frontier_url.shard AND hosts.host_id = frontier_url.host_id AND name = %(name)s
                """,
                {
                    "priority": priority,
                    "retries": retries,
                    "due": None if due is None else START + timedelta(hours=due),
                    "fetched": None if fetched is None else START - timedelta(hours=fetched),
                    "name": f"{host}.example",
                },
            )


async def test_the_queue_is_exported_without_formulas_and_secrets(
    operator: Person, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page, "CSV_PAGE", 1)
    source = await a_site(database, name="=Harbour News")
    await queue_urls(database, "https://a.example/1?token=hidden", source_id=source.id)
    await queue_urls(database, "https://b.example/1")

    whole = await operator.open("/admin/frontier.csv?q=example%2F1&sort=priority")
    part = await operator.open("/admin/frontier.csv?host=b.example")
    wrong = await operator.open("/admin/frontier.csv?status=x")

    rows = list(csv.reader(io.StringIO(whole.text, newline="")))
    assert whole.headers["content-disposition"] == 'attachment; filename="headwater-crawl-queue.csv"'
    assert len(rows) == 3
    assert "'=Harbour News" in {row[3] for row in rows}
    assert "hidden" not in whole.text
    assert [row[0] for row in csv.reader(io.StringIO(part.text, newline=""))] == ["URL", "https://b.example/1"]
    assert wrong.status_code == 400


async def test_a_filter_of_the_queue_is_saved(operator: Person) -> None:
    await operator.send("POST", "/admin/filters", page="frontier", name="Given up", query="status=dead")

    assert '<a href="/admin/frontier?status=dead">Given up</a>' in (await operator.open("/admin/frontier")).text


@pytest.mark.parametrize("action", ["retry", "delete"])
async def test_a_preview_of_selected_urls_changes_nothing(operator: Person, database: Database, action: str) -> None:
    ids = await queue_urls(database, "https://a.example/1", "https://b.example/1")
    await answer(database, GONE)

    headers = {"X-CSRF-Token": operator.token, "HX-Request": "true"}
    data = {"ids": [str(one) for one in ids], "action": action}
    shown = await operator.client.post("/admin/frontier/preview", headers=headers, data=data)
    cancelled = await operator.send("POST", "/admin/frontier/cancel")

    assert f"{action.capitalize()} 2 URLs?" in shown.text
    assert re.findall(r'name="ids" value="([^"]+)"', shown.text) == [str(one) for one in ids]
    assert f'hx-post="/admin/frontier/{action}"' in shown.text
    assert "Nothing was changed" in cancelled.text
    assert [await status_of(database, one) for one in ids] == [Status.DEAD, Status.DEAD]


async def test_a_preview_of_all_that_match_counts_what_would_change(operator: Person, database: Database) -> None:
    await queue_urls(database, *(f"https://gone{n}.example/" for n in range(7)))
    await answer(database, GONE)
    await queue_urls(database, "https://new.example/")

    retried = await operator.send("POST", "/admin/frontier/preview", action="retry", everything="yes")
    deleted = await operator.send(
        "POST", "/admin/frontier/preview", action="delete", everything="yes", status="pending"
    )

    assert "Retry 7 URLs?" in retried.text
    assert 'hx-post="/admin/frontier/retry-all"' in retried.text
    assert "Delete 1 URL?" in deleted.text
    assert "This cannot be undone." in deleted.text


async def test_all_matching_urls_are_deleted_in_steps(
    operator: Person, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headwater.frontier.matching.PAGE", 2)
    monkeypatch.setattr(page, "RETRY_PAGES", 2)
    ids = await queue_urls(database, *(f"https://gone{n}.example/" for n in range(7)))
    await answer(database, GONE)
    kept = await queue_urls(database, "https://new.example/")

    sent, steps, said = {"status": "dead"}, 0, ""
    while sent:
        said = (await operator.send("POST", "/admin/frontier/delete-all", **sent)).text
        steps += 1
        found = re.search(r"hx-vals='([^']+)'", said)
        sent = {} if found is None else {name: str(value) for name, value in json.loads(found[1]).items()}

    assert steps > 1
    assert "7 URLs deleted" in said
    assert {await status_of(database, one) for one in ids} == {None}
    assert await status_of(database, kept[0]) is Status.PENDING
    assert {(line.action, line.subject_name) for line in await written(database)} == {
        (AuditAction.URLS_DELETED, "all given-up URLs")
    }


@pytest.mark.parametrize("path", ["delete", "delete-all"])
async def test_articles_of_deleted_urls_are_looked_at_again(operator: Person, database: Database, path: str) -> None:
    source = await a_site(database)
    [url_id] = await queue_urls(database, "https://a.example/1", origin=Origin.MANUAL)
    async with database.as_system() as conn:
        article_id = await an_article_id(conn, source.id, "https://a.example/1")
        await conn.execute(
            "UPDATE article_state SET revision = 1, classify_at = NULL WHERE article_id = %(id)s", {"id": article_id}
        )

    sent = {"ids": str(url_id)} if path == "delete" else {"host": "a.example"}
    await operator.send("POST", f"/admin/frontier/{path}", **sent)

    async with database.as_system() as conn:
        cur = await conn.execute(
            "SELECT classify_at IS NOT NULL FROM article_state WHERE article_id = %(id)s", {"id": article_id}
        )
        assert await cur.fetchone() == (True,)


async def test_a_url_leads_to_its_article(operator: Person, database: Database) -> None:
    source = await a_site(database)
    await queue_urls(database, "https://a.example/1", "https://a.example/2", origin=Origin.MANUAL)
    async with database.as_system() as conn:
        await save(conn, records=[await a_content(conn, source.id, "https://a.example/1", a_record())], now=START)

    (link,) = re.findall(r'href="(/admin/articles/[^"]+)">Article', (await operator.open("/admin/frontier")).text)
    article = (await operator.open(link)).text

    assert 'href="https://a.example/1"' in article
    assert "Harbour News</a>" in article
    assert '<div class="prose"' in article


async def test_an_article_that_only_a_private_feed_lists_is_neither_linked_nor_shown(
    operator: Person, database: Database
) -> None:
    source = await a_site(database)
    await queue_urls(database, "https://a.example/1", source_id=source.id)
    async with database.as_system() as conn:
        article_id = await an_article_id(conn, source.id, "https://a.example/1")
        await conn.execute("UPDATE sources SET is_system = false, feed_url = feed_url || '?key=8c1f2a'")

    assert "/admin/articles/" not in (await operator.open("/admin/frontier")).text
    assert (await operator.open(f"/admin/articles/{article_id}")).status_code == 404
    assert (await operator.open(f"/admin/articles/{new_id()}")).status_code == 404


async def test_deleting_asks_for_confirmation_and_is_in_the_audit_log(operator: Person, database: Database) -> None:
    ids = await queue_urls(database, "https://a.example/1", "https://b.example/1")
    asked = re.findall(r'hx-confirm="([^"]+)"', (await operator.open("/admin/frontier")).text)

    headers = {"X-CSRF-Token": operator.token, "HX-Request": "true"}
    data = {"ids": [str(one) for one in ids]}
    done = await operator.client.post("/admin/frontier/delete", headers=headers, data=data)

    assert any("Delete https://a.example/1?" in question for question in asked)
    assert "2 URLs deleted" in done.text
    assert [await status_of(database, one) for one in ids] == [None, None]
    assert {(line.action, line.subject_name) for line in await written(database)} == {
        (AuditAction.URL_DELETED, "https://a.example/1"),
        (AuditAction.URL_DELETED, "https://b.example/1"),
    }


async def test_a_url_is_submitted_by_hand(operator: Person, database: Database) -> None:
    source = await a_site(database)

    done = await operator.send(
        "POST", "/admin/frontier/submit", url=" https://new.example/1 ", source=str(source.id), priority="9"
    )
    again = await operator.send("POST", "/admin/frontier/submit", url="https://new.example/1")

    assert "is queued" in done.text
    assert "is already known" in again.text
    async with database.as_system() as conn:
        [url] = (await listing.list_urls(conn, wanted=UrlFilter(host="new.example"), now=START, limit=9)).urls
    assert (url.origin, url.priority, url.source_id) == (Origin.MANUAL, 9, source.id)


@pytest.mark.parametrize(
    ("path", "fields", "says"),
    [
        ("submit", {"url": "ftp://x.example/"}, "cannot be fetched"),
        ("submit", {"url": ""}, "cannot be fetched"),
        ("submit", {"url": "https://x.example/", "priority": "11"}, "1 to 10"),
        ("submit", {"url": "https://x.example/", "priority": "²"}, "Not a whole number"),
        ("submit", {"url": "https://x.example/", "source": str(UUID(int=3))}, "Source not found"),
        ("submit", {"url": "https://x.example/", "source": "x'--"}, "Source not found"),
        ("retry", {}, "Select URLs first"),
        ("retry", {"ids": "x"}, "URL not found"),
        ("retry", {"ids": str(UUID(int=3))}, ""),
        ("delete", {"ids": ""}, "Select URLs first"),
        ("delete", {"ids": str(UUID(int=3))}, ""),
        ("preview", {"action": "retry"}, "Select URLs first"),
        ("preview", {"action": "x"}, "Choose an action"),
        ("preview", {"action": "retry", "everything": "yes"}, "Nothing would change"),
        ("preview", {"action": "retry", "everything": "yes", "status": "fetched"}, "Only failed or given-up"),
        ("preview", {"action": "delete", "everything": "yes"}, "Filter the table first"),
        ("delete-all", {}, "Filter the table first"),
        ("retry-all", {"cursor": "%%%"}, "Invalid cursor"),
        ("retry-all", {"so_far": "-1"}, "Not a whole number"),
        ("retry-all", {"status": "odd"}, "Unknown status"),
        ("retry-all", {"q": "x" * 201}, "at most"),
        ("retry-all", {"q": "\0"}, "q contains the character U+0000"),
    ],
    ids=range(22),
)
async def test_invalid_actions_are_refused_with_a_message(
    operator: Person, path: str, fields: dict[str, str], says: str
) -> None:
    refused = await operator.send("POST", f"/admin/frontier/{path}", **fields)

    assert refused.status_code in {400, 404}
    assert 'class="problem"' in refused.text
    assert says in refused.text


@pytest.mark.parametrize(
    "query",
    ["status=x", "origin=x", "source=x", "cursor=x", "sort=due&cursor=x", f"q={'x' * 201}", "host=%00"],
    ids=range(7),
)
async def test_an_invalid_filter_is_refused_on_the_page_and_in_the_table(operator: Person, query: str) -> None:
    assert (await operator.open(f"/admin/frontier?{query}")).status_code == 400
    assert (await operator.part(f"/admin/frontier/urls?{query}")).status_code == 400


async def test_a_hostile_url_is_escaped(operator: Person, database: Database) -> None:
    await queue_urls(database, "https://evil.example/'\"><script>alert(1)</script>")

    shown = (await operator.open("/admin/frontier?q=%22%3E%3Cscript%3E&host=evil.example")).text

    assert "<script>alert" not in shown
    assert shown.count("<script") == shown.count('<script src="/')  # our own


async def test_readers_and_moderators_are_refused(app: Litestar, operator: Person, database: Database) -> None:
    async with a_person(app) as reader:
        await reader.register("reader@example.com")
        statuses = {
            (await reader.open("/admin/frontier")).status_code,
            (await reader.part("/admin/frontier/urls")).status_code,
            (await reader.part("/admin/frontier/stats")).status_code,
            (await reader.send("POST", "/admin/frontier/retry", ids=str(UUID(int=1)))).status_code,
            (await reader.send("POST", "/admin/frontier/submit", url="https://x.example/")).status_code,
        }

    assert statuses == {403}


async def test_the_table_is_filtered_by_the_name_of_a_source_and_shows_the_total(
    operator: Person, database: Database
) -> None:
    source = await a_site(database)
    await queue_urls(database, "https://harbour.example/1", "https://harbour.example/2", source_id=source.id)
    await queue_urls(database, "https://other.example/1")

    page = await operator.open("/admin/frontier")
    by_name = await operator.part("/admin/frontier/urls", params={"source": "harbour"})
    by_id = await operator.part("/admin/frontier/urls", params={"source": str(source.id), "status": "pending"})
    nobody = await operator.part("/admin/frontier/urls", params={"source": "nobody"})

    assert '<option value="Harbour News"></option>' in page.text
    assert f">{len(listed(page))} URLs</p>" in page.text
    assert {"https://harbour.example/1", "https://harbour.example/2"} <= set(listed(by_name))
    assert "https://other.example/1" not in listed(by_name)
    assert f">{len(listed(by_name))} URLs</p>" in by_name.text
    assert by_name.headers["hx-replace-url"] == f"/admin/frontier?source={source.id}"
    assert set(listed(by_id)) == set(listed(by_name))
    assert (nobody.status_code, "No source has this name." in nobody.text) == (400, True)

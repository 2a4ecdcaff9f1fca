"""/api/v1/frontier on a real database: every endpoint does what it says."""

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from httpx import AsyncClient

from headwater.articles.store import content
from headwater.asgi.handlers import decode_cursor, encode_cursor
from headwater.audit import store as audit
from headwater.db import Database
from headwater.frontier.store import claims, queue
from headwater.frontier.types import Answered, FetchFailed, GivenUp, HostAnswer, Origin, Submission
from headwater.types import SourceId
from tests.api.conftest import FRONTIER
from tests.articles.builders import a_content, a_record, an_article_id
from tests.clock import START, MovableClock

pytestmark = pytest.mark.database

PAGE = "https://news.example/2026/harbour"


async def submit(api: AsyncClient, url: str, **more: Any) -> dict[str, Any]:
    response = await api.post(f"{FRONTIER}/submit", json={"url": url, **more})
    assert response.status_code == 200, response.text
    return response.json()


async def listed(api: AsyncClient, **wanted: Any) -> list[str]:
    response = await api.get(FRONTIER, params=wanted)
    assert response.status_code == 200, response.text
    return [url["url"] for url in response.json()["urls"]]


async def let_all_fail(database: Database, clock: MovableClock, *, hopeless: bool = False) -> None:
    """A fetch of every due URL fails."""
    answer = GivenUp("gone", "410") if hopeless else FetchFailed("timeout", "it took too long")
    async with database.as_system() as conn:
        until = clock() + timedelta(minutes=1)
        hosts = await claims.claim(conn, lease=uuid4(), now=clock(), leased_until=until, hosts=100, urls_per_host=100)
    async with database.as_system() as conn:
        answers = [HostAnswer(host, clock(), [Answered(url, answer, clock()) for url in host.urls]) for host in hosts]
        await claims.answer(conn, answers=answers, now=clock())


async def test_a_url_is_queued_once_and_then_known(api: AsyncClient) -> None:
    first = await submit(api, PAGE)
    again = await submit(api, f"{PAGE}/?utm_source=x")

    assert (first["url"], first["result"], first["reason"]) == (PAGE, "queued", None)
    assert (again["result"], again["id"]) == ("known", first["id"])


async def test_a_submitted_url_is_shown_with_its_fields(api: AsyncClient, source_id: UUID) -> None:
    submitted = await submit(api, PAGE, source_id=str(source_id), priority=9, kind="list")

    shown = (await api.get(f"{FRONTIER}/{submitted['id']}")).json()

    assert shown["id"] == submitted["id"]
    assert (shown["url"], shown["host"], shown["status"], shown["origin"]) == (
        PAGE,
        "news.example",
        "pending",
        "manual",
    )
    assert (shown["source_id"], shown["priority"], shown["kind"], shown["depth"]) == (str(source_id), 9, "list", 0)
    assert shown["discovered_at"] == START.isoformat().replace("+00:00", "Z")


@pytest.mark.parametrize(
    "url",
    ["mailto:ann@example.com", "https://", "https://a:b@c.example/", "news.example", f"https://a.example/{'x' * 2040}"],
    ids=["mail", "no-host", "password", "no-scheme", "long"],
)
async def test_a_url_that_cannot_be_fetched_is_refused_with_the_reason(url: str, api: AsyncClient) -> None:
    response = await api.post(f"{FRONTIER}/submit", json={"url": url})

    [fault] = response.json()["errors"]
    assert response.status_code == 422
    assert fault["where"] == "body.url"
    assert fault["problem"]


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/", "http://10.1.2.3/a", "http://169.254.169.254/latest", "http://[::1]/", "http://[fd00::1]/",
        "http://2130706433/", "http://0x7f.1/", "https://localhost/", "http://router.local/", "http://wiki.corp/",
        "http://metadata.google.internal/", "http://intranet/", "http://news.example:22/",
    ],
)  # fmt: skip
async def test_a_private_address_is_refused_at_once(url: str, api: AsyncClient) -> None:
    one = await api.post(f"{FRONTIER}/submit", json={"url": url})
    many = (await api.post(f"{FRONTIER}/submit/bulk", json={"urls": [url, PAGE]})).json()

    assert one.status_code == 422
    assert [(fault["where"], fault["code"]) for fault in one.json()["errors"]] == [("body.url", "blocked_address")]
    assert [(result["result"], result["code"]) for result in many["results"]] == [
        ("invalid", "blocked_address"), ("queued", None)
    ]  # fmt: skip
    assert await listed(api) == [PAGE]


async def test_results_name_the_canonical_url_and_the_code_of_what_is_invalid(api: AsyncClient) -> None:
    urls = [f"{PAGE}?utm_source=x&b=2&a=1#top", "mailto:ann@example.com", 17]

    results = (await api.post(f"{FRONTIER}/submit/bulk", json={"urls": urls})).json()["results"]

    assert [one["canonical_url"] for one in results] == [f"{PAGE}?a=1&b=2", None, None]
    assert [one["code"] for one in results] == [None, "invalid_url", "invalid_value"]


async def test_a_url_carries_its_article_and_whether_its_text_was_read(
    api: AsyncClient, database: Database, source_id: UUID
) -> None:
    pages = [await submit(api, f"https://news.example/{number}") for number in (1, 2, 3)]
    async with database.as_system() as conn:
        record = a_record()
        read = await a_content(conn, SourceId(source_id), "https://news.example/1", record)
        await content.save(conn, records=[read], now=START)
        listed_only = await an_article_id(conn, SourceId(source_id), "https://news.example/2")

    shown = [(await api.get(f"{FRONTIER}/{page['id']}")).json() for page in pages]
    in_list = {url["id"]: url for url in (await api.get(FRONTIER)).json()["urls"]}

    assert [one["article_id"] for one in shown] == [str(read.article_id), str(listed_only), None]
    assert [one["extracted"] for one in shown] == [True, False, False]
    assert shown[0]["extracted_at"] == "2026-03-01T12:00:00Z"
    assert [in_list[one["id"]] for one in shown] == shown


async def test_the_status_of_several_is_one_request(api: AsyncClient, database: Database, clock: MovableClock) -> None:
    dead = await submit(api, "https://news.example/1")
    await let_all_fail(database, clock, hopeless=True)
    pending, missing = await submit(api, "https://news.example/2"), uuid4()
    wanted = {
        "ids": [pending["id"], str(missing)],
        "urls": ["http://news.example/1/?utm_source=x", "https://news.example/3", "no url", "https://news.example/3"],
    }

    found = (await api.post(f"{FRONTIER}/status", json=wanted)).json()

    assert [one["found"] and one["found"]["status"] for one in found["results"]] == [
        "pending", None, "dead", None, None, None
    ]  # fmt: skip
    assert [one["code"] for one in found["results"]] == [
        None, "url_not_found", None, "url_not_found", "invalid_url", "url_not_found"
    ]  # fmt: skip
    assert found["results"][2]["found"]["id"] == dead["id"]
    assert (found["by_status"]["pending"], found["by_status"]["dead"], found["extracted"]) == (1, 1, 0)


async def test_several_are_deleted_at_once_and_each_is_in_the_audit_log(api: AsyncClient, database: Database) -> None:
    one, two = [await submit(api, f"https://news.example/{number}") for number in (1, 2)]
    missing = str(uuid4())

    many = await api.post(f"{FRONTIER}/delete", json={"ids": [one["id"], missing], "urls": ["https://no.example/"]})
    single = await api.delete(f"{FRONTIER}/{two['id']}")

    assert many.json() == {"deleted": 1, "missing": [missing, "https://no.example/"]}
    assert single.status_code == 204
    assert await listed(api) == []
    async with database.as_system() as conn:
        entries = (await audit.list_entries(conn, limit=10)).entries
    assert [(entry.action, entry.subject_name) for entry in entries] == [
        ("url.deleted", "https://news.example/2"), ("url.deleted", "https://news.example/1")
    ]  # fmt: skip
    assert {entry.actor_name for entry in entries} == {"the operator's API token"}


async def test_a_source_must_exist(api: AsyncClient) -> None:
    one = await api.post(f"{FRONTIER}/submit", json={"url": PAGE, "source_id": str(uuid4())})
    many = await api.post(f"{FRONTIER}/submit/bulk", json={"urls": [PAGE], "source_id": str(uuid4())})

    assert one.status_code == 422
    assert one.json()["errors"] == [
        {"where": "body.source_id", "problem": "source not found", "code": "source_not_found"}
    ]
    assert many.json()["results"][0]["reason"] == "source_id: source not found"
    assert await listed(api) == []


async def test_each_url_of_a_bulk_has_its_result_and_invalid_ones_do_not_affect_others(
    api: AsyncClient, source_id: UUID
) -> None:
    await submit(api, "https://known.example/")
    garbage = [
        17,
        None,
        True,
        [],
        [PAGE],
        {},
        {"url": 17},
        {"url": PAGE, "priority": 11},
        {"url": PAGE, "x": 1},
        "",
        "x",
    ]
    good = [PAGE, {"url": f"{PAGE}/2", "priority": 9}, "https://known.example/", PAGE]

    response = await api.post(
        f"{FRONTIER}/submit/bulk", json={"urls": [*garbage, *good], "priority": 2, "source_id": str(source_id)}
    )

    told = response.json()
    assert response.status_code == 200
    assert [one["result"] for one in told["results"]] == [
        *["invalid"] * len(garbage), "queued", "queued", "known", "known"
    ]  # fmt: skip
    assert all(one["reason"] for one in told["results"][: len(garbage)])
    assert {name: told[name] for name in ("queued", "known", "revived", "invalid")} == {
        "queued": 2, "known": 2, "revived": 0, "invalid": len(garbage)
    }  # fmt: skip
    urls = (await api.get(FRONTIER, params={"source_id": str(source_id)})).json()["urls"]
    assert {url["url"]: url["priority"] for url in urls} == {PAGE: 2, f"{PAGE}/2": 9}


async def test_a_bulk_has_at_most_ten_thousand_urls(api: AsyncClient) -> None:
    urls = [f"https://site-{number % 50}.example/{number}" for number in range(10_000)]

    taken = await api.post(f"{FRONTIER}/submit/bulk", json={"urls": urls})
    refused = await api.post(f"{FRONTIER}/submit/bulk", json={"urls": [*urls, PAGE]})
    too_large = await api.post(f"{FRONTIER}/submit/bulk", json={"urls": ["x" * 10_000_000]})

    assert taken.json()["queued"] == 10_000
    assert [one["url"] for one in taken.json()["results"]] == urls
    assert refused.status_code == 422
    assert too_large.status_code == 413
    assert (await api.get(f"{FRONTIER}/stats")).json()["by_status"]["pending"] == 10_000


async def test_a_list_is_filtered(api: AsyncClient, source_id: UUID, database: Database, clock: MovableClock) -> None:
    await submit(api, "https://a.example/failed")
    await let_all_fail(database, clock)
    await submit(api, "https://b.example/one", source_id=str(source_id))
    async with database.as_system() as conn:
        found = [Submission("https://b.example/two", Origin.FEED, source_id=SourceId(source_id))]
        await queue.submit(conn, submissions=found, now=clock())

    assert await listed(api, status="failed") == ["https://a.example/failed"]
    assert sorted(await listed(api, status="pending")) == ["https://b.example/one", "https://b.example/two"]
    assert sorted(await listed(api, source_id=str(source_id))) == ["https://b.example/one", "https://b.example/two"]
    assert await listed(api, host="a.example") == ["https://a.example/failed"]
    assert await listed(api, origin="feed") == ["https://b.example/two"]
    assert await listed(api, q="/ONE") == ["https://b.example/one"]
    assert await listed(api, origin="feed", host="b.example", status="pending", source_id=str(source_id), q="t") == [
        "https://b.example/two"
    ]
    assert await listed(api, q="%") == []
    assert await listed(api, host="nobody.example") == []
    assert await listed(api, source_id=str(uuid4())) == []


@pytest.mark.parametrize("wanted", [{}, {"host": "a.example"}, {"q": "a.example"}], ids=["all", "host", "text"])
async def test_each_url_is_on_one_page_while_the_list_grows(
    wanted: dict[str, str], api: AsyncClient, clock: MovableClock
) -> None:
    for number in range(5):
        clock.move(seconds=1)
        urls = [f"https://a.example/{number}/{page}" for page in range(5)]
        await api.post(f"{FRONTIER}/submit/bulk", json={"urls": urls})

    seen: list[str] = []
    cursor: str | None = None
    while True:
        page = (await api.get(FRONTIER, params={**wanted, "limit": 4, **({"cursor": cursor} if cursor else {})})).json()
        seen += [url["url"] for url in page["urls"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
        clock.move(seconds=1)
        await submit(api, f"https://later.example/{len(seen)}")

    assert sorted(seen) == sorted(f"https://a.example/{number}/{page}" for number in range(5) for page in range(5))


@pytest.mark.parametrize("word", ["x", "AAAA", "é", "%00", "_" * 32, "A" * 101, ""])
async def test_an_invalid_cursor_is_refused(word: str, api: AsyncClient) -> None:
    response = await api.get(FRONTIER, params={"cursor": word})

    assert response.status_code == 422
    assert response.json()["errors"][0]["where"] == "query.cursor"


def test_a_cursor_is_decoded_as_it_was_encoded() -> None:
    at, row_id = START + timedelta(microseconds=1), uuid4()

    assert decode_cursor(encode_cursor(at, row_id)) == (at, row_id)


async def test_stats_count_by_status_and_by_source(
    api: AsyncClient, source_id: UUID, database: Database, clock: MovableClock
) -> None:
    await submit(api, "https://a.example/dead")
    await let_all_fail(database, clock, hopeless=True)
    await submit(api, "https://b.example/one", source_id=str(source_id))

    told = (await api.get(f"{FRONTIER}/stats")).json()

    assert told["total"] == 2
    assert told["by_status"] == {"pending": 1, "fetching": 0, "fetched": 0, "failed": 0, "dead": 1}
    assert {one["source_id"]: (one["pending"], one["dead"]) for one in told["by_source"]} == {
        None: (0, 1), str(source_id): (1, 0)
    }  # fmt: skip


async def test_dead_urls_are_retried_by_id_or_filter(api: AsyncClient, database: Database, clock: MovableClock) -> None:
    ids = [(await submit(api, f"https://{name}.example/"))["id"] for name in ("a", "b", "c")]
    await let_all_fail(database, clock, hopeless=True)

    by_id = await api.post(f"{FRONTIER}/retry", json={"ids": [ids[0], str(uuid4())]})
    elsewhere = await api.post(f"{FRONTIER}/retry", json={"status": "failed"})
    by_host = await api.post(f"{FRONTIER}/retry", json={"host": "b.example"})
    by_status = await api.post(f"{FRONTIER}/retry", json={"status": "dead"})

    assert [one.json() for one in (by_id, elsewhere, by_host, by_status)] == [
        {"retried": number, "next_cursor": None} for number in (1, 0, 1, 1)
    ]
    assert len(await listed(api, status="pending")) == 3


async def test_a_large_retry_continues_with_its_cursor(
    api: AsyncClient, database: Database, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headwater.frontier.matching.PAGE", 2)
    monkeypatch.setattr("headwater.api.routes.frontier.RETRY_PAGES", 1)
    await api.post(f"{FRONTIER}/submit/bulk", json={"urls": [f"https://a.example/{number}" for number in range(5)]})
    await let_all_fail(database, clock)
    body = {"status": "failed"}

    told: list[int] = []
    while True:
        part = (await api.post(f"{FRONTIER}/retry", json=body)).json()
        told.append(part["retried"])
        if part["next_cursor"] is None:
            break
        body["cursor"] = part["next_cursor"]

    assert told == [2, 2, 1]
    assert len(await listed(api, status="pending")) == 5


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"ids": []},
        {"ids": [str(uuid4())], "status": "dead"},
        {"status": "pending"},
        {"cursor": "x", "status": "dead"},
        {"ids": ["x"]},
        {"host": "a\0b"},
        {"ids": None},
    ],
    ids=["nothing", "no-ids", "both", "pending", "cursor", "no-id", "nul", "null"],
)
async def test_a_retry_without_ids_or_filter_is_refused(body: dict[str, Any], api: AsyncClient) -> None:
    assert (await api.post(f"{FRONTIER}/retry", json=body)).status_code == 422


async def test_a_deleted_url_is_new_when_it_is_submitted_again(api: AsyncClient) -> None:
    first = await submit(api, PAGE)

    deleted = await api.delete(f"{FRONTIER}/{first['id']}")
    again = [await api.delete(f"{FRONTIER}/{first['id']}"), await api.get(f"{FRONTIER}/{first['id']}")]

    assert (deleted.status_code, deleted.content) == (204, b"")
    assert {one.status_code for one in again} == {404}
    assert all(first["id"] in one.json()["detail"] for one in again)
    assert (await submit(api, PAGE))["result"] == "queued"

"""Seed 002 §2.3 and §4 of summaries, line by line: paths, statuses, words and side effects."""

import asyncio
import logging
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from httpx import Response
from litestar import Litestar

from headwater.ai.types import AiOptions
from headwater.articles.store import records
from headwater.articles.types import ListedEntry
from headwater.db import Database
from headwater.ids import new_id
from headwater.library.summaries.types import SummaryOptions
from headwater.library.summaries.writer import SummaryWriter
from headwater.types import SourceId, UserId
from headwater.web import WebOptions
from tests.ai.service import Reply, Service, a_service, completion, refusal
from tests.app import create_app
from tests.builders import an_article
from tests.clock import START, MovableClock
from tests.owner import as_owner
from tests.web.visitor import Person, a_person

pytestmark = pytest.mark.database

KEY = "sk-or-v1-0123456789abcdef"
FAILED = "Failed to generate summary. Please try again later."
UNAVAILABLE = "AI service is temporarily unavailable"
NO_ARTICLES = "No articles found from the last 24 hours"
PROGRESS = 'hx-trigger="every 2s"'


def an_app(database: Database, clock: MovableClock, options: SummaryOptions) -> Litestar:
    return create_app(database, clock, web=WebOptions(summaries=options))


@pytest.fixture
async def service() -> AsyncIterator[Service]:
    async with a_service() as service:
        yield service


@pytest.fixture
def options(service: Service) -> SummaryOptions:
    return SummaryOptions(AiOptions(api_key=KEY, base_url=service.url), retry_after=timedelta(milliseconds=1))


@pytest.fixture
def app(database: Database, clock: MovableClock, options: SummaryOptions) -> Litestar:
    return an_app(database, clock, options)


@pytest.fixture
async def ada(app: Litestar) -> AsyncIterator[Person]:
    async with a_person(app) as person:
        await person.register()
        yield person


async def rows(database: Database, sql: str, **values: object) -> list[tuple[object, ...]]:
    async with database.as_system() as conn:
        return [tuple(row) for row in await (await conn.execute(sql.encode(), values)).fetchall()]


async def scalar(database: Database, sql: str) -> object:
    return (await rows(database, sql))[0][0]


async def follow(person: Person, name: str = "Harbour Post", url: str = "https://harbour.example/feed") -> None:
    assert (await person.send("POST", "/feeds", name=name, url=url)).status_code == 204


async def list_news(
    database: Database, *titles: str, url: str = "https://harbour.example/feed", hours: float = 1, **more: Any
) -> None:
    """A feed lists articles; the first of them is the newest."""
    async with database.as_system() as conn:
        cur = await conn.execute("SELECT source_id FROM feed_state WHERE feed_url = %(url)s", {"url": url})
        row = await cur.fetchone()
        assert row is not None
        listed = [
            ListedEntry(
                SourceId(row[0]),
                an_article(
                    f"{url}/{hours}/{number}",
                    title=title,
                    published_at=START - timedelta(hours=hours, seconds=number),
                    **more,
                ),
            )
            for number, title in enumerate(titles)
        ]
        await records.keep(conn, seen_at=START - timedelta(hours=min(hours, 0)), listed=listed)


async def with_news(person: Person, database: Database) -> None:
    await follow(person)
    await list_news(database, "Storm Edda floods Bremvik", "Rates stay", summary="<p>Water &amp; wind.</p>")


# Of GET /summaries/latest.


async def test_without_a_summary_there_is_a_button_to_generate_one(ada: Person) -> None:
    part = await ada.part("/summaries/latest")

    assert part.status_code == 200
    assert "<html" not in part.text
    assert "No summary yet" in part.text
    assert re.search(
        r'<button[^>]*hx-post="/summaries"[^>]*hx-target="#summary-container"[^>]*>Generate</button>', part.text
    )


async def test_the_latest_summary_comes_with_its_time_model_and_number_of_articles(
    ada: Person, database: Database, clock: MovableClock
) -> None:
    await with_news(ada, database)
    await ada.send("POST", "/summaries")
    clock.move(minutes=5)

    part = await ada.part("/summaries/latest")

    assert part.status_code == 200
    assert "Storm Edda flooded the harbour" in part.text
    assert f'<time datetime="{START.isoformat()}"' in part.text
    assert "5 minutes ago" in part.text
    assert "openai/gpt-4o-mini-2024-07-18" in part.text
    assert "2 articles" in part.text
    assert 'hx-post="/summaries"' in part.text


async def test_reading_a_summary_has_no_side_effects(ada: Person, database: Database, clock: MovableClock) -> None:
    await with_news(ada, database)
    await ada.part("/summaries/latest")

    assert await scalar(database, "SELECT count(*) FROM summaries") == 0
    assert await scalar(database, "SELECT count(*) FROM events WHERE event_type = 'summary_generated'") == 0


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/summaries/latest"), ("POST", "/summaries")], ids=["get", "post"]
)
async def test_without_a_login_summaries_are_401_with_a_link_to_log_in(app: Litestar, method: str, path: str) -> None:
    async with a_person(app) as visitor:
        await visitor.open("/auth/register")
        part = await visitor.send(method, path)

    assert part.status_code == 401
    assert 'href="/auth/login"' in part.text
    assert "<html" not in part.text


@pytest.mark.parametrize(
    ("method", "path", "message", "place"),
    [
        ("GET", "/summaries/latest", "Failed to load summary", ""),
        ("POST", "/summaries", FAILED, "#summary-errors"),
    ],
    ids=["get", "post"],
)
async def test_server_errors_are_500_with_the_specified_messages(
    ada: Person, database: Database, method: str, path: str, message: str, place: str
) -> None:
    await with_news(ada, database)
    async with as_owner(database) as conn:
        await conn.execute("ALTER TABLE summaries RENAME TO hidden")

    part = await ada.send(method, path)

    assert part.status_code == 500
    assert message in part.text
    assert part.headers.get("hx-retarget", "") == place


# Of POST /summaries.


async def test_a_new_summary_is_200_and_creates_a_row_and_an_event(
    ada: Person, database: Database, clock: MovableClock
) -> None:
    await with_news(ada, database)

    part = await ada.send("POST", "/summaries")

    assert part.status_code == 200
    assert "<html" not in part.text
    assert "Storm Edda flooded the harbour" in part.text
    assert f'<time datetime="{clock().isoformat()}"' in part.text
    (row,) = await rows(
        database,
        "SELECT status, model, article_count, prompt_tokens, completion_tokens, cost::text, error, finished_at"
        " FROM summaries",
    )
    assert row == ("ready", "openai/gpt-4o-mini-2024-07-18", 2, 1200, 340, "0.00042137", None, clock())
    event = await rows(database, "SELECT metadata FROM events WHERE event_type = 'summary_generated'")
    assert event == [({"article_count": 2},)]


async def test_the_request_to_the_model_follows_the_specification(
    ada: Person, database: Database, service: Service, options: SummaryOptions
) -> None:
    await with_news(ada, database)

    await ada.send("POST", "/summaries")

    (request,) = service.requests
    assert request["model"] == "openai/gpt-4o-mini"
    assert request["max_tokens"] == 1000
    assert request["temperature"] == 0.3
    assert SummaryOptions().timeout == timedelta(seconds=60)
    assert SummaryOptions().retry_after == timedelta(seconds=2)
    assert SummaryOptions().ai.base_url == "https://openrouter.ai/api/v1"
    assert service.keys == [f"Bearer {KEY}"]
    prompt = request["messages"][0]["content"]
    assert prompt.startswith("Generate a concise summary of the following articles published in the last 24 hours.")
    assert (
        "Title: Storm Edda floods Bremvik\nSource: Harbour Post\nPublished Date: 2026-03-01 11:00 UTC\n"
        "Content excerpt: Water & wind."
    ) in prompt


async def test_a_summary_covers_the_users_feeds_of_24_hours_newest_first(
    app: Litestar, ada: Person, database: Database, service: Service
) -> None:
    await follow(ada)
    await list_news(database, "Yesterday's edge", hours=24)
    await list_news(database, "Too old", hours=24.1)
    await list_news(database, "Fresh", "A second older", hours=2)
    async with a_person(app) as bob:
        await bob.register("bob@example.com")
        await follow(bob, "Bob's", "https://bob.example/feed")
        await list_news(database, "Bob's alone", url="https://bob.example/feed")

    await ada.send("POST", "/summaries")

    titles = re.findall(r"Title: (.*)", service.requests[0]["messages"][0]["content"])
    assert titles == ["Fresh", "A second older", "Yesterday's edge"]


async def test_the_extracted_text_is_preferred_to_that_of_the_feed(
    ada: Person, database: Database, service: Service
) -> None:
    await with_news(ada, database)
    async with database.as_system() as conn:
        await conn.execute(
            """
            INSERT INTO content (article_id, url, url_key, text, keywords, authors, open_graph, linked_data, origins,
                word_count, richness, extracted_at)
            SELECT id, url, url_key, 'The whole text.', '{}', '{}', '{}', '{}', '{}', 3, 3, now()
            FROM articles WHERE title = 'Rates stay'
            """
        )

    await ada.send("POST", "/summaries")

    assert re.findall(r"excerpt: (.*)", service.requests[0]["messages"][0]["content"]) == [
        "Water & wind.",
        "The whole text.",
    ]


async def test_a_summary_has_at_most_a_hundred_articles(ada: Person, database: Database, service: Service) -> None:
    await follow(ada)
    await list_news(database, *(f"Number {number}" for number in range(120)))

    part = await ada.send("POST", "/summaries")

    titles = re.findall(r"Title: (.*)", service.requests[0]["messages"][0]["content"])
    assert titles == [f"Number {number}" for number in range(100)]
    assert "100 articles" in part.text


async def test_without_articles_it_is_404_with_the_specified_message_and_no_request(
    ada: Person, database: Database, service: Service
) -> None:
    await follow(ada)
    await list_news(database, "Old", hours=25)

    part = await ada.send("POST", "/summaries")

    assert part.status_code == 404
    assert NO_ARTICLES in part.text
    assert part.headers["hx-retarget"] == "#summary-errors"
    assert service.requests == []
    assert await scalar(database, "SELECT count(*) FROM summaries") == 0


async def test_errors_are_shown_beside_the_summary(ada: Person, database: Database) -> None:
    empty = await ada.part("/summaries/latest")
    await with_news(ada, database)
    full = await ada.send("POST", "/summaries")

    assert all('id="summary-errors"' in part.text for part in (empty, full))


async def test_a_failure_is_retried_once(ada: Person, database: Database, service: Service) -> None:
    await with_news(ada, database)
    service.replies = [Reply(500, refusal(500)), Reply()]

    part = await ada.send("POST", "/summaries")

    assert part.status_code == 200
    assert len(service.requests) == 2
    assert await scalar(database, "SELECT count(*) FROM summaries") == 1


@pytest.mark.parametrize(
    ("reply", "status", "message"),
    [
        (Reply(500, refusal(500)), 503, UNAVAILABLE),
        (Reply(502, "<html>bad gateway"), 503, UNAVAILABLE),
        (Reply(429, refusal(429)), 503, UNAVAILABLE),
        (Reply(401, refusal(401)), 503, UNAVAILABLE),
        (Reply(402, refusal(402)), 503, UNAVAILABLE),
        (Reply(200, refusal(502)), 503, UNAVAILABLE),
        (Reply(400, refusal(400)), 500, FAILED),
        (Reply(404, refusal(404)), 503, UNAVAILABLE),  # no such model: it fails for all
        (Reply(200, "<html>hello"), 500, FAILED),
        (Reply(200, {"odd": True}), 500, FAILED),
        (Reply(200, completion("")), 500, FAILED),
        (Reply(200, completion(None)), 500, FAILED),
    ],
    ids=["500", "502", "429", "401", "402", "inside-200", "400", "404", "html", "odd", "empty", "null"],
)
async def test_errors_of_the_service_have_their_status_and_message(
    ada: Person, database: Database, service: Service, reply: Reply, status: int, message: str
) -> None:
    await with_news(ada, database)
    service.replies = [reply]

    part = await ada.send("POST", "/summaries")

    assert part.status_code == status
    assert message in part.text
    assert part.headers["hx-retarget"] == "#summary-errors"
    assert len(service.requests) == 2
    assert await rows(database, "SELECT status, error FROM summaries") == [("failed", message)]
    assert await scalar(database, "SELECT count(*) FROM events WHERE event_type = 'summary_generated'") == 0
    again = await ada.part("/summaries/latest")
    assert message in again.text
    assert 'hx-post="/summaries"' in again.text


async def test_a_service_that_hangs_is_503(
    database: Database, clock: MovableClock, service: Service, options: SummaryOptions
) -> None:
    service.replies = [Reply(hangs=True)]
    app = an_app(database, clock, replace(options, timeout=timedelta(milliseconds=200)))
    async with a_person(app) as ada:
        await ada.register()
        await with_news(ada, database)

        part = await ada.send("POST", "/summaries")

    assert part.status_code == 503
    assert UNAVAILABLE in part.text


async def test_an_unreachable_service_is_503(database: Database, clock: MovableClock, options: SummaryOptions) -> None:
    app = an_app(database, clock, replace(options, ai=replace(options.ai, base_url="http://127.0.0.1:9/api/v1")))
    async with a_person(app) as ada:
        await ada.register()
        await with_news(ada, database)

        part = await ada.send("POST", "/summaries")

    assert part.status_code == 503
    assert UNAVAILABLE in part.text


async def test_a_failure_keeps_the_previous_summary(ada: Person, database: Database, service: Service) -> None:
    await with_news(ada, database)
    await ada.send("POST", "/summaries")
    service.replies = [Reply(429, refusal(429))]

    await ada.send("POST", "/summaries")

    part = await ada.part("/summaries/latest")
    assert "Storm Edda flooded the harbour" in part.text
    assert UNAVAILABLE in part.text


async def test_a_form_without_a_csrf_token_creates_no_summary(
    ada: Person, database: Database, service: Service
) -> None:
    await with_news(ada, database)
    ada.token = ""

    part = await ada.send("POST", "/summaries")

    assert part.status_code == 403
    assert service.requests == []


@pytest.mark.parametrize("cost", [None, "0.1", -1, 1e9, True], ids=["none", "text", "negative", "huge", "bool"])
async def test_an_invalid_cost_is_not_stored(ada: Person, database: Database, service: Service, cost: object) -> None:
    await with_news(ada, database)
    service.replies = [Reply(body=completion(cost=cost))]

    part = await ada.send("POST", "/summaries")

    assert part.status_code == 200
    assert await scalar(database, "SELECT max(cost) FROM summaries") is None


# What the model writes.


async def test_citations_are_links_to_the_given_articles(ada: Person, database: Database, service: Service) -> None:
    await with_news(ada, database)
    service.replies = [Reply(body=completion("It rained [1]. Rates stay [2, 3]. Nothing [9]."))]

    part = await ada.send("POST", "/summaries")

    linked = re.findall(r'<a href="(/articles/[^"]*)"[^>]*>(.*?)</a>', part.text)
    (storm,), (rates,) = await rows(database, "SELECT id FROM articles ORDER BY title DESC")
    assert linked == [(f"/articles/{storm}", "[1]"), (f"/articles/{rates}", "[2]")]
    assert "[9]" not in part.text
    assert (await ada.open(linked[0][0])).status_code == 200


async def test_output_of_the_model_is_sanitised(ada: Person, database: Database, service: Service) -> None:
    await with_news(ada, database)
    evil = (
        "<script>alert(1)</script> [a](javascript:alert(1)) ![p](https://evil.example/p.png) <img src=x onerror=a()>\0"
        "\n\n[1](https://evil.example/) [out](//evil.example/) <div hx-get='/auth/logout' hx-trigger=load>x</div>"
    )
    service.replies = [Reply(body=completion(evil))]

    part = await ada.send("POST", "/summaries")

    assert part.status_code == 200
    assert "<script" not in part.text
    assert "<img" not in part.text
    assert "<div hx-get" not in part.text
    assert not re.search(r'(?:href|src)="(?!/articles/)', part.text)


async def test_a_truncated_summary_says_so(ada: Person, database: Database, service: Service) -> None:
    await with_news(ada, database)
    service.replies = [Reply(body=completion("It rained and", finish_reason="length"))]

    assert "It rained and…" in (await ada.send("POST", "/summaries")).text


# While one is being made.


async def test_a_second_request_sees_the_progress_and_costs_nothing(
    ada: Person, database: Database, service: Service
) -> None:
    await with_news(ada, database)
    service.replies = [Reply(hangs=True)]

    first = asyncio.create_task(ada.send("POST", "/summaries"))
    await service.asked.wait()
    second, look = await ada.send("POST", "/summaries"), await ada.part("/summaries/latest")
    service.released.set()
    made = await first
    after = await ada.part("/summaries/latest")

    for part in (second, look):
        assert part.status_code == 200
        assert PROGRESS in part.text
        assert 'hx-get="/summaries/latest"' in part.text
        assert 'hx-post="/summaries"' not in part.text
    assert made.status_code == 200
    for part in (made, after):
        assert "Storm Edda flooded the harbour" in part.text
        assert PROGRESS not in part.text
    assert len(service.requests) == 1
    assert await scalar(database, "SELECT count(*) FROM summaries") == 1


async def test_of_concurrent_requests_one_creates_the_summary(
    ada: Person, database: Database, service: Service
) -> None:
    await with_news(ada, database)
    service.replies = [Reply(hangs=True)]

    posts = {asyncio.create_task(ada.send("POST", "/summaries")) for _ in range(4)}
    others: set[asyncio.Task[Response]] = set()
    while len(others) < 3:
        done, _ = await asyncio.wait(posts - others, return_when=asyncio.FIRST_COMPLETED)
        others |= done
    service.released.set()
    made = await (posts - others).pop()

    assert all(PROGRESS in task.result().text for task in others)
    assert PROGRESS not in made.text
    assert len(service.requests) == 1
    assert await scalar(database, "SELECT count(*) FROM events WHERE event_type = 'summary_generated'") == 1


async def test_a_summary_of_a_dead_process_expires_after_three_minutes(
    ada: Person, database: Database, clock: MovableClock, service: Service
) -> None:
    await with_news(ada, database)
    async with database.as_system() as conn:
        await conn.execute(
            "INSERT INTO summaries (id, user_id, status, created_at) SELECT %(id)s, id, 'making', %(now)s FROM users",
            {"id": new_id(), "now": clock()},
        )
    early = await ada.send("POST", "/summaries")
    clock.move(minutes=3)
    look = await ada.part("/summaries/latest")
    late = await ada.send("POST", "/summaries")

    assert PROGRESS in early.text
    assert PROGRESS not in look.text
    assert 'hx-post="/summaries"' in look.text
    assert "Storm Edda flooded the harbour" in late.text
    # What was given up counts for the limit of the day.
    assert await rows(database, "SELECT status FROM summaries ORDER BY created_at") == [("failed",), ("ready",)]


async def test_summaries_dated_in_the_future_are_ignored(
    database: Database, clock: MovableClock, options: SummaryOptions
) -> None:
    ahead = clock() + timedelta(days=200)
    app = an_app(database, clock, replace(options, daily_limit=1))
    async with a_person(app) as ada:
        await ada.register()
        await with_news(ada, database)
        async with database.as_system() as conn:
            for status, finished_at in (("making", None), ("ready", ahead)):
                await conn.execute(
                    """
                    INSERT INTO summaries (id, user_id, status, content, created_at, finished_at)
                    SELECT %(id)s, id, %(status)s, 'Of the future', %(ahead)s, %(finished_at)s FROM users
                    """,
                    {"id": new_id(), "status": status, "ahead": ahead, "finished_at": finished_at},
                )
        look = await ada.part("/summaries/latest")
        made = await ada.send("POST", "/summaries")
        latest = await ada.part("/summaries/latest")

    assert PROGRESS not in look.text
    assert made.status_code == 200
    assert "Storm Edda flooded the harbour" in latest.text
    found = await rows(database, "SELECT status, created_at, finished_at FROM summaries ORDER BY created_at")
    day_before = clock() - timedelta(hours=24)
    assert found == [("ready", day_before, day_before), ("ready", clock(), clock())]


async def test_a_cancelled_summary_does_not_block_the_next(
    ada: Person, database: Database, clock: MovableClock, service: Service, options: SummaryOptions
) -> None:
    await with_news(ada, database)
    service.replies = [Reply(hangs=True), Reply()]
    user_id = UserId(UUID(str(await scalar(database, "SELECT id FROM users"))))
    stopped = asyncio.create_task(SummaryWriter(database, clock, options).make(user_id))
    await service.asked.wait()
    stopped.cancel()
    with pytest.raises(asyncio.CancelledError):
        await stopped

    part = await ada.send("POST", "/summaries")

    assert part.status_code == 200
    assert PROGRESS not in part.text


async def test_a_late_summary_that_was_paid_for_is_stored(
    ada: Person, database: Database, clock: MovableClock, service: Service
) -> None:
    await with_news(ada, database)
    service.replies = [Reply(body=completion("The slow one."), hangs=True), Reply(body=completion("The quick one."))]
    slow = asyncio.create_task(ada.send("POST", "/summaries"))
    await service.asked.wait()
    clock.move(minutes=4)

    quick = await ada.send("POST", "/summaries")
    service.released.set()
    late = await slow

    assert "The quick one." in quick.text
    assert late.status_code == 200
    assert "The quick one." in (await ada.part("/summaries/latest")).text


# Whose it is.


async def test_summaries_of_users_are_independent(
    app: Litestar, ada: Person, database: Database, service: Service
) -> None:
    await with_news(ada, database)
    await ada.send("POST", "/summaries")
    service.replies = [Reply(hangs=True)]
    service.asked.clear()
    making = asyncio.create_task(ada.send("POST", "/summaries"))
    await service.asked.wait()

    async with a_person(app) as bob:
        await bob.register("bob@example.com")
        look, made = await bob.part("/summaries/latest"), await bob.send("POST", "/summaries")
    service.released.set()
    await making

    assert "No summary yet" in look.text
    assert PROGRESS not in look.text
    assert made.status_code == 404


async def test_row_level_security_protects_rows_of_other_users(ada: Person, app: Litestar, database: Database) -> None:
    await with_news(ada, database)
    await ada.send("POST", "/summaries")
    async with a_person(app) as bob:
        await bob.register("bob@example.com")
    (bobs,) = await rows(database, "SELECT id FROM users WHERE email = 'bob@example.com'")

    async with database.as_user(UserId(UUID(str(bobs[0])))) as conn:
        seen = await (await conn.execute("SELECT count(*) FROM summaries")).fetchone()
        changed = await conn.execute("UPDATE summaries SET content = 'mine'")
        gone = await conn.execute("DELETE FROM summaries")

    assert (seen, changed.rowcount, gone.rowcount) == ((0,), 0, 0)


# Without a key.


async def test_without_a_key_the_summary_is_local_and_says_so(
    database: Database, clock: MovableClock, service: Service, options: SummaryOptions
) -> None:
    async with a_person(an_app(database, clock, replace(options, ai=AiOptions()))) as ada:
        await ada.register()
        await follow(ada)
        text = (
            "<p>Storm Edda flooded the old harbour of Bremvik on Tuesday night. Ferries are cancelled until Friday.</p>"
        )
        await list_news(database, "Storm Edda floods Bremvik", content=text)
        part = await ada.send("POST", "/summaries")

    assert part.status_code == 200
    assert "Generated on this server, without a language model" in part.text
    assert "Storm Edda flooded the old harbour of Bremvik on Tuesday night." in part.text
    assert 'href="/articles/' in part.text
    assert service.requests == []
    (row,) = await rows(database, "SELECT status, model, article_count, prompt_tokens, cost FROM summaries")
    assert row == ("ready", "extractive", 1, None, None)
    assert await rows(database, "SELECT metadata FROM events WHERE event_type = 'summary_generated'") == [
        ({"article_count": 1},)
    ]


# The monthly budget.


async def test_at_the_ceiling_of_the_budget_the_summary_is_local_and_says_why(
    database: Database, clock: MovableClock, service: Service, options: SummaryOptions
) -> None:
    spent = replace(options, ai=replace(options.ai, monthly_budget=Decimal("0.000001")))
    async with a_person(an_app(database, clock, spent)) as ada:
        await ada.register()
        await with_news(ada, database)
        part = await ada.send("POST", "/summaries")

    assert part.status_code == 200
    assert "because the monthly budget for language models is used up" in part.text
    assert service.requests == []
    assert await rows(database, "SELECT status, cost FROM summaries") == [("ready", None)]


async def test_a_summary_and_its_retry_count_against_the_budget(
    ada: Person, database: Database, service: Service
) -> None:
    await with_news(ada, database)
    service.replies = [Reply(body=completion("", cost=0.002)), Reply(body=completion(cost=0.003))]

    await ada.send("POST", "/summaries")

    statement = "SELECT purpose, model, requests, failures, cost_micros FROM ai_usage_tracking"
    assert await rows(database, statement) == [("summary", "openai/gpt-4o-mini", 2, 1, 5000)]


# The key.


async def test_the_key_never_reaches_a_log_or_a_page(
    ada: Person,
    database: Database,
    service: Service,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.DEBUG)
    await with_news(ada, database)
    parts = [await ada.send("POST", "/summaries")]
    for reply in (Reply(401, {"error": {"code": 401, "message": f"bad key {KEY}"}}), Reply(200, f"echo {KEY}")):
        service.replies = [reply]
        parts.append(await ada.send("POST", "/summaries"))

    said = "".join(str(record.__dict__) for record in caplog.records) + "".join(capfd.readouterr())
    assert service.keys[0] == f"Bearer {KEY}"
    assert KEY not in said
    assert not any(KEY in part.text for part in parts)


# The daily limit.


async def test_summaries_per_day_are_limited_with_the_time_of_the_next(
    database: Database, clock: MovableClock, options: SummaryOptions, service: Service
) -> None:
    app = an_app(database, clock, replace(options, daily_limit=3))
    async with a_person(app) as ada, a_person(app) as bob:
        await ada.register()
        await with_news(ada, database)
        made: list[int] = []
        for _ in range(3):
            made.append((await ada.send("POST", "/summaries")).status_code)
            clock.move(hours=1)

        refused = await ada.send("POST", "/summaries")
        latest = await ada.part("/summaries/latest")
        await bob.register("bob@example.com")
        await follow(bob)
        others = await bob.send("POST", "/summaries")
        clock.move(hours=21, minutes=1)
        await list_news(database, "Later news", hours=-23)
        later = await ada.send("POST", "/summaries")

    assert made == [200, 200, 200]
    assert refused.status_code == 429
    assert "3 summaries a day are allowed. Try again in 21 hours." in refused.text
    assert refused.headers["hx-retarget"] == "#summary-errors"
    assert "Storm Edda flooded the harbour" in latest.text
    assert (others.status_code, later.status_code) == (200, 200)
    assert len(service.requests) == 5


async def test_over_the_total_limit_summaries_are_local(
    database: Database, clock: MovableClock, options: SummaryOptions, service: Service
) -> None:
    app = an_app(database, clock, replace(options, total_limit=2))
    answers: list[int] = []
    for name in ("ada", "bob", "eve"):
        async with a_person(app) as person:
            await person.register(f"{name}@example.com")
            await with_news(person, database)
            answers.append((await person.send("POST", "/summaries")).status_code)

    assert answers == [200, 200, 200]
    assert len(service.requests) == 2


async def test_failed_summaries_count_towards_the_limit(
    database: Database, clock: MovableClock, options: SummaryOptions, service: Service
) -> None:
    app = an_app(database, clock, replace(options, daily_limit=2))
    service.replies = [Reply(500, refusal(500))] * 4
    async with a_person(app) as ada:
        await ada.register()
        await with_news(ada, database)

        answers = [(await ada.send("POST", "/summaries")).status_code for _ in range(4)]

    assert answers == [503, 503, 429, 429]
    assert len(service.requests) == 4


async def test_concurrent_requests_in_several_processes_respect_the_limit(
    database: Database, clock: MovableClock, options: SummaryOptions, service: Service
) -> None:
    limited = replace(options, daily_limit=2)
    async with a_person(an_app(database, clock, limited)) as ada:
        await ada.register()
        await with_news(ada, database)
    user_id = UserId(UUID(str(await scalar(database, "SELECT id FROM users"))))
    writers = [SummaryWriter(database, clock, limited) for _ in range(3)]

    for _ in range(4):
        await asyncio.gather(*(writer.make(user_id) for writer in writers * 3), return_exceptions=True)

    assert len(service.requests) == 2
    assert await scalar(database, "SELECT count(*) FROM summaries") == 2

"""Seed 003 §5, AI tagging and budget control, line by line, with a stand-in for the service."""

import asyncio
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from structlog.testing import capture_logs

from headwater.ai.types import BudgetLevel
from headwater.db import fetch_rows, fetch_value
from headwater.labels.types import Scheme
from headwater.labels.vocabulary import CATEGORIES, SENTIMENTS
from headwater.understanding.tagging.prompt import ANSWER_TOKENS, PROMPT_VERSION
from headwater.understanding.tagging.types import TaggingOutcome
from tests.ai.service import Reply, completion
from tests.soak import IS_SOAK
from tests.understanding.tagging.desk import GOOD, MODEL, Desk, says

pytestmark = pytest.mark.database

TAGGED, FAILED, POSTPONED = TaggingOutcome.TAGGED, TaggingOutcome.FAILED, TaggingOutcome.POSTPONED


# 5.1 Feed items are enriched with AI-generated tags.


async def test_topics_are_keywords_or_concepts(desk: Desk) -> None:
    article = await desk.article()
    desk.service.replies = [says(topics=["artificial intelligence", "climate change", "Lindau"])]

    await desk.run(desk.tagger())

    keywords = {one.label for one in await desk.labels(article) if one.scheme is Scheme.KEYWORD}
    assert keywords == {"artificial intelligence", "climate change", "lindau"}


@pytest.mark.parametrize("sentiment", ["positive", "negative", "neutral", "mixed"])
async def test_sentiment_is_positive_negative_neutral_or_mixed(desk: Desk, sentiment: str) -> None:
    article = await desk.article()
    desk.service.replies = [says(sentiment=sentiment)]

    await desk.run(desk.tagger())

    assert [one.label for one in await desk.labels(article) if one.scheme is Scheme.SENTIMENT] == [sentiment]
    assert desk.service.requests[0]["response_format"]["json_schema"]["schema"]["properties"]["sentiment"][
        "enum"
    ] == list(SENTIMENTS)


async def test_categories_are_those_of_the_homepage(desk: Desk) -> None:
    article = await desk.article()
    desk.service.replies = [says(categories=["Technology", "Business & Finance"])]

    await desk.run(desk.tagger())

    labels = await desk.labels(article)
    assert {one.label for one in labels if one.scheme is Scheme.CATEGORY} == {"Technology", "Business & Finance"}
    schema = desk.service.requests[0]["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["categories"]["items"]["enum"] == list(CATEGORIES)
    assert len(CATEGORIES) == 8


@pytest.mark.parametrize("confidence", [0.0, 0.85, 1])
async def test_confidence_is_the_score_of_each_tag(desk: Desk, confidence: float) -> None:
    article = await desk.article()
    desk.service.replies = [says(confidence=confidence)]

    await desk.run(desk.tagger())

    assert await desk.tags(article) == {
        ("keyword", "nuclear energy", confidence), ("keyword", "record output", confidence),
        ("keyword", "lindau", confidence), ("sentiment", "positive", confidence),
        ("category", "Science & Health", confidence), ("category", "Technology", confidence),
    }  # fmt: skip


async def test_tags_say_which_model_and_prompt_they_are_of(desk: Desk) -> None:
    article = await desk.article()

    await desk.run(desk.tagger())

    assert {one.version for one in await desk.labels(article)} == {f"{MODEL} prompt {PROMPT_VERSION}"}


async def test_the_job_processes_items_where_ai_tagged_is_false(desk: Desk) -> None:
    first, second = await desk.article(), await desk.article()
    tagger = desk.tagger()

    assert (await desk.state(first))["ai_tagged"] is False
    assert await desk.run(tagger, 10) == [TAGGED, TAGGED]
    desk.clock.move(days=1)
    assert await desk.run(tagger, 10) == []

    assert [(await desk.state(one))["ai_tagged"] for one in (first, second)] == [True, True]
    assert len(desk.service.requests) == 2


async def test_a_tagged_item_says_since_when(desk: Desk) -> None:
    article = await desk.article()
    desk.clock.move(minutes=3)

    await desk.run(desk.tagger())

    assert await desk.state(article) == {
        "ai_tagged": True, "ai_tagged_at": desk.clock(), "ai_attempts": 0, "ai_due_at": None, "ai_lease": None
    }  # fmt: skip


async def test_the_request_is_at_temperature_0_with_a_strict_schema(desk: Desk) -> None:
    await desk.article()

    await desk.run(desk.tagger())

    [request] = desk.service.requests
    assert (request["model"], request["temperature"]) == (MODEL, 0)
    form = request["response_format"]
    assert (form["type"], form["json_schema"]["strict"]) == ("json_schema", True)
    assert form["json_schema"]["schema"]["required"] == list(GOOD)


# 5.2 Monthly AI budget: $500 ceiling.


async def spend(desk: Desk, share: str) -> None:
    """Use a share of $500, as summaries or tags of before."""
    statement = """
        INSERT INTO ai_budget (month, spent_micros) VALUES (date_trunc('month', %(now)s::timestamptz), %(spent)s)
        ON CONFLICT (month) DO UPDATE SET spent_micros = excluded.spent_micros
    """
    async with desk.database.transaction() as conn:
        await conn.execute(statement, {"now": desk.clock(), "spent": round(float(share) * 500_000_000)})


async def test_the_ceiling_is_500_dollars_a_month(desk: Desk) -> None:
    budget = await desk.client().budget()

    assert (budget.ceiling_micros, budget.month.isoformat()) == (500_000_000, "2026-03-01")


async def test_monthly_spend_is_tracked_in_ai_usage_tracking(desk: Desk) -> None:
    for _ in range(3):
        await desk.article()
    desk.service.replies = [says()]

    await desk.run(desk.tagger(), 3)

    statement = "SELECT month::text, purpose, model, requests, cost_micros FROM ai_usage_tracking"
    async with desk.database.transaction() as conn:
        rows = await fetch_rows(conn, statement)
    assert rows == [
        {"month": "2026-03-01", "purpose": "tagging", "model": MODEL, "requests": 3, "cost_micros": 600},
    ]


async def test_spend_is_checked_before_each_batch(desk: Desk) -> None:
    await desk.article()
    tagger = desk.tagger()
    await spend(desk, "0.5")
    assert await desk.run(tagger) == [TAGGED]

    await desk.article()
    await spend(desk, "1")

    assert await desk.run(tagger) == []


@pytest.mark.parametrize("share", ["1", "1.1"])
async def test_at_the_ceiling_tagging_is_skipped_with_one_warning(desk: Desk, share: str) -> None:
    article = await desk.article()
    await spend(desk, share)
    tagger = desk.tagger()

    with capture_logs() as logs:
        for _ in range(3):
            assert await desk.run(tagger, 10) == []
            desk.clock.move(minutes=1)

    assert [line["log_level"] for line in logs] == ["warning"]
    assert "budget reached" in logs[0]["event"]
    assert desk.service.requests == []
    state = await desk.state(article)
    assert (state["ai_tagged"], state["ai_attempts"]) == (False, 0)


async def test_a_call_that_does_not_fit_below_the_ceiling_is_one_warning_and_no_attempt(desk: Desk) -> None:
    source = await desk.source(readers=1)
    articles = [await desk.article(source) for _ in range(2)]
    tagger = desk.tagger()
    await spend(desk, "0.9999999")  # $0.00005 are left

    with capture_logs() as logs:
        for _ in range(5):
            await desk.run(tagger, 10)
            desk.clock.move(minutes=1)

    assert [line["event"] for line in logs] == ["AI budget reached"]
    assert (await desk.client().budget()).level is BudgetLevel.REACHED
    assert desk.service.requests == []
    assert {(await desk.state(one))["ai_attempts"] for one in articles} == {0}


async def test_the_counter_is_reset_on_the_first_of_the_month_utc(desk: Desk) -> None:
    desk.clock.now = datetime(2026, 3, 31, 23, 59, tzinfo=UTC)
    article = await desk.article()
    await spend(desk, "1")
    tagger = desk.tagger()
    assert await desk.run(tagger) == []

    desk.clock.move(minutes=1)

    assert await desk.run(tagger) == [TAGGED]
    assert (await desk.state(article))["ai_tagged"] is True
    assert (await desk.client().budget()).spent_micros == 200


async def test_high_traffic_sources_are_tagged_first(desk: Desk) -> None:
    unread, few, many = await desk.source(), await desk.source(readers=1), await desk.source(readers=3)
    one = await desk.article(unread)
    two = await desk.article(many)
    three = await desk.article(few)
    four = await desk.article(few)
    five = await desk.article(few, many)

    order = await desk.order(
        desk.tagger(), ("unread", one), ("many", two), ("old", three), ("new", four), ("all", five)
    )

    assert order == ["all", "many", "new", "old", "unread"]


async def test_low_traffic_sources_are_deferred_if_the_budget_is_limited(desk: Desk) -> None:
    sources = [await desk.source(readers=readers) for readers in (4, 2, 1, 1, 0)]
    articles = [await desk.article(one) for one in sources]
    names = [(str(at), article) for at, article in enumerate(articles)]
    tagger = desk.tagger()

    await spend(desk, "0.75")
    limited = await desk.order(tagger, *names)
    await spend(desk, "0.7499")
    rest = await desk.order(tagger, *names)

    # Of the four sources with readers, a quarter has at least 2.
    assert limited == ["0", "1"]
    assert rest == ["3", "2", "4"]


async def test_nothing_starves_below_75_percent(desk: Desk) -> None:
    source, popular = await desk.source(), await desk.source(readers=2)
    waiting = await desk.article(source)
    tagger = desk.tagger()
    await desk.order(tagger, limit=0)
    desk.clock.move(days=1, minutes=1)
    for _ in range(20):
        await desk.article(popular)

    first = [one.article_id for one in await tagger.claim(4)]

    assert waiting in first
    assert len(first) == 4


# 5.3 Retry policy.


async def test_a_failed_item_stays_untagged_and_is_tried_on_a_later_run(desk: Desk) -> None:
    article = await desk.article()
    desk.service.replies = [says("no JSON"), says()]
    tagger = desk.tagger()

    assert await desk.run(tagger) == [FAILED]
    state = await desk.state(article)
    assert (state["ai_tagged"], state["ai_attempts"]) == (False, 1)
    assert await desk.run(tagger) == []  # not at once
    desk.clock.now = state["ai_due_at"]
    assert await desk.run(tagger) == [TAGGED]

    assert len(await desk.tags(article)) == 6


async def test_after_three_attempts_it_is_tagged_with_empty_tags(desk: Desk) -> None:
    article = await desk.article()
    desk.service.replies = [says("no JSON")]
    tagger = desk.tagger()

    outcomes = list[TaggingOutcome]()
    for _ in range(10):
        outcomes += await desk.run(tagger)
        desk.clock.move(hours=3)

    assert outcomes == [FAILED, FAILED, TaggingOutcome.GIVEN_UP]
    state = await desk.state(article)
    assert (state["ai_tagged"], state["ai_attempts"]) == (True, 3)
    assert await desk.tags(article) == set()
    assert len(desk.service.requests) == 3


@pytest.mark.parametrize(
    "reply",
    [
        Reply(400, {"error": {"code": 400, "message": "response_format is not supported"}}),
        Reply(200, "<html>"),
        says("```json\n{}\n```"),
        says({}),
        says(sentiment="ironic"),
        Reply(body=completion("{", finish_reason="length")),
    ],
    ids=["bad request", "html", "fenced", "empty", "unknown", "cut off"],
)
async def test_our_mistakes_and_unusable_answers_are_attempts(desk: Desk, reply: Reply) -> None:
    article = await desk.article()
    desk.service.replies = [reply]

    assert await desk.run(desk.tagger()) == [FAILED]

    assert (await desk.state(article))["ai_attempts"] == 1


@pytest.mark.parametrize(
    "reply",
    [Reply(429), Reply(500, "<html>"), Reply(503, "<html>"), Reply(401), Reply(402), Reply(is_lost=True)],
    ids=["rate limit", "500", "503", "bad key", "no credit", "lost"],
)
async def test_a_service_that_is_unavailable_is_no_attempt(desk: Desk, reply: Reply) -> None:
    article = await desk.article()
    tagger = desk.tagger()
    desk.service.replies = [reply, reply, reply, reply, says()]

    outcomes = list[TaggingOutcome]()
    for _ in range(5):
        outcomes += await desk.run(tagger)
        desk.clock.move(minutes=16)

    assert outcomes == [POSTPONED] * 4 + [TAGGED]
    state = await desk.state(article)
    assert (state["ai_tagged"], state["ai_attempts"]) == (True, 0)


async def test_an_exhausted_budget_is_no_attempt(desk: Desk) -> None:
    article = await desk.article()
    tagger = desk.tagger(ceiling="0.0001")

    for _ in range(10):
        await desk.run(tagger)
        desk.clock.move(hours=3)

    state = await desk.state(article)
    assert (state["ai_tagged"], state["ai_attempts"]) == (False, 0)
    assert desk.service.requests == []


# The ceiling holds with many taggers.


async def test_ten_taggers_and_a_ceiling_of_a_dollar(desk: Desk) -> None:
    """Costs vary, some answers are unusable, and some calls are refused."""
    count, price = (2_000, 0.001) if IS_SOAK else (100, 0.02)
    price_out = str(1_000_000 * price / ANSWER_TOKENS)  # a call may cost as much as it does at most
    source = await desk.source(readers=1)
    for _ in range(count):
        await desk.article(source)
    served = Decimal(0)

    def answer(_asked: object) -> Reply:
        nonlocal served
        number = len(desk.service.requests)
        if number % 17 == 0:
            return Reply(503)
        cost = price * (1 - number % 5 / 20)
        served += Decimal(str(cost))
        return says("no JSON" if number % 13 == 0 else None, cost=cost)

    desk.service.answer = answer
    client = desk.client(ceiling="1", price_out=price_out)

    async def run() -> None:
        tagger = desk.tagger(ceiling="1", price_out=price_out)
        while (await client.budget()).level is not BudgetLevel.REACHED:
            await asyncio.gather(*(tagger.work(one) for one in await tagger.claim(4)))
            desk.clock.move(seconds=7)

    await asyncio.gather(*(run() for _ in range(10)))

    budget = await client.budget()
    assert served <= 1
    assert 0.9 * 1_000_000 <= budget.spent_micros <= 1_000_000
    assert budget.reserved_micros == 0
    async with desk.database.transaction() as conn:
        tagged = await fetch_value(conn, "SELECT count(*) FROM article_state WHERE ai_tagged")
    assert 0 < tagged < count

"""The stage: who is claimed, when it pauses, what is never sent, and what becomes of the work of others."""

import asyncio
from datetime import timedelta

import pytest
from structlog.testing import capture_logs

from headwater.articles.store import records
from headwater.articles.types import ListedEntry
from headwater.db import fetch_value
from headwater.labels.store import find_labels, replace_labels
from headwater.labels.types import Method, NewLabel, Scheme
from headwater.understanding.tagging import worker
from headwater.understanding.tagging.types import TaggingOutcome
from headwater.understanding.tagging.worker import Tagger
from headwater_lab.zoo import language_model
from tests.ai.service import Reply
from tests.builders import an_article
from tests.understanding.tagging.desk import TEXT, Desk, says

pytestmark = pytest.mark.database

TAGGED, FAILED, POSTPONED = TaggingOutcome.TAGGED, TaggingOutcome.FAILED, TaggingOutcome.POSTPONED


async def due(desk: Desk) -> int:
    async with desk.database.transaction() as conn:
        return await fetch_value(conn, "SELECT count(*) FROM article_state WHERE ai_due_at IS NOT NULL")


# Claims.


async def test_two_taggers_do_not_claim_the_same_article(desk: Desk) -> None:
    articles = {await desk.article() for _ in range(6)}
    one, other = desk.tagger(), desk.tagger()

    first, second = await asyncio.gather(one.claim(4), other.claim(4))

    found = [article.article_id for article in (*first, *second)]
    assert len(found) == len(set(found)) == 6
    assert set(found) == articles


async def test_the_article_of_a_tagger_that_died_is_claimed_again_without_an_attempt(desk: Desk) -> None:
    await desk.article()
    dead, other = desk.tagger(), desk.tagger()
    await dead.claim(1)
    desk.clock.move(minutes=2)
    assert await other.claim(1) == []

    desk.clock.move(minutes=2)

    [article] = await other.claim(1)
    assert article.attempts == 0


async def test_what_a_tagger_writes_after_its_lease_was_lost_is_ignored(desk: Desk) -> None:
    article = await desk.article()
    slow, other = desk.tagger(), desk.tagger()
    [mine] = await slow.claim(1)
    desk.clock.move(minutes=4)
    [theirs] = await other.claim(1)
    assert await other.work(theirs) is TAGGED
    desk.service.replies = [says(categories=["Sports"])]

    assert await slow.work(mine) is TaggingOutcome.LOST

    assert ("category", "Technology", 0.85) in await desk.tags(article)


async def test_an_article_that_was_deleted_meanwhile_is_lost(desk: Desk) -> None:
    article = await desk.article()
    tagger = desk.tagger()
    [claimed] = await tagger.claim(1)
    async with desk.database.transaction() as conn:
        await conn.execute("DELETE FROM articles WHERE id = %(id)s", {"id": article})

    assert await tagger.work(claimed) is TaggingOutcome.LOST

    assert desk.service.requests == []
    async with desk.database.transaction() as conn:
        assert await fetch_value(conn, "SELECT count(*) FROM labels") == 0


async def test_one_of_four_is_the_article_that_has_waited_longest(desk: Desk) -> None:
    unread, popular = await desk.source(), await desk.source(readers=1)
    tagger = desk.tagger()
    waiting = [await desk.article(unread) for _ in range(3)]
    await desk.order(tagger, limit=0)
    desk.clock.move(days=2)
    await desk.order(tagger, limit=0)
    new = [await desk.article(popular) for _ in range(12)]
    desk.clock.move(seconds=10)

    found = [(await tagger.claim(1))[0].article_id for _ in range(8)]

    assert [at for at, one in enumerate(found) if one in waiting] == [3, 7]
    assert [one for one in found if one in waiting] == waiting[:2]
    assert [one for one in found if one in new] == list(reversed(new))[:6]


async def test_more_articles_than_are_admitted_at_once_are_all_tagged(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "ADMITTED_AT_ONCE", 3)
    articles = {await desk.article() for _ in range(8)}
    tagger = desk.tagger()

    found = [article.article_id for _ in range(4) for article in await tagger.claim(10)]

    assert set(found) == articles


# Without a key, and when one is set.


async def test_without_a_key_nothing_is_claimed_or_sent(desk: Desk) -> None:
    await desk.article()
    tagger = desk.tagger(key=None)

    assert await desk.run(tagger, 10) == []

    assert desk.service.requests == []
    assert await tagger.lag() == timedelta(0)


async def test_a_key_that_is_set_later_does_not_pay_for_old_articles(desk: Desk) -> None:
    old = [await desk.article() for _ in range(5)]
    desk.clock.move(days=3, seconds=1)
    new = await desk.article()
    tagger = desk.tagger()

    assert await desk.run(tagger, 10) == [TAGGED]

    assert [(await desk.state(one))["ai_due_at"] for one in old] == [None] * 5
    assert not any([(await desk.state(one))["ai_tagged"] for one in old])
    assert (await desk.state(new))["ai_tagged"]
    assert await due(desk) == 0


async def test_an_article_that_waits_for_the_budget_is_not_withdrawn(desk: Desk) -> None:
    article = await desk.article()
    empty = desk.tagger(ceiling="0")
    assert await desk.run(empty) == []
    desk.clock.move(days=20)
    assert await desk.run(empty) == []

    assert await desk.run(desk.tagger()) == [TAGGED]

    assert (await desk.state(article))["ai_tagged"]


# Pauses.


async def test_an_outage_pauses_the_stage_longer_each_time(desk: Desk) -> None:
    for _ in range(4):
        await desk.article()
    tagger = desk.tagger()
    desk.service.replies = [Reply(503)]
    began, asked = desk.clock(), list[int]()

    with capture_logs() as logs:
        for _ in range(360):
            await asyncio.gather(*(tagger.work(one) for one in await tagger.claim(4)))
            if len(desk.service.requests) > len(asked):
                since = int((desk.clock() - began).total_seconds())
                asked += [since] * (len(desk.service.requests) - len(asked))
            desk.clock.move(seconds=10)

    # Four at first, then one at a time after 30, 60, 120, 240, 480 and 900 seconds.
    assert asked == [0, 0, 0, 0, 30, 90, 210, 450, 930, 1830, 2730]
    assert [line["event"] for line in logs] == ["tagging paused"]


@pytest.mark.parametrize(
    ("header", "pause"),
    [("300", 300), ("5", 30), ("99999999", 3600), ("9" * 400, 30), ("soon", 30), ("-1", 30)],
    ids=["longer", "shorter", "a year", "endless", "words", "negative"],
)
async def test_the_pause_is_as_long_as_the_service_asks_for(desk: Desk, header: str, pause: int) -> None:
    await desk.article()
    tagger = desk.tagger()
    desk.service.replies = [Reply(429, headers={"Retry-After": header}), says()]
    assert await desk.run(tagger) == [POSTPONED]

    desk.clock.move(seconds=pause - 1)
    assert await desk.run(tagger) == []
    desk.clock.move(seconds=1)
    assert await desk.run(tagger) == [TAGGED]


async def test_after_an_outage_the_stage_continues_with_all_its_slots(desk: Desk) -> None:
    articles = [await desk.article() for _ in range(5)]
    tagger = desk.tagger()
    desk.service.replies = [Reply(429), says()]
    assert await desk.run(tagger, 1) == [POSTPONED]
    desk.clock.move(minutes=1)

    with capture_logs() as logs:
        assert await desk.run(tagger, 4) == [TAGGED]
        assert await desk.run(tagger, 4) == [TAGGED] * 4

    assert [line["event"] for line in logs] == ["tagging continues"]
    assert all([(await desk.state(one))["ai_tagged"] for one in articles])


async def test_while_one_article_is_tried_after_a_pause_no_other_is_claimed(desk: Desk) -> None:
    for _ in range(3):
        await desk.article()
    tagger = desk.tagger()
    desk.service.replies = [Reply(429)]
    await desk.run(tagger)
    desk.clock.move(minutes=1)

    assert len(await tagger.claim(4)) == 1
    assert await tagger.claim(4) == ()


async def test_a_failure_does_not_pause_the_stage(desk: Desk) -> None:
    for _ in range(3):
        await desk.article()
    tagger = desk.tagger()
    desk.service.replies = [says("no JSON")]

    assert await desk.run(tagger, 2) == [FAILED, FAILED]
    assert await desk.run(tagger, 2) == [FAILED]


# What is never sent.


async def test_only_title_and_text_of_the_page_are_sent(desk: Desk) -> None:
    source = await desk.source(readers=1, url="https://pages.example/feed.xml")
    await desk.article(source, title="Reactor sets record")

    await desk.run(desk.tagger())

    [request] = desk.service.requests
    assert set(request) == {"model", "messages", "temperature", "max_tokens", "response_format"}
    sent = str(request)
    assert TEXT in sent
    assert "pages.example" not in sent
    assert "user" not in sent.replace("'role': 'user'", "").replace("user message", "").replace("the user or", "")


async def test_what_a_feed_of_another_site_says_is_not_sent(desk: Desk) -> None:
    source = await desk.source(readers=1)
    entry = an_article("https://far.example/1", is_own=False, title="A private title", content="A private text")
    async with desk.database.transaction() as conn:
        await records.keep(conn, seen_at=desk.clock(), listed=[ListedEntry(source, entry, "other.example")])
        article_id = await fetch_value(conn, "SELECT id FROM articles WHERE url = 'https://far.example/1'")
    await desk.queue(article_id)

    assert await desk.run(desk.tagger()) == [TaggingOutcome.SKIPPED]

    assert desk.service.requests == []
    assert await due(desk) == 0


PRIVATE = "https://example.com/f/8c1f0a7be4d24c3f9a6b5d4e3c2b1a00/feed.xml"


async def test_an_article_that_only_a_private_feed_lists_is_not_sent(desk: Desk) -> None:
    private = await desk.source(readers=1, url=PRIVATE, is_system=False)
    article = await desk.article(private)

    assert await desk.run(desk.tagger()) == [TaggingOutcome.SKIPPED]

    assert desk.service.requests == []
    assert (await desk.state(article))["ai_tagged"] is False


async def test_an_article_of_a_private_feed_that_was_deleted_is_not_sent(desk: Desk) -> None:
    """Its rows are removed in the background; if it is starred, it stays without a feed."""
    private = await desk.source(readers=1, url=PRIVATE, is_system=False)
    article = await desk.article(private)
    async with desk.database.as_system() as conn:
        await conn.execute("DELETE FROM sources WHERE id = %(id)s", {"id": private})

    assert await desk.run(desk.tagger()) == [TaggingOutcome.SKIPPED]

    assert desk.service.requests == []
    assert (await desk.state(article))["ai_tagged"] is False


async def test_an_article_that_a_public_feed_lists_too_is_sent(desk: Desk) -> None:
    private = await desk.source(readers=1, url=PRIVATE, is_system=False)
    await desk.article(private, await desk.source(is_system=False))

    assert await desk.run(desk.tagger()) == [TAGGED]


async def test_a_key_in_the_url_of_a_system_feed_is_not_a_users_secret(desk: Desk) -> None:
    await desk.article(await desk.source(url=PRIVATE))

    assert await desk.run(desk.tagger()) == [TAGGED]


# What becomes of labels.


async def test_labels_of_other_methods_stay_and_a_persons_label_wins(desk: Desk) -> None:
    article = await desk.article()
    by_person = {article: [NewLabel(Scheme.SENTIMENT, "negative", 1, "ada")]}
    by_model = {article: [NewLabel(Scheme.CATEGORY, "Sports", 0.6, "1"), NewLabel(Scheme.KEYWORD, "cup", 0.6, "1")]}
    async with desk.database.transaction() as conn:
        now = desk.clock()
        await replace_labels(conn, given=by_person, method=Method.PERSON, schemes=[Scheme.SENTIMENT], now=now)
        await replace_labels(conn, given=by_model, method=Method.MODEL, schemes=list(Scheme), now=now)

    await desk.run(desk.tagger())

    async with desk.database.transaction() as conn:
        labels = (await find_labels(conn, article_ids=[article]))[article]
    shown = {(one.method, one.label) for one in labels if one.is_shown}
    assert {(Method.PERSON, "negative"), (Method.MODEL, "cup"), (Method.AI, "lindau")} <= shown
    assert (Method.AI, "positive") not in shown


async def test_the_stand_in_of_the_demo_is_understood(desk: Desk) -> None:
    article = await desk.article()
    desk.service.answer = lambda asked: Reply(body=language_model.complete(asked))

    assert await desk.run(desk.tagger()) == [TAGGED]

    assert {one.scheme for one in await desk.labels(article)} == {Scheme.KEYWORD, Scheme.SENTIMENT, Scheme.CATEGORY}


async def test_a_bug_is_an_attempt_so_that_it_is_not_paid_for_again_and_again(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    article = await desk.article()
    tagger = desk.tagger()

    def broken(_content: str) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(worker, "read_tags", broken)
    for _ in range(4):
        for claimed in await tagger.claim(1):
            with pytest.raises(ZeroDivisionError):
                await tagger.work(claimed)
        desk.clock.move(hours=3)

    state = await desk.state(article)
    assert (state["ai_tagged"], state["ai_attempts"]) == (True, 3)
    assert len(desk.service.requests) == 3


# Lag.


async def lag_of(tagger: Tagger) -> float:
    return (await tagger.lag()).total_seconds()


async def test_lag_is_the_longest_wait_of_an_article_that_is_due(desk: Desk) -> None:
    tagger = desk.tagger()
    assert await lag_of(tagger) == 0
    await desk.article()
    await tagger.claim(0)
    desk.clock.move(minutes=5)
    await desk.article()
    await tagger.claim(0)

    assert await lag_of(tagger) == 301
    await desk.run(tagger, 2)
    assert await lag_of(tagger) == 0


async def test_articles_that_wait_for_the_budget_are_not_late(desk: Desk) -> None:
    await desk.article()
    tagger = desk.tagger(ceiling="0")
    await tagger.claim(0)
    desk.clock.move(days=5)

    assert await lag_of(tagger) == 0


async def test_a_model_that_the_service_does_not_know_is_no_attempt(desk: Desk) -> None:
    article = await desk.article()
    desk.service.replies = [Reply(404)]

    assert await desk.run(desk.tagger()) == [TaggingOutcome.POSTPONED]

    assert (await desk.state(article))["ai_attempts"] == 0


async def test_a_tagged_article_gets_a_revision_in_the_same_transaction(desk: Desk) -> None:
    await desk.article()
    async with desk.database.transaction() as conn:
        await conn.execute("UPDATE article_state SET classified_at = %s", (desk.clock(),))
    await desk.run(desk.tagger())
    async with desk.database.transaction() as conn:
        assert await fetch_value(conn, "SELECT revision FROM article_state") is not None

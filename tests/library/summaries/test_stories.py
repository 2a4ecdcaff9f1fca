"""A summary tells an event once: articles of one story come together, larger stories first, and all are cited."""

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest

from headwater.articles.store import records
from headwater.articles.types import ListedEntry
from headwater.db import Database
from headwater.ids import new_id
from headwater.library.store import subscriptions
from headwater.library.summaries.decide import by_story, cite, prompt_of, to_html
from headwater.library.summaries.extractive import summarise
from headwater.library.summaries.store import list_articles
from headwater.library.summaries.types import DayArticle
from headwater.library.summaries.writer import PROMPT
from tests.builders import a_reader, a_source, an_article
from tests.clock import START
from tests.library.summaries.day import ENGLISH, a_day

BIG, SMALL = UUID(int=901), UUID(int=902)
# Nothing in these words says that the second and the fourth are about one event.
TOLD = [
    ("Gazette", "Bakers vote on a strike", "The union of bakers asked its members to vote on a strike by Friday."),
    ("Post", "Quarterly numbers disappoint", "Vellmark sold fewer ships than in any quarter since 2011, it said."),
    ("Wire", "Owls return to the park", "Two pairs of owls nest again in the old trees of the city park this year."),
    ("Letter", "Shares of a shipyard fall", "Investors left the stock after a report that nobody had expected."),
    ("Echo", "A town waits for its yard", "Nine thousand people fear for their work beside the long grey docks."),
    ("Gazette", "Owl chicks counted", "Volunteers counted five chicks in the trees on Sunday before it rained."),
]


def of_stories(places: Mapping[int, UUID]) -> list[DayArticle]:
    """The articles above, the newest first; `places`: the story of some of them."""
    return [replace(one, story_id=places.get(place)) for place, one in enumerate(a_day(TOLD))]


DAY = of_stories({1: BIG, 2: SMALL, 3: BIG, 4: BIG, 5: SMALL})


def test_articles_of_one_story_come_together_and_larger_stories_first() -> None:
    assert [one.title for one in by_story(DAY)] == [
        *("Quarterly numbers disappoint", "Shares of a shipyard fall", "A town waits for its yard"),
        *("Owls return to the park", "Owl chicks counted"),
        "Bakers vote on a strike",
    ]
    assert by_story(a_day(ENGLISH)) == a_day(ENGLISH)


def test_a_story_that_one_feed_reports_often_is_not_larger() -> None:
    often = [replace(one, feed_name="Gazette") if one.story_id == BIG else one for one in DAY]

    assert by_story(often)[0].story_id == SMALL


def test_the_prompt_says_which_articles_report_one_event() -> None:
    prompt = prompt_of(PROMPT, by_story(DAY), 60_000)

    assert re.findall(r"\n\[(\d)\]\nSame event as: \[(\d)\]\nTitle", prompt) == [("2", "1"), ("3", "1"), ("5", "4")]
    assert "\n[1]\nTitle: Quarterly numbers disappoint\n" in prompt
    assert "\n[6]\nTitle: Bakers vote on a strike\n" in prompt


@pytest.mark.parametrize("limit", [6_000, 60_000])
def test_the_prompt_of_stories_is_never_longer_than_its_limit(limit: int) -> None:
    huge = [replace(one, title="t" * 1_000, text="x " * 10_000) for one in DAY * 16]

    assert len(prompt_of(PROMPT, by_story(huge), limit)) <= limit


def test_citations_lead_to_the_articles_in_the_order_of_the_prompt() -> None:
    html = to_html(cite("The yard [1, 2].", by_story(DAY)))

    assert re.findall(r'href="([^"]+)"', html) == [f"/articles/{DAY[place].id}" for place in (1, 3)]


def test_a_summary_of_this_machine_tells_a_story_once_with_all_its_feeds() -> None:
    first, *others = re.findall(r"<li>(.*?)</li>", to_html(summarise(by_story(DAY))), re.DOTALL)
    apart = re.findall(r"<li>", to_html(summarise(a_day(TOLD))))

    assert {str(DAY[place].id) for place in (1, 3, 4)} == set(re.findall(r"/articles/([0-9a-f-]+)", first))
    assert len(others) == 2
    assert len(apart) > 3  # by their words alone they are not one


def test_an_article_without_a_story_still_joins_the_one_it_is_like() -> None:
    day = [replace(one, story_id=BIG if place < 2 else None) for place, one in enumerate(a_day(ENGLISH))]

    first = re.findall(r"<li>(.*?)</li>", to_html(summarise(day)), re.DOTALL)[0]

    assert ">Sea &amp; Ships</a>" in first


@pytest.mark.database
async def test_the_articles_of_a_day_are_ordered_by_the_stories_of_ones_own_feeds(database: Database) -> None:
    ada = await a_reader(database)
    async with database.as_system() as conn:
        for number, (feed, story) in enumerate([("a", None), ("b", SMALL), ("c", BIG), ("e", SMALL), ("d", BIG)]):
            source = await a_source(conn, url=f"https://{feed}.example/feed")
            article = an_article(
                f"https://{feed}.example/{number}",
                title=f"{feed}{number}",
                published_at=START - timedelta(minutes=number),
            )
            await records.keep(conn, seen_at=START, listed=[ListedEntry(source.id, article)])
            cur = await conn.execute("SELECT id FROM articles WHERE title = %(title)s", {"title": article.title})
            row = await cur.fetchone()
            assert row is not None
            await conn.execute(
                """
                INSERT INTO article_state (article_id, story_id) VALUES (%(id)s, %(story)s)
                ON CONFLICT (article_id) DO UPDATE SET story_id = excluded.story_id
                """,
                {"id": row[0], "story": story},
            )
            if feed != "d":
                await subscriptions.add(
                    conn, subscription_id=new_id(), user_id=ada, source_id=source.id, name=feed.upper(), category=None,
                    now=START,
                )  # fmt: skip

    async with database.as_user(ada) as conn:
        listed = await list_articles(conn, since=START - timedelta(days=1), limit=100)

    assert [one.title for one in listed] == ["b1", "e3", "a0", "c2"]  # Ada does not follow feed d

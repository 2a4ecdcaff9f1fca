"""A story is one line of a list, with its other articles behind it, of feeds that the user follows and no others."""

import json
import re
from collections.abc import AsyncIterator
from datetime import timedelta
from html import unescape

import pytest

from headwater.db import Database
from headwater.ids import ids_at, time_of
from headwater.labels.types import Scheme
from headwater.types import ArticleId
from tests.app import create_app
from tests.clock import MovableClock
from tests.web.newsroom import STORY, Newsroom, join, open_newsroom, say, without_icons
from tests.web.test_read import shown

pytestmark = pytest.mark.database

STORM, AFTER, CHESS, FLOODED, LEAKED, CAKE = (
    "Storm hits Bremvik",
    "Bremvik after the storm",
    "Chess champion resigns",
    "Harbour of Bremvik flooded",
    "Storm: the leaked report",
    "Cake for beginners",
)
GROUPED = [CAKE, FLOODED, CHESS]
EVERY = [CAKE, FLOODED, CHESS, AFTER, STORM]


@pytest.fixture
async def room(database: Database, clock: MovableClock) -> AsyncIterator[Newsroom]:
    async with open_newsroom(create_app(database, clock), database, clock) as opened:
        yield opened


def behind(page: str) -> list[tuple[str, str, str]]:
    """Of each article behind a line its title, feed and whether it is read."""
    return re.findall(
        r'<li><a href="/articles/[^>]+>([^<]+)</a> <span class="from">([^<]+)<.+?<span>(\w+)</span>', page
    )


async def opened(room: Newsroom, path: str) -> list[str]:
    return shown((await room.ada.open(path)).text)


async def test_a_story_is_one_line_where_its_newest_article_is(room: Newsroom) -> None:
    page = (await room.ada.open("/read?shelf=all")).text

    assert shown(page) == GROUPED
    assert behind(page) == [(AFTER, "Weekly", "Unread"), (STORM, "Daily", "Unread")]
    assert page.count("Also in 2 others") == 1


async def test_articles_of_feeds_that_are_not_followed_are_neither_shown_nor_counted(room: Newsroom) -> None:
    pages = [
        (await room.ada.open(path)).text
        for path in ("/read", "/read?shelf=all", "/read?shelf=all&q=bremvik", f"/articles/{room.articles[STORM]}")
    ]

    marked = await room.ada.send("POST", f"/articles/{room.articles[FLOODED]}/read-story")

    assert [LEAKED in page or "secret.example" in page for page in [*pages, marked.text]] == [False] * 5
    assert "Also in 3" not in "".join(pages)


async def test_the_page_of_an_article_lists_the_others_of_its_story(room: Newsroom) -> None:
    page = (await room.ada.open(f"/articles/{room.articles[AFTER]}")).text
    box = page[page.index("Also reported by") :]
    alone = (await room.ada.open(f"/articles/{room.articles[CHESS]}")).text

    assert re.findall(r'<a href="/articles/[^>]+>([^<]+)</a> <span class="from">([^<]+)<', box) == [
        (FLOODED, "Evening"),
        (STORM, "Daily"),
    ]
    assert "Also reported by" not in alone


async def test_a_starred_article_is_still_among_the_others_after_unsubscribing(
    room: Newsroom, database: Database
) -> None:
    for title in (STORM, AFTER):
        await room.ada.send("POST", f"/articles/{room.articles[title]}/star")
    async with database.as_system() as conn:
        await conn.execute("DELETE FROM subscriptions WHERE name IN ('Daily')")

    article = (await room.ada.open(f"/articles/{room.articles[AFTER]}")).text
    lines = (await room.ada.open("/read?shelf=all")).text

    assert STORM in article
    assert behind(lines) == [(AFTER, "Weekly", "Read")]


async def test_stars_are_not_grouped(room: Newsroom) -> None:
    for title in (STORM, AFTER):
        await room.ada.send("POST", f"/articles/{room.articles[title]}/star")

    assert sorted(await opened(room, "/read?shelf=starred")) == sorted([STORM, AFTER])


async def test_the_unread_list_shows_the_newest_unread_article_of_a_story(room: Newsroom) -> None:
    await room.ada.send("POST", f"/articles/{room.articles[FLOODED]}/read")

    page = (await room.ada.open("/read")).text

    assert shown(page) == [CAKE, CHESS, AFTER]
    assert behind(page) == [(FLOODED, "Evening", "Read"), (STORM, "Daily", "Unread")]


async def test_unread_counts_are_of_articles(room: Newsroom) -> None:
    page = (await room.ada.open("/read")).text

    assert sorted(re.findall(r'aria-label="(\d) unread"', page)) == [
        "1",
        "2",
        "2",
        "5",
    ]  # the last is of their category


async def test_a_list_of_one_feed_has_the_others_behind_its_own_article(room: Newsroom) -> None:
    page = without_icons((await room.ada.open("/read?shelf=all")).text)
    daily = re.search(r'feed=([0-9a-f-]+)"[^>]*>Daily<', page)
    assert daily is not None

    one_feed = (await room.ada.open(f"/read?shelf=all&feed={daily[1]}")).text

    assert shown(one_feed) == [CAKE, STORM]
    assert [title for title, _, _ in behind(one_feed)] == [FLOODED, AFTER]


async def test_a_search_shows_the_newest_hit_of_a_story(room: Newsroom) -> None:
    assert await opened(room, "/read?shelf=all&q=storm") == [AFTER]
    assert await opened(room, "/read?shelf=all&q=bremvik") == [FLOODED]


async def test_a_filter_shows_the_newest_article_of_a_story_that_has_the_label(
    room: Newsroom, database: Database
) -> None:
    for title in (STORM, CHESS):
        await say(database, room.articles[title], Scheme.TOPIC, "weather")

    page = (await room.ada.open("/read?shelf=all&topic=weather")).text

    assert shown(page) == [CHESS, STORM]
    assert [title for title, _, _ in behind(page)] == [FLOODED, AFTER]


async def test_every_article_is_a_line_after_switching_grouping_off(room: Newsroom) -> None:
    answer = await room.ada.submit("/read/stories", grouped="no", back="/read?shelf=all")
    every = await opened(room, "/read?shelf=all")
    await room.ada.submit("/read/stories", grouped="yes", back="https://evil.example/")

    assert answer.headers["location"] == "/read?shelf=all"
    assert every == EVERY
    assert await opened(room, "/read?shelf=all") == GROUPED


async def test_the_switch_is_each_users_own(room: Newsroom, database: Database) -> None:
    await room.ada.submit("/read/stories", grouped="no")

    async with database.as_system() as conn:
        cur = await conn.execute("SELECT email, groups_stories FROM reading_options JOIN users ON users.id = user_id")
        assert await cur.fetchall() == [("ada@example.com", False)]


async def test_marking_the_line_marks_its_article_only(room: Newsroom) -> None:
    await room.ada.send("POST", f"/articles/{room.articles[FLOODED]}/read")
    await room.ada.submit("/read/stories", grouped="no")

    assert await opened(room, "/read") == [CAKE, CHESS, AFTER, STORM]


async def test_a_story_is_marked_read_and_the_mark_undone(room: Newsroom) -> None:
    await room.ada.submit("/read/stories", grouped="no")
    await room.ada.send("POST", f"/articles/{room.articles[STORM]}/read")

    marked = await room.ada.send("POST", f"/articles/{room.articles[FLOODED]}/read-story")
    left = await opened(room, "/read")
    undo = re.search(r"hx-vals='([^']+)'", marked.text)
    assert undo is not None
    undone = await room.ada.send(
        "POST", f"/articles/{room.articles[FLOODED]}/unread-story", **json.loads(unescape(undo[1]))
    )

    assert left == [CAKE, CHESS]
    assert [state for _, _, state in behind(marked.text)] == ["Read", "Read"]
    assert 'data-action="unread"' in marked.text  # the button of the line itself
    assert await opened(room, "/read") == [CAKE, FLOODED, CHESS, AFTER]  # the fifth was read before
    assert "Mark story as read" in undone.text


async def test_undoing_touches_only_visible_articles_of_the_story(room: Newsroom, database: Database) -> None:
    await room.ada.send("POST", f"/articles/{room.articles[CHESS]}/read")
    odd = [*map(str, (room.articles[CHESS], room.articles[LEAKED])), "", "odd"]

    answer = await room.ada.send("POST", f"/articles/{room.articles[STORM]}/unread-story", articles=",".join(odd))

    assert answer.status_code == 200
    async with database.as_system() as conn:
        cur = await conn.execute("SELECT article_id, is_read FROM marks")
        assert await cur.fetchall() == [(room.articles[CHESS], True)]


async def test_a_page_that_stories_leave_short_is_filled_and_none_is_repeated(
    room: Newsroom, database: Database
) -> None:
    many = await more_articles(room, database, 100)
    async with database.as_system() as conn:
        await join(conn, STORY, many[:70])
    titles: list[str] = []
    path: str | None = "/read?shelf=all"
    while path:
        page = (await room.ada.open(path)).text
        titles += shown(page)
        onward = re.search(r'<li class="more" hx-get="([^"]+)"', page)
        path = unescape(onward[1]) if onward else None

    # The story with the newest 50 of its 73 articles, the others of it, those of the hundred outside it, and two more.
    assert len(titles) == len(set(titles)) == 1 + 23 + 30 + 2


async def test_articles_of_feeds_that_are_not_followed_displace_none_of_a_large_story(
    room: Newsroom, database: Database
) -> None:
    many = await more_articles(room, database, 100, feed="Secret")
    async with database.as_system() as conn:
        await join(conn, STORY, many)

    page = (await room.ada.open("/read?shelf=all")).text

    assert shown(page) == GROUPED
    assert behind(page) == [(AFTER, "Weekly", "Unread"), (STORM, "Daily", "Unread")]


async def test_every_article_of_a_story_too_large_for_its_line_can_be_marked(
    room: Newsroom, database: Database
) -> None:
    many = await more_articles(room, database, 60)
    async with database.as_system() as conn:
        await join(conn, STORY, many)

    await room.ada.send("POST", f"/articles/{room.articles[STORM]}/read-story")
    undone = await room.ada.send(
        "POST", f"/articles/{room.articles[STORM]}/unread-story", articles=str(room.articles[STORM])
    )

    assert undone.status_code == 200
    async with database.as_system() as conn:
        cur = await conn.execute("SELECT is_read, count(*) FROM marks GROUP BY is_read ORDER BY is_read")
        assert await cur.fetchall() == [(False, 1), (True, 50)]


async def more_articles(room: Newsroom, database: Database, count: int, *, feed: str = "Daily") -> list[ArticleId]:
    """Newer ones, in one feed."""
    ids = ids_at(time_of(max(room.articles.values())) + timedelta(seconds=1), count)
    async with database.as_system() as conn:
        cur = await conn.execute(
            """
            WITH made AS (
                INSERT INTO articles (id, url, url_key, title, seen_at)
                SELECT id, 'https://more.example/' || n, sha256(('more' || n)::bytea), 'More ' || n, now()
                FROM unnest(%(ids)s::uuid[]) WITH ORDINALITY AS more (id, n)
                RETURNING id
            ), listed AS (
                INSERT INTO article_sources (article_id, source_id, entry_id, seen_at, listed_at)
                SELECT id, (SELECT source_id FROM subscriptions WHERE name = %(feed)s), id::text, now(),
                    (SELECT max(listed_at) FROM article_sources) + row_number() OVER (ORDER BY id) * interval '1 second'
                FROM made
            )
            SELECT id FROM made ORDER BY id DESC
            """,
            {"ids": list(ids), "feed": feed},
        )
        return [ArticleId(row[0]) for row in await cur.fetchall()]

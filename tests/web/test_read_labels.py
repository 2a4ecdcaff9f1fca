"""Labels where a reader meets them: on the page of an article, and as filters of lists and of the search."""

import re
from collections.abc import AsyncIterator
from html import escape, unescape

import pytest

from headwater.db import Database
from headwater.labels.types import Method, Scheme
from headwater.library import search
from headwater.types import ArticleId
from tests.app import create_app
from tests.clock import MovableClock
from tests.web.newsroom import Newsroom, open_newsroom, say
from tests.web.test_read import shown

pytestmark = pytest.mark.database

STORM, CHESS, CAKE, LEAKED = (
    "Storm hits Bremvik",
    "Chess champion resigns",
    "Cake for beginners",
    "Storm: the leaked report",
)


@pytest.fixture
async def room(database: Database, clock: MovableClock) -> AsyncIterator[Newsroom]:
    """Each article is a line of its own: stories have their own tests."""
    async with open_newsroom(create_app(database, clock), database, clock) as opened:
        await opened.ada.submit("/read/stories", grouped="no")
        for title, topic in (
            (STORM, "weather"),
            (CHESS, "sport"),
            (CAKE, "lifestyle and leisure"),
            (LEAKED, "weather"),
        ):
            await say(database, opened.articles[title], Scheme.TOPIC, topic)
        await say(database, opened.articles[CHESS], Scheme.KEYWORD, "Queen's gambit & co", score=0.5)
        for title, quality in ((STORM, 0.8), (CHESS, 0.4)):
            await say(database, opened.articles[title], Scheme.QUALITY, "quality", score=quality)
        yield opened


async def listed(room: Newsroom, **params: str) -> list[str]:
    return shown((await room.ada.open("/read", params=params)).text)


async def test_an_article_shows_its_labels_with_their_method_and_certainty(room: Newsroom, database: Database) -> None:
    article = room.articles[STORM]
    parts = {"length": 20.0, "structure": 17.5}
    await say(database, article, Scheme.QUALITY, "quality", score=0.8, detail=parts)
    await say(database, article, Scheme.LANGUAGE, "en", score=0.99)
    await say(database, article, Scheme.TYPE, "press release", method=Method.RULE, score=1.0)
    await say(database, article, Scheme.SENTIMENT, "negative", method=Method.AI, score=0.7)
    await say(database, article, Scheme.CATEGORY, "World News", method=Method.PERSON)

    page = re.sub(r"\s+", " ", unescape((await room.ada.open(f"/articles/{article}")).text))

    for text in (
        "Language <b>English</b>: by the model on this machine, 99 % sure",
        "Type <b>Press release</b>: by a rule, 100 % sure",
        "Topic <b>Weather</b>: by the model on this machine, 83 % sure",
        "Category <b>World News</b>: by a person<",
        "Sentiment <b>Negative</b>: by a language model, 70 % sure",
        "Quality <b>80 of 100</b>: by the model on this machine (length 20.0, structure 17.5)",
    ):
        assert text in page
    assert '<dd title="By the model on this machine, 83 % sure">' in page
    assert '<span class="hidden">, by the model on this machine, 83 % sure</span>' in page


async def test_topics_and_keywords_of_an_article_lead_to_the_articles_that_have_them(room: Newsroom) -> None:
    page = (await room.ada.open(f"/articles/{room.articles[CHESS]}")).text
    links = [unescape(link) for link in re.findall(r'href="(/read\?shelf=all&amp;q[^"]+)"', page)]

    assert len(links) == 2
    for link in links:
        assert shown((await room.ada.open(link)).text) == [CHESS]


async def test_moderators_find_the_form_that_corrects_labels(room: Newsroom, database: Database) -> None:
    path = f"/articles/{room.articles[CHESS]}"
    before = (await room.ada.open(path)).text
    async with database.as_system() as conn:
        await conn.execute("UPDATE users SET role = 'moderator' WHERE email = 'ada@example.com'")

    after = (await room.ada.open(path)).text

    assert "Correct the labels" not in before
    form = re.search(r'hx-get="(/admin/labels/[^"]+)"', after)
    assert form is not None
    assert (await room.ada.part(form[1])).status_code == 200


async def test_labels_are_escaped(room: Newsroom, database: Database) -> None:
    await say(database, room.articles[CAKE], Scheme.KEYWORD, "<script>alert(1)</script>\"'>")

    page = (await room.ada.open(f"/articles/{room.articles[CAKE]}")).text
    filtered = (await room.ada.open("/read", params={"shelf": "all", "keyword": "<script>alert(1)</script>\"'>"})).text

    assert shown(filtered) == [CAKE]
    assert "<script>alert" not in page + filtered


async def test_lists_show_only_articles_with_the_label(room: Newsroom) -> None:
    assert await listed(room, topic="weather") == [STORM]
    assert await listed(room, shelf="all", topic="sport") == [CHESS]
    assert await listed(room, shelf="all", topic="religion") == []
    assert await listed(room, shelf="all", keyword="Queen's gambit & co") == [CHESS]


async def test_articles_have_every_label_that_is_asked_for(room: Newsroom) -> None:
    assert await listed(room, shelf="all", topic="weather", quality="60") == [STORM]
    assert await listed(room, shelf="all", topic="sport", quality="60") == []
    assert await listed(room, shelf="all", quality="40") == [CHESS, STORM]
    assert await listed(room, shelf="all", quality="81") == []


async def test_a_label_that_is_not_shown_finds_nothing(room: Newsroom, database: Database) -> None:
    await say(database, room.articles[CAKE], Scheme.TOPIC, "health", method=Method.PERSON)

    assert await listed(room, shelf="all", topic="lifestyle and leisure") == []
    assert await listed(room, shelf="all", topic="health") == [CAKE]


async def test_the_unread_list_stays_unread_under_a_filter(room: Newsroom) -> None:
    await room.ada.open(f"/articles/{room.articles[CHESS]}")

    assert await listed(room, topic="sport") == []
    assert await listed(room, shelf="all", topic="sport") == [CHESS]


async def test_stars_are_filtered_too(room: Newsroom) -> None:
    for title in (CHESS, CAKE):
        await room.ada.send("POST", f"/articles/{room.articles[title]}/star")

    assert await listed(room, shelf="starred", topic="sport") == [CHESS]
    assert await listed(room, shelf="starred", topic="sport", q="champion") == [CHESS]
    assert await listed(room, shelf="starred", topic="sport", q="cake") == []


async def test_the_search_is_narrowed_by_a_label(room: Newsroom) -> None:
    assert await listed(room, shelf="all", q="storm", topic="weather") == [STORM]
    assert await listed(room, shelf="all", q="storm", topic="sport") == []


@pytest.mark.parametrize("rare", [1, 2_000], ids=["in steps", "by index"])
@pytest.mark.parametrize("step", [1, 2, 300])
async def test_every_way_of_looking_finds_the_same(
    room: Newsroom, monkeypatch: pytest.MonkeyPatch, step: int, rare: int
) -> None:
    monkeypatch.setattr(search, "STEP", step)
    monkeypatch.setattr(search, "RARE_LABELS", rare)
    await room.ada.send("POST", f"/articles/{room.articles[STORM]}/read")
    found: dict[str, list[str]] = {"unread": [], "all": []}
    for shelf in found:
        path: str | None = f"/read?shelf={shelf}&quality=40&topic=weather"
        while path:
            page = (await room.ada.open(path)).text
            found[shelf] += shown(page)
            onward = re.search(r'<li class="more" hx-get="([^"]+)"', page)
            path = unescape(onward[1]) if onward else None

    assert found == {"unread": [], "all": [STORM]}


async def test_the_next_page_and_the_search_keep_the_filter(
    room: Newsroom, monkeypatch: pytest.MonkeyPatch, database: Database
) -> None:
    for title in room.articles:
        await say(database, room.articles[title], Scheme.SENTIMENT, "mixed")
    monkeypatch.setattr(search, "STEP", 1)
    monkeypatch.setattr(search, "RARE_LABELS", 1)

    page = (await room.ada.open("/read?shelf=all&sentiment=mixed&topic=weather")).text

    onward = re.search(r'<li class="more" hx-get="([^"]+)"', page)
    assert onward is not None
    assert "q=topic%3Aweather+sentiment%3Amixed" in onward[1]
    assert 'name="q" value="topic:weather sentiment:mixed"' in page


async def test_active_filters_are_named_and_each_can_be_removed(room: Newsroom) -> None:
    page = (await room.ada.open("/read?shelf=all&quality=40&topic=sport")).text

    removing = dict(re.findall(r'<li><a href="([^"]+)" title="Remove this filter">.*?</span>([^<]+) <', page))
    assert {text: unescape(link) for link, text in removing.items()} == {
        "Topic: Sport": "/read?shelf=all&q=quality%3A%3E%3D40",
        "Quality: At least 40": "/read?shelf=all&q=topic%3Asport",
    }
    assert '<option value="sport" selected>' in page


async def test_marking_all_as_read_is_not_offered_under_a_filter(room: Newsroom) -> None:
    """It marks the whole list, not the articles that are shown."""
    plain = (await room.ada.open("/read")).text
    filtered = (await room.ada.open("/read?topic=sport")).text

    assert "Mark all as read" in plain
    assert "Mark above as read" in plain
    assert shown(filtered) == [CHESS]
    assert "Mark all as read" not in filtered
    assert "Mark above as read" not in filtered


@pytest.mark.parametrize(
    ("query", "message", "place"),
    [
        ("topic=odd", "Unknown topic `odd`", "odd"),
        ("type=odd", "Unknown type `odd`", "odd"),
        ("label_category=odd", "Unknown topic `odd`", "odd"),
        ("sentiment=odd", "Unknown sentiment `odd`", "odd"),
        ("language=english", "the code of a language", "english"),
        ("quality=101", "a number from 0 to 100", ">=101"),
        ("quality=-1", "a number from 0 to 100", ">=-1"),
        ("topic=sport&sentiment=%3Cb%3E", "Unknown sentiment `<b>`", '"<b>"'),
        ("q=storm+topik:x&topic=sport", "Unknown field `topik:`, did you mean `topic:`?", "topik:"),
        ("q=storm+(", "There is nothing in these parentheses", "("),
    ],
)
async def test_an_unreadable_search_is_400_and_its_place_is_marked(
    room: Newsroom, query: str, message: str, place: str
) -> None:
    page = await room.ada.open(f"/read?{query}")

    assert page.status_code == 400
    assert message in unescape(page.text)
    assert f"<mark>{escape(place)}</mark>" in page.text.replace("&#34;", "&quot;")
    assert 'aria-invalid="true" aria-describedby="q-problem"' in page.text
    assert shown(page.text) == []
    assert "the list without filters" in page.text


async def test_what_may_be_meant_is_a_link(room: Newsroom) -> None:
    page = (await room.ada.open("/read?shelf=all&q=champion+topik:sport")).text

    link = re.search(r'<a href="([^"]+)">Search for <code>champion topic:sport</code>', page)
    assert link is not None
    assert shown((await room.ada.open(unescape(link[1]))).text) == [CHESS]


async def test_the_search_takes_the_whole_language(room: Newsroom) -> None:
    await room.ada.send("POST", f"/articles/{room.articles[CAKE]}/star")
    await room.ada.send("POST", f"/articles/{room.articles[STORM]}/read")
    answers = {
        "topic:weather or topic:sport": [CHESS, STORM],
        "-topic:weather": [CAKE, CHESS],
        "storm -topic:sport": [STORM],
        "quality:>40": [STORM],
        '"champion resigns" or cake': [CAKE, CHESS],
        "title:cake": [CAKE],
        "is:starred": [CAKE],
        "is:unread": [CAKE, CHESS],
        "is:read or is:starred": [CAKE, STORM],
        "source:nowhere": [],
        "newer:100y": [CAKE, CHESS, STORM],
        "newer:1min": [],
    }

    found = {query: await listed(room, q=query, shelf="all") for query in answers}

    assert {query: labelled(titles) for query, titles in found.items()} == answers


def labelled(titles: list[str]) -> list[str]:
    return sorted(title for title in titles if title in {STORM, CHESS, CAKE})


@pytest.mark.parametrize("shelf", ["all", "unread", "starred"])
async def test_a_state_in_the_search_overrides_the_list(room: Newsroom, shelf: str) -> None:
    await room.ada.send("POST", f"/articles/{room.articles[CAKE]}/star")
    await room.ada.send("POST", f"/articles/{room.articles[STORM]}/read")

    assert await listed(room, shelf=shelf, q="is:starred") == [CAKE]
    assert await listed(room, shelf=shelf, q="is:read") == [STORM]
    assert labelled(await listed(room, shelf=shelf, q="is:unread")) == [CAKE, CHESS]


async def test_a_filter_of_the_form_replaces_the_one_before(room: Newsroom) -> None:
    page = (await room.ada.open("/read?shelf=all&q=storm+topic:sport+newer:1d&topic=weather&period=")).text

    assert shown(page) == [STORM]
    assert 'name="q" value="storm topic:weather"' in page


@pytest.mark.parametrize(
    "query",
    ["topic=", "keyword=%20", "keyword=%C2%A0", "language=EN", "keyword=" + "x" * 5000, "q=%20"],
)
async def test_an_odd_but_valid_filter_is_answered(room: Newsroom, query: str) -> None:
    assert (await room.ada.open(f"/read?{query}")).status_code == 200


async def test_labels_of_articles_that_a_user_does_not_follow_stay_out_of_their_lists(
    room: Newsroom, database: Database
) -> None:
    leaked: ArticleId = room.articles[LEAKED]
    await say(database, leaked, Scheme.KEYWORD, "leak")

    assert await listed(room, shelf="all", keyword="leak") == []
    assert await listed(room, shelf="all", q="leaked", topic="weather") == []
    assert (await room.ada.open(f"/articles/{leaked}")).status_code == 404


@pytest.mark.parametrize("code", ["oc", "yi", "haw"])
async def test_every_language_that_an_article_can_have_is_a_filter(
    room: Newsroom, database: Database, code: str
) -> None:
    await say(database, room.articles["Cake for beginners"], Scheme.LANGUAGE, code, method=Method.PERSON)

    page = await room.ada.open(f"/read?language={code}")

    assert page.status_code == 200
    assert shown(page.text) == ["Cake for beginners"]

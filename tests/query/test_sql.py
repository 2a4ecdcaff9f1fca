"""What each part of a query finds in the database."""

from datetime import datetime, timedelta
from uuid import UUID

import pytest

from headwater.accounts.changes import add_user
from headwater.accounts.types import Role
from headwater.articles.store import records
from headwater.articles.types import ListedEntry
from headwater.db import Connection
from headwater.db.pool import set_user
from headwater.ids import new_id
from headwater.labels.types import Method, Scheme
from headwater.library.store import subscriptions
from headwater.query.fields import phrase
from headwater.query.grammar import parse
from headwater.query.sql import condition
from headwater.query.store import find_among
from headwater.query.types import Audience
from headwater.types import ArticleId, SourceId
from headwater.urls import url_key
from tests.builders import a_source, an_article
from tests.clock import START
from tests.labels.given import say

pytestmark = pytest.mark.database

NOW = START + timedelta(days=10)
STORY = UUID(int=77)
TEXT = """
    INSERT INTO content (article_id, url, url_key, title, text, duplicate_of, keywords, authors, language, open_graph,
        linked_data, origins, word_count, richness, extracted_at)
    VALUES (%(id)s, '', '', %(title)s, %(text)s, %(duplicate_of)s, '{}', %(authors)s, %(language)s, '{}', '{}', '{}', 1,
        1, %(now)s)
"""


async def article(conn: Connection, source: SourceId, number: str, at: datetime, **more: str) -> ArticleId:
    """An article that a source lists, by default as that of another site."""
    url = more.pop("url", f"https://www.example.org:8443/{number}")
    new = an_article(url, published_at=at, is_own=more.pop("own", "") == "yes", **more)
    await records.keep(conn, seen_at=NOW, listed=[ListedEntry(source, new)])
    cur = await conn.execute("SELECT article_id FROM article_urls WHERE url_key = %(key)s", {"key": url_key(url)})
    row = await cur.fetchone()
    assert row is not None
    return ArticleId(row[0])


async def text(
    conn: Connection, of: ArticleId, written: str | None, language: str | None = "en", duplicate_of: UUID | None = None
) -> None:
    values = {
        "id": of, "text": written, "language": language, "duplicate_of": duplicate_of, "title": "Page of water",
        "authors": ["Eve Miller", "Max Weber"], "now": NOW,
    }  # fmt: skip
    await conn.execute(TEXT, values)


@pytest.fixture
async def articles(conn: Connection) -> dict[str, ArticleId]:
    """Ada follows one feed with the articles a, b and c; d and e are of another; b is also there, c is starred."""
    ada = await add_user(conn, "ada@example.com", None, Role.READER, START)
    mine = (await a_source(conn, url="https://mine.example/feed", name="Daily News")).id
    other = (await a_source(conn, url="https://other.example/feed", name="Other Journal")).id
    await conn.execute("UPDATE sources SET category = 'World/Europe' WHERE id = %(id)s", {"id": other})
    at = {name: START + timedelta(days=day) for day, name in enumerate("abcde")}
    found = {
        "a": await article(conn, mine, "a", at["a"], title="Rivers rise", own="yes", author="Ann Smith"),
        "b": await article(conn, mine, "b", at["b"], title="Quokka seen", author="Bob Jones"),
        "c": await article(conn, mine, "c", at["c"], title="Dry lands", url="https://a.test/c", own="yes"),
        "d": await article(conn, other, "d", at["d"], title="Von der Donau", url="http://b.test./d", own="yes"),
        "e": await article(conn, other, "e", at["e"], title="The end", url="https://notexample.org/", own="yes"),
    }
    await conn.execute(
        "INSERT INTO article_sources (article_id, source_id, entry_id, seen_at, listed_at, enclosures) "
        """VALUES (%(id)s, %(source)s, 'b', %(at)s, %(at)s, '[{"url": "https://x.test/1.mp3"}]')""",
        {"id": found["b"], "source": other, "at": NOW},
    )
    await text(conn, found["a"], "The “flooding” of the old mills—was stopped")
    await text(conn, found["b"], None, duplicate_of=found["a"])
    await text(conn, found["d"], "Die alten Mühlen stehen still", "de-AT")
    for name, score in (("a", 0.604), ("d", 0.8)):
        await say(conn, found[name], Method.MODEL, "quality", scheme=Scheme.QUALITY, score=score)
    await say(conn, found["a"], Method.MODEL, "sport", "health", scheme=Scheme.TOPIC)
    await say(conn, found["b"], Method.MODEL, "Technology", scheme=Scheme.CATEGORY)
    await say(conn, found["c"], Method.MODEL, "sport", scheme=Scheme.TOPIC, score=0.1)  # not shown
    await conn.execute(
        "INSERT INTO article_state (article_id, story_id) VALUES (%(id)s, %(story)s)"
        " ON CONFLICT (article_id) DO UPDATE SET story_id = excluded.story_id",
        {"id": found["a"], "story": STORY},
    )
    await subscriptions.add(
        conn, subscription_id=new_id(), user_id=ada.id, source_id=mine, name="My daily", category="News/Local", now=NOW
    )
    await conn.execute(
        "UPDATE subscriptions SET tags = '{Feed}', read_until = %(until)s WHERE user_id = %(user)s",
        {"user": ada.id, "until": at["b"]},
    )
    await conn.execute(
        "INSERT INTO marks (user_id, article_id, is_read, starred_at, tags, title, hidden_at) VALUES"
        " (%(user)s, %(a)s, false, NULL, '{Later}', NULL, %(now)s),"
        " (%(user)s, %(d)s, NULL, %(now)s, '{}', 'Kept title', NULL)",
        {"user": ada.id, "now": NOW, **found},
    )
    await set_user(conn, ada.id)
    return found


BOTH: dict[str, str] = {
    # In the text by its language, in a title as written. Each word by itself.
    "*": "abcde", "-*": "", "flood": "ab", "FLOODED": "ab", "mill": "ab", '"old mill"': "ab", '"mill old"': "",
    "mühle": "d", "muhle": "d", "rivers flood": "a", "river": "", "rise": "a", "dry or donau": "cd", "-flood": "cde",
    "-(flood or donau)": "ce", '"rivers rise" -donau': "a",
    # A stop word of the language is in each text of that language, and elsewhere only where it is written.
    "the": "abe", "der": "d", "the rise": "a", '"the old"': "ab", "was -flood": "d", "page": "abd",
    "title:rivers": "a", 'title:"rivers rise"': "a", 'title:"rise rivers"': "", 'title:"page of water"': "abd",
    "title:flood": "", "author:smith": "a", 'author:"ann smith"': "a", 'author:"miller max"': "", "author:weber": "abd",
    "topic:sport": "a", "topic:technology": "b", "topic:health topic:sport": "a", "-topic:sport": "bcde",
    "quality:60": "a", "quality:>60": "d", "quality:>=60": "ad", "quality:<61": "a", "quality:<=80": "ad",
    "-quality:>60": "abce",
    "host:example.org": "ab", "host:www.example.org": "ab", "host:w.example.org": "", "host:b.test": "d",
    "host:org": "abe", f"story:{STORY}": "a", f"-story:{STORY}": "bcde",
}  # fmt: skip
READER: dict[str, str] = {
    "quokka": "b", "title:quokka": "b", "author:jones": "b", "kept": "d", "title:kept": "d",
    "source:daily": "abc", 'source:"my daily"': "abc", "source:journal": "", "source:news": "",
    "category:news": "abc", "category:NEWS/local": "abc", "category:local": "", "category:new": "",
    "tag:later": "a", "tag:FEED": "abc", "tag:none": "", "-tag:feed": "de",
    "is:read": "b", "is:unread": "acde", "is:starred": "d", "is:unread is:starred": "d",
    "is:hidden": "a", "-is:hidden": "bcde", "has:enclosure": "",
    "newer:8d": "cde", "newer:192h": "cde", "newer:191h": "de", "older:8d": "ab",
    "before:2026-03-03": "ab", "after:2026-03-02": "cde",
}  # fmt: skip
EVERYONE: dict[str, str] = {
    "quokka": "", "title:quokka": "", "kept": "",
    "source:daily": "abc", "source:journal": "bde", 'source:"daily news"': "abc", "source:my": "",
    "category:world": "bde", "category:world/europe": "bde", "category:news": "", "has:enclosure": "b",
    "newer:8d": "bcde", "before:2026-03-03": "a",
}  # fmt: skip


@pytest.mark.parametrize(
    ("audience", "answers"),
    [(Audience.READER, BOTH | READER), (Audience.EVERYONE, BOTH | EVERYONE)],
    ids=["reader", "everyone"],
)
async def test_a_query_finds_its_articles(
    conn: Connection, articles: dict[str, ArticleId], audience: Audience, answers: dict[str, str]
) -> None:
    ids = list(articles.values())

    found = {query: await find(conn, query, audience, ids) for query in answers}

    names = {article_id: name for name, article_id in articles.items()}
    assert {query: "".join(names[one] for one in some) for query, some in found.items()} == answers


async def test_a_source_is_found_by_its_id(conn: Connection, articles: dict[str, ArticleId]) -> None:
    cur = await conn.execute("SELECT id FROM sources WHERE name = 'Other Journal'")
    row = await cur.fetchone()
    assert row is not None
    query = f"source:{row[0]}"

    assert await find(conn, query, Audience.READER, list(articles.values())) == []
    assert await find(conn, query, Audience.EVERYONE, list(articles.values())) == [
        articles["b"], articles["d"], articles["e"],
    ]  # fmt: skip


async def test_a_deleted_article_is_never_found(conn: Connection, articles: dict[str, ArticleId]) -> None:
    gone = ArticleId(UUID(int=articles["a"].int + 1))

    assert await find(conn, "-nothing", Audience.EVERYONE, [gone]) == []


async def test_values_never_get_into_the_sql() -> None:
    hostile = "');drop-table%(users)s%s"
    made = condition(
        parse(f'"{hostile}" title:"{hostile}" tag:"{hostile}"', Audience.READER).tree, Audience.READER, now=NOW
    )

    assert "drop" not in made.sql + made.joins
    assert list(made.values.values()) == [hostile] * 3


async def test_hostile_words_are_only_words(conn: Connection, articles: dict[str, ArticleId]) -> None:
    ids = list(articles.values())
    signs = ("'", "a' | 'b", "a & b", "!!a", "<->", "\\", "a:*", "%s", "%(x)s", "İ", "ﬁ", "²")
    for word in (*signs, "x" * 199, "的" * 199):
        query = f"a {phrase('b' + word)} title:{phrase('b' + word)} or tag:{phrase(word)}"
        assert await find(conn, query, Audience.READER, ids) == []


async def find(conn: Connection, query: str, audience: Audience, ids: list[ArticleId]) -> list[ArticleId]:
    where = condition(parse(query, audience).tree, audience, now=NOW)
    return await find_among(conn, where=where, article_ids=ids)

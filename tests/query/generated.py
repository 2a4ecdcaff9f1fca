"""Generated articles, as they are stored, and generated queries about them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from uuid import UUID

from hypothesis import strategies as st
from psycopg.types.json import Jsonb

from headwater.db import Connection
from headwater.ids import ids_at
from headwater.query.types import (
    And,
    Before,
    Comparator,
    Everything,
    HasEnclosure,
    InField,
    InState,
    LabelField,
    Labelled,
    Node,
    Not,
    OfCategory,
    OfHost,
    OfQuality,
    OfSource,
    OfStory,
    Or,
    StateField,
    Tagged,
    TextField,
    Within,
    Words,
)  # fmt: skip
from headwater.types import ArticleId, UserId
from tests.clock import START

READER, OTHER = UserId(UUID(int=1)), UserId(UUID(int=2))
SOURCES = {
    UUID(int=11): ("The Harbour News", "News"),
    UUID(int=12): ("L'été", "news/local"),
    UUID(int=13): ("Example.org", "NEWS/Local/Ports"),
    UUID(int=14): ("run", None),
}
# Stop words of some languages, stems, compounds, signs that text search reads in its own way.
WORDS = (
    "harbour", "harbours", "opens", "Opening", "Häfen", "Hafen", "der", "die", "the", "of", "and", "is", "well-known",
    "well", "known", "l'eau", "eau", "rock'n'roll", "C++", "example.org/a/b", "example.org", "O'Neil", "日本語",
    "naïve", "2026", "-5", "İstanbul", "istanbul", "running", "run", "runs", "été", "a\\b", "<b>bold</b>", "bold",
    "&amp;", "x@y.org",
)  # fmt: skip
# Few words, so that queries and articles have some in common: stop words in one language and not in another, stems.
COMMON = ("harbour", "harbours", "the", "der", "of", "known", "well-known", "istanbul", "running", "runs", "&amp;")
LANGUAGES = (None, "en", "en", "EN-gb", "de", "de", "fr")
HOSTS = ("example.org", "www.example.org", "notexample.org", "example.org:8080", "other.test")
LABELS = (
    ("topic", "sport"), ("topic", "health"), ("category", "Sports"), ("type", "article"), ("language", "en"),
    ("sentiment", "mixed"), ("keyword", "Sport"),
)  # fmt: skip
FIELD_OF = {
    "topic": LabelField.TOPIC, "category": LabelField.TOPIC, "type": LabelField.TYPE, "language": LabelField.LANGUAGE,
    "sentiment": LabelField.SENTIMENT, "keyword": LabelField.KEYWORD,
}  # fmt: skip
TAGS = ("later", "Later", "İdea", "work/now")

word = st.sampled_from(COMMON) | st.sampled_from(COMMON) | st.sampled_from(WORDS)
texts = st.lists(word, max_size=8).map(" ".join)
some_text = st.none() | texts
ages = st.sampled_from([0, 1, 2, 12, 24, 36, 48])  # in hours; START is noon
moments = ages.map(lambda hours: START - timedelta(hours=hours))


@dataclass(frozen=True)
class Page:
    """What was extracted. `duplicate_of`: the number of the article that has the text."""

    title: str | None
    description: str | None
    text: str | None
    authors: list[str]
    language: str | None
    duplicate_of: int | None


@dataclass(frozen=True)
class Link:
    source_id: UUID
    title: str | None
    author: str | None
    listed_at: datetime
    has_enclosure: bool


@dataclass(frozen=True)
class Mark:
    is_read: bool | None
    is_starred: bool
    is_hidden: bool
    tags: list[str]


@dataclass(frozen=True)
class StoredArticle:
    title: str
    author: str | None
    host: str
    published_at: datetime | None
    page: Page | None
    links: list[Link]
    labels: list[tuple[tuple[str, str], bool]]  # and whether it is shown
    quality: float | None
    story_id: UUID | None
    mark: Mark | None


@dataclass(frozen=True)
class Subscribed:
    name: str
    category: str | None
    tags: list[str]
    read_until: datetime


tags = st.lists(st.sampled_from(TAGS), max_size=2, unique=True)
pages = st.builds(
    Page, some_text, some_text, some_text, st.lists(texts, max_size=2), st.sampled_from(LANGUAGES),
    st.none() | st.integers(0, 1),
)  # fmt: skip
links = st.lists(
    st.builds(Link, st.sampled_from(sorted(SOURCES)), some_text, some_text, moments, st.booleans()),
    max_size=3, unique_by=lambda link: link.source_id,
)  # fmt: skip
articles = st.lists(
    st.builds(
        StoredArticle, texts, some_text, st.sampled_from(HOSTS), st.none() | moments,
        st.none() | pages | pages | pages, links,
        st.lists(st.tuples(st.sampled_from(LABELS), st.booleans()), max_size=4, unique_by=lambda one: one[0]),
        st.sampled_from([None, 0.0, 0.3, 0.595, 0.6, 0.604, 0.6049, 0.61, 1.0]),
        st.sampled_from([None, UUID(int=21), UUID(int=22)]),
        st.none() | st.builds(Mark, st.sampled_from([None, True, False]), st.booleans(), st.booleans(), tags),
    ),
    min_size=1, max_size=5,
)  # fmt: skip
subscriptions = st.dictionaries(
    st.sampled_from(sorted(SOURCES)),
    st.builds(Subscribed, texts.filter(bool), st.sampled_from([None, "News", "news/LOCAL", "İdea"]), tags, moments),
    max_size=3,
)

phrases = word | word | st.lists(word, min_size=1, max_size=3).map(" ".join)
words = st.builds(Words, phrases)
leaves = st.one_of(
    words, words, words,
    st.builds(InField, st.sampled_from(TextField), word),
    st.builds(InField, st.sampled_from(TextField), phrases),
    st.builds(OfSource, st.sampled_from([*SOURCES, UUID(int=99)])),
    st.builds(OfCategory, st.sampled_from(["news", "NEWS/local", "news/l", "ports", "idea", "İdea"])),
    st.sampled_from(LABELS).map(lambda one: Labelled(FIELD_OF[one[0]], one[1].lower(), (one, ("topic", "labour")))),
    st.builds(OfQuality, st.sampled_from(Comparator), st.sampled_from([0, 30, 59, 60, 61, 100])),
    st.builds(OfHost, st.sampled_from(["example.org", "org", "www.example.org", "test", "xample.org"])),
    st.builds(OfStory, st.sampled_from([UUID(int=21), UUID(int=22), UUID(int=23)])),
    st.just(HasEnclosure()),
    st.builds(Within, ages.map(lambda hours: timedelta(hours=hours))),
    st.builds(Before, st.integers(-3, 2).map(lambda days: START.date() + timedelta(days=days)) | st.just(date.min)),
    st.just(Everything()),
)  # fmt: skip
leaves_of_reader = st.one_of(
    leaves, leaves,
    st.builds(InState, st.sampled_from(StateField)),
    st.builds(Tagged, st.sampled_from(["later", "LATER", "idea", "İDEA", "work"])),
)  # fmt: skip


def trees(leaf: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    def deeper(parts: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
        several = st.lists(parts, min_size=1, max_size=3).map(tuple)
        return st.builds(Not, parts) | st.builds(And, several) | st.builds(Or, several)

    return st.recursive(leaf, deeper, max_leaves=6)


queries_of_everyone = st.lists(trees(leaves), min_size=1, max_size=12)
queries_of_reader = st.lists(trees(leaves_of_reader), min_size=1, max_size=12)


async def store_all(
    conn: Connection, given: Sequence[StoredArticle], subscribed: dict[UUID, Subscribed]
) -> list[ArticleId]:
    """The reader follows `subscribed`; another one follows everything, and has read and tagged all of it."""
    ids = [ArticleId(one) for one in ids_at(START, len(given))]
    async with conn.pipeline():
        await _store_sources(conn)
        for article_id, one in zip(ids, given, strict=True):
            await _store_article(conn, article_id, one)
            if one.page:
                original = one.page.duplicate_of
                is_original = original is None or original >= len(given) or ids[original] == article_id
                await _store_page(conn, article_id, one.page, None if is_original else ids[original or 0])
        await _store_subscriptions(conn, subscribed)
        for article_id, one in zip(ids, given, strict=True):
            await _store_marks(conn, article_id, one.mark)
    return ids


async def _store_sources(conn: Connection) -> None:
    for user_id in (READER, OTHER):
        await conn.execute(
            "INSERT INTO users (id, email, email_key) VALUES (%(id)s, %(email)s, %(email)s)",
            {"id": user_id, "email": f"{user_id}@example.org"},
        )
    for source_id, (name, category) in SOURCES.items():
        await conn.execute(
            """
            INSERT INTO sources (id, name, category, feed_url, feed_url_key)
            VALUES (%(id)s, %(name)s, %(category)s, %(url)s, %(key)s)
            """,
            {
                "id": source_id, "name": name, "category": category, "url": f"https://f.test/{source_id}",
                "key": source_id.bytes,
            },
        )  # fmt: skip


async def _store_article(conn: Connection, article_id: ArticleId, given: StoredArticle) -> None:
    await conn.execute(
        """
        INSERT INTO articles (id, url, url_key, title, author, published_at, seen_at)
        VALUES (%(id)s, %(url)s, %(key)s, %(title)s, %(author)s, %(published_at)s, %(now)s)
        """,
        {
            "id": article_id, "url": f"https://{given.host}/{article_id}", "key": article_id.bytes, "now": START,
            "title": given.title, "author": given.author, "published_at": given.published_at,
        },
    )  # fmt: skip
    for link in given.links:
        await conn.execute(
            """
            INSERT INTO article_sources
                (article_id, source_id, entry_id, seen_at, listed_at, title, author, enclosures)
            VALUES (%(id)s, %(source_id)s, '', %(now)s, %(listed_at)s, %(title)s, %(author)s, %(enclosures)s)
            """,
            {
                "id": article_id, "source_id": link.source_id, "now": START, "listed_at": link.listed_at,
                "title": link.title, "author": link.author,
                "enclosures": Jsonb([{"url": "https://f.test/a.mp3"}]) if link.has_enclosure else None,
            },
        )  # fmt: skip
    await _store_labels(conn, article_id, given)
    await conn.execute(
        "INSERT INTO article_state (article_id, story_id) VALUES (%(id)s, %(story_id)s)",
        {"id": article_id, "story_id": given.story_id},
    )


async def _store_labels(conn: Connection, article_id: ArticleId, given: StoredArticle) -> None:
    labels = [(*label, 0.5, is_shown) for label, is_shown in given.labels]
    if given.quality is not None:
        labels.append(("quality", "quality", given.quality, True))
    for scheme, label, score, is_shown in labels:
        await conn.execute(
            """
            INSERT INTO labels (article_id, scheme, label, method, score, version, made_at, is_shown, is_disputed)
            VALUES (%(id)s, %(scheme)s, %(label)s, 'rule', %(score)s, '1', %(now)s, %(is_shown)s, false)
            """,
            {
                "id": article_id, "scheme": scheme, "label": label, "score": score, "now": START, "is_shown": is_shown,
            },
        )  # fmt: skip


async def _store_page(conn: Connection, article_id: ArticleId, page: Page, duplicate_of: ArticleId | None) -> None:
    await conn.execute(
        """
        INSERT INTO content (article_id, url, url_key, title, text, description, keywords, authors, language,
            open_graph, linked_data, origins, word_count, duplicate_of, richness, extracted_at)
        VALUES (%(id)s, '', %(key)s, %(title)s, %(text)s, %(description)s, '{}', %(authors)s, %(language)s, '{}',
            '[]', '{}', 0, %(duplicate_of)s, 0, %(now)s)
        """,
        {
            "id": article_id, "key": article_id.bytes, "title": page.title, "description": page.description,
            "text": None if duplicate_of else page.text, "authors": page.authors, "language": page.language,
            "duplicate_of": duplicate_of, "now": START,
        },
    )  # fmt: skip


async def _store_subscriptions(conn: Connection, subscribed: dict[UUID, Subscribed]) -> None:
    read = Subscribed("Other run", "Other", ["other"], datetime(9999, 1, 1, tzinfo=UTC))
    rows = [(READER, source_id, one) for source_id, one in subscribed.items()]
    rows += [(OTHER, source_id, read) for source_id in SOURCES]
    for number, (user_id, source_id, one) in enumerate(rows):
        await conn.execute(
            """
            INSERT INTO subscriptions (id, user_id, source_id, name, category, tags, read_until, created_at)
            VALUES (%(id)s, %(user_id)s, %(source_id)s, %(name)s, %(category)s, %(tags)s, %(read_until)s, %(now)s)
            """,
            {
                "id": UUID(int=1000 + number), "user_id": user_id, "source_id": source_id, "name": one.name,
                "category": one.category, "tags": one.tags, "read_until": one.read_until, "now": START,
            },
        )  # fmt: skip


async def _store_marks(conn: Connection, article_id: ArticleId, mark: Mark | None) -> None:
    marks = [(OTHER, Mark(is_read=True, is_starred=True, is_hidden=True, tags=["other"]))]
    if mark:
        marks.append((READER, mark))
    for user_id, one in marks:
        await conn.execute(
            """
            INSERT INTO marks (user_id, article_id, is_read, starred_at, hidden_at, tags)
            VALUES (%(user_id)s, %(id)s, %(is_read)s, %(starred_at)s, %(hidden_at)s, %(tags)s)
            """,
            {
                "user_id": user_id, "id": article_id, "is_read": one.is_read, "tags": one.tags,
                "starred_at": START if one.is_starred else None, "hidden_at": START if one.is_hidden else None,
            },
        )  # fmt: skip

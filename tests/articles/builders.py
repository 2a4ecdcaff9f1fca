"""Records for the tests: valid by default; a test names only what it is about."""

from datetime import datetime, timedelta
from itertools import count
from typing import Any

from psycopg.rows import namedtuple_row

from headwater.articles.fingerprint import hash_of, simhash_of, words_of
from headwater.articles.store.records import keep
from headwater.articles.types import Extracted, Finder, ListedEntry, NewContent
from headwater.db import Connection
from headwater.extraction.store import find_articles
from headwater.types import ArticleId, SourceId
from tests.builders import an_article
from tests.clock import START

WORDS = (
    "The river rose in the night and stood above the meadows by morning while people on the bank carried what they "
    "could to the upper rooms and counted boats that had come loose from the jetty below the old mill near the bridge"
)
MOMENTS = count()


def a_record(text: str = WORDS, **more: object) -> Extracted:
    words = words_of(text)
    values: dict[str, object] = {
        "title": "High water",
        "text": text,
        "html": f"<p>{text}</p>",
        "language": "en",
        "word_count": len(words),
        "content_hash": hash_of(words),
        "simhash": simhash_of(words),
        "origins": {"title": Finder.HTML, "text": Finder.TRAFILATURA},
    }
    return Extracted(**(values | more))  # pyright: ignore[reportArgumentType]


async def an_article_id(conn: Connection, source_id: SourceId, url: str, *, now: datetime = START) -> ArticleId:
    article = an_article(url)
    await keep(conn, seen_at=now, listed=[ListedEntry(source_id, article)])
    found = await find_articles(conn, url_keys=[article.url_key])
    (known,) = found.values()
    assert known.id is not None
    return known.id


async def a_content(conn: Connection, source_id: SourceId, url: str, record: Extracted) -> NewContent:
    """Of an article that is seen after all those before it."""
    now = START + timedelta(milliseconds=next(MOMENTS))
    return NewContent(await an_article_id(conn, source_id, url, now=now), url, an_article(url).url_key, record)


async def find(conn: Connection, *, article_id: ArticleId) -> Any:
    """The content of an article with its columns as attributes; a duplicate has the text it shares."""
    async with conn.cursor(row_factory=namedtuple_row) as cur:
        await cur.execute(
            """
            SELECT content.article_id, content.url, content.title, coalesce(content.text, original.text) AS text,
                coalesce(content.html, original.html) AS html, content.description, content.keywords, content.authors,
                content.published_at, content.canonical_url, content.section, content.language, content.image_url,
                content.open_graph, content.linked_data, content.origins, content.word_count, content.content_hash,
                content.duplicate_of, content.near_duplicate_of, content.version, content.extracted_at
            FROM content
            LEFT JOIN content AS original ON original.article_id = content.duplicate_of
            WHERE content.article_id = %(article_id)s
            """,
            {"article_id": article_id},
        )
        return await cur.fetchone()

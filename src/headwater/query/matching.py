"""Match saved queries against stored articles: load what is missing, then match."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

from headwater.db import Connection
from headwater.query import store
from headwater.query.document import Document, ReaderContext
from headwater.query.evaluate import evaluate
from headwater.query.matcher import Key, Matcher
from headwater.types import ArticleId, UserId

READ_AT_ONCE: Final = 5  # a long text takes 30 ms to become a document: requests are answered in between


async def read_documents(conn: Connection, article_ids: Sequence[ArticleId]) -> dict[ArticleId, Document]:
    """These articles, without those that no longer exist. A few at a time: a feed may list 50 pages of 100,000
    characters, and no request is answered while they become documents."""
    documents: dict[ArticleId, Document] = {}
    for start in range(0, len(article_ids), READ_AT_ONCE):
        documents |= await store.read_documents(conn, article_ids=article_ids[start : start + READ_AT_ONCE])
    return documents


async def match_all(
    conn: Connection, matcher: Matcher[Key], documents: Mapping[ArticleId, Document], now: datetime
) -> dict[ArticleId, list[Key]]:
    """The keys of the queries that find each of these articles."""
    await prepare(conn, matcher, documents.values())
    found: dict[ArticleId, list[Key]] = {}
    for article_id, document in documents.items():
        found[article_id] = matcher.match(document, now)
        await asyncio.sleep(0)  # requests are answered in between
    return found


async def prepare(conn: Connection, matcher: Matcher[Key], documents: Iterable[Document]) -> None:
    """Load the words that matching these documents needs."""
    missing = matcher.missing(documents)
    if missing.words:
        await store.load_lexemes(conn, into=matcher.lexemes, words=missing.words)
    if missing.lower:
        await store.load_lower(conn, into=matcher.lexemes, texts=missing.lower)


def match_readers(
    matcher: Matcher[Key],
    document: Document,
    readers: Mapping[UserId, ReaderContext],
    reader_of: Callable[[Key], UserId],
    now: datetime,
) -> list[Key]:
    """The keys of the queries that find the article for the reader whose query it is. Call `prepare` before."""
    candidates = matcher.candidates(document.for_readers(readers.values()), now)
    views: dict[UserId, Document] = {}
    matched: list[Key] = []
    for key in candidates:
        reader = reader_of(key)
        if reader not in readers:
            continue
        if reader not in views:
            views[reader] = document.for_reader(readers[reader])
        if evaluate(matcher[key].tree, views[reader], matcher.lexemes, now):
            matched.append(key)
    return matched

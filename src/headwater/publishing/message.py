"""The message about an article: version 1 of the schema in docs/channels.md. Pure.

It has the fields of north-cloud's publisher, under their names, and ours. A field without a value is null, so that all
messages have the same fields.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import msgspec

from headwater.channels.types import delivery_id
from headwater.labels.vocabulary import CRIME
from headwater.publishing.delivery.types import OutgoingMessage
from headwater.reading.text import without_markup

SCHEMA_VERSION: Final = 1
INTRO_MAX: Final = 500  # characters
FEED_TEXT_MAX: Final = 100_000  # characters of markup from a feed, where the page was not read

_encode: Final = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class ArticleRecord:
    """The shared record of an article: its page, its own site's feed, its labels and its public sources."""

    id: UUID
    url: str
    canonical_url: str
    title: str
    text: str | None
    html: str | None
    feed_html: str | None  # what the feed says, where the page was not read
    description: str | None
    authors: list[str]
    published_at: datetime | None
    listed_at: datetime
    section: str | None
    language: str | None
    image_url: str | None
    word_count: int | None
    open_graph: Mapping[str, Any]
    meta_keywords: list[str]
    content_type: str | None
    sentiment: str | None
    quality_score: int | None
    topics: list[str] | None
    topic_score: float | None
    categories: list[str] | None
    keywords: list[str] | None
    story_id: UUID | None
    revision: int | None
    revised_at: datetime | None
    duplicate_of: UUID | None
    near_duplicate_of: UUID | None
    sources: list[Mapping[str, Any]]  # id and name
    reputation: float | None
    enclosures: list[Mapping[str, Any]]


def message_of(
    record: ArticleRecord, *, channel_id: UUID, channel: str, revision: int, now: datetime, with_html: bool
) -> OutgoingMessage:
    published = {"route_id": str(channel_id), "channel_id": str(channel_id), "channel": channel, "published_at": now}
    fields = {
        "schema_version": SCHEMA_VERSION, "delivery_id": delivery_id(channel_id, revision), "revision": revision,
        "publisher": published, **article_fields(record, with_html=with_html),
    }  # fmt: skip
    return OutgoingMessage(delivery_id(channel_id, revision), revision, _encode(fields))


def article_fields(record: ArticleRecord, *, with_html: bool) -> dict[str, Any]:
    """The article as messages, streams and the API describe it."""
    text = record.text or _plain(record.feed_html)
    description = _plain(record.description)
    graph = record.open_graph
    topics, categories = record.topics or [], record.categories or []
    return {
        "id": record.id, "title": record.title, "body": text, "raw_text": text,
        "raw_html": (record.html or record.feed_html) if with_html else None,
        "url": record.url, "canonical_url": record.canonical_url, "source": record.url,
        "published_date": record.published_at, "listed_at": record.listed_at,
        "quality_score": record.quality_score, "topics": topics, "content_type": record.content_type,
        "is_crime_related": CRIME in topics, "source_reputation": _rounded(record.reputation),
        "confidence": None if record.topic_score is None else round(record.topic_score, 4),
        "og_title": graph.get("title"), "og_description": graph.get("description"), "og_image": graph.get("image"),
        "og_url": graph.get("url"),
        "intro": description or text[:INTRO_MAX], "description": description, "word_count": record.word_count,
        "category": categories[0] if categories else None, "section": record.section,
        "keywords": record.keywords or record.meta_keywords,
        "categories": categories, "sentiment": record.sentiment, "language": record.language,
        "authors": record.authors, "image_url": record.image_url, "story_id": record.story_id,
        "duplicate_of": record.duplicate_of, "near_duplicate_of": record.near_duplicate_of,
        "sources": record.sources, "enclosures": record.enclosures, "article_revision": record.revision,
        "revised_at": record.revised_at,
    }  # fmt: skip


def _plain(markup: str | None) -> str:
    return " ".join(without_markup((markup or "")[:FEED_TEXT_MAX]).split())


def _rounded(value: float | None) -> int | None:
    return None if value is None else round(value)

"""From content to the lines of a bulk request. Pure: the field names are those of a raw content document."""

from typing import Any

import msgspec

from headwater.outbox.types import Action, Claimed
from headwater.publishing.types import Content, Operation

_encode = msgspec.json.Encoder().encode


def operation(entry: Claimed, content: Content | None, *, most_bytes: int) -> Operation:
    """What is told to the index. Content that is gone by now is a deletion, whatever was queued."""
    if content is None or entry.action == Action.DELETE:
        return Operation(entry, _line({"delete": _target(entry)}))
    fields = {name: value for name, value in _document(content).items() if value is not None}
    document = _encode(fields)
    if len(document) > most_bytes and fields.pop("raw_html", None):
        # The page's HTML is the large part, and the index does not search it; PostgreSQL has it.
        document = _encode(fields)
    return Operation(entry, _line({"index": _target(entry)}) + document + b"\n")


def document_id(url_key: bytes) -> str:
    """The one document of a URL."""
    return url_key.hex()


def _target(entry: Claimed) -> dict[str, Any]:
    return {"_id": document_id(entry.url_key), "version": entry.queued_version, "version_type": "external"}


def _line(action: object) -> bytes:
    return _encode(action) + b"\n"


def _document(content: Content) -> dict[str, Any]:
    return {
        "id": str(content.article_id),
        "url": content.url,
        "source_id": content.source_id,
        "source_name": content.source_name,
        "title": content.title,
        "raw_text": content.text,
        "raw_html": content.html,
        "meta_description": content.description,
        "meta_keywords": content.keywords or None,
        "og_type": content.og_type,
        "og_title": content.og_title,
        "og_description": content.og_description,
        "og_image": content.og_image,
        "og_url": content.og_url,
        "og_site_name": content.og_site_name,
        "author": content.authors or None,
        "published_date": content.published_at,
        "canonical_url": content.canonical_url,
        "article_section": content.section,
        "lead_image": content.image_url,
        "language": content.language,
        "json_ld_data": msgspec.Raw(content.linked_data.encode()) if content.linked_data else None,
        "crawled_at": content.crawled_at,
        "word_count": content.word_count,
        "content_hash": content.content_hash.hex() if content.content_hash else None,
        "classification_status": "pending",
        "version": content.version,
    }

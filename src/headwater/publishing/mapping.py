"""The mapping of the index. Strict: documents with other fields are refused. Pure.

A change needs a new MAPPING_VERSION: `headwater index rebuild` then creates the new index and fills it.
"""

from collections.abc import Mapping
from typing import Any, cast

MAPPING_VERSION = 1

_KEYWORD_MAX = 8191  # characters: Lucene refuses terms over 32,766 bytes, and a character has four at most
_KEYWORD = {"type": "keyword", "ignore_above": _KEYWORD_MAX}
_TEXT = {"type": "text"}
_KEPT_ONLY = {"type": "text", "index": False}
_NAME = {"type": "text", "fields": {"keyword": {"type": "keyword", "ignore_above": 256}}}

MAPPING: Mapping[str, Any] = {
    "dynamic": "strict",
    "properties": {
        "id": _KEYWORD,
        "url": _KEYWORD,
        "source_id": _KEYWORD,
        "source_name": _KEYWORD,
        "title": _TEXT,
        "raw_text": _TEXT,
        "raw_html": _KEPT_ONLY,
        "meta_description": _TEXT,
        "meta_keywords": _KEYWORD,
        "og_type": _KEYWORD,
        "og_title": _TEXT,
        "og_description": _TEXT,
        "og_image": _KEPT_ONLY,
        "og_url": _KEYWORD,
        "og_site_name": _KEYWORD,
        "author": _NAME,
        "published_date": {"type": "date"},
        "canonical_url": _KEYWORD,
        "article_section": _NAME,
        "lead_image": _KEPT_ONLY,
        "language": _KEYWORD,
        "json_ld_data": {"type": "object", "enabled": False},
        "crawled_at": {"type": "date"},
        "word_count": {"type": "integer"},
        "content_hash": _KEYWORD,
        "classification_status": _KEYWORD,
        "version": {"type": "integer"},
    },
}

SETTINGS: Mapping[str, Any] = {
    "index": {
        "refresh_interval": "5s",
        # How long the versions of deleted documents are kept, so that a late replay does not restore one. The default,
        # a minute, is shorter than a lease.
        "gc_deletes": "1h",
    }
}


def index_name(alias: str) -> str:
    """The index behind the alias, under this version's mapping."""
    return f"{alias}-v{MAPPING_VERSION}"


def differences(found: object) -> list[str]:
    """How a mapping differs from ours, one sentence a field; empty if it does not."""
    mapping = cast("Mapping[str, Any]", found if isinstance(found, dict) else {})
    wanted: Mapping[str, Any] = MAPPING["properties"]
    there: Mapping[str, Any] = mapping.get("properties") or {}
    texts = [] if str(mapping.get("dynamic")) == "strict" else [f"dynamic is {mapping.get('dynamic', 'not set')}"]
    texts += [f"{name} is missing" for name in wanted if name not in there]
    texts += [f"{name} is not ours" for name in there if name not in wanted]
    return texts + [f"{name} is {there[name]}" for name in wanted if name in there and there[name] != wanted[name]]

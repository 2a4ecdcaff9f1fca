"""The mapping of the index. Strict: documents with other fields are refused. Pure.

A change needs a new MAPPING_VERSION: `headwater index rebuild` then creates the new index and fills it.
"""

from collections.abc import Mapping
from typing import Any, cast

MAPPING_VERSION = 2

_KEYWORD_MAX = 8191  # characters: Lucene refuses terms over 32,766 bytes, and a character has four at most
_KEYWORD = {"type": "keyword", "ignore_above": _KEYWORD_MAX}
_FIELDS: tuple[tuple[Mapping[str, Any], str], ...] = (
    (_KEYWORD, "id url canonical_url source_id source_name meta_keywords language content_hash classification_status"),
    (_KEYWORD, "og_type og_url og_site_name content_type topics categories sentiment keywords story_id"),
    ({"type": "text"}, "title raw_text meta_description og_title og_description"),
    ({"type": "text", "index": False}, "raw_html lead_image og_image"),  # kept, and not searched
    ({"type": "text", "fields": {"keyword": {"type": "keyword", "ignore_above": 256}}}, "author article_section"),
    ({"type": "date"}, "published_date crawled_at"),
    ({"type": "integer"}, "word_count version quality_score"),
    ({"type": "object", "enabled": False}, "json_ld_data"),
)

MAPPING: Mapping[str, Any] = {
    "dynamic": "strict",
    "properties": {name: field for field, names in _FIELDS for name in names.split()},
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

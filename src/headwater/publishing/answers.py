"""Parsing of responses, whatever they contain: bytes in, values out. Pure."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, cast

import msgspec

from headwater.publishing.types import BulkAnswered, BulkOutcome, ItemResult, Lost

# Of an item only what is used: otherwise a bulk response has a short document for each.
BULK_FIELDS = "errors,items.*.status,items.*.error.type,items.*.error.reason,items.*.error.caused_by.reason"


class _Cause(msgspec.Struct):
    reason: str | None = None


class _Error(msgspec.Struct):
    type: str = "unknown"
    reason: str | None = None
    caused_by: _Cause | None = None


class _Item(msgspec.Struct):
    status: int
    error: _Error | None = None


class _BulkAnswer(msgspec.Struct):
    items: list[dict[str, _Item]] = []


def read_bulk(text: bytes, sent: int) -> BulkOutcome:
    """The results of a bulk request, one for each operation that was sent."""
    try:
        answer = msgspec.json.decode(text, type=_BulkAnswer)
    except (msgspec.DecodeError, RecursionError) as error:
        return Lost(f"unreadable response: {error}")
    items = [result for item in answer.items for result in item.values()]
    if len(items) != sent:
        return Lost(f"the response has {len(items)} operations, but {sent} were sent")
    return BulkAnswered([_result(item) for item in items])


def _result(item: _Item) -> ItemResult:
    if item.error is None:
        return ItemResult(item.status)
    reasons = [item.error.reason, item.error.caused_by.reason if item.error.caused_by else None]
    return ItemResult(item.status, item.error.type, ": ".join(part for part in reasons if part))


def reason_of(text: bytes) -> str:
    """The reason in the body of an error, in one line."""
    error = object_of(text).get("error")
    if isinstance(error, dict):
        found = cast("dict[str, object]", error)
        return f"{found.get('type', 'unknown')}: {found.get('reason', '')}"[:300]
    return " ".join((error if isinstance(error, str) else text[:300].decode(errors="replace")).split())[:300]


def object_of(text: bytes) -> dict[str, Any]:
    """A JSON object; empty if it is invalid."""
    try:
        found = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def server_name(answer: Mapping[str, Any]) -> str:
    """Name and version. Only OpenSearch reports its name."""
    version = cast("Mapping[str, object]", answer.get("version") or {})
    return f"{version.get('distribution', 'elasticsearch')} {version.get('number', 'of unknown version')}"


def retry_after_of(value: str | None) -> timedelta | None:
    """In seconds; dates are ignored, because our own waits are as long."""
    is_number = value is not None and len(value) <= 6 and value.isascii() and value.isdigit()
    return timedelta(seconds=int(value)) if value is not None and is_number else None

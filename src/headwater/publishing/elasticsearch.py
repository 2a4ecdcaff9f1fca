"""Client of the search index: Elasticsearch 8 and 9, OpenSearch 2 and 3.

The operator sets the address, and it may be private: so the guarded client of `net/` is not used here. No feed or
page can change where these requests go.
"""

import asyncio
import base64
import gzip
import io
import re
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Self, cast

import aiohttp
import msgspec
from yarl import URL

from headwater.errors import IndexMismatch, IndexUnavailable, Invalid
from headwater.publishing.mapping import MAPPING, SETTINGS, differences, index_name
from headwater.publishing.types import BulkAnswered, BulkOutcome, IndexLook, ItemResult, Lost, Operation, Refused

ASK_WITHIN = timedelta(seconds=30)  # for all but bulk requests; a busy OpenSearch creates an index in 20 s
CONNECT_WITHIN = timedelta(seconds=10)
ANSWER_BYTES = 64_000_000
GZIP_LEVEL = 1  # most of the gain for the least time
# Of an item only what is used: otherwise a bulk response has a short document for each.
BULK_FIELDS = "errors,items.*.status,items.*.error.type,items.*.error.reason,items.*.error.caused_by.reason"


class SearchIndex:
    """One index behind one alias. Use as an async context manager; nothing is sent before the first request."""

    def __init__(self, url: str, *, alias: str, timeout: timedelta, api_key: str | None = None) -> None:
        self._base, login = _address(url)
        self.alias = alias
        self.index = index_name(alias)
        self._timeout = timeout
        self._headers = {"Accept": "application/json"}
        if api_key:
            self._headers["Authorization"] = f"ApiKey {api_key}"
        elif login:
            self._headers["Authorization"] = login
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            cookie_jar=aiohttp.DummyCookieJar(), headers=self._headers, timeout=aiohttp.ClientTimeout(total=None)
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._session is not None:
            await self._session.close()

    @property
    def address(self) -> str:
        return str(self._base)

    async def bulk(self, operations: Sequence[Operation]) -> BulkOutcome:
        """Send operations. Raises nothing: an outage is an outcome."""
        lines = b"".join(operation.lines for operation in operations)
        body = await asyncio.to_thread(gzip.compress, lines, GZIP_LEVEL)
        headers = {"Content-Type": "application/x-ndjson", "Content-Encoding": "gzip"}
        # Without require_alias a missing index would be created with a guessed mapping.
        query = {"require_alias": "true", "filter_path": BULK_FIELDS}
        path = f"{self.alias}/_bulk"
        try:
            status, text, retry_after = await self._send("POST", path, body, headers, self._timeout, **query)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            return Lost(_why(error, self._timeout))
        if status != 200:
            return Refused(status, reason_of(text), retry_after)
        return read_bulk(text, len(operations))

    async def ensure(self) -> str:
        """Create the index and its alias if missing. Returns its UUID. Raises IndexUnavailable, IndexMismatch."""
        behind = await self._behind_alias()
        if not behind:
            await self._create()
            behind = await self._behind_alias()
        if self.index not in behind:
            leads_to = f"the alias leads to {', '.join(behind) or 'nothing'}"
            advice = f"this version of Headwater writes to {self.index}: `headwater index rebuild` makes that one"
            raise IndexMismatch(self.alias, [leads_to, advice])
        is_marked = behind[self.index].get("is_write_index")
        if not is_marked and (is_marked is not None or len(behind) > 1):
            raise IndexMismatch(self.alias, [f"the alias does not let {self.index} be written to"])
        if wrong := await self._differences():
            raise IndexMismatch(self.index, wrong)
        found = await self._ask("GET", f"{self.index}/_settings/index.uuid")
        return str(found.get(self.index, {}).get("settings", {}).get("index", {}).get("uuid", self.index))

    async def move_alias(self) -> list[str]:
        """Move the alias to this version's index; returns the old ones. Raises IndexUnavailable, IndexMismatch."""
        behind = await self._behind_alias()
        old = [name for name in behind if name != self.index]
        if not old:
            await self.ensure()
            return []
        await self._create(old)
        return old

    async def look(self) -> IndexLook:
        """Raises IndexUnavailable."""
        server = await self._ask("GET", "")
        behind = await self._behind_alias()
        count = await self._ask("GET", f"{self.alias}/_count", missing={}) if behind else {}
        health = await self._ask("GET", f"_cluster/health/{self.alias}", missing={}) if behind else {}
        found = await self._differences() if self.index in behind else ()
        name = server_name(server)
        return IndexLook(name, self.index, sorted(behind), count.get("count"), health.get("status"), found)

    async def _behind_alias(self) -> dict[str, Any]:
        """The indices of the alias with their options; empty if missing. Raises IndexMismatch if it is an index."""
        found = await self._ask("GET", f"_alias/{self.alias}", missing={})
        if not found and await self._ask("GET", f"{self.alias}/_mapping", missing={}):
            raise IndexMismatch(self.alias, ["it is an index of its own, and an alias is needed under that name"])
        return {name: entry.get("aliases", {}).get(self.alias, {}) for name, entry in found.items()}

    async def _create(self, old: Sequence[str] = ()) -> None:
        """Create the index, unless it exists, and move the alias to it from the old ones in one step."""
        body = {"mappings": MAPPING, "settings": SETTINGS}
        await self._ask("PUT", self.index, body, but="resource_already_exists_exception")
        if wrong := await self._differences():
            raise IndexMismatch(self.index, wrong)
        removed = [{"remove": {"index": name, "alias": self.alias}} for name in old]
        added = {"add": {"index": self.index, "alias": self.alias, "is_write_index": True}}
        await self._ask("POST", "_aliases", {"actions": [*removed, added]})

    async def _differences(self) -> list[str]:
        found = await self._ask("GET", f"{self.index}/_mapping", missing={})
        return differences(found.get(self.index, {}).get("mappings"))

    async def _ask(
        self, method: str, path: str, body: object = None, *, missing: dict[str, Any] | None = None, but: str = ""
    ) -> dict[str, Any]:
        """The JSON of the response; `missing` on 404; empty on the error `but`. Raises IndexUnavailable."""
        headers = {"Content-Type": "application/json"} if body is not None else {}
        content = msgspec.json.encode(body) if body is not None else None
        try:
            status, text, _ = await self._send(method, path, content, headers, ASK_WITHIN)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise IndexUnavailable(_why(error, ASK_WITHIN)) from error
        if status == 404 and missing is not None:
            return missing
        reason = reason_of(text)
        if status == 400 and but and reason.startswith(but):
            return {}
        if status != 200:
            raise IndexUnavailable(f"it answers {method} /{path} with {status}: {reason}", is_refusal=status < 500)
        return object_of(text)

    async def _send(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str], within: timedelta, **query: str
    ) -> tuple[int, bytes, timedelta | None]:
        if self._session is None:
            raise RuntimeError("the search index is used before it is opened")
        connect = min(within, CONNECT_WITHIN).total_seconds()
        timeout = aiohttp.ClientTimeout(total=within.total_seconds(), connect=connect)
        async with self._session.request(
            method,
            self._base.joinpath(path) if path else self._base,
            data=io.BytesIO(body) if body is not None else None,  # sent in pieces: bytes would block the event loop
            headers=headers,
            params=query,
            timeout=timeout,
            allow_redirects=False,
        ) as response:
            return response.status, await _read(response), retry_after_of(response.headers.get("Retry-After"))


def _address(url: str) -> tuple[URL, str | None]:
    """The URL without credentials, and those as a header. Raises Invalid, without the password."""
    try:
        parsed = URL(url)
        pair = f"{parsed.user or ''}:{parsed.password or ''}"
        login = f"Basic {base64.b64encode(pair.encode()).decode()}" if pair != ":" else None
        bare = parsed.with_user(None).with_query(None).with_fragment(None)
    except ValueError as error:
        raise Invalid("ELASTICSEARCH_URL cannot be read: an address such as https://host:9200 is needed.") from error
    if bare.scheme not in {"http", "https"} or not bare.host:
        raise Invalid("ELASTICSEARCH_URL must begin with http:// or https:// and name a host.")
    return bare, login


async def _read(response: aiohttp.ClientResponse) -> bytes:
    """The body of a response. Raises ClientPayloadError if it is too long."""
    parts: list[bytes] = []
    size = 0
    async for part in response.content.iter_chunked(65_536):
        parts.append(part)
        size += len(part)
        if size > ANSWER_BYTES:
            raise aiohttp.ClientPayloadError("the answer is too long")
    return b"".join(parts)


def _why(error: Exception, within: timedelta) -> str:
    if isinstance(error, TimeoutError):
        return f"no answer within {within.total_seconds():g} s"
    return str(error) or type(error).__name__


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
    return timedelta(seconds=int(value)) if value and re.fullmatch("[0-9]{1,6}", value) else None

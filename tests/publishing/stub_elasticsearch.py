"""A search index that speaks the protocol as Elasticsearch and OpenSearch do, on loopback, in memory.

What it answers was taken down from an OpenSearch 2.19; `test_protocol.py` asks both the same where a real one is given.
Faults are queued by a test, and each meets one bulk request.
"""

import asyncio
import base64
import gzip
import json
import re
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import TracebackType
from typing import Any, Self
from uuid import uuid4

from aiohttp import web

from tests.ports import free_port

Reply = tuple[int, object]


@dataclass
class Document:
    version: int
    source: Any | None  # None: deleted, and its version is remembered


@dataclass
class Index:
    mappings: Any
    settings: Any
    uuid: str = field(default_factory=lambda: uuid4().hex)
    documents: dict[str, Document] = field(default_factory=dict)

    @property
    def sources(self) -> dict[str, Any]:
        return {key: document.source for key, document in self.documents.items() if document.source is not None}


@dataclass
class Operation:
    """One action of a bulk request, as it was read."""

    action: str
    id: str
    version: int
    source: Any | None


@dataclass
class Call:
    """A bulk request as it came."""

    operations: list[Operation]
    size: int
    headers: Mapping[str, str]


Fault = Callable[["StubElasticsearch", web.Request, Call], Awaitable[web.StreamResponse | None]]


class StubElasticsearch:
    """Use as an async context manager; `url` is where it listens."""

    def __init__(self, *, max_content_length: int = 100_000_000, authorization: str | None = None) -> None:
        self.indices: dict[str, Index] = {}
        self.aliases: dict[str, dict[str, dict[str, Any]]] = {}
        self.calls: list[Call] = []
        self.requests: list[str] = []
        self.faults: deque[Fault] = deque()
        self.item_errors: dict[str, deque[Reply]] = {}  # by document id: one is answered at a time
        self.port = free_port()  # stays ours while it is stopped
        self._max_content_length = max_content_length
        self._authorization = authorization
        self._runner: web.AppRunner | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def start(self) -> None:
        """Listen, after a stop on the same port and with what was kept."""
        app = web.Application(client_max_size=10**9, middlewares=[self._guard])
        app.add_routes(
            [
                web.get("/", self._about),
                web.get("/_alias/{alias}", self._alias),
                web.post("/_aliases", self._change_aliases),
                web.get("/_cluster/health/{name}", self._health),
                web.put("/{index}", self._create),
                web.delete("/{index}", self._drop),
                web.get("/{name}/_mapping", self._mapping),
                web.get("/{name}/_settings/index.uuid", self._settings),
                web.get("/{name}/_count", self._count),
                web.post("/{name}/_bulk", self._bulk),
            ]
        )
        self._runner = web.AppRunner(app, shutdown_timeout=0, auto_decompress=False)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port)
        await site.start()

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    def documents(self, name: str) -> dict[str, Any]:
        """What a search would find behind an alias or in an index."""
        found: dict[str, Any] = {}
        for index in self._behind(name):
            found |= index.sources
        return found

    @web.middleware
    async def _guard(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        self.requests.append(f"{request.method} {request.path}")
        if self._authorization is not None and request.headers.get("Authorization") != self._authorization:
            return error_response(401, "security_exception", "missing authentication credentials")
        return await handler(request)

    async def _about(self, _request: web.Request) -> web.StreamResponse:
        return web.json_response({"version": {"distribution": "opensearch", "number": "2.19.1"}})

    async def _alias(self, request: web.Request) -> web.StreamResponse:
        alias = request.match_info["alias"]
        behind = self.aliases.get(alias)
        if not behind:
            return web.json_response({"error": f"alias [{alias}] missing", "status": 404}, status=404)
        return web.json_response({name: {"aliases": {alias: how}} for name, how in behind.items()})

    async def _change_aliases(self, request: web.Request) -> web.StreamResponse:
        for action in (await request.json())["actions"]:
            ((verb, what),) = action.items()
            if what["index"] not in self.indices:
                return missing(what["index"])
            behind = self.aliases.setdefault(what["alias"], {})
            if verb == "remove":
                behind.pop(what["index"], None)
            else:
                behind[what["index"]] = {key: what[key] for key in what if key == "is_write_index"}
        return web.json_response({"acknowledged": True})

    async def _health(self, _request: web.Request) -> web.StreamResponse:
        return web.json_response({"status": "yellow"})

    async def _create(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info["index"]
        if name in self.indices:
            told = f"index [{name}/{self.indices[name].uuid}] already exists"
            return error_response(400, "resource_already_exists_exception", told)
        body = await request.json() if request.can_read_body else {}
        self.indices[name] = Index(body.get("mappings", {}), body.get("settings", {}))
        for alias, how in body.get("aliases", {}).items():
            self.aliases.setdefault(alias, {})[name] = how
        return web.json_response({"acknowledged": True, "index": name})

    async def _drop(self, request: web.Request) -> web.StreamResponse:
        self.drop(request.match_info["index"])
        return web.json_response({"acknowledged": True})

    def drop(self, name: str) -> None:
        """An index goes, and its aliases with it."""
        del self.indices[name]
        for behind in self.aliases.values():
            behind.pop(name, None)

    async def _mapping(self, request: web.Request) -> web.StreamResponse:
        found = self._named(request.match_info["name"])
        if not found:
            return missing(request.match_info["name"])
        return web.json_response({name: {"mappings": index.mappings} for name, index in found.items()})

    async def _settings(self, request: web.Request) -> web.StreamResponse:
        found = self._named(request.match_info["name"])
        return web.json_response({name: {"settings": {"index": {"uuid": index.uuid}}} for name, index in found.items()})

    async def _count(self, request: web.Request) -> web.StreamResponse:
        return web.json_response({"count": len(self.documents(request.match_info["name"]))})

    def _named(self, name: str) -> dict[str, Index]:
        names = [name] if name in self.indices else self.aliases.get(name, {})
        return {found: self.indices[found] for found in names}

    def _behind(self, name: str) -> list[Index]:
        return list(self._named(name).values())

    async def _bulk(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        if request.headers.get("Content-Type") not in {"application/x-ndjson", "application/json"}:
            told = f"Content-Type header [{request.headers.get('Content-Type')}] is not supported"
            return web.json_response({"error": told, "status": 406}, status=406)
        if request.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        if len(body) > self._max_content_length:
            return web.Response(status=413)
        if not body.endswith(b"\n"):
            told = "The bulk request must be terminated by a newline [\\n]"
            return error_response(400, "illegal_argument_exception", told)
        call = Call(list(operations(body)), len(body), dict(request.headers))
        self.calls.append(call)
        if self.faults and (answer := await self.faults.popleft()(self, request, call)) is not None:
            return answer
        return bulk_response(request, self.apply(request, call))

    def apply(self, request: web.Request, call: Call) -> list[dict[str, Any]]:
        """Carry out what was asked, one by one."""
        name = request.match_info["name"]
        is_alias_needed = request.query.get("require_alias") == "true"
        return [{one.action: {"_id": one.id, **self._act(name, one, is_alias_needed)}} for one in call.operations]

    def _act(self, name: str, one: Operation, is_alias_needed: bool) -> dict[str, Any]:
        if self.item_errors.get(one.id):
            status, error = self.item_errors[one.id].popleft()
            return {"status": status, "error": error}
        behind = self.aliases.get(name, {})
        if is_alias_needed and not behind:
            told = f"no such index [{name}] and [require_alias] request flag is [true] and [{name}] is not an alias"
            return item_error(404, "index_not_found_exception", told)
        marked = [index for index, how in behind.items() if how.get("is_write_index")]
        unmarked = [index for index, how in behind.items() if "is_write_index" not in how]
        target = marked or (unmarked if len(behind) == 1 else [])
        if not target:
            return item_error(400, "illegal_argument_exception", f"no write index is defined for alias [{name}].")
        return write(self.indices[target[0]], one)


def operations(body: bytes) -> Any:
    lines = iter(body.decode().split("\n")[:-1])
    for line in lines:
        ((action, target),) = json.loads(line).items()
        assert target["version_type"] == "external"
        source = json.loads(next(lines)) if action == "index" else None
        yield Operation(action, target["_id"], target["version"], source)


def write(index: Index, one: Operation) -> dict[str, Any]:
    # A document that cannot be parsed is refused before its version is looked at.
    if one.source is not None and (wrong := unfit(index.mappings, one)):
        return wrong
    before = index.documents.get(one.id)
    if before is not None and before.version >= one.version:
        told = f"version conflict, current version [{before.version}] is higher or equal to the one provided"
        return item_error(409, "version_conflict_engine_exception", f"[{one.id}]: {told} [{one.version}]")
    was_there = before is not None and before.source is not None
    index.documents[one.id] = Document(one.version, one.source)
    if one.action == "delete":
        return {"status": 200 if was_there else 404, "result": "deleted" if was_there else "not_found"}
    return {"status": 200 if was_there else 201, "result": "updated" if was_there else "created"}


def unfit(mappings: Any, one: Operation) -> dict[str, Any] | None:
    properties = mappings.get("properties", {})
    for name, value in (one.source or {}).items():
        if name not in properties:
            told = f"mapping set to strict, dynamic introduction of [{name}] within [_doc] is not allowed"
            return item_error(400, "strict_dynamic_mapping_exception", told)
        kind = properties[name]["type"]
        if not all(fits(kind, part) for part in (value if isinstance(value, list) else [value])):
            told = f"failed to parse field [{name}] of type [{kind}] in document with id '{one.id}'."
            return item_error(400, "mapper_parsing_exception", told)
    return None


def fits(kind: str, value: Any) -> bool:
    if value is None or kind == "object":
        return True
    if kind == "integer":
        return isinstance(value, int) and -(2**31) <= value < 2**31
    if kind == "date":
        return isinstance(value, str) and is_date(value)
    return not isinstance(value, dict | list)


def is_date(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def bulk_response(request: web.Request, items: list[dict[str, Any]]) -> web.Response:
    errors = any("error" in result for item in items for result in item.values())
    answer: Any = {"took": 1, "errors": errors, "items": items}
    if wanted := request.query.get("filter_path"):
        answer = filtered(answer, [path.split(".") for path in wanted.split(",")])
    return web.json_response(answer if answer is not None else {})


def filtered(value: Any, paths: list[list[str]]) -> Any:
    """What `filter_path` leaves: `*` stands for any name; lists are passed through."""
    if any(not path for path in paths):
        return value
    if isinstance(value, list):
        return [kept for item in value if (kept := filtered(item, paths)) is not None] or None
    if not isinstance(value, dict):
        return None
    found = {}
    for key, item in value.items():
        rests = [path[1:] for path in paths if re.fullmatch(path[0].replace("*", ".*"), key)]
        if rests and (kept := filtered(item, rests)) is not None:
            found[key] = kept
    return found or None


def item_error(status: int, kind: str, reason: str) -> dict[str, Any]:
    return {"status": status, "error": {"type": kind, "reason": reason}}


def error_response(status: int, kind: str, reason: str) -> web.Response:
    error = {"root_cause": [{"type": kind, "reason": reason}], "type": kind, "reason": reason}
    return web.json_response({"error": error, "status": status}, status=status)


def missing(name: str) -> web.Response:
    return error_response(404, "index_not_found_exception", f"no such index [{name}]")


# Faults: what can happen to one bulk request.


def refuse(status: int, kind: str = "unknown", reason: str = "", **headers: str) -> Fault:
    """The whole request is refused, and nothing of it is carried out."""

    async def fault(_stub: StubElasticsearch, _request: web.Request, _call: Call) -> web.StreamResponse:
        response = error_response(status, kind, reason)
        response.headers.update({name.replace("_", "-"): value for name, value in headers.items()})
        return response

    return fault


async def hang_up(_stub: StubElasticsearch, request: web.Request, _call: Call) -> web.StreamResponse:
    """The connection is lost before anything is carried out."""
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


async def carry_out_and_hang_up(stub: StubElasticsearch, request: web.Request, call: Call) -> web.StreamResponse:
    """All is carried out, and the answer is lost."""
    stub.apply(request, call)
    return await hang_up(stub, request, call)


async def carry_out_and_break_off(stub: StubElasticsearch, request: web.Request, call: Call) -> web.StreamResponse:
    """All is carried out, and the answer ends in its middle."""
    whole = json.dumps({"errors": False, "items": stub.apply(request, call)}).encode()
    response = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": str(len(whole))})
    await response.prepare(request)
    await response.write(whole[: len(whole) // 2])
    assert request.transport is not None
    request.transport.abort()
    return response


def answer_after(released: asyncio.Event) -> Fault:
    """The answer takes as long as the test wants; the request is carried out at its end."""

    async def fault(_stub: StubElasticsearch, _request: web.Request, _call: Call) -> web.StreamResponse | None:
        await released.wait()
        return None

    return fault


def say(text: str) -> Fault:
    """HTTP 200 with something that is no bulk answer."""

    async def fault(_stub: StubElasticsearch, _request: web.Request, _call: Call) -> web.StreamResponse:
        return web.Response(text=text, content_type="application/json")

    return fault


def basic(user: str, password: str) -> str:
    return f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"

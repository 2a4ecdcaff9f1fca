"""The OpenAPI document, generated from the routes and the models."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from litestar import Litestar, Router
from litestar.openapi.config import OpenAPIConfig
from litestar.openapi.spec import Components, SecurityScheme
from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import models_json_schema

from headwater import __version__
from headwater.api import (
    ai_schemas,
    article_schemas,
    channel_schemas,
    feed_schemas,
    label_schemas,
    rule_schemas,
    saved_schemas,
    schemas,
    source_schemas,
)
from headwater.asgi.errors import API_DETAILS, MEDIA_TYPE, PROBLEM_TYPES, Problem, problem
from headwater.asgi.handlers import provide
from headwater.asgi.streams import EVENTS, LINES
from headwater.feeds.write import ATOM_TYPE, JSON_TYPE

OpenApi = dict[str, Any]

REQUESTS: Sequence[type[BaseModel]] = (
    *schemas.REQUESTS, *feed_schemas.REQUESTS, *source_schemas.REQUESTS, *ai_schemas.REQUESTS,
    *label_schemas.REQUESTS, *article_schemas.REQUESTS, *channel_schemas.REQUESTS, *rule_schemas.REQUESTS,
    *saved_schemas.REQUESTS,
)  # fmt: skip
RESPONSES: Sequence[type[BaseModel]] = (
    *schemas.RESPONSES, *feed_schemas.RESPONSES, *source_schemas.RESPONSES, *ai_schemas.RESPONSES,
    *label_schemas.RESPONSES, *article_schemas.RESPONSES, *channel_schemas.RESPONSES, *rule_schemas.RESPONSES,
    *saved_schemas.RESPONSES,
)  # fmt: skip
REF = "#/components/schemas/{model}"
ABOUT = """\
All requests and responses are JSON. Every request needs a token in the header `Authorization: Bearer …`: one from your
account page, or the operator's in `HEADWATER_API_TOKEN`. Reading needs the scope `read`, changes need `write`. The
frontier, the sources and the usage of language models (for administrators) and moderation (for moderators) need
`admin`.

Errors are `application/problem+json` (RFC 9457): `code` names the error for programs, `type` links to the
documentation, `detail` says what happened, `advice` what to do.
"""
ALWAYS: Sequence[int] = (400, 401, 403, 414, 422, 429, 500, 503)  # 400 and 414: `asgi/guard.py`
# Examples by name, else by format or type; a nullable field without one is null.
EXAMPLES = {
    "name": "Harbour News", "title": "Harbour News", "url": schemas.EXAMPLE_FEED, "feed_url": schemas.EXAMPLE_FEED,
    "site_url": "https://news.example/", "host": "news.example", "domain": "news.example",
    "email": "ada@example.com", "blocked_by": "mo@example.com", "category": "Technology", "format": "rss20",
    "reputation": "good", "reason": "It only repeats what other sites write.",
    "refresh_interval_minutes": 60, "feed_poll_interval_minutes": 60,
    "label": "sport", "keywords": ["league table"], "patterns": ["*/sport/*"], "score": 0.75, "min_score": 0.5,
    "selectors": {"title": ["h1"]}, "article_url_patterns": ["/news/"],
    "date-time": "2026-11-15T09:00:00Z", "uuid": "01935c8e-7a3b-7cc0-98d4-5b6f6e6b2f10", "integer": 1, "string": "…",
    "date": "2026-11-15", "number": 12.5,
}  # fmt: skip
ERROR_EXAMPLES = {
    400: "The query contains the character U+0000, which is not allowed.",
    401: "Missing token.",
    403: "The token lacks the scope `write`.",
    404: API_DETAILS[404],
    408: "The rest of the request did not arrive in time.",
    409: f"{schemas.EXAMPLE_FEED} is already followed.",
    413: API_DETAILS[413],
    414: "The URL is too long.",
    415: "Unsupported content type 'text/plain'.",
    422: "The request is invalid.",
    429: "More than 600 requests within a minute.",
    500: "Internal error. The log has the details.",
    503: "The database is unavailable. Headwater reconnects automatically.",
}
LIMITS = {
    name: {"description": text, "schema": {"type": "integer"}}
    for name, text in {
        "RateLimit-Limit": "Requests per minute.",
        "RateLimit-Remaining": "Requests left in this minute.",
        "RateLimit-Reset": "Seconds until the next minute.",
    }.items()
}
STREAM: OpenApi = {
    "description": "A stream: JSON lines, or server-sent events for `Accept: text/event-stream`.",
    "content": {name: {"schema": {"type": "string"}} for name in (LINES, EVENTS)},
}
FEED: OpenApi = {
    "200": {
        "description": "A feed: Atom, or JSON Feed for `Accept: application/feed+json`.",
        "content": {name.partition(";")[0]: {"schema": {"type": "string"}} for name in (ATOM_TYPE, JSON_TYPE)},
    },
    "304": {"description": "It has not changed since the ETag or time that the request names."},
}
HEADERS = {
    401: {"WWW-Authenticate": {"description": "How to send a token.", "schema": {"type": "string"}}},
    429: {"Retry-After": {"description": "Seconds until the next minute.", "schema": {"type": "integer"}}, **LIMITS},
    503: {"Retry-After": {"description": "Seconds to wait before a retry.", "schema": {"type": "integer"}}},
}


def describe(routes: Sequence[Router]) -> OpenApi:
    # A separate app, which is not served. Its paths, parameters and enums are used; its other schemas are not, since
    # they lack constraints of the models.
    app = Litestar(
        routes,
        dependencies=provide(
            call=None,
            database=None,
            clock=None,
            inspector=None,
            quotas=None,
            rule_tester=None,
            ai_options=None,
            destination_limits=None,
            site=None,
            streams=None,
            revisions=None,
        ),
        openapi_config=OpenAPIConfig(
            title="Headwater",
            version=__version__,
            description=ABOUT,
            security=[{"token": []}],
            components=Components(security_schemes={"token": SecurityScheme(type="http", scheme="bearer")}),
            use_handler_docstrings=True,
        ),
        logging_config=None,
    )
    document = app.openapi_schema.to_schema()
    enums = {name: schema for name, schema in document["components"]["schemas"].items() if "enum" in schema}
    document["components"]["schemas"] = {**enums, **_schemas()}
    declared, streams, feeds = _declared_errors(app), _marked(app, "is_stream"), _marked(app, "is_feed")
    for path, operation in operations(document):
        if operation["operationId"] in streams:
            operation["responses"]["200"] |= STREAM
        if operation["operationId"] in feeds:
            operation["responses"] |= FEED
        operation["summary"] = operation["description"].partition(". ")[0].rstrip(".")
        for parameter in operation.get("parameters", ()):
            _remove_null(parameter)
        _add_examples(document, operation)
        _add_errors(path, operation, declared[operation["operationId"]])
    return document


def operations(document: OpenApi) -> Iterator[tuple[str, OpenApi]]:
    for path, item in document["paths"].items():
        for operation in item.values():
            yield path, operation


@cache
def _schemas() -> Mapping[str, Any]:
    requests: list[tuple[type[BaseModel], Any]] = [(model, "validation") for model in REQUESTS]
    responses: list[tuple[type[BaseModel], Any]] = [(model, "serialization") for model in RESPONSES]
    _, definitions = models_json_schema([*requests, *responses], ref_template=REF)
    definitions["$defs"]["Status"]["description"] = "The status of a URL."
    for model, fields in source_schemas.DESCRIPTIONS.items():
        for name, text in fields.items():
            definitions["$defs"][model]["properties"][name]["description"] = text
    error = TypeAdapter(Problem).json_schema(ref_template=REF, mode="serialization")
    return {**definitions["$defs"], **error.pop("$defs"), "Problem": error}


def _remove_null(parameter: OpenApi) -> None:
    """A parameter of a URL can be left out, but not be null."""
    schema: OpenApi = parameter["schema"]
    for option in schema.pop("oneOf", ()):
        if option.get("type") != "null":
            schema |= option


def _add_examples(document: OpenApi, operation: OpenApi) -> None:
    contents = [response.get("content") for response in operation["responses"].values()]
    for content in (operation.get("requestBody", {}).get("content"), *contents):
        if content and "application/json" in content:
            content["application/json"]["example"] = example_of(document, content["application/json"]["schema"])


def example_of(document: OpenApi, schema: Mapping[str, Any], name: str = "") -> Any:  # noqa: ANN401  whatever JSON can hold
    """The example of a schema; of an object, one with all its fields."""
    schema = {**resolve(document, schema), **schema}
    if examples := schema.get("examples"):
        return examples[0]
    if "properties" in schema:
        return {field: example_of(document, part, field) for field, part in schema["properties"].items()}
    if name in EXAMPLES:
        return EXAMPLES[name]
    if options := schema.get("anyOf"):
        return None if {"type": "null"} in options else example_of(document, options[0])
    if schema.get("type") == "array":
        return [example_of(document, schema["items"])]
    return schema.get("default", schema.get("enum", [EXAMPLES.get(schema.get("format", schema.get("type", "")))])[0])


def resolve(document: OpenApi, schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema that a `$ref` points to."""
    if "$ref" in schema:
        return document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return schema


def _declared_errors(app: Litestar) -> Mapping[str, Sequence[int]]:
    """The error statuses that routes declare, by operation id."""
    handlers = [handler for route in app.routes for handler in getattr(route, "route_handlers", ())]
    return {handler.operation_id: handler.opt.get("refusals", ()) for handler in handlers if handler.operation_id}


def _marked(app: Litestar, mark: str) -> set[str]:
    """The operations whose routes have this mark in `opt`."""
    handlers = [handler for route in app.routes for handler in getattr(route, "route_handlers", ())]
    return {handler.operation_id for handler in handlers if handler.opt.get(mark)}


def _add_errors(path: str, operation: OpenApi, declared: Sequence[int]) -> None:
    """Add error responses: the declared ones, and those that follow from the path and the body."""
    statuses = {*ALWAYS, *declared}
    if "requestBody" in operation:
        statuses |= {408, 413, 415}
    if "{" in path:
        statuses.add(404)
    operation["responses"].pop("400", None)
    operation["responses"] |= {str(status): _error_response(status) for status in sorted(statuses)}


def _error_response(status: int) -> OpenApi:
    example = problem(status, ERROR_EXAMPLES[status]).content
    shown = TypeAdapter(Problem).dump_python(example, mode="json")
    content = {MEDIA_TYPE: {"schema": {"$ref": REF.format(model="Problem")}, "example": shown}}
    response: OpenApi = {"description": PROBLEM_TYPES[status].title, "content": content}
    return response | ({"headers": HEADERS[status]} if status in HEADERS else {})

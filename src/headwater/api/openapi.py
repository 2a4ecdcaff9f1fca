"""The API's own description: made from the routes and the schemas, so that it cannot say what is not so."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from litestar import Litestar, Router
from litestar.di import Provide
from litestar.openapi.config import OpenAPIConfig
from litestar.openapi.spec import Components, SecurityScheme
from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import models_json_schema

from headwater import __version__
from headwater.api import feed_schemas, schemas, source_schemas
from headwater.asgi.problems import MEDIA_TYPE, PROBLEM_TYPES, Problem, problem

Document = dict[str, Any]

GIVEN: Sequence[type[BaseModel]] = (*schemas.GIVEN, *feed_schemas.GIVEN, *source_schemas.GIVEN)
TOLD: Sequence[type[BaseModel]] = (*schemas.TOLD, *feed_schemas.TOLD, *source_schemas.TOLD)
REF = "#/components/schemas/{model}"
ABOUT = """\
Everything here speaks JSON, and needs a token in the header `Authorization: Bearer …`: one that you make on your
account page, or the operator's own in `HEADWATER_API_TOKEN`. Reading needs the scope `read`, changes need `write`; the
frontier and the sources, which are for administrators, and moderation, which is for moderators too, need `admin`.

What goes wrong is told in one shape, `application/problem+json` (RFC 9457):
`type` leads to where the documentation tells of it, `detail` says what happened, `advice` what to do.
"""
ALWAYS: Sequence[int] = (400, 401, 403, 414, 422, 429, 500, 503)  # 400 and 414: `asgi/guard.py`
EXAMPLES = {"date-time": "2026-11-15T09:00:00Z", "uuid": schemas.EXAMPLE_ID, "integer": 1, "string": "…"}
LIMITS = {
    name: {"description": told, "schema": {"type": "integer"}}
    for name, told in {
        "RateLimit-Limit": "Requests a minute.",
        "RateLimit-Remaining": "How many are left of this minute.",
        "RateLimit-Reset": "Seconds until the next one.",
    }.items()
}
HEADERS = {
    401: {"WWW-Authenticate": {"description": "How to bring a token.", "schema": {"type": "string"}}},
    429: {"Retry-After": {"description": "Seconds until the next minute.", "schema": {"type": "integer"}}, **LIMITS},
    503: {"Retry-After": {"description": "Seconds until another try makes sense.", "schema": {"type": "integer"}}},
}


def describe(routes: Sequence[Router]) -> Document:
    """The OpenAPI document of these routes."""
    # An app of its own, that serves nobody: what it says of paths and parameters is taken, and the words that these
    # may be; its other schemas are not, since they leave out half of what the models demand.
    app = Litestar(
        routes,
        dependencies={
            name: Provide(lambda: None, sync_to_thread=False) for name in ("database", "clock", "inspector", "quotas")
        },
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
    words = {name: schema for name, schema in document["components"]["schemas"].items() if "enum" in schema}
    document["components"]["schemas"] = {**words, **_schemas()}
    refusals = _own_refusals(app)
    for path, operation in operations(document):
        operation["summary"] = operation["description"].partition(". ")[0].rstrip(".")
        for parameter in operation.get("parameters", ()):
            _say_without_null(parameter)
        _give_examples(document, operation)
        _tell_refusals(path, operation, refusals[operation["operationId"]])
    return document


def operations(document: Document) -> Iterator[tuple[str, Document]]:
    """Every operation with its path."""
    for path, item in document["paths"].items():
        for operation in item.values():
            yield path, operation


@cache
def _schemas() -> Mapping[str, Any]:
    given: list[tuple[type[BaseModel], Any]] = [(model, "validation") for model in GIVEN]
    told: list[tuple[type[BaseModel], Any]] = [(model, "serialization") for model in TOLD]
    _, definitions = models_json_schema([*given, *told], ref_template=REF)
    definitions["$defs"]["Status"]["description"] = "Where a URL stands."
    refusal = TypeAdapter(Problem).json_schema(ref_template=REF, mode="serialization")
    return {**definitions["$defs"], **refusal.pop("$defs"), "Problem": refusal}


def _say_without_null(parameter: Document) -> None:
    """What is in a URL can be left out, but not be null."""
    schema: Document = parameter["schema"]
    for option in schema.pop("oneOf", ()):
        if option.get("type") != "null":
            schema |= option


def _give_examples(document: Document, operation: Document) -> None:
    contents = [answer.get("content") for answer in operation["responses"].values()]
    for content in (operation.get("requestBody", {}).get("content"), *contents):
        if content and "application/json" in content:
            content["application/json"]["example"] = example_of(document, content["application/json"]["schema"])


def example_of(document: Document, schema: Mapping[str, Any]) -> Any:  # noqa: ANN401  whatever JSON can hold
    """What a schema's own examples amount to; of an object, all its parts."""
    schema = {**resolve(document, schema), **schema}
    if examples := schema.get("examples"):
        return examples[0]
    if "properties" in schema:
        return {name: example_of(document, part) for name, part in schema["properties"].items()}
    if options := schema.get("anyOf"):
        return example_of(document, options[0])
    if schema.get("type") == "array":
        return [example_of(document, schema["items"])]
    return schema.get("default", schema.get("enum", [EXAMPLES.get(schema.get("format", schema.get("type", "")))])[0])


def resolve(document: Document, schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a schema that only points elsewhere points to."""
    if "$ref" in schema:
        return document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return schema


def _own_refusals(app: Litestar) -> Mapping[str, Sequence[int]]:
    """What else a route may answer, as it says itself, by its operation's name."""
    handlers = [handler for route in app.routes for handler in getattr(route, "route_handlers", ())]
    return {handler.operation_id: handler.opt.get("refusals", ()) for handler in handlers if handler.operation_id}


def _tell_refusals(path: str, operation: Document, own: Sequence[int]) -> None:
    """What can go wrong follows from what is asked for."""
    statuses = {*ALWAYS, *own}
    if "requestBody" in operation:
        statuses |= {408, 413, 415}
    if "{" in path:
        statuses.add(404)
    operation["responses"].pop("400", None)
    operation["responses"] |= {str(status): _refusal(status) for status in sorted(statuses)}


def _refusal(status: int) -> Document:
    example = problem(status, schemas.REFUSAL_EXAMPLES[status]).content
    told: Document = {
        "description": PROBLEM_TYPES[status].title,
        "content": {
            MEDIA_TYPE: {
                "schema": {"$ref": REF.format(model="Problem")},
                "example": TypeAdapter(Problem).dump_python(example, mode="json"),
            }
        },
    }
    return told | ({"headers": HEADERS[status]} if status in HEADERS else {})

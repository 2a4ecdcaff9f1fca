"""/api/openapi.json and /api/docs: the documentation of the API, public, rendered on the server."""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, cast

import msgspec
from litestar import MediaType, Response, Router, get
from markupsafe import escape

from headwater.api.openapi import OpenApi, describe, example_of, resolve
from headwater.asgi.errors import API, PROBLEM_TYPES
from headwater.asgi.handlers import AnyRequest
from headwater.asgi.session import RequestLimiter, limit_visitors

Schema = Mapping[str, Any]
_SITE = "https://headwater.invalid"  # in the rendered page, where the site of a request is put


def documentation_routes(routes: Sequence[Router]) -> Router:
    @cache
    def document() -> OpenApi:
        return describe(routes)

    @cache
    def as_bytes() -> bytes:
        return msgspec.json.encode(document())

    pages: dict[str, str] = {}

    @get("/openapi.json", sync_to_thread=False)
    def as_json() -> Response[bytes]:
        return Response(as_bytes(), media_type=MediaType.JSON)

    @get(["/", "/docs"], sync_to_thread=False)
    def as_page(request: AnyRequest) -> Response[str]:
        """Rendered once: that takes as long as twenty other pages."""
        site = str(request.base_url).rstrip("/")  # where the reader found it: examples can be pasted
        path = request.scope["path_template"]
        if path not in pages:
            pages[path] = _rendered(document(), request)
        return Response(pages[path].replace(_SITE, escape(site)), media_type=MediaType.HTML)

    limited = limit_visitors(RequestLimiter())
    return Router(API, route_handlers=[as_json, as_page], middleware=[limited], include_in_schema=False)


def _rendered(document: OpenApi, request: AnyRequest) -> str:
    about, operations = " ".join(document["info"]["description"].split()), list(_operations(document, _SITE))
    page = cast("Any", request.app.template_engine).get_template("api.html")
    return page.render(request=request, about=about, operations=operations, types=PROBLEM_TYPES)


def _operations(document: OpenApi, site: str) -> Iterator[Schema]:
    """Every operation, with what the page shows beside what the document says."""
    for path, item in document["paths"].items():
        for method, operation in item.items():
            parameters = operation.get("parameters", ())
            shown = [one | {"takes": _takes(document, one["schema"])} for one in parameters]
            success = operation["responses"].get("200", {}).get("content", {}).get("application/json")
            yield operation | {
                "method": method.upper(),
                "path": path,
                "fields": [*shown, *_body_fields(document, operation)],
                "curl": _curl(document, method.upper(), f"{site}{path}", operation),
                "example": json.dumps(success["example"], indent=2) if success else "",
                "errors": [int(code) for code in operation["responses"] if int(code) >= 400],
            }


def _body_fields(document: OpenApi, operation: Schema) -> Iterator[Schema]:
    if "requestBody" not in operation:
        return
    body = resolve(document, operation["requestBody"]["content"]["application/json"]["schema"])
    for name, schema in body["properties"].items():
        yield {
            "name": name,
            "in": "body",
            "required": name in body.get("required", ()),
            "takes": _takes(document, schema),
            "description": schema.get("description", "") or resolve(document, schema).get("description", ""),
        }


def _takes(document: OpenApi, schema: Schema) -> str:
    """A schema in a few words: `integer from 1 to 10`."""
    schema = resolve(document, schema)
    if options := schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf"):
        return " or ".join(dict.fromkeys(text for option in options if (text := _takes(document, option))))
    if "enum" in schema:
        return ", ".join(str(value) for value in schema["enum"] if value is not None)
    if schema.get("type") == "null":
        return ""
    if schema.get("type") == "array":
        return f"a list of {_takes(document, schema['items'])}"
    kind = schema.get("format") or schema.get("type", "anything")
    return f"{kind} {_bounds(schema)}".strip()


def _bounds(schema: Schema) -> str:
    if "minimum" in schema and "maximum" in schema:
        return f"from {schema['minimum']:.0f} to {schema['maximum']:.0f}"
    return f"of at most {schema['maxLength']} characters" if "maxLength" in schema else ""


def _curl(document: OpenApi, method: str, path: str, operation: Schema) -> str:
    for parameter in operation.get("parameters", ()):
        if parameter["in"] == "path":
            name = parameter["name"]
            path = path.replace(f"{{{name}}}", str(example_of(document, parameter["schema"], name)))
    lines = ["curl" if method == "GET" else f"curl -X {method}", '-H "Authorization: Bearer $HEADWATER_API_TOKEN"']
    if "requestBody" in operation:
        body = operation["requestBody"]["content"]["application/json"]["example"]
        lines += ["-H 'Content-Type: application/json'", f"-d '{json.dumps(body)}'"]
    return " \\\n  ".join([*lines, path])

"""The OpenAPI document as a page, rendered on the server."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headwater.api.openapi import OpenApi, example_of, resolve
from headwater.asgi.errors import PROBLEM_TYPES

Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class FieldRow:
    """A parameter, or a field of the body."""

    name: str
    place: str
    takes: str
    description: str
    required: bool


@dataclass(frozen=True, slots=True)
class ErrorLink:
    """An error status, and its anchor on the page."""

    code: str
    name: str


@dataclass(frozen=True, slots=True)
class DocumentedOperation:
    """One operation of the API."""

    id: str
    method: str
    path: str
    description: str
    fields: Sequence[FieldRow]
    curl: str
    response: str
    statuses: Sequence[ErrorLink]


def page_of(document: OpenApi) -> dict[str, Any]:
    """The context of the template."""
    return {
        "about": " ".join(document["info"]["description"].split()),
        "operations": list(_operations(document)),
        "types": sorted(PROBLEM_TYPES.items()),
    }


def _operations(document: OpenApi) -> Iterator[DocumentedOperation]:
    for path, item in document["paths"].items():
        for method, operation in item.items():
            yield DocumentedOperation(
                id=operation["operationId"],
                method=method.upper(),
                path=path,
                description=operation.get("description", ""),
                fields=[*_parameters(document, operation), *_body_fields(document, operation)],
                curl=_curl(document, method.upper(), path, operation),
                response=_response_example(operation),
                statuses=[_error_link(code) for code in operation["responses"] if int(code) >= 400],
            )


def _parameters(document: OpenApi, operation: Schema) -> Iterator[FieldRow]:
    for parameter in operation.get("parameters", ()):
        takes = _takes(document, parameter["schema"])
        yield FieldRow(
            parameter["name"],
            parameter["in"],
            takes,
            parameter.get("description", ""),
            parameter.get("required", False),
        )


def _body_fields(document: OpenApi, operation: Schema) -> Iterator[FieldRow]:
    if "requestBody" not in operation:
        return
    body = resolve(document, operation["requestBody"]["content"]["application/json"]["schema"])
    for name, schema in body["properties"].items():
        described = schema.get("description", "") or resolve(document, schema).get("description", "")
        yield FieldRow(name, "body", _takes(document, schema), described, name in body.get("required", ()))


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
            path = path.replace(f"{{{parameter['name']}}}", str(example_of(document, parameter["schema"])))
    lines = ["curl" if method == "GET" else f"curl -X {method}", '-H "Authorization: Bearer $HEADWATER_API_TOKEN"']
    if "requestBody" in operation:
        body = operation["requestBody"]["content"]["application/json"]["example"]
        lines += ["-H 'Content-Type: application/json'", f"-d '{json.dumps(body)}'"]
    return " \\\n  ".join([*lines, f"http://127.0.0.1:8000{path}"])


def _response_example(operation: Schema) -> str:
    content = operation["responses"].get("200", {}).get("content", {}).get("application/json")
    return json.dumps(content["example"], indent=2) if content else ""


def _error_link(code: str) -> ErrorLink:
    return ErrorLink(code, PROBLEM_TYPES[int(code)].name)

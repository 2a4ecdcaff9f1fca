"""The OpenAPI document as a page for people: made on the server, no script, nothing from elsewhere."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headwater.api.openapi import Document, example_of, resolve
from headwater.asgi.problems import PROBLEM_TYPES

Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class FieldRow:
    """A parameter, or a part of the body."""

    name: str
    place: str
    takes: str
    description: str
    required: bool


@dataclass(frozen=True, slots=True)
class Refusal:
    """A status, and where this page tells of it."""

    code: str
    name: str


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing that can be asked for."""

    id: str
    method: str
    path: str
    description: str
    fields: Sequence[FieldRow]
    curl: str
    answer: str
    statuses: Sequence[Refusal]


def page_of(document: Document) -> dict[str, Any]:
    """What the template needs."""
    return {
        "about": " ".join(document["info"]["description"].split()),
        "operations": list(_operations(document)),
        "kinds": sorted(PROBLEM_TYPES.items()),
    }


def _operations(document: Document) -> Iterator[Operation]:
    for path, item in document["paths"].items():
        for method, operation in item.items():
            yield Operation(
                id=operation["operationId"],
                method=method.upper(),
                path=path,
                description=operation.get("description", ""),
                fields=[*_parameters(document, operation), *_body_fields(document, operation)],
                curl=_curl(document, method.upper(), path, operation),
                answer=_answer(operation),
                statuses=[_refusal(code) for code in operation["responses"] if int(code) >= 400],
            )


def _parameters(document: Document, operation: Schema) -> Iterator[FieldRow]:
    for given in operation.get("parameters", ()):
        takes = _takes(document, given["schema"])
        yield FieldRow(given["name"], given["in"], takes, given.get("description", ""), given.get("required", False))


def _body_fields(document: Document, operation: Schema) -> Iterator[FieldRow]:
    if "requestBody" not in operation:
        return
    body = resolve(document, operation["requestBody"]["content"]["application/json"]["schema"])
    for name, schema in body["properties"].items():
        described = schema.get("description", "") or resolve(document, schema).get("description", "")
        yield FieldRow(name, "body", _takes(document, schema), described, name in body.get("required", ()))


def _takes(document: Document, schema: Schema) -> str:
    """A schema in a few words."""
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


def _curl(document: Document, method: str, path: str, operation: Schema) -> str:
    for given in operation.get("parameters", ()):
        if given["in"] == "path":
            path = path.replace(f"{{{given['name']}}}", str(example_of(document, given["schema"])))
    lines = ["curl" if method == "GET" else f"curl -X {method}", '-H "Authorization: Bearer $HEADWATER_API_TOKEN"']
    if "requestBody" in operation:
        body = operation["requestBody"]["content"]["application/json"]["example"]
        lines += ["-H 'Content-Type: application/json'", f"-d '{json.dumps(body)}'"]
    return " \\\n  ".join([*lines, f"http://127.0.0.1:8000{path}"])


def _answer(operation: Schema) -> str:
    content = operation["responses"].get("200", {}).get("content", {}).get("application/json")
    return json.dumps(content["example"], indent=2) if content else ""


def _refusal(code: str) -> Refusal:
    return Refusal(code, PROBLEM_TYPES[int(code)].name)

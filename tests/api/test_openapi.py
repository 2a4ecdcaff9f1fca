"""The OpenAPI document is true: every route, example and error."""

import re
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from httpx import AsyncClient
from litestar import Litestar
from pydantic import SecretStr

from headwater.api.openapi import REQUESTS, operations
from headwater.asgi.errors import PROBLEM_TYPES
from headwater.db import Database
from tests.api.conftest import TOKEN
from tests.app import create_app
from tests.browser import visit
from tests.clock import MovableClock

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def app(clock: MovableClock) -> Litestar:
    return create_app(Database("", pool_size=1, wait=timedelta(0)), clock, SecretStr(TOKEN))


@pytest.fixture
async def visitor(app: Litestar) -> AsyncIterator[AsyncClient]:
    async with visit(app) as client:
        yield client


@pytest.fixture
async def document(visitor: AsyncClient) -> dict[str, Any]:
    return (await visitor.get("/api/openapi.json")).json()


def addresses(app: Litestar) -> set[tuple[str, str]]:
    return {
        (method, re.sub(r"\{(\w+):\w+\}", r"{\1}", route.path))
        for route in app.routes
        if route.path.startswith(("/api/v1", "/api/feeds", "/admin/api"))
        for method in getattr(route, "methods", ())
        if method != "OPTIONS"
    }


def test_the_document_describes_every_route_and_no_other(app: Litestar, document: dict[str, Any]) -> None:
    described = {(method.upper(), path) for path, item in document["paths"].items() for method in item}

    assert described == addresses(app)
    assert len(described) >= 22


def test_docs_list_every_route_and_no_other(app: Litestar) -> None:
    page = (ROOT / "docs/api.md").read_text()

    assert set(re.findall(r"^\| `(\w+) ((?:/admin)?/api/\S+)` \|", page, re.MULTILINE)) == addresses(app)


def test_docs_list_every_problem_type() -> None:
    page = (ROOT / "docs/api.md").read_text()
    told = {int(status) for status in re.findall(r"^\| (\d{3}) \|", page, re.MULTILINE)}

    assert told == set(PROBLEM_TYPES) - {500}


def test_every_operation_has_a_summary_and_its_errors(document: dict[str, Any]) -> None:
    for _, operation in operations(document):
        assert operation["summary"]
        assert operation["description"].endswith(".")
        assert {"401", "403", "429", "503"} <= set(operation["responses"])
        refusals = [answer for status, answer in operation["responses"].items() if status >= "4"]
        assert all("application/problem+json" in answer["content"] for answer in refusals)
        assert all(parameter["description"] for parameter in operation.get("parameters", ()))


def test_every_reference_leads_somewhere(document: dict[str, Any]) -> None:
    wanted = set(re.findall(r"'#/components/schemas/(\w+)'", str(document)))

    assert wanted
    assert wanted - set(document["components"]["schemas"]) == set()


def test_every_example_request_is_valid(document: dict[str, Any]) -> None:
    models = {model.__name__: model for model in REQUESTS}
    bodies = [operation["requestBody"] for _, operation in operations(document) if "requestBody" in operation]

    assert len(bodies) == len(models)
    for body in bodies:
        content = body["content"]["application/json"]
        models[content["schema"]["$ref"].rpartition("/")[2]].model_validate(content["example"])


async def test_the_page_needs_no_token_no_script_and_nothing_from_elsewhere(visitor: AsyncClient) -> None:
    page = await visitor.get("/api/docs")
    loaded = re.findall(r'(?:src|rel="stylesheet" href)="([^"]+)"', page.text)

    assert page.status_code == 200
    assert all(address.startswith(("/static/", "/vendor/")) for address in loaded)
    assert [(await visitor.get(address)).status_code for address in loaded] == [200] * len(loaded)
    assert " style=" not in page.text
    assert set(re.findall(r"<script ([^>]*)>", re.sub(r"[?]v=\w+", "", page.text))) <= {
        'src="/vendor/htmx.min.js" defer blocking="render"',
        'src="/static/headwater.js" defer blocking="render"',
    }


async def test_the_page_describes_every_operation_and_its_links_work(
    visitor: AsyncClient, document: dict[str, Any]
) -> None:
    page = (await visitor.get("/api")).text
    places = set(re.findall(r'id="([^"]+)"', page))

    assert {operation["operationId"] for _, operation in operations(document)} <= places
    assert set(re.findall(r'href="#([^"]+)"', page)) <= places

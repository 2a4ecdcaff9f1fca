"""/metrics as Prometheus reads it; a client cannot multiply the labels of requests."""

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from httpx import AsyncClient
from prometheus_client import REGISTRY
from prometheus_client.parser import text_string_to_metric_families

from headwater.db import Database
from headwater.server import create_health_app
from tests.alerts.world import a_system_feed
from tests.app import create_app
from tests.browser import visit
from tests.clock import START, MovableClock

pytestmark = pytest.mark.database


@pytest.fixture
async def web(database: Database, clock: MovableClock) -> AsyncIterator[AsyncClient]:
    async with visit(create_app(database, clock)) as client:
        yield client


def count(method: str, route: str, status: int) -> float:
    labels = {"method": method, "route": route, "status": str(status)}
    return REGISTRY.get_sample_value("headwater_http_requests_total", labels) or 0


def label_sets() -> set[tuple[tuple[str, str], ...]]:
    return {
        tuple(sorted(sample.labels.items()))
        for family in REGISTRY.collect()
        if family.name == "headwater_http_requests"
        for sample in family.samples
    }


@pytest.mark.parametrize("app", ["everything", "health"])
async def test_the_content_type_names_one_charset(app: str, database: Database, clock: MovableClock) -> None:
    served = create_app(database, clock) if app == "everything" else create_health_app(database)
    async with visit(served) as client:
        content_type = (await client.get("/metrics")).headers["content-type"]

    assert content_type.startswith("text/plain; version=")
    assert content_type.count("charset") == 1
    assert content_type.endswith("; charset=utf-8")


async def test_a_strict_parser_reads_every_line(web: AsyncClient, database: Database, clock: MovableClock) -> None:
    async with database.transaction() as conn:
        source = await a_system_feed(conn, disabled_at=START - timedelta(days=2), errors=4, is_critical=True)
        await conn.execute(
            "UPDATE sources SET name = %(name)s WHERE id = %(id)s",
            {"name": 'A "quoted" \\ name\nof two', "id": source.id},
        )
    await web.get("/nothing")
    text = (await web.get("/metrics")).text

    families = list(text_string_to_metric_families(text))
    names = [family.name for family in families]
    assert len(names) == len(set(names))
    assert {"headwater_build_info", "headwater_http_requests", "headwater_stage_lag_seconds"} <= set(names)
    for family in families:
        assert family.documentation
        keys = [(sample.name, tuple(sorted(sample.labels.items()))) for sample in family.samples]
        assert len(keys) == len(set(keys)), family.name


async def test_a_request_is_counted_under_its_route_and_not_its_path(web: AsyncClient) -> None:
    before = count("GET", "/admin/sources/{source_id}", 303), count("GET", "/healthz", 200)
    await web.get("/admin/sources/019a0b77-0000-7000-8000-000000000001", headers={"Accept": "text/html"})
    await web.get("/healthz")

    routes = {dict(labels)["route"] for labels in label_sets()}
    assert count("GET", "/healthz", 200) == before[1] + 1
    assert not any("019a0b77" in route for route in routes)
    assert any("{" in route for route in routes)


async def test_an_unknown_method_is_counted_under_one_label(web: AsyncClient) -> None:
    before = count("other", "none", 405)
    for method in ("PURGE", "X" * 50, "BREW"):
        assert (await web.request(method, "/healthz")).status_code == 405

    assert count("other", "none", 405) == before + 3


async def test_a_wrong_method_and_a_missing_page_are_counted(web: AsyncClient) -> None:
    before = count("DELETE", "none", 405), count("GET", "none", 404)
    await web.delete("/healthz")
    await web.get("/no/such/page")

    assert (count("DELETE", "none", 405), count("GET", "none", 404)) == (before[0] + 1, before[1] + 1)


async def test_a_thousand_paths_make_few_time_series(web: AsyncClient) -> None:
    await web.get("/no/such/page/0")
    before = len(label_sets())
    for number in range(200):
        await web.get(f"/no/such/page/{number}")
        await web.get(f"/static/{number}.css")

    assert len(label_sets()) <= before + 1

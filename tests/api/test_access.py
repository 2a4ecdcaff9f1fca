"""Authentication, accepted bodies, and the form of errors."""

from collections.abc import AsyncIterator, Iterator
from datetime import timedelta

import pytest
from httpx import AsyncClient
from pydantic import SecretStr

from headwater.asgi.errors import code_of, every_code
from headwater.db import Database
from headwater.errors import EmailTaken, HeadwaterError, QueryTimedOut
from tests.api.conftest import BEARER, FRONTIER, TOKEN
from tests.app import create_app
from tests.browser import visit
from tests.clock import MovableClock

ADDRESSES = [
    ("GET", FRONTIER),
    ("GET", f"{FRONTIER}/stats"),
    ("GET", f"{FRONTIER}/00000000-0000-0000-0000-000000000000"),
    ("POST", f"{FRONTIER}/submit"),
    ("POST", f"{FRONTIER}/submit/bulk"),
    ("POST", f"{FRONTIER}/retry"),
    ("DELETE", f"{FRONTIER}/00000000-0000-0000-0000-000000000000"),
]
JSON = {"Content-Type": "application/json"}


@pytest.fixture
async def nowhere() -> AsyncIterator[Database]:
    """An unavailable database: requests refused before any query are not affected."""
    async with Database("host=127.0.0.1 port=1 dbname=x user=x", pool_size=2, wait=timedelta(milliseconds=200)) as away:
        yield away


@pytest.fixture
async def closed(nowhere: Database, clock: MovableClock) -> AsyncIterator[AsyncClient]:
    async with visit(create_app(nowhere, clock)) as client:
        yield client


@pytest.fixture
async def guarded(nowhere: Database, clock: MovableClock) -> AsyncIterator[AsyncClient]:
    async with visit(create_app(nowhere, clock, SecretStr(TOKEN))) as client:
        client.headers.update(BEARER)
        yield client


async def test_without_a_token_set_every_request_is_401_with_advice(closed: AsyncClient) -> None:
    refusals = [await closed.request(method, path, headers=BEARER) for method, path in ADDRESSES]

    assert {refusal.status_code for refusal in refusals} == {401}
    assert all("account page or HEADWATER_API_TOKEN" in refusal.json()["advice"] for refusal in refusals)


@pytest.mark.parametrize(
    "given",
    [
        None,
        "",
        TOKEN,
        f"Basic {TOKEN}",
        "Bearer",
        "Bearer ",
        "Bearer wrong",
        f"Bearer {TOKEN}x",
        f"Bearer {TOKEN[:-1]}",
    ],
)
async def test_a_wrong_token_is_refused(given: str | None, guarded: AsyncClient) -> None:
    del guarded.headers["Authorization"]
    headers = {} if given is None else {"Authorization": given}

    refusals = [await guarded.request(method, path, headers=headers) for method, path in ADDRESSES]

    assert {refusal.status_code for refusal in refusals} == {401}
    assert all(refusal.headers["www-authenticate"].startswith('Bearer realm="headwater"') for refusal in refusals)
    assert not any(TOKEN in refusal.text for refusal in refusals)


@pytest.mark.parametrize("given", [f"bearer {TOKEN}", f"BEARER   {TOKEN} "])
async def test_the_scheme_is_case_insensitive(given: str, guarded: AsyncClient) -> None:
    assert (await guarded.get(f"{FRONTIER}/stats", headers={"Authorization": given})).status_code == 503


async def test_a_token_of_invalid_bytes_is_refused(guarded: AsyncClient) -> None:
    response = await guarded.get(FRONTIER, headers={b"Authorization": b"Bearer \xff\xfe\xfd"})

    assert response.status_code == 401


@pytest.mark.parametrize("accept", ["*/*", "text/html", "application/json"])
@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/api/nothing", 404, "not_found"),
        ("GET", "/api/v1/nothing", 404, "not_found"),
        ("GET", f"{FRONTIER}/not-an-id", 404, "not_found"),
        ("PATCH", FRONTIER, 405, "method_not_allowed"),
        ("GET", f"{FRONTIER}?limit=0", 422, "validation_failed"),
        ("GET", f"{FRONTIER}?q=%00", 400, "malformed_request"),
        ("GET", FRONTIER, 503, "database_unavailable"),
    ],
)
async def test_every_error_is_a_problem(
    method: str, path: str, status: int, code: str, accept: str, guarded: AsyncClient
) -> None:
    response = await guarded.request(method, path, headers={"Accept": accept})

    assert response.status_code == status
    assert response.headers["content-type"] == "application/problem+json"
    assert response.headers["cache-control"] == "no-store"
    told = response.json()
    assert set(told) == {"type", "title", "status", "code", "detail", "advice", "errors"}
    assert (told["status"], told["code"]) == (status, code)
    assert all(told[name] for name in ("type", "title", "detail", "advice"))
    assert f'id="{told["type"].partition("#")[2]}"' in (await guarded.get("/api/docs")).text


async def test_a_wrong_method_gets_the_allow_header(guarded: AsyncClient) -> None:
    assert {"GET", "HEAD"} <= set((await guarded.put(FRONTIER)).headers["allow"].split(", "))
    assert "HEAD" not in (await guarded.put(f"{FRONTIER}/submit")).headers["allow"]


@pytest.mark.parametrize(
    "given", [None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/json"]
)
async def test_only_json_is_read(given: str | None, guarded: AsyncClient) -> None:
    headers = {} if given is None else {"Content-Type": given}

    response = await guarded.post(f"{FRONTIER}/submit", content=b'{"url": "https://a.example/"}', headers=headers)

    assert response.status_code == 415
    assert "application/json" in response.json()["advice"]


async def test_a_compressed_body_is_refused(guarded: AsyncClient) -> None:
    response = await guarded.post(f"{FRONTIER}/submit", content=b"x", headers={**JSON, "Content-Encoding": "gzip"})

    assert response.status_code == 415


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 400),
        (b"\xff\xfe", 400),
        (b'{"url": "\xff"}', 400),
        (b"[" * 50_000, 400),
        (b'{"url": "\\ud800"}', 400),
        (b'{"url": ' + b"9" * 5_000 + b"}", 400),
        (b"", 422),
        (b"null", 422),
        (b"[]", 422),
        (b"{}", 422),
        (b" " * 1_000_001, 413),
    ],
    ids=[
        "cut-off",
        "no-text",
        "not-utf-8",
        "deep",
        "half-a-letter",
        "huge",
        "nothing",
        "null",
        "list",
        "empty",
        "large",
    ],
)
async def test_an_invalid_body_is_refused(body: bytes, status: int, guarded: AsyncClient) -> None:
    response = await guarded.post(f"{FRONTIER}/submit", content=body, headers=JSON)

    assert response.status_code == status
    assert response.json()["status"] == status


async def test_all_errors_are_listed_with_their_location(guarded: AsyncClient) -> None:
    body = {"url": "", "priority": 11, "kind": "picture", "source_id": "x", "colour": "blue"}

    query = await guarded.get(
        FRONTIER, params={"limit": "0", "status": "lost", "origin": "x", "source_id": "x", "q": "x" * 201}
    )
    submitted = await guarded.post(f"{FRONTIER}/submit", json=body)

    assert {fault["where"] for fault in query.json()["errors"]} == {
        "query.limit", "query.status", "query.origin", "query.source_id", "query.q"
    }  # fmt: skip
    assert {fault["where"] for fault in submitted.json()["errors"]} == {f"body.{name}" for name in body}
    assert all(fault["problem"] for fault in query.json()["errors"] + submitted.json()["errors"])
    assert {fault["where"]: fault["code"] for fault in submitted.json()["errors"]} == {
        **{f"body.{name}": "invalid_value" for name in body}, "body.colour": "unknown_field"
    }  # fmt: skip
    assert (await guarded.post(f"{FRONTIER}/submit", json={})).json()["errors"] == [
        {"where": "body.url", "problem": "Field required", "code": "required"}
    ]


def test_every_kind_of_error_has_a_documented_code() -> None:
    def below(kind: type[HeadwaterError]) -> Iterator[type[HeadwaterError]]:
        for one in kind.__subclasses__():
            yield one
            yield from below(one)

    raised = [kind.__new__(kind) for kind in below(HeadwaterError) if kind.__module__ == "headwater.errors"]

    assert len(raised) > 40
    assert {code_of(error) for error in raised} <= every_code()
    assert code_of(QueryTimedOut("x")) == "query_timed_out"
    assert code_of(EmailTaken()) == "conflict"


async def test_errors_of_tokens_have_codes(guarded: AsyncClient) -> None:
    missing = await guarded.get(FRONTIER, headers={"Authorization": ""})
    invalid = await guarded.get(FRONTIER, headers={"Authorization": "Bearer nothing"})

    assert missing.json()["code"] == "missing_token"
    assert invalid.json()["code"] in {"invalid_token", "database_unavailable"}


@pytest.mark.parametrize("path", [FRONTIER, f"{FRONTIER}/stats"])
async def test_an_unknown_parameter_is_refused(path: str, guarded: AsyncClient) -> None:
    response = await guarded.get(path, params={"hots": "a.example", "database": "x"})

    assert response.status_code == 422
    assert [fault["where"] for fault in response.json()["errors"]] == ["query.database", "query.hots"]
    assert {fault["code"] for fault in response.json()["errors"]} == {"unknown_parameter"}


@pytest.mark.parametrize("name", ["status", "source_id", "origin", "limit"])
async def test_null_is_refused_in_a_query(name: str, guarded: AsyncClient) -> None:
    response = await guarded.get(FRONTIER, params={name: "NULL"})

    assert response.status_code == 422
    assert [fault["where"] for fault in response.json()["errors"]] == [f"query.{name}"]


async def test_without_the_database_it_is_503_with_retry_after(guarded: AsyncClient) -> None:
    answers = [
        await guarded.get(FRONTIER, headers={"Accept": "text/html"}),
        await guarded.post(f"{FRONTIER}/submit", json={"url": "https://a.example/"}),
        await guarded.post(f"{FRONTIER}/submit/bulk", json={"urls": ["https://a.example/"]}),
        await guarded.post(f"{FRONTIER}/retry", json={"status": "dead"}),
    ]

    assert {answer.status_code for answer in answers} == {503}
    assert {answer.headers["retry-after"] for answer in answers} == {"5"}
    assert {answer.headers["content-type"] for answer in answers} == {"application/problem+json"}
    assert not any("127.0.0.1" in answer.text for answer in answers)


async def test_no_cors_headers_are_sent(guarded: AsyncClient) -> None:
    response = await guarded.get(f"{FRONTIER}/stats", headers={"Origin": "https://evil.example"})

    assert not [name for name in response.headers if name.startswith("access-control")]
    assert "set-cookie" not in response.headers
    assert response.headers["cache-control"] == "no-store"

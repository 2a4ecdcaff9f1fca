"""Word to a program of the operator's own."""

import asyncio
import tracemalloc
from datetime import timedelta

import pytest

from headwater.net import webhook
from headwater.net.webhook import post_json
from tests.accounts.hostile import open_hostile
from tests.alerts.receiver import open_receiver
from tests.ports import closed_port


async def test_what_is_sent_arrives_as_json_on_a_private_address() -> None:
    with open_receiver() as receiver:
        error = await post_json(receiver.url, {"text": "grüße"}, headers={"Idempotency-Key": "7"})

    assert error is None
    assert receiver.bodies == [{"text": "grüße"}]
    assert receiver.headers[0]["Idempotency-Key"] == "7"
    assert receiver.headers[0]["Content-Type"].startswith("application/json")


@pytest.mark.parametrize("status", [301, 307, 400, 500])
async def test_an_error_status_is_reported_and_no_redirect_is_followed(status: int) -> None:
    with open_receiver() as receiver:
        receiver.status, receiver.answer = status, b"no\n such\0 hook " + b"x" * 10_000
        error = await post_json(receiver.url, {})

    assert error is not None
    assert error.startswith(f"It answered with {status}: no such hook xxx")
    assert len(error) < 300
    assert len(receiver.bodies) == 1


async def test_a_refused_connection_is_reported_without_the_path_of_the_url() -> None:
    with closed_port() as port:
        error = await post_json(f"http://127.0.0.1:{port}/services/SECRET", {})

    assert error is not None
    assert "No connection to 127.0.0.1" in error
    assert "SECRET" not in error


@pytest.mark.parametrize("answer", [b"", b"nonsense\r\n\r\n", b"HTTP/1.1 200"])
async def test_a_response_that_is_not_http_is_reported(answer: bytes) -> None:
    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.write(answer)
        writer.close()

    server = await asyncio.start_server(hang_up, "127.0.0.1", 0)
    async with server:
        error = await post_json(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/SECRET", {})

    assert error is not None
    assert "SECRET" not in error


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/hang", "It did not answer within 3 s."),
        ("/trickle", None),  # 200: accepted; the body is not read
        ("/huge", None),
        ("/huge?status=500", "It answered with 500"),
        ("/bomb?status=500", "It answered with 500"),
        ("/inside", "It answered with 302"),
        ("/circle", "It answered with 302"),
        ("/html", None),
    ],
)
async def test_a_hostile_receiver_cannot_exhaust_time_or_memory(
    path: str, said: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if path == "/hang":  # the others are waited for, however slow this machine is
        monkeypatch.setattr(webhook, "WITHIN", timedelta(seconds=3))
    async with open_hostile() as hostile, asyncio.timeout(300):
        tracemalloc.start()
        try:
            error = await post_json(hostile.url + path, {})
            _, most = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()

    assert error == said or (error is not None and said is not None and error.startswith(said))
    assert len(error or "") < 500
    assert hostile.sent < 10_000_000
    assert most < 30_000_000  # the receiver runs in this process too, and packs its bomb here
    assert sum(hostile.asked.values()) == 1


@pytest.mark.parametrize("url", ["http://", "http://[::1", "nonsense", "http://a b/"])
async def test_an_invalid_url_is_reported(url: str) -> None:
    assert await post_json(url, {}) is not None

"""A stand-in on loopback for a language model's service, as OpenRouter serves it: it gives the answers that a test
lays out. It can be slow, wrong, down, rate-limited, lose its answers, and report any cost."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

ANSWER = "Storm Edda flooded the harbour [1]. Rates stay as they are [2]."


NO_COST = object()


def completion(
    content: Any = ANSWER,
    *,
    cost: Any = 0.00042137,
    tokens_in: Any = 1200,
    tokens_out: Any = 340,
    finish_reason: str = "stop",
) -> dict[str, Any]:
    """What a model's answer looks like. With NO_COST the usage has tokens only, as most services report it."""
    usage = {"prompt_tokens": tokens_in, "completion_tokens": tokens_out, "total_tokens": 1540}
    if cost is not NO_COST:
        usage |= {"cost": cost, "cost_details": {"upstream_inference_cost": None}}
    return {
        "id": "gen-1741000000-abc",
        "provider": "OpenAI",
        "object": "chat.completion",
        "created": 1741000000,
        "model": "openai/gpt-4o-mini-2024-07-18",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": content, "refusal": None},
                "finish_reason": finish_reason,
                "native_finish_reason": finish_reason,
                "logprobs": None,
            }
        ],
        "usage": usage,
    }


def refusal(code: int) -> dict[str, Any]:
    """What OpenRouter says when it will not, or cannot."""
    return {"error": {"code": code, "message": "no", "metadata": {"provider_name": "OpenAI"}}, "user_id": "u"}


@dataclass
class Reply:
    """One answer."""

    status: int = 200
    body: dict[str, Any] | str | bytes = field(default_factory=completion)
    is_endless: bool = False  # after its body come zeros, until the connection is closed
    hangs: bool = False  # until the test releases it
    is_lost: bool = False  # the connection is closed after the request was read
    wait: float = 0  # seconds
    headers: dict[str, str] = field(default_factory=dict[str, str])


@dataclass
class Service:
    """What it was asked, and what it answers next; after the last it repeats itself."""

    url: str
    replies: list[Reply] = field(default_factory=lambda: [Reply()])
    requests: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    keys: list[str] = field(default_factory=list[str])
    encodings: list[str] = field(default_factory=list[str])  # that were accepted
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    released: asyncio.Event = field(default_factory=asyncio.Event)
    answer: Callable[[dict[str, Any]], Reply] | None = None  # instead of the replies

    async def complete(self, request: web.Request) -> web.StreamResponse:
        """POST /api/v1/chat/completions."""
        asked = await request.json()
        self.requests.append(asked)
        self.keys.append(request.headers.get("Authorization", ""))
        self.encodings.append(request.headers.get("Accept-Encoding", ""))
        reply = self.answer(asked) if self.answer else self._next_reply()
        self.asked.set()
        await asyncio.sleep(reply.wait)
        if reply.is_lost and request.transport is not None:
            request.transport.close()
        if reply.hangs:
            await self.released.wait()
        if reply.is_endless:
            return await self._write_for_ever(request, reply)
        if isinstance(reply.body, bytes):
            return web.Response(body=reply.body, status=reply.status, headers=reply.headers)
        if isinstance(reply.body, str):
            return web.Response(text=reply.body, status=reply.status, content_type="text/html", headers=reply.headers)
        return web.json_response(reply.body, status=reply.status, headers=reply.headers)

    async def _write_for_ever(self, request: web.Request, reply: Reply) -> web.StreamResponse:
        response = web.StreamResponse(status=reply.status, headers=reply.headers)
        await response.prepare(request)
        with suppress(ConnectionError):
            while not self.released.is_set():
                await response.write(bytes(100_000))
        return response

    def _next_reply(self) -> Reply:
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]


@asynccontextmanager
async def a_service() -> AsyncIterator[Service]:
    """Runs it."""
    service = Service("")
    app = web.Application()
    app.router.add_post("/api/v1/chat/completions", service.complete)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    service.url = f"http://127.0.0.1:{port}/api/v1"
    try:
        yield service
    finally:
        service.released.set()
        await runner.cleanup()

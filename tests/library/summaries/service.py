"""A language model's service as OpenRouter serves it, on loopback: it gives the answers that a test lays out."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

ANSWER = "Storm Edda flooded the harbour [1]. Rates stay as they are [2]."


def completion(content: Any = ANSWER, *, cost: Any = 0.00042137, finish_reason: str = "stop") -> dict[str, Any]:
    """What a model's answer looks like."""
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
        "usage": {
            "prompt_tokens": 1200,
            "completion_tokens": 340,
            "total_tokens": 1540,
            "cost": cost,
            "cost_details": {"upstream_inference_cost": None},
        },
    }


def refusal(code: int) -> dict[str, Any]:
    """What OpenRouter says when it will not, or cannot."""
    return {"error": {"code": code, "message": "no", "metadata": {"provider_name": "OpenAI"}}, "user_id": "u"}


@dataclass
class Reply:
    """One answer."""

    status: int = 200
    body: dict[str, Any] | str = field(default_factory=completion)
    hangs: bool = False  # until the test releases it


@dataclass
class Service:
    """What it was asked, and what it answers next; after the last it repeats itself."""

    url: str
    replies: list[Reply] = field(default_factory=lambda: [Reply()])
    requests: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    keys: list[str] = field(default_factory=list[str])
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    released: asyncio.Event = field(default_factory=asyncio.Event)

    async def complete(self, request: web.Request) -> web.Response:
        """POST /api/v1/chat/completions."""
        self.requests.append(await request.json())
        self.keys.append(request.headers.get("Authorization", ""))
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        self.asked.set()
        if reply.hangs:
            await self.released.wait()
        if isinstance(reply.body, str):
            return web.Response(text=reply.body, status=reply.status, content_type="text/html")
        return web.json_response(reply.body, status=reply.status)


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

"""A webhook on loopback that keeps what it accepts, and misbehaves on request."""

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any, Self

from aiohttp import web

Answer = Callable[[web.Request, bytes], "web.StreamResponse | None"]


class StubWebhook:
    """`answer` decides about each request; None: 200. Only what is answered with 2xx is accepted."""

    def __init__(self) -> None:
        self.accepted: list[Mapping[str, Any]] = []
        self.requests: list[tuple[Mapping[str, str], bytes]] = []
        self.answer: Answer = lambda _, __: None
        self.wait_s = 0.0
        self.released = asyncio.Event()  # until then no request is answered
        self.released.set()
        self.endless_bytes = 0  # sent with a 200
        self.sent_bytes = 0

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=10**9)
        app.router.add_post("/{tail:.*}", self._post)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.port: int = self._runner.addresses[0][1]
        self.url = f"http://127.0.0.1:{self.port}/in?token=hidden"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    @property
    def revisions(self) -> list[int]:
        return [message["revision"] for message in self.accepted]

    async def _post(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        self.requests.append((dict(request.headers), body))
        await asyncio.sleep(self.wait_s)
        await self.released.wait()
        answer = self.answer(request, body)
        if answer is None or 200 <= answer.status < 300:
            self.accepted += json.loads(body)["messages"]
        if self.endless_bytes:
            return await self._flood(request)
        return answer or web.Response(text="ok")

    async def _flood(self, request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse()
        await answer.prepare(request)
        try:
            while self.sent_bytes < self.endless_bytes:
                await answer.write(b"x" * 65_536)
                self.sent_bytes += 65_536
        except ConnectionError:
            pass
        return answer

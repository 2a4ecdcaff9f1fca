"""One server on loopback for every host of `zoo.test`, by the Host header, with a log of all requests.

Clients reach it by a resolver override; `*.zoo.localhost` is served too, since browsers resolve that by themselves.
"""

import logging
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

from aiohttp import web

from headwater_lab.zoo.articles import Publisher
from headwater_lab.zoo.crowd import Crowd
from headwater_lab.zoo.documents import ZooDocument, ZooRequest, html, respond
from headwater_lab.zoo.exhibits import Exhibit, Sight
from headwater_lab.zoo.faults import ANY_PATH, FAULTS
from headwater_lab.zoo.feeds import FeedRenderer
from headwater_lab.zoo.language_model import complete
from headwater_lab.zoo.pages import PageRenderer, landing_page
from headwater_lab.zoo.sites import DOMAIN, SITES
from headwater_lab.zoo.visits import RequestLog, Visit

_BROWSER_DOMAIN = "zoo.localhost"
_CONTROL = "/__zoo__/"
_SHUTDOWN_SECONDS = 0.05  # for responses in progress; some never end
_log = logging.getLogger(__name__)


class Zoo:
    """A synthetic web on 127.0.0.1; use as an async context manager."""

    def __init__(self, port: int = 0, clock: Callable[[], float] = time.time, tempo: float = 1.0) -> None:
        self.port = port
        self.crowd = Crowd()
        self._clock = clock
        self._tempo = tempo
        self._opened_at = clock()
        self._log = RequestLog()
        publisher = Publisher(self._base_of, tempo)
        self._feeds = FeedRenderer(publisher, self._base_of)
        self._pages = PageRenderer(publisher, self._base_of)
        self._runner: web.ServerRunner | None = None

    async def __aenter__(self) -> Self:
        server = web.Server(self._receive, access_log=None, handler_cancellation=True, logger=_log)
        self._runner = web.ServerRunner(server, shutdown_timeout=_SHUTDOWN_SECONDS)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self.port, backlog=2048).start()
        self.port = self._runner.addresses[0][1]
        self._opened_at = self._clock()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    def url_of(self, exhibit: Exhibit | Sight) -> str:
        return f"{exhibit.scheme}://{exhibit.host}:{self.port}{exhibit.path}"

    def url(self, host: str, path: str) -> str:
        """The URL of a path; `daily` is short for `daily.zoo.test`."""
        is_whole = host == DOMAIN or host.endswith((f".{DOMAIN}", ".invalid"))
        return self._base_of(host if is_whole else f"{host}.{DOMAIN}") + path

    @property
    def model_url(self) -> str:
        """The base URL of a stand-in for a language model, with the API of OpenAI."""
        return f"http://127.0.0.1:{self.port}{_CONTROL}v1"

    @property
    def visits(self) -> Sequence[Visit]:
        return self._log.visits()

    def visits_to(self, host: str) -> list[Visit]:
        whole = host if host.endswith(DOMAIN) else f"{host}.{DOMAIN}"
        return [visit for visit in self._log.visits() if visit.host == whole]

    def forget_visits(self) -> None:
        self._log.clear()

    def _base_of(self, host: str) -> str:
        return f"http://{host}:{self.port}"

    async def _receive(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.path.startswith(_CONTROL):
            return await self._control(request)
        host, now = canonical_host(request.host), self._clock()
        entry, status = self._log.arrive(request, host, now), None
        try:
            response = await self._answer(self._call(request, host, now))
            await response.prepare(request)
            await response.write_eof()
            status = response.status
        except ConnectionError:  # closed by a fault, or by the client
            response = web.Response()
        finally:
            self._log.leave(entry, status)
        return response

    async def _answer(self, call: ZooRequest) -> web.StreamResponse:
        if call.request.method not in {"GET", "HEAD"}:
            return web.Response(status=405, headers={"Allow": "GET, HEAD"})
        faults = FAULTS.get(call.host, {})
        if handler := faults.get(call.path) or faults.get(ANY_PATH):
            return await handler(call)
        return self.crowd.answer(call) or call.serve(call.path)

    def _call(self, request: web.BaseRequest, host: str, now: float) -> ZooRequest:
        def serve(path: str) -> web.Response:
            return respond(request, for_browsers(request, self._find(host, path, now) or nothing_here(host)))

        age = (now - self._opened_at) * self._tempo
        return ZooRequest(request, host, request.path, now, age, self.port, serve)

    def _find(self, host: str, path: str, now: float) -> ZooDocument | None:
        if host == DOMAIN:
            return html(landing_page(self.url_of)) if path == "/" else None
        site = SITES.get(host)
        if site is None:
            return None
        feed = next((feed for feed in site.feeds if feed.path == path), None)
        return self._feeds.document(site, feed, now) if feed else self._pages.find(site, path, now)

    async def _control(self, request: web.BaseRequest) -> web.StreamResponse:
        """Control requests of tests in another process, and the language model; they are not logged."""
        match request.method, request.path.removeprefix(_CONTROL):
            case "GET", "visits":
                response = web.StreamResponse(headers={"Content-Type": "application/x-ndjson"})
                await response.prepare(request)
                for line in self._log.lines():
                    await response.write(line)
                return response
            case "DELETE", "visits":
                self.forget_visits()
                return web.Response(status=204)
            case "POST", "edition":
                self.crowd.edition += 1
                return web.json_response({"edition": self.crowd.edition})
            case "POST", "v1/chat/completions":
                return web.json_response(complete(await request.json()))
            case _:
                return web.Response(status=404)


def canonical_host(host_header: str) -> str:
    host = host_header.partition(":")[0].lower().rstrip(".")
    if host in {"127.0.0.1", "localhost"}:
        return DOMAIN
    return host.removesuffix(_BROWSER_DOMAIN) + DOMAIN if host.endswith(_BROWSER_DOMAIN) else host


def for_browsers(request: web.BaseRequest, document: ZooDocument) -> ZooDocument:
    """A page requested as `*.zoo.localhost`, with its links under that name."""
    is_page = document.content_type.startswith("text/html")
    if not is_page or canonical_host(request.host) == request.host.partition(":")[0]:
        return document
    body = document.body.replace(f"{DOMAIN}:".encode(), f"{_BROWSER_DOMAIN}:".encode())
    return ZooDocument(body, document.content_type, None, None, document.headers, document.status)


def nothing_here(host: str) -> ZooDocument:
    known = "There is such a host, and no such page." if host in SITES or host in FAULTS else "There is no such host."
    return html(f"<!doctype html><title>Nothing here</title><h1>Nothing here</h1><p>{known}</p>", status=404)

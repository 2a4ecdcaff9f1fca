"""Hostile values in every place of every route that exists: no answer is a 5xx, and HEAD answers as GET does.

Routes, parameters, form fields and JSON fields are found from the app itself: a new route is covered without being
listed. Every request runs in a transaction that is rolled back, so that none changes what the next one meets.
"""

import inspect
import json
import re
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import timedelta
from itertools import islice
from typing import Any
from urllib.parse import quote, urlencode

import psycopg
import pytest
import structlog
from httpx import AsyncClient, Response
from litestar import Litestar
from litestar.handlers import HTTPRouteHandler
from litestar.params import QueryParameter
from psycopg.conninfo import make_conninfo
from pydantic import SecretStr

from headwater.accounts.types import Role
from headwater.articles.store import records
from headwater.articles.types import ListedEntry
from headwater.asgi.csrf import FIELDS_MAX, FORM_BYTES
from headwater.asgi.streams import StreamOptions
from headwater.db import Connection, Database
from headwater.frontier.store import queue
from headwater.frontier.types import Origin, Submission
from headwater.server import create_app  # not the shared one: two apps, and one secret in their database
from headwater.sources.store import sources
from headwater.web import WebOptions
from tests.browser import visit
from tests.builders import an_article
from tests.clock import START, MovableClock
from tests.databases import new_database
from tests.site import inspectors
from tests.soak import IS_SOAK
from tests.web.visitor import HTMX, PAGE, Person, a_person

pytestmark = pytest.mark.database

FEED = "https://news.example/feed.xml"  # which is this machine, where nobody answers
OPERATOR = "an-operators-token-0123456789"
OPML = b"<opml version='2.0'><body><outline type='rss' text='x' xmlUrl='https://other.example/feed'/></body></opml>"
PROGRAMS = ("/api/", "/admin/api/")
NOBODYS = "00000000-0000-0000-0000-000000000007"
STEP = 1 if IS_SOAK else 5  # of what is tried; the next route begins with another
REACHED = 0.6  # of the requests with the right role must come further than the door

HOSTILE = (
    "\0", "a\0b", "\x1b[31m", "\ufffe", "\u202e", "x" * 3_000, "😀" * 300, "' OR 1=1 --", "{{7*7}}<script>",
    "../../../etc/passwd", "%00%", "-1", "1e999", "9" * 25, "²", "infinity",
    "https://x:99999999/", f"https://{'a' * 300}.example/", "[]",
)  # fmt: skip
DEEP = json.loads("[" * 200 + "]" * 200)
HOSTILE_JSON = (
    "\ud800", None, True, -1, 10**30, 1e308, -1e308, float("nan"), float("inf"), ["\0"], {"\0": "\0"}, DEEP,
    ["x"] * 5_000, [None], [{}], [10**30], {"x": DEEP}, {"url": 10**30},
)  # fmt: skip
FEW = ("\0", "x" * 3_000, "²")
# Percent-encoded, as they come: bytes that are not UTF-8, half a surrogate pair, half an escape.
RAW = ("%ff%fe", "%ed%a0%80", "%", "%zz")
HOSTS = (b"x:99999999", b"x:", b"a b", b"\xff", b"x/y", b"[::1", b"x" * 3_000, b"", b"x:-1", b"user@x")
# What makes a form go through but for the one hostile field; any other field is an "x".
USUAL = {
    "email": "ada@example.com",
    "url": FEED,
    "feed_url": FEED,
    "name": "Example",
    "interval": "60",
    "domain": "spam.example",
    "reason": "Because.",
    "scopes": "read",
    "role": "reader",
}


# Path parameters that are not ids, and those whose name means something else at some paths. A new one needs a line here
# or in `fill`.
NAMED = {
    "domain": "spam.example", "month": "2026-03", "action": "star", "scheme": "topic", "code": "x", "revision": "1",
    "file_path": "headwater.css", "page_path": "reading", "source_action": "refresh",
}  # fmt: skip
SAME_NAME = (
    ("/api/v1/rules/", "rule_id", "reader_rule_id"),
    ("/view-feeds/", "secret", "view_secret"),
    ("/channel-feeds/", "secret", "channel_secret"),
    ("/admin/sources/", "action", "source_action"),
)
STORY = """
    WITH made AS (
        INSERT INTO stories (id, title, first_at, last_at, article_count, source_count)
        VALUES ('00000000-0000-0000-0000-0000000000ab', 'A story', %(now)s, %(now)s, 1, 1)
        RETURNING id
    )
    INSERT INTO article_state (article_id, story_id)
    SELECT articles.id, made.id FROM articles, made
    ON CONFLICT (article_id) DO UPDATE SET story_id = excluded.story_id
"""


class RolledBack(Database):
    """One connection whose transactions are savepoints of one that is never committed."""

    def __init__(self, conn: Connection) -> None:
        super().__init__("", pool_size=1, wait=timedelta(seconds=1))
        self._conn = conn

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        try:
            async with self._conn.transaction():
                yield self._conn
        finally:
            await self._conn.execute("SET LOCAL ROLE headwater_app")  # as the pool does


@dataclass(frozen=True)
class Route:
    """A method at a path, and the places where text goes in."""

    method: str
    path: str
    handler: HTTPRouteHandler = field(compare=False, repr=False)

    def __str__(self) -> str:
        return f"{self.method} {self.path}"

    @property
    def is_api(self) -> bool:
        return f"{self.path}/".startswith(PROGRAMS)

    @property
    def path_names(self) -> list[str]:
        return re.findall(r"\{(\w+):", self.path)

    @property
    def query_names(self) -> list[str]:
        named = [
            name
            for name, parameter in self.handler.parsed_fn_signature.parameters.items()
            if isinstance(parameter.kwarg_definition, QueryParameter)
        ]
        return [*named, *re.findall(r'query_params\.get\("(\w+)"', inspect.getsource(self.handler.fn))]

    @property
    def body_names(self) -> list[str]:
        """Fields of a form or of JSON; of those that a handler picks itself, all that its module picks."""
        data = self.handler.parsed_fn_signature.parameters.get("data")
        if data is None:
            if self.method == "GET" or self.is_api:
                return []
            module = inspect.getmodule(self.handler.fn)
            return re.findall(r'form\(\)\)\.get\("(\w+)"', inspect.getsource(module)) if module else []
        kind = data.annotation
        if is_dataclass(kind):
            return [one.name for one in fields(kind)]
        return list(getattr(kind, "model_fields", {})) or ["x"]

    def at(self, values: Mapping[str, str]) -> str:
        for beginning, name, meant in SAME_NAME:
            if self.path.startswith(beginning):
                values = {**values, name: values[meant]}
        return re.sub(r"\{(\w+):\w+\}", lambda found: quote(values.get(found[1], NOBODYS), safe=""), self.path)


def routes_of(app: Litestar) -> list[Route]:
    found = {
        Route(method, route.path, handler)
        for route in app.routes
        for handler in getattr(route, "route_handlers", [])
        for method in handler.http_methods - {"OPTIONS", "HEAD"}
    }
    return sorted(found, key=str)


@dataclass
class World:
    """The app with something of everything in it, and the means to get in as each role."""

    app: Litestar
    conn: Connection
    client: AsyncClient
    ids: dict[str, str]
    sessions: dict[str, dict[str, str]]  # role → headers of a browser; "" of nobody
    tokens: dict[str, dict[str, str]]  # role → headers of a program

    async def ask(self, route: Route, role: str, path: str, **request: Any) -> Response:
        """One request, of which nothing is kept. A form's text is encoded here, as a browser would."""
        headers = {**(self.tokens if route.is_api else self.sessions)[role], **request.pop("headers", {})}
        async with self.conn.transaction(force_rollback=True):
            return await self.client.request(route.method, path, headers=headers, **request)

    def body(self, route: Route, values: Mapping[str, Any]) -> dict[str, Any]:
        """A body of these fields as this route takes them."""
        if not route.body_names:
            return {}
        given = {name: values.get(name, USUAL.get(name, "x")) for name in route.body_names}
        if route.is_api:
            return {"content": json.dumps(given), "headers": {"Content-Type": "application/json"}}
        if route.body_names == ["file"]:
            return {"files": {"file": (str(given["file"]), OPML, "text/x-opml")}}
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        return {"content": urlencode(given, doseq=True, errors="surrogatepass"), "headers": kind}


@pytest.fixture(scope="module", autouse=True)
def _quiet() -> Iterator[None]:
    """A line of the log for each of thousands of requests would cost more than the requests."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger("error"))
    yield
    structlog.reset_defaults()


@pytest.fixture(scope="module")
async def world(server_conninfo: str, template: str) -> AsyncIterator[World]:
    clock = MovableClock()
    async with new_database(server_conninfo, template) as name, inspectors() as make_inspector:
        conninfo = make_conninfo(server_conninfo, dbname=name)
        async with Database(conninfo, pool_size=5, wait=timedelta(minutes=1)) as database:
            app = create_app(database, clock, web=WebOptions(inspector=make_inspector(database, clock)))
            ids, people = await fill(app, database)
            sessions, tokens = await let_in(app, database, clock, people)
        conn = await psycopg.AsyncConnection.connect(conninfo, autocommit=True)
        await conn.execute("SET ROLE headwater_app")
        rolled_back = RolledBack(conn)
        options = WebOptions(inspector=make_inspector(rolled_back, clock))
        ending = StreamOptions(longest=timedelta(0))  # a stream ends when it has sent what there is
        attacked = create_app(rolled_back, clock, SecretStr(OPERATOR), options, streams=ending)
        async with visit(attacked, "http://127.0.0.1:8000") as client:
            yield World(attacked, conn, client, ids, sessions, tokens)
        await conn.close()


async def fill(app: Litestar, database: Database) -> tuple[dict[str, str], list[str]]:
    """One of everything that an id in a path can mean, and three accounts."""
    people = ["ada@example.com", "mo@example.com", "rae@example.com"]
    async with a_person(app) as ada:
        await ada.register()
        await ada.send("POST", "/feeds", name="Example", url=FEED)
        await ada.submit("/account/tokens", name="robot", scopes="read")
        brought = await ada.client.post(
            "/opml", headers={**PAGE, "X-CSRF-Token": ada.token}, files={"file": ("x.opml", OPML, "text/x-opml")}
        )
        for email in people[1:]:
            async with a_person(app) as other:
                await other.register(email)
        view_secret, channel_secret = await fill_pages(ada)
        async with database.as_system() as conn:
            source = await sources.find_by_url(conn, url=FEED)
            await records.keep(conn, seen_at=START, listed=[ListedEntry(source.id, an_article())])
            (queued,) = await queue.submit(conn, submissions=[Submission(FEED, Origin.FEED, source.id)], now=START)
            await conn.execute("UPDATE users SET role = 'moderator' WHERE email = 'mo@example.com'")
            await conn.execute(STORY, {"now": START})
            found = await conn.execute(
                """
                SELECT (SELECT id FROM sessions LIMIT 1), (SELECT id FROM api_tokens),
                    (SELECT id FROM subscriptions WHERE name = 'Example'), (SELECT id FROM articles),
                    (SELECT id FROM users WHERE email = 'rae@example.com'), (SELECT id FROM views),
                    (SELECT id FROM rules), (SELECT id FROM classification_rules), (SELECT id FROM channels),
                    (SELECT id FROM notification_targets), (SELECT id FROM stories)
                """
            )
            row = await found.fetchone()
    assert row is not None
    names = (
        "session_id", "token_id", "feed_id", "article_id", "person_id", "view_id", "reader_rule_id", "rule_id",
        "channel_id", "target_id", "story_id",
    )  # fmt: skip
    ids = {name: str(value) for name, value in zip(names, row, strict=True)}
    location = brought.headers.get("location", "")
    more = {
        "source_id": str(source.id),
        "url_id": str(queued.id),
        "import_id": location.rpartition("/")[2],
        "view_secret": view_secret,
        "channel_secret": channel_secret,
    }
    return {**ids, **more, **NAMED}, people


async def fill_pages(ada: Person) -> tuple[str, str]:
    """A view and a channel, each with a feed, rules and a webhook. Returns the secrets of both feeds."""
    await ada.submit("/rules", query="otter", star="yes")
    await ada.submit("/notifications/webhook", url="https://hooks.example/in")
    saved = await ada.submit("/views", name="Otters", query="otter")
    view = await ada.submit(f"/views/{saved.headers['location'].rpartition('=')[2]}/feed")
    await ada.open("/admin/rules")
    await ada.send("POST", "/admin/rules", name="Sport", gives="topic:sport", keywords="match")
    await ada.send("POST", "/admin/channels", name="news", query="*", destination="none")
    found = re.search(r"/admin/channels/([0-9a-f-]{36})", (await ada.open("/admin/channels")).text)
    assert found is not None
    channel = await ada.send("POST", f"/admin/channels/{found[1]}/feed")
    return secret_of(view), secret_of(channel)


def secret_of(page: Response) -> str:
    found = re.search(r"-feeds/([\w-]+)/", page.text)
    assert found is not None, page.text
    return found[1]


async def let_in(
    app: Litestar, database: Database, clock: MovableClock, people: Sequence[str]
) -> tuple[dict[str, dict[str, str]], dict[str, dict[str, str]]]:
    sessions, tokens = {}, {"": {}, "operator": {"Authorization": f"Bearer {OPERATOR}"}}
    async with a_person(app) as nobody:
        sessions[""] = await headers_of(nobody, "/auth/login")
    for email in people:
        async with a_person(app) as person:
            await person.open("/auth/login")
            await person.submit("/auth/login", email=email, password="correct horse battery")
            async with database.as_system() as conn:
                cur = await conn.execute("SELECT * FROM users WHERE email = %(email)s", {"email": email})
                assert await cur.fetchone() is not None
            sessions[email] = await headers_of(person, "/privacy")
    roles = dict(zip((Role.SUPER_ADMIN, Role.MODERATOR, Role.READER), people, strict=True))
    for role, email in roles.items():
        async with a_person(app) as person:
            person.client.headers.update(sessions[email])
            scopes = ["read", "write", "admin"] if role is Role.SUPER_ADMIN else ["read", "write"]
            page = await person.client.post(
                "/account/tokens", headers=PAGE, data={"name": "hostile", "scopes": scopes}, follow_redirects=False
            )
            token = re.search(r"hw_[\w-]+", page.text)
            assert token is not None, page.text
            tokens[role] = {"Authorization": f"Bearer {token[0]}"}
        sessions[role] = sessions.pop(email)
    return sessions, tokens


async def headers_of(person: Person, path: str) -> dict[str, str]:
    """What a browser sends with each request: its cookies and the token of our pages."""
    await person.open(path)
    cookies = "; ".join(f"{name}={value}" for name, value in person.client.cookies.items())
    return {**HTMX, "Cookie": cookies, "X-CSRF-Token": person.token}


def attempts(route: Route, world: World) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Each hostile value in each place of a route: what it is, the path, and the rest of the request."""
    usual = route.at(world.ids)
    for name in route.path_names:
        for value in (*HOSTILE, *RAW):
            encoded = value if value in RAW else quote(value, safe="")
            path = re.sub(rf"\{{{name}:\w+\}}", encoded, route.path)
            yield f"path {name}={value[:20]!r}", Route(route.method, path, route.handler).at(world.ids), {}
    for name in route.query_names:
        yield f"query {name} twice", f"{usual}?{name}=x&{name}=%00", {}
        for value in (*HOSTILE, *RAW):
            encoded = value if value in RAW else quote(value, safe="")
            yield f"query {name}={value[:20]!r}", f"{usual}?{name}={encoded}", {}
    is_slow = any("password" in name for name in route.body_names)  # a password costs as much as 50 other requests
    for name in route.body_names:
        for value in FEW if is_slow else (*HOSTILE, *HOSTILE_JSON) if route.is_api else HOSTILE:
            yield f"body {name}={str(value)[:20]!r}", usual, world.body(route, {name: value})
        if not route.is_api:
            yield f"body {name} twice", usual, world.body(route, {name: ["x", "\0"]})


def odd_bodies(route: Route) -> Iterator[tuple[str, dict[str, Any]]]:
    """Bodies that are neither a valid form nor valid JSON."""
    name = (route.body_names or ["x"])[0]
    part = f'--b\r\nContent-Disposition: form-data; name="{name}"'
    kinds = {
        "a charset that does not exist": (
            f"{part}\r\nContent-Type: text/plain; charset=klingon\r\n\r\nx\r\n--b--",
            "b",
        ),
        "bytes of another charset": (f"{part}\r\n\r\n\udcff\r\n--b--", "b"),
        "many parts": (f"{part}\r\n\r\nx\r\n" * 1_000 + "--b--", "b"),
        "no end": (f"{part}\r\n\r\nx", "b"),
        "no boundary": (f"{part}\r\n\r\nx", ""),
        "a file where text belongs": (f'{part}; filename="\0.txt"\r\n\r\nx\r\n--b--', "b"),
    }
    for what, (body, boundary) in list(kinds.items())[: 1 if route.is_api else None]:
        kind = f"multipart/form-data; boundary={boundary}" if boundary else "multipart/form-data"
        yield what, {"content": body.encode("utf-8", "surrogateescape"), "headers": {"Content-Type": kind}}
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    yield "many fields", {"content": b"a&" * (FIELDS_MAX + 1), "headers": form}
    yield "bytes that are no text", {"content": f"{name}=".encode() + b"\xff\xfe\0", "headers": form}
    yield "too much", {"content": b"a" * (FORM_BYTES + 1), "headers": form}
    jsons = (
        b"[" * 20_000, b"\xff", b"null", b"[]", b'"x"', b"", b'{"x": NaN}', b'{"' + b"a" * 9_000 + b'": 1}',
        b'{"%s": "x", "%s": null}' % (name.encode(), name.encode()), b'{"%s": 1e99999}' % name.encode(),
        b'{"%s": %s}' % (name.encode(), b"9" * 5_000), b'{"%s": "\\ud800"}' % name.encode(),
        b'{"%s": %s1%s}' % (name.encode(), b'{"x":' * 5_000, b"}" * 5_000), b"\xef\xbb\xbf{}", "{}".encode("utf-16"),
    )  # fmt: skip
    for body in jsons if route.is_api else jsons[:2]:
        yield f"JSON {body[:10]!r}", {"content": body, "headers": {"Content-Type": "application/json"}}
    for kind in ("application/json", "text/plain", "application/xml", "multipart/form-data", "", "application/gzip"):
        yield f"a form as {kind}", {"content": f"{name}=x&{name}[]=y&{name}[a]=z", "headers": {"Content-Type": kind}}
    yield "a form with arrays", {"content": f"{name}[]=x&{name}[0][b]=y&{name}=z&{name}=", "headers": form}
    yield "no length", {"content": b"x", "headers": {"Content-Length": "one"}}
    yield "an odd type", {"content": b"x", "headers": {"Content-Type": "a/b; charset=klingon; boundary=é".encode()}}


async def test_no_hostile_value_breaks_any_route(world: World) -> None:
    answers: Counter[int] = Counter()
    broken: list[str] = []
    for number, route in enumerate(routes_of(world.app)):
        for what, path, request in islice(attempts(route, world), number % STEP, None, STEP):
            response = await world.ask(route, Role.SUPER_ADMIN, path, **request)
            answers[response.status_code] += 1
            if response.status_code >= 500:
                broken.append(f"{response.status_code} {route}: {what}")

    assert broken == []
    assert sum(answers.values()) > 3_000 / STEP
    reached = sum(count for status, count in answers.items() if status not in {401, 403, 404})
    assert reached >= REACHED * sum(answers.values())


@pytest.mark.parametrize("role", ["", "operator", *(role for role in Role if role is not Role.SUPER_ADMIN)])
async def test_no_hostile_value_breaks_any_route_for_other_roles(role: str, world: World) -> None:
    broken: list[str] = []
    for number, route in enumerate(routes_of(world.app)):
        if role in (world.tokens if route.is_api else world.sessions):
            for value in FEW[number % STEP :: STEP]:
                query = urlencode(dict.fromkeys(route.query_names, value))
                body = world.body(route, dict.fromkeys(route.body_names, value))
                response = await world.ask(route, role, f"{route.at(world.ids)}?{query}", **body)
                if response.status_code >= 500:
                    broken.append(f"{response.status_code} {route}: {value[:20]!r}")

    assert broken == []


async def test_no_malformed_body_breaks_any_route(world: World) -> None:
    broken: list[str] = []
    for route in routes_of(world.app):
        if route.method != "GET":
            for what, request in odd_bodies(route):
                response = await world.ask(route, Role.SUPER_ADMIN, route.at(world.ids), **request)
                if response.status_code >= 500:
                    broken.append(f"{response.status_code} {route}: {what}")

    assert broken == []


async def test_no_host_header_or_cookie_breaks_any_route(world: World) -> None:
    broken: list[str] = []
    for number, route in enumerate(routes_of(world.app)):
        for host in HOSTS[number % STEP :: STEP]:
            response = await world.ask(route, Role.SUPER_ADMIN, route.at(world.ids), headers={"Host": host})
            if response.status_code != 400:
                broken.append(f"{response.status_code} {route}: {host!r}")
        if route.method == "GET":
            for value in ("%00", '"\\000"', "é".encode(), "x" * 9_000):
                names = ("headwater_access", "headwater_refresh", "headwater_visitor", "headwater_openid")
                given = value if isinstance(value, bytes) else value.encode()
                cookie = b"; ".join(name.encode() + b"=" + given for name in names)
                headers = {"Cookie": cookie, "User-Agent": "\x1b\x7f", "Authorization": b"Bearer " + given}
                response = await world.ask(route, Role.SUPER_ADMIN, route.at(world.ids), headers=headers)
                if response.status_code >= 500:
                    broken.append(f"{response.status_code} {route}: cookie {value!r}")

    assert broken == []


async def test_head_responds_as_get_does_without_a_body(world: World) -> None:
    different: list[str] = []
    gets = [route for route in routes_of(world.app) if route.method == "GET"]
    for route in gets:
        head = Route("HEAD", route.path, route.handler)
        path = route.at(world.ids)
        full, empty = await world.ask(route, Role.SUPER_ADMIN, path), await world.ask(head, Role.SUPER_ADMIN, path)
        same = [name for name in full.headers if name not in {"content-length", "set-cookie", "ratelimit-remaining"}]
        if (
            (full.status_code, [full.headers[name] for name in same])
            != (empty.status_code, [empty.headers.get(name) for name in same])
            or empty.content
            or ("content-length" in full.headers) != ("content-length" in empty.headers)
        ):
            different.append(f"{route}: {full.status_code} {empty.status_code}")

    assert different == []
    assert len(gets) >= 40


async def test_head_is_refused_where_there_is_no_get(world: World) -> None:
    response = await world.client.head("/auth/logout")

    assert response.status_code == 405

"""Attacks on sessions, rows of users, pages, redirects, logins and emails.

Rules for every route (login, CSRF, ids of other users, caches) are in `test_every_route.py`.
"""

import re
from collections.abc import AsyncIterator
from datetime import timedelta
from html import escape
from html.parser import HTMLParser
from uuid import UUID

import psycopg
import pytest
from litestar import Litestar

from headwater.accounts.mail.types import AccountEmail
from headwater.articles.store import records
from headwater.articles.types import ListedEntry
from headwater.asgi.session import ACCESS_COOKIE, REFRESH_COOKIE
from headwater.db import Database
from headwater.polling.read import read_feed
from headwater.sources.store import sources
from headwater.types import UserId
from headwater.web import WebOptions
from tests.accounts.mailbox import collect, token_in
from tests.app import create_app
from tests.clock import START, MovableClock
from tests.web.visitor import PASSWORD, Person, a_person, setup_code_of, without_token

pytestmark = pytest.mark.database

FEED = "https://example.com/feed.xml"
SITE = "https://reader.example"


class Letters:
    """The emails sent."""

    def __init__(self, database: Database, clock: MovableClock) -> None:
        self._database = database
        self._clock = clock

    async def collect(self) -> list[AccountEmail]:
        return await collect(self._database, self._clock)


@pytest.fixture
def letters(database: Database, clock: MovableClock) -> Letters:
    return Letters(database, clock)


@pytest.fixture
def app(database: Database, clock: MovableClock) -> Litestar:
    return create_app(database, clock, web=WebOptions(site=SITE))


@pytest.fixture
async def person(app: Litestar, database: Database) -> AsyncIterator[Person]:
    async with a_person(app) as person:
        person.setup_code = await setup_code_of(database)
        person.client.base_url = SITE  # pyright: ignore[reportAttributeAccessIssue]
        yield person


# The session.


async def test_a_session_id_chosen_by_another_is_not_accepted(person: Person) -> None:
    for name in (ACCESS_COOKIE, REFRESH_COOKIE):
        person.client.cookies.set(name, "chosen-by-the-attacker", domain="reader.example")

    came = await person.register()

    given = {line.partition("=")[0]: line.partition("=")[2] for line in came.headers.get_list("set-cookie")}
    assert {ACCESS_COOKIE, REFRESH_COOKIE} <= given.keys()
    assert not any("chosen-by-the-attacker" in value for value in given.values())


async def test_logging_in_again_gives_new_tokens_and_new_signatures(app: Litestar, person: Person) -> None:
    await person.register()
    first, signature = dict(person.client.cookies), person.token
    async with a_person(app) as again:
        again.client.base_url = SITE  # pyright: ignore[reportAttributeAccessIssue]
        await again.open("/auth/login")
        await again.submit("/auth/login", email="ada@example.com", password=PASSWORD)
        await again.open("/privacy")

        assert dict(again.client.cookies)[ACCESS_COOKIE] != first[ACCESS_COOKIE]
        assert again.token != signature


async def test_a_stolen_refresh_token_ends_the_session_of_both(
    app: Litestar, person: Person, clock: MovableClock
) -> None:
    await person.register()
    stolen = dict(person.client.cookies)[REFRESH_COOKIE]
    clock.move(minutes=20)  # the short-lived one is over: the owner's browser renews both
    assert (await person.open("/dashboard")).status_code == 200
    clock.move(minutes=5)

    async with a_person(app) as thief:
        thief.client.base_url = SITE  # pyright: ignore[reportAttributeAccessIssue]
        thief.client.cookies.set(REFRESH_COOKIE, stolen, domain="reader.example")
        robbed = await thief.open("/dashboard")

    assert robbed.headers["location"] == "/auth/login"
    assert (await person.open("/dashboard")).headers["location"] == "/auth/login"


async def test_copied_cookies_are_refused_after_a_logout(app: Litestar, person: Person) -> None:
    await person.register()
    copied = dict(person.client.cookies)
    await person.submit("/auth/logout")

    async with a_person(app) as thief:
        thief.client.base_url = SITE  # pyright: ignore[reportAttributeAccessIssue]
        for name in (ACCESS_COOKIE, REFRESH_COOKIE):
            thief.client.cookies.set(name, copied[name], domain="reader.example")

        assert (await thief.open("/dashboard")).headers["location"] == "/auth/login"


# Another's rows, by SQL.

# One row of each table that belongs to a person. A new table needs a line here.
ROWS = {
    "reading_options": "INSERT INTO reading_options (user_id) VALUES (%(user)s)",
    "read_undo": """
        INSERT INTO read_undo (user_id, id, marked_at, article_count, read_until, kept_unread)
        VALUES (%(user)s, gen_random_uuid(), now(), 1, '{}', '{}')
        """,
    "bulk_changes": """
        INSERT INTO bulk_changes (id, user_id, created_at, action, value, source_ids)
        VALUES (gen_random_uuid(), %(user)s, now(), 'enable', '', '{}')
        """,
    "saved_filters": """
        INSERT INTO saved_filters (id, user_id, page, name, query)
        VALUES (gen_random_uuid(), %(user)s, 'sources', 'x', 'x')
        """,
    "outgoing_mail": """
        INSERT INTO outgoing_mail (id, kind, email, email_key, user_id, site, queued_at, ready_at)
        VALUES (gen_random_uuid(), 'reset', 'a@example.com', 'a@example.com', %(user)s, '', now(), now())
        """,
    "sessions": """
        INSERT INTO sessions (id, user_id, access_hash, access_until, refresh_hash, refresh_until, started_at, seen_at,
            address, user_agent)
        VALUES (gen_random_uuid(), %(user)s, decode(md5(%(user)s), 'hex'), now(), decode(md5(%(user)s), 'hex'), now(),
            now(), now(), '', '')
        """,
    "mailed_tokens": """
        INSERT INTO mailed_tokens (token_hash, user_id, purpose, email, good_until)
        VALUES (decode(md5(%(user)s), 'hex'), %(user)s, 'reset', 'x@example.com', now())
        """,
    "api_tokens": """
        INSERT INTO api_tokens (id, user_id, name, token_hash, scopes, created_at)
        VALUES (gen_random_uuid(), %(user)s, 'robot', decode(md5(%(user)s), 'hex'), '{read}', now())
        """,
    "outside_identities": """
        INSERT INTO outside_identities (issuer, subject, user_id) VALUES ('https://issuer.example', %(user)s, %(user)s)
        """,
    "events": """
        INSERT INTO events (id, user_id, event_type, created_at)
        VALUES (gen_random_uuid(), %(user)s, 'user_login', now())
        """,
    "subscriptions": """
        INSERT INTO subscriptions (id, user_id, source_id, name, created_at)
        SELECT gen_random_uuid(), %(user)s, id, 'Mine', now() FROM sources
        """,
    "marks": "INSERT INTO marks (user_id, article_id, is_read) SELECT %(user)s, id, true FROM articles",
    "submissions": """
        WITH suggested AS (
            INSERT INTO sources (id, name, feed_url, feed_url_key)
            VALUES (gen_random_uuid(), 'y', 'y', decode(md5(%(user)s), 'hex'))
            RETURNING id
        )
        INSERT INTO submissions (source_id, user_id, name, host, sample, submitted_at)
        SELECT id, %(user)s, 'Mine', 'x.example', '{}', now() FROM suggested
        """,
    "summaries": """
        INSERT INTO summaries (id, user_id, status, created_at) VALUES (gen_random_uuid(), %(user)s, 'ready', now())
        """,
    "imports": """
        INSERT INTO imports (id, user_id, file_name, created_at) VALUES (gen_random_uuid(), %(user)s, 'x.opml', now())
        """,
    "import_lines": """
        INSERT INTO import_lines (id, user_id, import_id, number, name, url, category)
        SELECT gen_random_uuid(), user_id, id, 1, 'x', 'https://x.example/', '' FROM imports WHERE user_id = %(user)s
        """,
    "views": """
        INSERT INTO views (id, user_id, name, icon, query, place)
        VALUES (gen_random_uuid(), %(user)s, 'x', 'star', 'x', 1)
        """,
    "rules": """
        INSERT INTO rules (id, user_id, name, query, stars) VALUES (gen_random_uuid(), %(user)s, 'x', 'x', true)
        """,
    "rule_log": """
        INSERT INTO rule_log (rule_id, article_id, user_id, applied_at, actions)
        SELECT id, gen_random_uuid(), user_id, now(), '{star}' FROM rules WHERE user_id = %(user)s
        """,
    "notification_targets": """
        INSERT INTO notification_targets (id, user_id, kind) VALUES (gen_random_uuid(), %(user)s, 'email')
        """,
    "notifications": """
        INSERT INTO notifications (target_id, article_id, user_id, rule_id, queued_at)
        SELECT id, gen_random_uuid(), user_id, id, now() FROM notification_targets WHERE user_id = %(user)s
        """,
    "analytics_consents": "INSERT INTO analytics_consents (user_id, given_at) VALUES (%(user)s, now())",
    "analytics_refusals": "INSERT INTO analytics_refusals (user_id, refused_at) VALUES (%(user)s, now())",
    "feed_item_clicks": """
        INSERT INTO feed_item_clicks (id, user_id, article_id, source_id, kind, clicked_at)
        SELECT gen_random_uuid(), %(user)s, gen_random_uuid(), id, 'open', now() FROM sources
        """,
}
ADA, BOB = UserId(UUID(int=1)), UserId(UUID(int=2))
TRIES = {
    "read": "SELECT count(*) FROM {table} WHERE user_id = %(ada)s",
    "take": "WITH done AS (UPDATE {table} SET user_id = %(bob)s WHERE user_id = %(ada)s RETURNING 1) "
    "SELECT count(*) FROM done",
    "give": "WITH done AS (UPDATE {table} SET user_id = %(ada)s WHERE user_id = %(bob)s RETURNING 1) "
    "SELECT count(*) FROM done",
    "remove": "WITH done AS (DELETE FROM {table} WHERE user_id = %(ada)s RETURNING 1) SELECT count(*) FROM done",
}


async def test_sql_in_the_role_of_a_user_reaches_only_their_rows(database: Database) -> None:
    tables = await fill(database)
    reached: dict[str, object] = {}
    for table in tables:
        for name, statement in TRIES.items():
            try:
                async with database.as_user(BOB) as conn:
                    text = statement.format(table=table).encode()
                    row = await (await conn.execute(text, {"ada": ADA, "bob": BOB})).fetchone()
            except psycopg.errors.InsufficientPrivilege:  # no right at all, or against the policy
                continue
            if row != (0,):
                reached[f"{name} {table}"] = row

    assert reached == {}


async def test_without_a_user_no_rows_are_visible(database: Database) -> None:
    seen: dict[str, object] = {}
    for table in await fill(database):
        async with database.as_system() as conn:
            await conn.execute("SET LOCAL ROLE headwater_person")
            try:
                row = await (await conn.execute(f"SELECT count(user_id) FROM {table}".encode())).fetchone()
            except psycopg.errors.InsufficientPrivilege:
                await conn.rollback()
                continue
        if row != (0,):
            seen[table] = row

    assert seen == {}


async def fill(database: Database) -> list[str]:
    """A row of Ada's and one of Bob's in every table with a `user_id`; returns their names."""
    async with database.as_system() as conn:
        cur = await conn.execute(
            """
            SELECT table_name
            FROM information_schema.columns
            JOIN information_schema.tables USING (table_schema, table_name)
            WHERE table_schema = 'public' AND column_name = 'user_id' AND table_type = 'BASE TABLE'
            ORDER BY table_name
            """
        )
        tables = [str(row[0]) for row in await cur.fetchall()]
        await conn.execute(
            "INSERT INTO sources (id, name, feed_url, feed_url_key) VALUES (gen_random_uuid(), 'x', 'x', 'x')"
        )
        await conn.execute(
            "INSERT INTO articles (id, url, url_key, title, seen_at) VALUES (gen_random_uuid(), 'x', 'x', 'x', now())"
        )
        for user in (ADA, BOB):
            await conn.execute(
                "INSERT INTO users (id, email, email_key) VALUES (%(id)s, %(email)s, %(email)s)",
                {"id": user, "email": f"{user}@example.com"},
            )
            assert set(tables) == set(ROWS), "each table of a person's has a row to try"
            for insert in ROWS.values():
                await conn.execute(insert.replace("%(user)s", f"'{user}'").encode())
    return tables


# Stored scripts.

RUN = "alert(1)"
PAYLOADS = (
    f"<script>{RUN}</script>",
    f"<ScRiPt>{RUN}</sCrIpT>",
    f"<img src=x onerror={RUN}>",
    f"<svg/onload={RUN}>",
    f"<svg><script>{RUN}</script></svg>",
    f'"><script>{RUN}</script>',
    f"'><img src=x onerror={RUN}>",
    f"' onmouseover='{RUN}",
    f'" autofocus onfocus="{RUN}" x="',
    f"<a href='javascript:{RUN}'>x</a>",
    f"<a href='&#106;avascript:{RUN}'>x</a>",
    "<iframe src='https://evil.example/'></iframe>",
    f"<math><mtext><style><!--</style><img title='--&gt;&lt;img src=x onerror={RUN}&gt;'>",
    "<form action=/auth/logout method=post><button>x</button></form>",
    "<div hx-post=/auth/logout hx-trigger=load>x</div>",
    f"</title></textarea></noscript><script>{RUN}</script>",
    "{{ 7 * 7 }}<meta http-equiv=refresh content='0;url=//evil.example'><base href=//evil.example>",
)
ENTRIES = 51
HOSTILE_URLS = (
    "https://evil.example/'\"><script>alert(1)</script>",
    f"javascript:{RUN}",
    f"data:text/html,{PAYLOADS[0]}",
)


class Look(HTMLParser):
    """Collects what a browser would execute."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag in {"iframe", "object", "embed", "base", "style", "math", "template"}:
            self.found.append(tag)
        if tag == "script" and not values.get("src", "").startswith(("/static/", "/vendor/")):
            self.found.append("script")
        if tag == "form" and not values.get("action", "/").startswith("/"):
            self.found.append(f"form to {values['action']}")
        for name, value in values.items():
            if name.startswith(("on", "hx-on")):
                self.found.append(f"{tag} {name}")
            if name in {"href", "src", "action", "formaction", "xlink:href"}:
                scheme = re.sub(r"[\x00-\x20]", "", value).partition(":")[0].lower()
                if scheme in {"javascript", "vbscript", "data"} and ":" in value:
                    self.found.append(f"{tag} {name}={value}")


def obeyed(page: str) -> list[str]:
    """Active content of a page."""
    look = Look()
    look.feed(page)
    return look.found


def hostile_feed() -> bytes:
    """Every payload in every field; each entry has another one in each."""

    def payload(number: int) -> str:
        return escape(PAYLOADS[number % len(PAYLOADS)])

    items = "".join(
        f"<item><guid>{n}</guid><title>{n} {payload(n)}</title><link>{escape(link_of(n))}</link>"
        f"<author>{payload(n + 3)}</author><description>{payload(n + 5)}</description>"
        f"<content:encoded>{payload(n + 7)}{payload(n + 11)}</content:encoded></item>"
        for n in range(ENTRIES)
    )
    return (
        "<rss version='2.0' xmlns:content='http://purl.org/rss/1.0/modules/content/'><channel>"
        f"<title>{payload(0)}</title><link>https://example.com/</link>{items}</channel></rss>"
    ).encode()


def link_of(number: int) -> str:
    return HOSTILE_URLS[number] if number < len(HOSTILE_URLS) else f"https://example.com/{number}"


async def test_a_hostile_feed_is_escaped_on_every_page(person: Person, database: Database, clock: MovableClock) -> None:
    await person.register()
    await person.send("POST", "/feeds", name=PAYLOADS[5][:200], url=FEED, category=PAYLOADS[8][:90])
    feed = read_feed(hostile_feed(), url=FEED, feed_url=FEED, content_type="application/rss+xml", max_entries=100)
    async with database.as_system() as conn:
        source = await sources.find_by_url(conn, url=FEED)
        await records.keep(conn, seen_at=clock(), listed=[ListedEntry(source.id, one) for one in feed.entries])
        ids = [row[0] for row in await (await conn.execute("SELECT id FROM articles")).fetchall()]
    assert len(ids) >= 50

    pages = [
        "/dashboard",
        "/feeds",
        "/read",
        "/read?shelf=all",
        "/read/feeds",
        "/opml",
        "/account",
        "/summaries/latest",
    ]
    paths = [*pages, *(f"/articles/{one}" for one in ids)]
    found = {path: obeyed((await person.open(path)).text) for path in paths}
    for words in PAYLOADS:
        found[f"search {words}"] = obeyed((await person.open("/read", params={"shelf": "all", "q": words})).text)
        found[f"category {words}"] = obeyed((await person.open("/read", params={"category": words})).text)
        found[f"filter {words}"] = obeyed((await person.open("/feeds", params={"search": words})).text)
    following = re.search(r'class="more" hx-get="([^"]+)"', (await person.open("/read?shelf=all")).text)
    assert following is not None
    found["more"] = obeyed((await person.part(following[1].replace("&amp;", "&"))).text)

    assert {path: bad for path, bad in found.items() if bad} == {}


def test_the_checker_finds_active_content() -> None:
    page = "<script>1</script><a href=' JavaScript:1'>x</a><p onclick=x><iframe></iframe><script src=/static/a.js>"

    assert obeyed(page) == ["script", "a href= JavaScript:1", "p onclick", "iframe"]


# Addresses and headers.

ELSEWHERE = (
    "https://evil.example/",
    "//evil.example/",
    "/\\evil.example",
    "/read\r\nX-Evil: 1",
    "/read@evil.example",
    "",
)


@pytest.mark.parametrize("place", ELSEWHERE, ids=range(len(ELSEWHERE)))
async def test_there_are_no_open_redirects(person: Person, place: str) -> None:
    await person.open("/auth/register")
    for name in ("next", "back", "return_to", "redirect", "url"):
        came = await person.open("/auth/login", params={name: place})
        assert "evil.example" not in came.headers.get("location", "")
    await person.register()

    back = await person.submit("/read/all", back=place)

    assert back.headers["location"].startswith("/read")
    assert "x-evil" not in back.headers
    assert re.match(r"/read(?![^?#/])", back.headers["location"])


@pytest.mark.parametrize(
    "address", ["a@example.com\r\nBcc: all@example.com", "a@example.com\nX: y"], ids=["crlf", "lf"]
)
async def test_an_email_address_cannot_add_headers(person: Person, letters: Letters, address: str) -> None:
    await person.open("/auth/register")

    asked = await person.submit("/auth/forgot", email=address)
    registered = await person.submit(
        "/auth/register", email=address, password=PASSWORD, password_confirm=PASSWORD, privacy="yes"
    )

    assert asked.status_code < 500
    assert registered.status_code == 400
    assert await letters.collect() == []
    assert not {"bcc", "x"} & {*asked.headers.keys(), *registered.headers.keys()}


@pytest.mark.parametrize("odd", ["x%0d%0aX-Evil:%201", "%E2%98%83", "x%00y", "%22%5D%2C%20body"], ids=range(4))
async def test_a_path_cannot_add_headers(person: Person, odd: str) -> None:
    await person.register()
    for method, path in (("DELETE", f"/feeds/{odd}"), ("PATCH", f"/feeds/{odd}"), ("POST", f"/feeds/{odd}/retry")):
        refused = await person.send(method, path, name="x", url=FEED)

        assert refused.status_code == (400 if odd == "x%00y" else 404)  # line breaks are allowed in text
        assert re.fullmatch(r"#[\w-]+", refused.headers.get("hx-retarget", "#none"))
        assert "x-evil" not in refused.headers


# The doors.


async def test_guessing_a_password_is_limited_with_retry_after(person: Person) -> None:
    await person.register()
    await person.submit("/auth/logout")
    await person.open("/auth/login")

    tries = [await person.submit("/auth/login", email="ADA@example.com", password=f"wrong {n}") for n in range(12)]
    right = await person.submit("/auth/login", email="ada@example.com", password=PASSWORD)

    assert [one.status_code for one in tries] == [401] * 10 + [429] * 2
    assert all(0 < int(one.headers["retry-after"]) <= 900 for one in (*tries[10:], right))
    assert right.status_code == 429  # also the right one: nobody learns that it is


async def test_guessing_passwords_of_many_accounts_is_limited(person: Person, database: Database) -> None:
    await person.register()
    await person.submit("/auth/logout")
    await person.open("/auth/login")
    async with database.as_system() as conn:
        await conn.execute("UPDATE attempts SET count = 50 WHERE bucket LIKE 'login:%'")
        await conn.execute(
            "INSERT INTO attempts VALUES ('login:127.0.0.1', 50, %(end)s) ON CONFLICT DO NOTHING",
            {"end": START + timedelta(minutes=10)},
        )

    refused = await person.submit("/auth/login", email="somebody@example.com", password="a guess")

    assert refused.status_code == 429
    assert int(refused.headers["retry-after"]) > 0


# Letters.


async def test_the_host_header_is_never_in_an_email(person: Person, letters: Letters) -> None:
    await person.register()
    sent: list[AccountEmail] = []
    for headers in (
        {"Host": "evil.example"},
        {"X-Forwarded-Host": "evil.example"},
        {"Forwarded": "host=evil.example"},
        {"X-Original-URL": "https://evil.example/"},
    ):
        await person.client.post(
            "/auth/forgot", headers={**headers, "X-CSRF-Token": person.token}, data={"email": "ada@example.com"}
        )
        sent += await letters.collect()

    assert sent
    assert all(f"{SITE}/auth/reset?token=" in one.text and "evil.example" not in one.text for one in sent)


async def test_a_mailed_token_is_valid_once_and_ends_all_sessions(
    app: Litestar, person: Person, letters: Letters
) -> None:
    await person.register()
    await person.submit("/auth/forgot", email="ada@example.com")
    token = token_in((await letters.collect())[-1])
    new = {"password": "another horse battery", "password_confirm": "another horse battery"}

    async with a_person(app) as elsewhere:
        elsewhere.client.base_url = SITE  # pyright: ignore[reportAttributeAccessIssue]
        await elsewhere.open("/auth/login")
        first = await elsewhere.submit("/auth/reset", token=token, **new)
        second = await elsewhere.submit("/auth/reset", token=token, password=PASSWORD, password_confirm=PASSWORD)

    assert (first.status_code, second.status_code) == (200, 401)
    assert (await person.open("/dashboard")).headers["location"] == "/auth/login"


async def test_replaced_and_expired_tokens_are_refused(person: Person, letters: Letters, clock: MovableClock) -> None:
    await person.register()
    await person.submit("/auth/forgot", email="ada@example.com")
    old = token_in((await letters.collect())[0])
    await person.submit("/auth/forgot", email="ada@example.com")
    last = token_in((await letters.collect())[0])
    new = {"password": "another horse battery", "password_confirm": "another horse battery"}

    replaced = await person.submit("/auth/reset", token=old, **new)
    clock.move(hours=2)
    await person.open("/auth/reset")
    too_old = await person.submit("/auth/reset", token=last, **new)

    assert (replaced.status_code, too_old.status_code) == (401, 401)


async def test_resets_do_not_reveal_accounts_and_are_limited(person: Person, letters: Letters) -> None:
    await person.register()

    known = await person.submit("/auth/forgot", email="ada@example.com")
    nobodys = await person.submit("/auth/forgot", email="nobody@example.com")
    sent, more = await letters.collect(), list[int]()
    for _ in range(4):
        more.append((await person.submit("/auth/forgot", email="ada@example.com")).status_code)
        sent += await letters.collect()

    assert without_token(known).replace("ada@", "nobody@") == without_token(nobodys)
    assert more[-1] == 429
    assert [one.email for one in sent] == ["ada@example.com"] * 3

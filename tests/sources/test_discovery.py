"""What a page says of its feeds, what is known of sites, and what comes of looking for feeds over HTTP."""

import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from itertools import pairwise
from time import process_time

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from headwater.errors import InvalidUrl
from headwater.feeds import parse_feed
from headwater.hosts.robots_cache import PageRequests
from headwater.net import Client, Response
from headwater.runtime import utc_now
from headwater.sandbox import Sandbox
from headwater.sources.discovery import MAX_REQUESTS, Discovery, discover
from headwater.sources.page_links import MAX_LINKS, PAGE_BYTES, Candidate, feed_links, links_of
from headwater.sources.well_known import COMMON_PATHS, known_feeds, looks_like_feed, usual_feeds
from headwater_lab.zoo import DOMAIN, Zoo
from tests.headwater_process import PATIENCE_S
from tests.sources import broken_parser

PAGE = "https://example.com/blog/post.html"
RSS = 'rel="alternate" type="application/rss+xml"'
ODD_TYPES = (
    "application/rss", "text/atom+xml", "application/x.atom+xml", "application/rdf+xml", "application/feed+json",
    "application/json", "text/xml",
)  # fmt: skip

PAGES = {
    "a declared feed": (f'<head><link {RSS} href="/feed"></head>', [("declared", "/feed")]),
    "relative to the page": (f"<link {RSS} href=feed.xml>", [("declared", "/blog/feed.xml")]),
    "relative to the base": (f'<base href="/en/"><link {RSS} href="feed">', [("declared", "/en/feed")]),
    "the base may come later": (f'<link {RSS} href="feed"><base href="/en/">', [("declared", "/en/feed")]),
    "the first base counts": (
        f"<base target=_top><base href=/a/><base href=/b/><link {RSS} href=feed>",
        [("declared", "/a/feed")],
    ),
    "a base that leads nowhere": (f'<base href="javascript:0"><link {RSS} href=feed>', [("declared", "/blog/feed")]),
    "shouting": ("<LINK REL=ALTERNATE TYPE=APPLICATION/RSS+XML HREF=/FEED>", [("declared", "/FEED")]),
    "attributes in any order": (
        "<link href='/feed' title='x > y' type='application/atom+xml' rel='alternate'>",
        [("declared", "/feed")],
    ),
    "several rels": ('<link rel="home alternate" type="application/atom+xml" href="/feed">', [("declared", "/feed")]),
    "escaped": (f'<link {RSS} href="/?feed=rss2&amp;lang=de">', [("declared", "/?feed=rss2&lang=de")]),
    "lines in a tag": (f'<link\n{RSS}\n\thref="/feed"\n/>', [("declared", "/feed")]),
    "a charset in the type": (
        '<link rel="alternate" type="application/rss+xml; charset=UTF-8" href="/feed">', [("declared", "/feed")]
    ),
    "odd types": (
        "".join(f"<link rel=alternate type={kind} href=/{kind}>" for kind in ODD_TYPES),
        [("declared", f"/{kind}") for kind in ODD_TYPES],
    ),
    "no type, and an address like a feed's": ('<link rel="alternate" href="/rss.xml">', [("declared", "/rss.xml")]),
    "rel feed": ('<link rel="feed" href="/news">', [("declared", "/news")]),
    "declared in the body": (f"<body><p>x</p><link {RSS} href=/feed></body>", [("declared", "/feed")]),
    "another language is no feed": ('<link rel="alternate" hreflang="de" href="/de/">', []),
    "neither are stylesheets, oembed, the API or ActivityPub": (
        """
        <link rel="alternate stylesheet" type="text/css" href="/feed.css">
        <link rel="alternate" type="application/json+oembed" href="/oembed?url=x">
        <link rel="alternate" type="application/json" href="/wp-json/wp/v2/posts/1">
        <link rel="alternate" type="application/activity+json" href="/users/ann">
        """,
        [],
    ),
    "in a comment": (f"<!-- <link {RSS} href=/old> --><link {RSS} href=/new>", [("declared", "/new")]),
    "in a script": (f"<script>'<link {RSS} href=/old>'</script><link {RSS} href=/new>", [("declared", "/new")]),
    "in an attribute": (f"<div data-x='<link {RSS} href=/old>'></div><link {RSS} href=/new>", [("declared", "/new")]),
    "an apostrophe is no quote": (f"<p title=it's><link {RSS} href=/feed>it's", [("declared", "/feed")]),
    "never closed": (f"<link {RSS} href=/feed", [("declared", "/feed")]),
    "not http": (f'<link {RSS} href="javascript:alert(1)"><link {RSS} href="ftp://x/feed"><link {RSS} href="">', []),
    "said twice": (f"<link {RSS} href=/feed/><link {RSS} href=/feed><a href=/feed>RSS</a>", [("declared", "/feed/")]),
    "an anchor with a feed's address": ('<a href="/feed/">Follow us</a>', [("linked", "/feed/")]),
    "an anchor with a feed's type": ('<a type="application/rss+xml" href="/new">New</a>', [("linked", "/new")]),
    "an anchor for a reader": (
        '<a href="feed://example.com/x">1</a><a href="feed:https://example.com/y">2</a>',
        [("linked", "http://example.com/x"), ("linked", "/y")],
    ),
    "an anchor that says RSS": ('<a href="/new">Our <b>RSS</b></a>', [("mentioned", "/new")]),
    "an anchor whose picture says so": ('<a href="/new"><img alt="RSS" src="x.png"></a>', [("mentioned", "/new")]),
    "an anchor whose class says so": ('<a class="icon-rss" href="/new"></a>', [("mentioned", "/new")]),
    "feedback is no feed": ('<a href="/contact">Feedback</a><a href="/x">The atomic age</a>', []),
    "words after the anchor are not its own": ('<a href="/new">New</a> RSS', []),
    "pictures of the icon are no feeds": ('<a href="/rss.png">RSS</a>', []),
    "buttons of other readers are no feeds": ('<a href="https://feedly.com/i/subscription/feed/x">RSS</a>', []),
    "declared before linked before mentioned": (
        f"<a href=/new>RSS</a><a href=/feed>x</a><link {RSS} href=/declared>",
        [("declared", "/declared"), ("linked", "/feed"), ("mentioned", "/new")],
    ),
    "nothing": ("", []),
    "an address that is too long": (f'<link {RSS} href="/{"é" * 1500}">', []),
}  # fmt: skip


@pytest.mark.parametrize("name", PAGES)
def test_a_page_says_where_its_feeds_are(name: str) -> None:
    page, expected = PAGES[name]

    found = [(link.how.value, link.url.removeprefix("https://example.com")) for link in links_of(page.encode(), PAGE)]

    assert found == expected


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "shift_jis"])
def test_a_page_is_read_in_its_encoding(encoding: str) -> None:
    page = f'<meta charset="{encoding.removesuffix("-sig")}"><link {RSS} href="/feed" title="みなと">'

    (link,) = links_of(page.encode(encoding), PAGE)

    assert (link.url, link.title) == ("https://example.com/feed", "みなと")


HOSTILE = {
    "a megabyte of attributes": "<link " + " ".join(f'a{number}="{number}"' for number in range(70_000)),
    "quotes that never close": '<a href="' * 110_000,
    "quotes of both kinds": "<a x=\"'" * 140_000,
    "comments that never close": "<!--" * 250_000,
    "scripts that never close": "<script =" * 110_000,
    "nothing but brackets": "<" * 1_000_000,
    "a tag of spaces": "<a href " + " " * 1_000_000,
    "a million nested tags": "<a>" * 330_000,
    "a crowd of anchors": "<a href=x>rss" * 75_000,
    "ampersands": ("<a href=rss title='" + "&a" * 3_000 + "'>") * 150,
    "nothing but NUL": "\0" * 1_000_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_page_is_read_in_a_moment(name: str) -> None:
    started = process_time()
    links_of(HOSTILE[name].encode(), PAGE)

    assert process_time() - started < 30  # what is not linear takes minutes


def test_only_the_beginning_of_a_page_is_read() -> None:
    page = b" " * PAGE_BYTES + f"<link {RSS} href=/feed>".encode()

    assert links_of(page, PAGE) == []


def test_a_page_cannot_name_feeds_without_end() -> None:
    declared = "".join(f"<link {RSS} href=/{number}>" for number in range(1000))
    linked = "".join(f"<a href=/{number}/feed>x</a>" for number in range(1000))

    assert len(links_of((declared + linked).encode(), PAGE)) == 2 * MAX_LINKS


@given(st.binary(max_size=300) | st.text("<a link='\"/>=!-rssfeed?&;:\n\0é", max_size=300).map(str.encode))
def test_any_bytes_can_be_a_page(page: bytes) -> None:
    links_of(page, PAGE)


KNOWN_SITES = [
    ("https://www.youtube.com/channel/UC0123456789abcdefghij_-/videos",
     ["https://www.youtube.com/feeds/videos.xml?channel_id=UC0123456789abcdefghij_-"]),
    ("https://m.youtube.com/user/ann", ["https://www.youtube.com/feeds/videos.xml?user=ann"]),
    ("https://www.youtube.com/playlist?list=PLx_1&si=2", ["https://www.youtube.com/feeds/videos.xml?playlist_id=PLx_1"]),
    ("https://www.youtube.com/watch?v=a&list=PLx", ["https://www.youtube.com/feeds/videos.xml?playlist_id=PLx"]),
    ("https://www.youtube.com/@ann", []),
    ("https://old.reddit.com/r/Python/", ["https://www.reddit.com/r/Python/.rss"]),
    ("https://reddit.com/r/Python/top/?t=week", ["https://www.reddit.com/r/Python/top/.rss"]),
    ("https://www.reddit.com/r/Python/comments/abc/title/", ["https://www.reddit.com/r/Python/comments/abc/.rss"]),
    ("https://www.reddit.com/u/ann-1", ["https://www.reddit.com/user/ann-1/.rss"]),
    ("https://www.reddit.com/user/ann/m/news", ["https://www.reddit.com/user/ann/m/news/.rss"]),
    ("https://github.com/ann/boat",
     [f"https://github.com/ann/boat/{kind}.atom" for kind in ("releases", "tags", "commits")]),
    ("https://github.com/ann/boat.js/issues/3",
     [f"https://github.com/ann/boat.js/{kind}.atom" for kind in ("releases", "tags", "commits")]),
    ("https://github.com/ann/boat/releases/tag/v1", ["https://github.com/ann/boat/releases.atom"]),
    ("https://github.com/ann/boat/tree/main/docs", ["https://github.com/ann/boat/commits/main/docs.atom"]),
    ("https://github.com/ann", ["https://github.com/ann.atom"]),
    ("https://github.com/topics/boats", []),
    ("https://gitlab.com/group/sub/boat/-/issues",
     ["https://gitlab.com/group/sub/boat/-/tags?format=atom", "https://gitlab.com/group/sub/boat.atom"]),
    ("https://codeberg.org/ann/boat", ["https://codeberg.org/ann/boat/releases.rss", "https://codeberg.org/ann/boat.rss"]),
    ("https://medium.com/@ann/story-1", ["https://medium.com/feed/@ann"]),
    ("https://medium.com/harbour-news", ["https://medium.com/feed/harbour-news"]),
    ("https://medium.com/tag/boats", ["https://medium.com/feed/tag/boats"]),
    ("https://ann.medium.com/", ["https://ann.medium.com/feed"]),
    ("https://ann.substack.com/p/story", ["https://ann.substack.com/feed"]),
    ("https://ann.wordpress.com/2024/01/story/", ["https://ann.wordpress.com/feed/"]),
    ("https://ann.wordpress.com/category/boats/", ["https://ann.wordpress.com/category/boats/feed/"]),
    ("https://ann.blogspot.co.uk/", ["https://ann.blogspot.co.uk/feeds/posts/default"]),
    ("https://ann.blogspot.com/search/label/boats", ["https://ann.blogspot.com/feeds/posts/default/-/boats"]),
    ("https://ann.tumblr.com/post/1", ["https://ann.tumblr.com/rss"]),
    ("https://www.tumblr.com/ann/123/story", ["https://ann.tumblr.com/rss"]),
    ("https://bsky.app/profile/ann.example.com", ["https://bsky.app/profile/ann.example.com/rss"]),
    ("https://news.ycombinator.com/", ["https://news.ycombinator.com/rss"]),
    ("https://stackoverflow.com/questions/tagged/python?tab=Newest", ["https://stackoverflow.com/feeds/tag/python"]),
    ("https://cooking.stackexchange.com/questions/12/eggs", ["https://cooking.stackexchange.com/feeds/question/12"]),
    ("https://vimeo.com/ann", ["https://vimeo.com/ann/videos/rss"]),
    ("https://vimeo.com/channels/boats", ["https://vimeo.com/channels/boats/videos/rss"]),
    ("https://vimeo.com/123456", []),
    ("https://dev.to/ann", ["https://dev.to/feed/ann"]),
    ("https://letterboxd.com/ann/", ["https://letterboxd.com/ann/rss/"]),
    ("https://arxiv.org/list/cs.AI/recent", ["https://rss.arxiv.org/rss/cs.AI"]),
    ("https://pypi.org/project/boat/", ["https://pypi.org/rss/project/boat/releases.xml"]),
    ("https://store.steampowered.com/app/440/Boats/", ["https://store.steampowered.com/feeds/news/app/440"]),
    ("https://example.com/r/python", []),
    ("https://notgithub.com/ann/boat", []),
]  # fmt: skip


@pytest.mark.parametrize(("page", "feeds"), KNOWN_SITES, ids=lambda value: value if isinstance(value, str) else "")
def test_the_feeds_of_known_sites_are_known(page: str, feeds: list[str]) -> None:
    assert list(known_feeds(page)) == feeds


@pytest.mark.parametrize("feed", sorted({feed for _, feeds in KNOWN_SITES for feed in feeds}))
def test_what_is_a_feed_already_is_not_given_another(feed: str) -> None:
    assert list(known_feeds(feed)) in ([], [feed])


@pytest.mark.parametrize(
    ("page", "first"),
    [
        ("https://social.example/@ann", "https://social.example/@ann.rss"),
        ("https://social.example/tags/boats", "https://social.example/tags/boats.rss"),
        ("https://lemmy.example/c/boats", "https://lemmy.example/feeds/c/boats.xml?sort=New"),
        ("https://lemmy.example/u/ann", "https://lemmy.example/feeds/u/ann.xml?sort=New"),
        ("https://example.com/blog/", "https://example.com/blog/feed"),
        ("https://example.com/feed.xml", "https://example.com/feed"),
        ("http://example.com:81/a/b/c.html", "http://example.com:81/feed"),
    ],
)
def test_the_likeliest_place_is_asked_first(page: str, first: str) -> None:
    places = usual_feeds(page)

    assert places[0] == first
    assert len(places) >= len(COMMON_PATHS)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/feed", True), ("/feed/", True), ("/rss2.xml", True), ("/news.rss", True), ("/index.xml", True),
        ("/blog/feed.json", True), ("/news/rss/all.php", True), ("/?feed=rss2", True), ("/x?format=atom&a=1", True),
        ("/news_rss.xml", True), ("/feedback", False), ("/how-to-use-rss", False), ("/", False),
        ("/sitemap.xml", False), ("/atomic", False), ("/?q=rss", False),
    ],
)  # fmt: skip
def test_a_feed_url_is_recognised_by_its_path(path: str, expected: bool) -> None:
    assert looks_like_feed(f"https://example.com{path}") is expected


# Over HTTP

NO_PAUSE = timedelta(0)
Look = Callable[..., Awaitable[Discovery]]


@pytest.fixture(scope="module")
async def zoo() -> AsyncIterator[Zoo]:
    async with Zoo() as zoo:
        yield zoo


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with Client(user_agent="Test/1", allow_loopback=True, resolve={DOMAIN: "127.0.0.1"}) as client:
        yield client


@pytest.fixture(scope="module")
async def sandbox() -> AsyncIterator[Sandbox]:
    async with Sandbox(processes=1, time_limit=timedelta(seconds=60), memory_limit=1_000_000_000) as sandbox:
        await sandbox.run(parse_feed, rss("Ready").encode(), url=PAGE)  # its process has started
        yield sandbox


def requests(client: Client) -> PageRequests:
    return PageRequests(client, None, utc_now, "test", timedelta(seconds=30))


@pytest.fixture
def look(client: Client, sandbox: Sandbox) -> Look:
    def look(url: str, seconds: float = PATIENCE_S) -> Awaitable[Discovery]:
        return discover(
            requests(client), sandbox, url, within=timedelta(seconds=seconds), max_bytes=2_000_000, pause=NO_PAUSE
        )

    return look


def rss(title: str, entries: int = 3, more: str = "", link: str = "/") -> str:
    items = "".join(f"<item><title>{number}</title><guid>{number}</guid>{more}</item>" for number in range(entries))
    return f'<rss version="2.0"><channel><title>{title}</title><link>{link}</link>{items}</channel></rss>'


@asynccontextmanager
async def site(pages: dict[str, str | web.Response]) -> AsyncIterator[tuple[str, list[str]]]:
    """A site on loopback, and the paths it was asked for, without robots.txt."""
    asked: list[str] = []

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        if request.path != "/robots.txt":
            asked.append(request.path_qs)
        page = pages.get(request.path_qs)
        if isinstance(page, web.Response):
            return page
        return web.Response(text=page or "Nothing here", status=200 if page else 404, content_type="text/html")

    runner = web.ServerRunner(web.Server(answer))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}", asked
    finally:
        await runner.cleanup()


SITES = [
    ("daily", "/", "/feed.xml", "The Zoo Daily", "rss20", "declared"),
    ("gazette", "/", "/index.rdf", "The Lindow Gazette", "rss10", "declared"),
    ("observatory", "/", "/atom.xml", "Observatory Hill", "atom10", "declared"),
    ("meadow", "/", "/feed.json", "Meadow Letters", "json11", "declared"),
    ("chaoshi", "/", "/feed.xml", "潮声日报", "rss20", "declared"),
    ("as-html", "/", "/feed.xml", "Dressed as a Page", "rss20", "declared"),
    ("daily", "/feed.xml", "/feed.xml", "The Zoo Daily", "rss20", "itself"),
    ("lobby", "/feed.xml", "/upstairs.xml", "The Front Desk", "rss20", "declared"),
    ("daily", "/about", "/feed.xml", "The Zoo Daily", "rss20", "declared"),
    ("daily", "/nothing-here", "/feed.xml", "The Zoo Daily", "rss20", "declared"),
    ("too-many-hops", "/feed.xml", "/end.xml", "Six Hops Away", "rss20", "declared"),
    ("moved", "/feed.xml", "/current.xml", "The Moving Van", "rss20", "itself"),
    ("visiting", "/feed.xml", "/feed.xml", "The Visitor", "rss20", "itself"),
    ("hops", "/feed.xml", "/hop/1.xml", "Four Hops Away", "rss20", "itself"),
]


@pytest.mark.parametrize(("host", "typed", "path", "title", "form", "how"), SITES, ids=lambda value: value)
async def test_a_feed_is_found(
    host: str, typed: str, path: str, title: str, form: str, how: str, zoo: Zoo, look: Look
) -> None:
    discovery = await look(zoo.url(host, typed))

    assert [(feed.url, feed.title, feed.format, feed.how) for feed in discovery.found] == [
        (zoo.url(host, path), title, form, how)
    ]
    assert discovery.found[0].entry_count > 0


async def test_a_permanent_redirect_to_another_host_is_where_the_feed_lives(zoo: Zoo, look: Look) -> None:
    discovery = await look(zoo.url("merged", "/feed.xml"))

    assert [feed.url for feed in discovery.found] == [zoo.url("daily", "/feed.xml")]


async def test_every_feed_that_a_site_declares_is_offered(zoo: Zoo, look: Look) -> None:
    discovery = await look(zoo.url("mover", "/"))

    assert [feed.url for feed in discovery.found] == [
        zoo.url("mover", "/steady.xml"),
        zoo.url("mover", "/new-address.xml"),
    ]


async def test_a_name_without_a_scheme_is_tried_by_https_and_then_http(zoo: Zoo, look: Look) -> None:
    discovery = await look(f"daily.{DOMAIN}:{zoo.port}")

    assert discovery.url == zoo.url("daily", "/")
    assert [feed.url for feed in discovery.found] == [zoo.url("daily", "/feed.xml")]
    assert discovery.tried[0].url.startswith("https://")


async def test_the_newest_entry_is_dated(zoo: Zoo, look: Look) -> None:
    dated, undated = await look(zoo.url("daily", "/")), await look(zoo.url("courier", "/"))

    assert dated.found[0].latest_at is not None
    assert dated.found[0].latest_at.tzinfo is not None
    assert undated.found[0].latest_at is None


@pytest.mark.parametrize("typed", ["", "javascript:alert(1)", "https://ann:secret@example.com/", "http://[::"])
async def test_what_is_no_address_is_refused(typed: str, look: Look) -> None:
    with pytest.raises(InvalidUrl):
        await look(typed)


@pytest.mark.parametrize(
    ("host", "path", "reason"),
    [
        ("nowhere.invalid", "/", "The host name cannot be resolved."),
        ("silent", "/feed.xml", "No complete answer within 3 s."),
        ("mailman", "/feed.xml", "Its answer is not proper HTTP."),
        ("busy", "/feed.xml", "The response is HTTP 429 Too Many Requests."),
        ("resting", "/feed.xml", "The response is HTTP 503 Service Unavailable."),
        ("challenge", "/feed.xml", "It shows a bot challenge (HTTP 403)."),
    ],
)
async def test_a_host_that_fails_or_is_rate_limited_gets_no_further_request(
    host: str, path: str, reason: str, zoo: Zoo, look: Look
) -> None:
    zoo.forget_visits()

    discovery = await look(zoo.url(host, path), 9 if host == "silent" else PATIENCE_S)

    assert discovery.found == ()
    assert [(tried.how, tried.reason) for tried in discovery.tried] == [("itself", reason)]
    assert len(zoo.visits) <= 1


@pytest.mark.parametrize(
    ("host", "path", "reason"),
    [
        ("picture", "/feed.xml", "It is a PNG image."),
        ("gone", "/feed.xml", "The response is HTTP 410 Gone."),
        ("tunnel-private", "/feed.xml", "10.0.0.1 is private: Headwater does not connect there."),
        ("village", "/", "It is a web page."),
        ("labyrinth", "/", "It is a web page."),
        ("laughs", "/feed.xml", None),
        ("noise", "/feed.xml", None),
        ("den", "/huge.html", "Its body is larger than 2,000,000 bytes."),
        ("den", "/attributes.html", "It is a web page."),
        ("den", "/bomb.html", "Its body is larger than 2,000,000 bytes."),
    ],
)
async def test_without_a_feed_the_tried_urls_are_reported(
    host: str, path: str, reason: str | None, zoo: Zoo, look: Look
) -> None:
    zoo.forget_visits()

    discovery = await look(zoo.url(host, path))

    assert discovery.found == ()
    assert discovery.tried[0].url == zoo.url(host, path)
    assert reason in {None, discovery.tried[0].reason}
    assert {*COMMON_PATHS} <= {tried.url.rpartition(str(zoo.port))[2] for tried in discovery.tried}
    asked = [visit for visit in zoo.visits if visit.path != "/robots.txt"]
    assert len(asked) == len(discovery.tried) <= MAX_REQUESTS


@pytest.mark.parametrize(
    ("typed", "reason"),
    [
        ("http://10.0.0.1/", "10.0.0.1 is private: Headwater does not connect there."),
        ("10.0.0.1/news/today", "10.0.0.1 is private: Headwater does not connect there."),
        ("http://[::1]:8000/", "::1 is this machine itself: Headwater does not connect there."),
        (
            "http://inside.test/blog/",
            "Its name leads to an address that is not public: Headwater does not connect there.",
        ),
        ("http://127.0.0.1:25/", "Port 25 is kept for smtp: Headwater does not connect there."),
    ],
)
async def test_a_host_that_is_never_asked_is_refused_once(typed: str, reason: str, sandbox: Sandbox) -> None:
    async with Client(user_agent="Test/1", allow_loopback=True, resolve={"inside.test": "10.0.0.2"}) as client:
        discovery = await discover(requests(client), sandbox, typed, within=timedelta(seconds=20), max_bytes=1_000)

    assert discovery.found == ()
    assert [(tried.how, tried.reason) for tried in discovery.tried] == [("itself", reason)]


async def test_links_to_a_host_that_is_never_asked_cost_no_request(look: Look) -> None:
    hidden = [f"http://10.0.0.{number}/{feed}" for number in range(20) for feed in ("a", "b")]
    page = "".join(f"<link {RSS} href={href}>" for href in (*hidden, "/feed"))
    async with site({"/": page, "/feed": rss("Boats")}) as (base, asked):
        discovery = await look(base)

    assert [feed.url for feed in discovery.found] == [f"{base}/feed"]
    assert asked == ["/", "/feed"]
    reasons = {tried.url: tried.reason for tried in discovery.tried}
    assert reasons["http://10.0.0.19/a"] == "10.0.0.19 is private: Headwater does not connect there."
    assert reasons["http://10.0.0.19/b"] == "Not requested: Headwater does not connect to its host."


async def test_a_redirect_to_a_blocked_address_does_not_end_the_search(look: Look) -> None:
    away = web.Response(status=302, headers={"Location": "http://10.0.0.1/"})
    script = web.Response(status=302, headers={"Location": "javascript:0"})
    async with site({"/": away, "/feed": script, "/feed.xml": rss("Boats")}) as (base, _):
        discovery = await look(base)

    assert [feed.url for feed in discovery.found] == [f"{base}/feed.xml"]


async def test_a_bug_of_the_parsers_is_noted_and_the_search_goes_on(
    look: Look, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headwater.sources.discovery.parse_feed", broken_parser.parse_feed)
    page = f"<link {RSS} href=/odd><link {RSS} href=/good>"
    async with site({"/": page, "/odd": rss("break the parser"), "/good": rss("Good")}) as (base, _):
        beside = await look(base)
        itself = await look(f"{base}/odd")

    reason = "Headwater itself failed: ZeroDivisionError: a bug, of two lines."
    assert [feed.url for feed in beside.found] == [feed.url for feed in itself.found] == [f"{base}/good"]
    assert (f"{base}/odd", "declared", reason) in [(tried.url, tried.how, tried.reason) for tried in beside.tried]
    assert (f"{base}/odd", "itself", reason) in [(tried.url, tried.how, tried.reason) for tried in itself.tried]


async def test_a_bug_in_reading_a_page_is_noted_and_the_search_goes_on(
    look: Look, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headwater.sources.discovery.feed_links", lambda *_: 1 / 0)
    async with site({"/": "<p>Hello", "/feed.xml": rss("Boats")}) as (base, _):
        discovery = await look(base)

    assert [(feed.url, feed.how) for feed in discovery.found] == [(f"{base}/feed.xml", "usual place")]
    assert "Headwater itself failed: ZeroDivisionError: division by zero." in [
        tried.reason for tried in discovery.tried
    ]


async def test_the_links_of_a_page_are_read_beside_the_event_loop(look: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    read_in: list[threading.Thread] = []

    def read_links(page: Response) -> Sequence[Candidate]:
        read_in.append(threading.current_thread())
        return feed_links(page)

    monkeypatch.setattr("headwater.sources.discovery.feed_links", read_links)
    async with site({"/": f"<link {RSS} href=/feed>", "/feed": rss("Boats")}) as (base, _):
        discovery = await look(base)

    assert [feed.how for feed in discovery.found] == ["declared"]
    assert read_in
    assert threading.main_thread() not in read_in


async def test_a_page_that_is_gone_may_still_lead_to_the_feed(look: Look) -> None:
    gone = web.Response(text=f"<link {RSS} href=/new.xml>", status=404, content_type="text/html")
    async with site({"/feed.xml": gone, "/new.xml": rss("New")}) as (base, asked):
        discovery = await look(f"{base}/feed.xml")

    assert [feed.url for feed in discovery.found] == [f"{base}/new.xml"]
    assert asked == ["/feed.xml", "/new.xml"]


async def test_a_link_header_declares_a_feed(look: Look) -> None:
    page = web.Response(
        text="<p>Hello", content_type="text/html",
        headers=[("Link", '</style.css>; rel=preload, </x>; rel="alternate"; hreflang=de'),
                 ("Link", '</f,1>; rel="alternate"; type="application/atom+xml"; title="F"')],
    )  # fmt: skip
    async with site({"/": page, "/f,1": rss("")}) as (base, _):
        discovery = await look(base)

    assert [(feed.url, feed.title, feed.how) for feed in discovery.found] == [(f"{base}/f,1", "F", "declared")]


async def test_an_anchor_leads_to_a_feed_where_none_is_declared(look: Look) -> None:
    page = '<a href="/contact">Our RSS page</a><a href="/news/feed">News</a>'
    async with site({"/": page, "/news/feed": rss("News")}) as (base, asked):
        discovery = await look(base)

    assert [(feed.url, feed.how) for feed in discovery.found] == [(f"{base}/news/feed", "linked")]
    assert asked == ["/", "/news/feed"]


async def test_words_are_followed_when_nothing_else_leads_to_a_feed(look: Look) -> None:
    async with site({"/": '<a href="/news">RSS</a>', "/news": rss("News")}) as (base, _):
        discovery = await look(base)

    assert [(feed.url, feed.how) for feed in discovery.found] == [(f"{base}/news", "mentioned")]


async def test_usual_places_are_tried_last_and_only_until_one_is_a_feed(look: Look) -> None:
    async with site({"/": "<p>Hello", "/feed.xml": rss("A"), "/rss.xml": rss("B")}) as (base, asked):
        discovery = await look(base)

    assert [(feed.title, feed.how) for feed in discovery.found] == [("A", "usual place")]
    assert asked == ["/", "/feed", "/feed.xml"]


@pytest.mark.parametrize("path", ["/", "/about.html", "/blog/", "/2024/news", "/@ann", "/c/boats", "/a/b/c"])
async def test_every_usual_place_is_asked_from_whatever_page_the_search_begins(path: str, look: Look) -> None:
    async with site({path: "<p>Hello"}) as (base, asked):
        discovery = await look(base + path)

    assert {*COMMON_PATHS} <= {*asked}
    assert [tried.url.removeprefix(base) for tried in discovery.tried] == asked
    assert len(asked) <= MAX_REQUESTS


async def test_skipped_urls_are_reported(look: Look) -> None:
    page = "".join(f"<link {RSS} href=/{number}>" for number in range(40))
    async with site({"/news.html": page}) as (base, asked):
        discovery = await look(f"{base}/news.html")

    unasked = [tried for tried in discovery.tried if tried.url.removeprefix(base) not in asked]
    assert len(asked) == MAX_REQUESTS
    assert {"/", *COMMON_PATHS} <= {tried.url.removeprefix(base) for tried in unasked}
    assert {tried.reason for tried in unasked} == {f"Not requested: a search is limited to {MAX_REQUESTS} requests."}


async def test_the_best_feed_comes_first_and_comments_last(look: Look) -> None:
    full = "<pubDate>Sun, 06 Nov 1994 08:49:37 GMT</pubDate><description>x</description>"
    full += '<content:encoded xmlns:content="http://purl.org/rss/1.0/modules/content/">Text</content:encoded>'
    page = "".join(f"<link {RSS} href={path}>" for path in ("/comments/feed", "/few", "/titles", "/full", "/long"))
    feeds = {
        "/comments/feed": rss("Comments for Boats", 50, full), "/few": rss("Few", 1, full),
        "/titles": rss("Titles", 40), "/full": rss("Full", 10, full),
        "/long": rss("Long", 60, full), "/linked.rss": rss("Linked", 20, full),
    }  # fmt: skip
    async with site({"/": page + "<a href=/linked.rss>x</a>", **feeds}) as (base, asked):
        discovery = await look(base)

    titles = [feed.title for feed in discovery.found]
    assert titles == ["Full", "Long", "Few", "Titles", "Linked", "Comments for Boats"]
    assert asked[-1] == "/comments/feed"


async def test_one_feed_under_several_addresses_is_offered_once(look: Look) -> None:
    page = "".join(f"<link {RSS} href={path}>" for path in ("/feed", "/feed/", "/old", "/today", "/feed?utm_source=x"))
    old, today = (web.Response(status=status, headers={"Location": "/feed"}) for status in (301, 302))
    async with site({"/": page, "/feed": rss("Boats"), "/old": old, "/today": today}) as (base, asked):
        discovery = await look(base)

    assert [feed.url for feed in discovery.found] == [f"{base}/feed"]
    assert asked == ["/", "/feed", "/old", "/feed", "/today", "/feed"]
    assert [tried.reason for tried in discovery.tried[1:]] == ["It leads to a feed that was found already."] * 2


async def test_a_search_makes_few_requests_however_many_feeds_are_declared(look: Look) -> None:
    page = "".join(f"<link {RSS} href=/{number}>" for number in range(40))
    async with site({"/": page, **{f"/{number}": rss(str(number)) for number in range(40)}}) as (base, asked):
        discovery = await look(base)

    assert len(asked) == MAX_REQUESTS
    assert len(discovery.found) == MAX_REQUESTS - 1
    assert discovery.tried[-1].reason == f"Not requested: a search is limited to {MAX_REQUESTS} requests."


async def test_requests_to_a_host_come_one_at_a_time_and_apart(zoo: Zoo, client: Client, sandbox: Sandbox) -> None:
    zoo.forget_visits()
    pause = timedelta(milliseconds=600)

    await discover(
        requests(client), sandbox, zoo.url("mover", "/"), within=timedelta(minutes=1), max_bytes=1_000_000, pause=pause
    )

    visits = zoo.visits_to("mover")
    assert len(visits) == 4
    assert all(later.at - (earlier.ended_at or later.at) >= 0.55 for earlier, later in pairwise(visits))


async def test_a_search_never_takes_longer_than_it_may(client: Client, sandbox: Sandbox) -> None:
    """The pause between its requests alone is longer."""
    async with site({"/": "<p>Hello"}) as (base, _):
        discovery = await discover(
            requests(client),
            sandbox,
            base,
            within=timedelta(seconds=6),
            max_bytes=1000,
            pause=timedelta(hours=1),
        )

    assert discovery.found == ()
    assert discovery.tried[-1].reason == "The search timed out before it was read."


async def test_what_was_found_before_the_time_was_up_is_kept(zoo: Zoo, client: Client, sandbox: Sandbox) -> None:
    slow = (zoo.url("silent", "/feed.xml"), zoo.url("drip", "/feed.xml"))
    page = "".join(f"<link {RSS} href={href}>" for href in ("/feed", *slow))
    async with site({"/": page, "/feed": rss("Boats")}) as (base, _):
        discovery = await discover(
            requests(client), sandbox, base, within=timedelta(seconds=12), max_bytes=100_000, pause=NO_PAUSE
        )

    assert [feed.title for feed in discovery.found] == ["Boats"]
    assert len(discovery.tried) == 3


async def test_a_page_that_robots_txt_disallows_is_not_read_and_feeds_still_are(look: Look) -> None:
    pages: dict[str, str | web.Response] = {
        "/robots.txt": "User-agent: *\nDisallow: /",
        "/": f"<link {RSS} href=/hidden>",
        "/hidden": rss("Hidden"),
        "/feed": rss("Boats"),
    }
    async with site(pages) as (base, asked):
        discovery = await look(base)
        itself = await look(f"{base}/feed")

    assert asked == ["/feed", "/feed"]
    assert [feed.title for feed in (*discovery.found, *itself.found)] == ["Boats", "Boats"]
    assert [tried.reason for tried in discovery.tried] == [f"Robots.txt disallows {base}/."]


async def test_a_redirect_to_a_page_that_robots_txt_disallows_is_not_followed(look: Look) -> None:
    pages: dict[str, str | web.Response] = {
        "/robots.txt": "User-agent: *\nDisallow: /private",
        "/blog": web.Response(status=302, headers={"Location": "/private/blog"}),
        "/private/blog": f"<link {RSS} href=/hidden>",
    }
    async with site(pages) as (base, asked):
        await look(f"{base}/blog")

    assert "/private/blog" not in asked
    assert "/" in asked


async def test_no_page_of_a_host_whose_robots_txt_is_broken_is_read(look: Look) -> None:
    async with site({"/robots.txt": web.Response(status=500), "/rss": rss("Boats")}) as (base, asked):
        discovery = await look(f"{base}/news")

    assert asked[-1] == "/rss"
    assert not {"/", "/news"} & set(asked)
    assert [feed.title for feed in discovery.found] == ["Boats"]

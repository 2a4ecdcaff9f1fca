from base64 import urlsafe_b64encode
from collections.abc import Callable
from random import Random
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.errors import InvalidUrl
from headwater.urls import (
    canonical,
    complete_url,
    domain_of,
    host_of,
    is_file,
    is_same_site,
    masked,
    parse_url,
    read_url,
    site_of,
    url_and_key,
    url_key,
)

SEED_EXAMPLES = [
    ("HTTP://Example.com/Path", "https://example.com/Path"),
    ("https://EXAMPLE.COM/path", "https://example.com/path"),
    ("https://example.com:443/path", "https://example.com/path"),
    ("http://example.com:80/path", "https://example.com/path"),
    ("https://example.com:8080/path", "https://example.com:8080/path"),
    ("https://example.com/path/", "https://example.com/path"),
    ("https://example.com/", "https://example.com/"),
    ("https://example.com/path#section", "https://example.com/path"),
    ("https://example.com/path?z=1&a=2", "https://example.com/path?a=2&z=1"),
    ("https://example.com/path?utm_source=twitter&id=1", "https://example.com/path?id=1"),
    ("https://example.com/path?fbclid=abc123&id=1", "https://example.com/path?id=1"),
    ("https://example.com/a/b/../c", "https://example.com/a/c"),
    ("http://example.com/path", "https://example.com/path"),
    ("https://example.com/path?utm_source=x", "https://example.com/path"),
]


@pytest.mark.parametrize(("given_url", "expected"), SEED_EXAMPLES)
def test_canonical_form_follows_the_seeds_examples(given_url: str, expected: str) -> None:
    assert canonical(given_url) == expected


@pytest.mark.parametrize(
    "url", ["https://example.com./path", "http://EXAMPLE.com.:80/path/", "https://example.com\u3002/path"]
)
def test_a_host_is_the_same_with_the_dot_of_the_root_and_is_asked_as_given(url: str) -> None:
    assert (canonical(url), host_of(url)) == ("https://example.com/path", "example.com")
    assert url_key(url) == url_key("https://example.com/path")
    assert read_url(url)[1:] == ("https://example.com/path", "example.com")
    assert "//example.com./path" in read_url(url).href


@pytest.mark.parametrize(("url", "host"), [("http://./", "."), ("http://a../", "a.."), ("http://1.2.3.4./", "1.2.3.4")])
def test_what_ends_in_a_dot_and_is_no_name_stays_as_it_is(url: str, host: str) -> None:
    assert host_of(url) == host
    assert canonical(canonical(url)) == canonical(url)


def test_values_of_one_parameter_keep_their_order() -> None:
    assert canonical("https://example.com/?b=2&a=9&a=1") == "https://example.com/?a=9&a=1&b=2"


def test_http_and_https_are_one_page() -> None:
    assert url_key("HTTP://Example.com/path?b=2&a=1") == url_key("https://example.com/path?a=1&b=2")
    assert len(url_key("https://example.com/")) == 32


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://example.com/path", "example.com"),
        ("https://example.com:8080/path", "example.com"),
        ("https://www.example.com/path", "www.example.com"),
    ],
)
def test_host_leaves_the_port_out(url: str, host: str) -> None:
    assert host_of(url) == host


@pytest.mark.parametrize(
    ("typed", "url"),
    [
        ("example.com/feed", "https://example.com/feed"),
        ("  http://example.com/feed ", "http://example.com/feed"),
        ("localhost:8000/feed", "https://localhost:8000/feed"),
        ("example.com:8000", "https://example.com:8000/"),
        ("HTTP://EXAMPLE.com", "http://example.com/"),
        ("münchen.example/ä", "https://xn--mnchen-3ya.example/%C3%A4"),
    ],
)
def test_what_a_person_types_becomes_a_url(typed: str, url: str) -> None:
    assert complete_url(typed) == url


REFUSED = [
    "", "   ", "file:///etc/passwd", "javascript:alert(1)", "ftp://example.com/", "http://", "feed:https://example.com/",
    "http://user:pw@example.com/", "http://user@example.com/", "https://exa mple.com/",
    "https://example.com/" + "a" * 3000, "https://\ud800.example/", "/feed.xml", "./feed.xml", "~/feed.xml",
]  # fmt: skip


@pytest.mark.parametrize("typed", REFUSED, ids=lambda typed: ascii(typed[:30]))
def test_what_cannot_be_followed_is_refused(typed: str) -> None:
    with pytest.raises(InvalidUrl):
        complete_url(typed)


def test_a_backslash_is_no_way_around_the_host() -> None:
    assert host_of("http://example.com\\@evil.example/") == "example.com"


def test_a_relative_link_is_read_against_its_base() -> None:
    assert parse_url("../c?d", base="https://example.com/a/b") == "https://example.com/c?d"


@given(st.text())
def test_any_text_is_a_url_or_is_refused(text: str) -> None:
    try:
        url = complete_url(text)
    except InvalidUrl:
        return

    assert canonical(url) == canonical(canonical(url))
    assert url_key(url) == url_key(canonical(url))


@pytest.mark.parametrize(
    ("host", "other", "same"),
    [
        ("example.com", "example.com", True),
        ("www.example.com", "news.example.com", True),
        ("news.example.com", "example.com", True),
        ("www.example.com.", "example.com", True),
        ("example.com", "news.example.com.", True),
        ("example.com", "notexample.com", False),
        ("one.example.com", "two.example.com", False),
        ("example.com", "example.org", False),
    ],
)
def test_a_site_is_a_host_and_what_lies_inside_of_it(host: str, other: str, same: bool) -> None:
    assert is_same_site(host, other) is is_same_site(other, host) is same


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/a.PDF?x=1", True),
        ("/a/b.tar.gz", True),
        ("/", False),
        ("/a.html", False),
        ("/v1.2/x", False),
        ("/x.com", False),
    ],
)
def test_a_file_is_known_by_how_its_name_ends(path: str, expected: bool) -> None:
    assert is_file(f"https://example.com{path}") is expected


def test_a_url_and_its_key_come_with_one_look() -> None:
    for text in ("HTTP://Example.com:80/a/?utm_source=x&b=1#part", " https://example.com/%7Ename "):
        assert url_and_key(text) == (parse_url(text), url_key(text))
    with pytest.raises(InvalidUrl):
        url_and_key("javascript:alert(1)")


@pytest.mark.parametrize(
    ("url", "site"),
    [
        ("https://example.com/a", "example.com"),
        ("http://EXAMPLE.com:8080/", "example.com"),
        ("https://news.example.com./", "example.com"),
        ("https://a.b.example.co.uk/", "example.co.uk"),
        ("https://a.github.io/", "a.github.io"),  # the private section: each name has an owner of its own
        ("https://x.a.github.io/", "a.github.io"),
        ("https://github.io/", "github.io"),
        ("https://ada.substack.com/p/1", "ada.substack.com"),  # not on the list
        ("https://www.ada.wordpress.com/", "ada.wordpress.com"),
        ("https://www.medium.com/@ada", "medium.com"),
        ("https://medium.com/@ada", "medium.com"),
        ("https://co.uk/", "co.uk"),
        ("https://a.b.foo.ck/", "b.foo.ck"),  # a wildcard rule
        ("https://a.www.ck/", "www.ck"),  # and its exception
        ("https://www.xn--mnchen-3ya.de/", "münchen.de"),
        ("https://www.münchen.de/", "münchen.de"),
        ("https://a.b.xn--55qx5d.cn/", "b.公司.cn"),  # a suffix that the list names in Unicode
        ("https://a.site.internal/", "site.internal"),  # a suffix that it does not name
        ("http://127.0.0.1/", "127.0.0.1"),
        ("http://127.0.0.1:80/", "127.0.0.1"),
        ("http://127.0.0.1:443/", "127.0.0.1"),
        ("https://127.0.0.1:80/", "127.0.0.1"),
        ("http://127.0.0.1:8001/", "127.0.0.1:8001"),
        ("http://0x7f.1:8001/", "127.0.0.1:8001"),
        ("http://[::1]:8001/", "[::1]:8001"),
        ("http://localhost:8001/", "localhost:8001"),
        ("http://a.localhost:8001/", "a.localhost"),
    ],
)
def test_a_site_is_the_registrable_domain_or_an_address_with_its_port(url: str, site: str) -> None:
    assert site_of(url) == site


BLOG_HOSTS = [
    "beehiiv.com", "blog.jp", "blogfa.com", "canalblog.com", "cocolog-nifty.com", "dreamwidth.org", "exblog.jp",
    "ghost.io", "hashnode.dev", "jimdofree.com", "livedoor.blog", "livejournal.com", "mataroa.blog", "medium.com",
    "micro.blog", "neocities.org", "over-blog.com", "posthaven.com", "prose.sh", "squarespace.com", "substack.com",
    "svbtle.com", "tistory.com", "tumblr.com", "typepad.com", "weebly.com", "wordpress.com", "write.as",
]  # fmt: skip


@pytest.mark.parametrize("host", BLOG_HOSTS)
def test_each_blog_of_a_blog_host_is_a_site(host: str) -> None:
    assert site_of(f"https://ada.{host}/feed") == site_of(f"https://www.ada.{host}/feed") == f"ada.{host}"


def test_a_name_that_has_no_spelling_in_unicode_has_a_site() -> None:
    assert site_of("https://www.xn--fa-hia.de/feed") == "xn--fa-hia.de"


@given(st.text())
def test_any_url_has_a_site(text: str) -> None:
    try:
        url = complete_url(text)
    except InvalidUrl:
        return

    assert site_of(url)
    assert site_of(url) == site_of(canonical(url))


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("https://a.example/feed.xml", "https://a.example/feed.xml"),
        ("https://a.example/feed?token=abc&page=&x", "https://a.example/feed?token=***&page=&***"),
        ("https://ann:pass@a.example:8000/", "https://***@a.example:8000/"),
        ("https://a.example/p/8c1fe2a9d0b3c4e5f6a7/feed", "https://a.example/p/***/feed"),
        ("https://a.example/f/123e4567-e89b-12d3-a456-426614174000.xml", "https://a.example/f/***"),
        ("https://a.example/2026/why-rivers-meander-in-2026", "https://a.example/2026/why-rivers-meander-in-2026"),
        ("https://a.example/f/wZ3-kP9qX_7Ld0sT4vB1nQ/feed", "https://a.example/f/***/feed"),
        ("https://a.example/f/8c1fe2a9d0-b3c4e5f6a7b8.xml", "https://a.example/f/***"),
        ("https://a.example/iPhone15-and-COP29-on-2026-11-18", "https://a.example/iPhone15-and-COP29-on-2026-11-18"),
        ("https://a.example/US-UK-EU-G7-G20-COP29-Deal.html", "https://a.example/US-UK-EU-G7-G20-COP29-Deal.html"),
        ("https://a.example/feed-v1.2.3-release-notes.xml", "https://a.example/feed-v1.2.3-release-notes.xml"),
        ("see https://a.example/?k=1 and b", "see https://a.example/?k=*** and b"),
        ("https://a.example/#access=1", "https://a.example/#***"),
        ("to 'ftp://ann:pass@a.example/x?token=abc'", "to 'ftp://***@a.example/x?token=***'"),
        ("//ann:pass@a.example/x?token=abc", "//***@a.example/x?token=***"),
        ("https://a.example/o'brien/feed?token=abc", "https://a.example/o'brien/feed?token=***"),
        ("https://a.example/'(b)',c''?token=abc", "https://a.example/'(b)',c''?token=***"),
        ("it's 'https://a.example/?k=1', or not", "it's 'https://a.example/?k=***', or not"),
        ("{'url':'https://a.example/?k=1','x':1}", "{'url':'https://a.example/?k=***','x':1}"),
        (
            "['https://a.example/?k=1', 'https://b.example/?k=2']",
            "['https://a.example/?k=***', 'https://b.example/?k=***']",
        ),
        ("either//or // neither", "either//or // neither"),
        ("no address", "no address"),
    ],
)
def test_what_may_be_a_secret_in_a_url_is_masked(given: str, shown: str) -> None:
    assert masked(given) == shown
    assert masked(shown) == shown


def test_random_keys_are_masked_also_with_hyphens() -> None:
    random = Random(1)
    keys = [urlsafe_b64encode(random.randbytes(32)).decode().rstrip("=") for _ in range(1000)]

    shown = [key for key in keys if masked(f"https://a.example/f/{key}/feed") != "https://a.example/f/***/feed"]

    assert len(shown) <= 5


@pytest.mark.parametrize("part", ["a1-", "a.", "a-", "a:", "a+a.", "//", "/'", "a'//", "//',"])
def test_any_text_is_masked_in_linear_time(part: str) -> None:
    started = process_time()
    masked(part * 20_000 + " //")

    assert process_time() - started < 1  # several seconds if the time grows with the square


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        ("harbour.example", "harbour.example"),
        ("a.b.harbour.example", "harbour.example"),
        ("news.harbour.co.uk", "harbour.co.uk"),
        ("a.b.harbour.gov.br", "harbour.gov.br"),
        ("x.harbour.github.io", "harbour.github.io"),
        ("www.xn--bcher-kva.de", "xn--bcher-kva.de"),
        ("co.uk", "co.uk"),
        ("a.7.example", "7.example"),
        ("127.0.0.1", "127.0.0.1"),
        ("2001:db8::1", "2001:db8::1"),
        ("[::1]", "[::1]"),
        ("localhost", "localhost"),
    ],
)
def test_the_domain_of_a_host_is_the_registrable_one_as_the_host_writes_it(host: str, domain: str) -> None:
    assert domain_of(host) == domain


@pytest.mark.parametrize(
    "name",
    ["fbclid", "gclid", "gclsrc", "dclid", "msclkid", "ref", "utm_source", "utm_medium", "utm_campaign", "utm_term",
     "utm_content"],
)  # fmt: skip
def test_every_tracking_parameter_is_removed_and_no_other(name: str) -> None:
    assert canonical(f"https://example.com/?{name}=1&id=2") == canonical("https://example.com/?id=2")
    assert canonical(f"https://example.com/?{name}x=1") != canonical("https://example.com/")


@pytest.mark.parametrize("url", ["http://example.com:443/", "https://example.com:80/"])
def test_the_default_ports_of_both_schemes_are_dropped(url: str) -> None:
    assert canonical(url) == canonical(url.replace(":443", "").replace(":80", ""))


def test_a_url_may_have_2048_characters() -> None:
    longest = "https://example.com/".ljust(2048, "a")

    assert read_url(longest).href == longest
    with pytest.raises(InvalidUrl, match="longer than 2048 characters"):
        read_url(longest + "a")


def test_a_host_may_have_253_characters() -> None:
    longest = f"https://{('a' * 49 + '.') * 5}com/"

    assert read_url(longest).href == longest
    with pytest.raises(InvalidUrl, match="host name is longer than 253 characters"):
        read_url(longest.replace("com", "info"))


@pytest.mark.parametrize(
    ("read", "url", "shown"),
    [
        (read_url, "https://example.com/".ljust(2049, "a"), "https://example.com/".ljust(60, "a") + "…"),
        (read_url, f"https://{'a' * 254}/", "https://".ljust(60, "a") + "…"),
        (site_of, "a" * 61, "a" * 60),
    ],
    ids=["long", "long host", "invalid"],
)
def test_an_error_shows_the_first_60_characters_of_a_long_url(
    read: Callable[[str], object], url: str, shown: str
) -> None:
    with pytest.raises(InvalidUrl) as refused:
        read(url)

    assert refused.value.url == shown

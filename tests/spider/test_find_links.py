import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.spider.find_links import find_links
from headwater.spider.types import Links

URL = "https://example.com/news/"


def links(
    page: str | bytes, *, content_type: str = "text/html", patterns: tuple[str, ...] = (), most: int = 100
) -> Links:
    body = page.encode() if isinstance(page, str) else page
    return find_links(body, url=URL, content_type=content_type, sites=["example.com"], patterns=patterns, most=most)


def a(href: str, more: str = "") -> str:
    return f"<a href='{href}' {more}>x</a>"


def test_links_are_absolute_each_once_and_by_kind() -> None:
    page = (
        a("/2026/03/01/one") + a("world/") + a("/2026/03/01/one#comments") + a("//example.com/2026/03/01/two")
        + a("https://other.example/2026/03/01/three") + a("#top") + a("/news/") + a("/login")
    )  # fmt: skip

    found = links(page)

    assert found.articles == ["https://example.com/2026/03/01/one", "https://example.com/2026/03/01/two"]
    assert found.lists == ["https://example.com/news/world/"]
    assert found.external == ["https://other.example/2026/03/01/three"]
    assert found.found == 5


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(a("/x", "rel=nofollow"), id="nofollow"),
        pytest.param(a("/x", "rel='noopener UGC'"), id="what readers wrote"),
        pytest.param(f"<meta name=robots content='noindex, nofollow'>{a('/x')}", id="the whole page"),
        pytest.param(a("javascript:alert(1)") + a("mailto:a@example.com") + a("data:text/html,x"), id="other schemes"),
        pytest.param(a("http://user:pass@example.com/x"), id="credentials"),
        pytest.param(a("/" + "x" * 3000), id="too long"),
        pytest.param(f"<!-- {a('/x')} --><script>{a('/x')}</script><title>{a('/x')}</title>", id="not in the page"),
        pytest.param(a("http://[bad/"), id="nonsense"),
        pytest.param("<a>x</a><a href>x</a><a href=''>x</a>", id="without an address"),
    ],
)
def test_what_is_not_to_be_followed_is_not(page: str) -> None:
    found = links(page)

    assert (found.articles, found.lists, found.external) == ([], [], [])


def test_a_base_counts_once_and_a_canonical_address_is_a_link() -> None:
    page = f"<base href='/other/'><base href='/wrong/'><link rel=canonical href='/all'>{a('deep')}"

    assert links(page).lists == ["https://example.com/all", "https://example.com/other/deep"]


def test_only_so_many_links_are_looked_at() -> None:
    assert len(links("".join(a(f"/{number}/") for number in range(50)), most=10).lists) == 10


@pytest.mark.parametrize(
    ("page", "content_type"),
    [
        (a("/höhe").encode(), "text/html; charset=utf-8"),
        (a("/höhe").encode("latin-1"), "text/html; charset=iso-8859-1"),
        (b"<meta charset=latin1>" + a("/höhe").encode("latin-1"), "text/html"),
        (a("/höhe").encode("latin-1"), "text/html"),
        (a("/höhe").encode(), "text/html; charset=klingon"),
        (a("/höhe").encode("utf-16"), "text/html; charset=utf-16"),
    ],
    ids=["utf-8", "header", "meta", "guessed", "unknown", "utf-16"],
)
def test_addresses_are_read_in_the_encoding_of_the_page(page: bytes, content_type: str) -> None:
    assert links(page, content_type=content_type).lists == ["https://example.com/h%C3%B6he"]


@given(st.binary(max_size=300) | st.text(alphabet="<a href='\"=/>x-!&;\n", max_size=200).map(str.encode))
def test_no_page_breaks_it(page: bytes) -> None:
    assert links(page).found >= 0


def test_a_page_of_one_endless_tag_is_read_in_one_pass() -> None:
    page = b"<a " + b"x " * 400_000 + b"href=/y>" + b"<div>" * 200_000 + a("/z").encode()

    assert links(page).lists == ["https://example.com/z"]


def test_a_number_with_thousands_of_digits_is_no_error() -> None:
    assert links(a(f"/2026/03/01/one&#{'1' * 5000};") + a("/2026/03/01/two")).articles[-1].endswith("/two")

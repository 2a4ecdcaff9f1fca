import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.reading.links import absolute, link_set, link_target, rebase, unescape_query

BASE = "https://example.com/blog/feed.xml"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://example.org", "https://example.org"),
        ("HTTP://Example.org/A", "http://Example.org/A"),
        (" https://example.org/a b ", "https://example.org/a b"),
        ("https://example.org/a\n  /b", "https://example.org/a/b"),
        ("http:////example.org/", "http://example.org/"),
        ("http:\\\\example.org/", "http://example.org/"),
        ("post/1", "https://example.com/blog/post/1"),
        ("/post/1", "https://example.com/post/1"),
        ("//cdn.example.org/x", "https://cdn.example.org/x"),
        ("?p=1", "https://example.com/blog/feed.xml?p=1"),
        ("é", "https://example.com/blog/%C3%A9"),
        ("", None),
        (None, None),
        ("http://", None),
        ("http://?x", None),
        ("javascript:alert(1)", None),
        ("java\nscript:alert(1)", None),
        ("\x01javascript:alert(1)", None),
        ("mailto:ann@example.com", None),
        ("data:text/html,x", None),
        ("urn:uuid:1", None),
        ("https://example.org/" + "x" * 10_000, None),
    ],
)
def test_a_link_is_absolute_and_leads_to_the_web_or_is_none(text: str | None, expected: str | None):
    assert absolute(text, BASE) == expected


@given(st.text(max_size=40), st.sampled_from([BASE, "", "x", "http://[", "https://ü.example/"]))
def test_any_text_on_any_base_is_a_link_or_none(text: str, base: str):
    found = absolute(text, base)

    assert found is None or found.startswith(("http://", "https://"))


def test_a_base_that_leads_nowhere_changes_nothing():
    assert rebase(BASE, "javascript:x") == BASE
    assert rebase(BASE, None) == BASE
    assert rebase(f"https://example.com/{'x' * 800}/", "y" * 800).endswith("x/")
    assert rebase(BASE, "/other/") == "https://example.com/other/"


def test_every_candidate_of_a_srcset_becomes_absolute():
    found = link_set("a.jpg 1x, /b,c.jpg 2x, javascript:x 3x,https://e.org/d.jpg 640w", BASE)

    assert found == "https://example.com/blog/a.jpg 1x, https://example.com/b,c.jpg 2x, https://e.org/d.jpg 640w"


def test_a_query_that_was_escaped_twice_is_put_right():
    assert unescape_query("http://e.org/?a=1&amp;b=2&c;") == "http://e.org/?a=1&b=2&c"


@pytest.mark.parametrize(
    ("href", "expected"),
    [
        ("/a/../b c", "https://example.com/b%20c"),
        ("HTTP://Example.org:80/é", "http://example.org/%C3%A9"),
        ("#top", BASE + "#top"),
        ("", None),
        (" ", None),
        (None, None),
        ("mailto:ann@example.com", None),
        ("javascript:alert(1)", None),
        ("https://ann:secret@example.org/", None),
        ("/" + "é" * 2_000, None),
    ],
)
def test_a_link_that_is_followed_is_normalised(href: str | None, expected: str | None):
    assert link_target(href, BASE) == expected

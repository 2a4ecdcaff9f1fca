import pytest
from hypothesis import given, settings

from headwater.polling.parse.proven import proven
from tests.polling.parse.markup import BASE, XSS, left_to_remove, soups


@pytest.mark.parametrize("html", XSS)
def test_a_hostile_tag_is_left_to_the_parser_or_comes_out_harmless(html: str):
    for wrapped in (html, f"<p>{html}</p>", f"<div><p>x</p>{html}</div>"):
        found = proven(wrapped, BASE)

        assert found is None or not left_to_remove(found), wrapped


@given(soups)
@settings(max_examples=1500, deadline=None)
def test_nh3_finds_nothing_left_to_remove_in_what_was_proven(html: str):
    found = proven(html, BASE)

    assert found is None or not left_to_remove(found)


@pytest.mark.parametrize(
    "html",
    [
        "<p>text</p>",
        "<div><p>one</p><ul><li>two <b>three</b></li></ul></div>",
        '<p><a href="https://e.org/?a=1&amp;b=2">x</a><br>y</p>',
        "<table><thead><tr><th>a</th></tr></thead> <tbody><tr><td>b</td></tr></tbody></table>",
        "<figure><picture><source srcset='/a.webp'><img src='/a.jpg'></picture></figure>",
        "<p>one<ul><li>two</li></ul>",
        "<ul><li><p>one</li></ul>",
    ],
)
def test_ordinary_markup_is_proven(html: str):
    assert proven(html, BASE) is not None


@pytest.mark.parametrize(
    "html",
    [
        "<b>open",
        "<b><i>crossed</b></i>",
        "<a href='/x'>link <a href='/y'>in link</a></a>",
        "<a href='/x'><div><a href='/y'>hidden</a></div></a>",
        "<table>text<tr><td>x</td></tr></table>",
        "<li>outside a list</li>",
        "<p>a < b</p>",
        "<P>shouting</P>",
        "<p title='a>b'>x</p>",
        "<svg></svg>",
        "<script>x</script>",
        "<p>nul\0</p>",
        "<!-- open",
        "<div>" * 300 + "</div>" * 300,
    ],
)
def test_what_needs_a_parser_is_not_proven(html: str):
    assert proven(html, BASE) is None

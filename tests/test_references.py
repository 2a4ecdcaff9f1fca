import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from headwater.references import unescape_attribute


@pytest.mark.parametrize(
    ("value", "meant"),
    [
        ("/x?a=1&section=2&region=eu", "/x?a=1&section=2&region=eu"),
        ("?a=1&amp;section=2", "?a=1&section=2"),
        ("&copy", "©"),
        ("&copy;=1", "©=1"),
        ("&copy &copyé", "© ©é"),
        ("&copy2", "&copy2"),
        ("&notin;&notit;", "∉&notit;"),
        ("&#60&#x3c;&#128;", "<<€"),
        ("&amp;amp;&&;", "&amp;&&;"),
        ("java&Tab;script&colon;x", "java\tscript:x"),
    ],
)
def test_a_query_is_not_taken_for_a_character(value: str, meant: str):
    assert unescape_attribute(value) == meant


_PIECES = ("&", ";", "=", "#", "x", "X", "3", "c", "é", " ", "amp", "copy", "section", "notin", "lang", "frac12", "AMP")


@given(st.lists(st.sampled_from(_PIECES), max_size=10).map("".join))
def test_an_attribute_means_what_it_means_to_a_browser(value: str):
    paragraph = LexborHTMLParser(f'<p title="{value}">').css_first("p")

    assert paragraph is not None
    assert unescape_attribute(value) == (paragraph.attributes["title"] or "")

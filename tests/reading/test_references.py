from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from headwater.reading.text import unescape, unescape_attribute


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


@pytest.mark.parametrize("read", [unescape, unescape_attribute])
def test_a_number_of_any_length_is_a_character_or_its_stand_in(read: Callable[[str], str]):
    assert read(f"a&#{'1' * 5000};b") == "a\ufffdb"
    assert read(f"a&#{'0' * 5000}65;b &#{'0' * 5000};") == "aAb \ufffd"
    assert read(f"a&#x{'1' * 5000};b &#00000065 &#12345678;") == "a\ufffdb A \ufffd"
    assert read("&amp;#11111111;") == "&#11111111;"


_PIECES = ("&", ";", "=", "#", "x", "X", "3", "c", "é", " ", "amp", "copy", "section", "notin", "lang", "frac12", "AMP")


@given(st.lists(st.sampled_from(_PIECES), max_size=10).map("".join))
def test_an_attribute_means_what_it_means_to_a_browser(value: str):
    paragraph = LexborHTMLParser(f'<p title="{value}">').css_first("p")

    assert paragraph is not None
    assert unescape_attribute(value) == (paragraph.attributes["title"] or "")

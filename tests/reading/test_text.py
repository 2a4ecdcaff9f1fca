from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from headwater.reading.text import searchable, storable, without_markup, xml_safe


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("", ""),
        ("é☃ a\tb\r\nc\u00a0", "é☃ a\tb\r\nc\u00a0"),
        ("a\0b\x01\x0b\x7f", "ab"),
        ("é\0☃", "é☃"),
        ("half \ud800 pair", "half ? pair"),
    ],
)
def test_control_characters_are_removed_and_lone_surrogates_replaced(text: str, kept: str):
    assert storable(text) == kept


def test_a_letter_and_its_accent_become_one_character_in_what_is_searched_only():
    assert searchable("Cafe\u0301\0") == "Caf\u00e9"
    assert storable("Cafe\u0301") == "Cafe\u0301"


@given(st.text(st.characters()))
def test_what_is_storable_is_valid_unicode_without_nul_and_stays_as_it_is(text: str):
    kept = storable(text)

    assert kept.encode().decode() == kept
    assert "\0" not in kept
    assert storable(kept) == kept


@given(st.text(st.characters()))
def test_xml_holds_what_is_safe_for_it(text: str):
    element = etree.Element("a")
    element.text = xml_safe(text)

    assert etree.tostring(element)


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("plain", "plain"),
        ("<p>a</p><p>b &amp; <b>c</b>d</p>", " a b & cd"),
        ("a<script>x</script><style>y", "a"),
        ("1 < 2 <!-- no --> <!-- open", "1 < 2  "),
    ],
)
def test_the_text_of_html_is_without_tags_comments_and_scripts(html: str, text: str):
    assert without_markup(html) == text


@pytest.mark.parametrize("markup", ["<!--" * 25_000, "<!-- a -->" + "<!--" * 25_000])
def test_comments_without_end_take_no_longer_than_other_markup(markup: str) -> None:
    started = process_time()

    assert without_markup(markup) == ""

    assert process_time() - started < 2  # 10 s, if the time grew with the square

"""A summary without a language model: each story once, in its own words, with links, and always the same."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.library.summaries.decide import to_html
from headwater.library.summaries.extractive import STORIES, sentences_in, summarise, words_in
from tests.library.summaries.day import ENGLISH, EVERY, FOOTER, FRENCH, GERMAN, JAPANESE, RUSSIAN, a_day


def shown(told: list[tuple[str, str, str]]) -> str:
    """The summary's words, without markup."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "", to_html(summarise(a_day(told))))).replace("&amp;", "&")


def stories(told: list[tuple[str, str, str]]) -> list[str]:
    return re.findall(r"<li>(.*?)</li>", to_html(summarise(a_day(told))), re.DOTALL)


def test_a_story_of_three_feeds_is_listed_once_and_first() -> None:
    first, *others = stories(ENGLISH)

    assert "Storm Edda floods Bremvik harbour" in first
    assert "left 14,000 homes without power" in first
    assert "Also in" in first
    assert ">National Wire</a>" in first
    assert ">Sea &amp; Ships</a>" in first
    assert not any("Edda" in other for other in others)


def test_a_story_of_two_feeds_is_above_a_story_of_one() -> None:
    assert "entral bank" in stories(ENGLISH)[1]
    assert "Museum" not in stories(ENGLISH)[1]


@pytest.mark.parametrize(
    ("told", "count", "words"),
    [
        (GERMAN, 2, "Der Fernverkehr der Bahn fällt weitgehend aus."),
        (FRENCH, 1, "Le Parlement a adopté mercredi la loi sur l'eau par 312 voix contre 190."),
        (RUSSIAN, 1, "Спасатели сняли с отколовшейся льдины 38 рыбаков."),
        (JAPANESE, 1, "東京と仙台の間の新幹線は水曜日の朝から運休している。"),
    ],
    ids=["german", "french", "russian", "japanese"],
)
def test_other_languages_are_summarised_in_their_own_words(
    told: list[tuple[str, str, str]], count: int, words: str
) -> None:
    assert len(stories(told)) == count
    assert words in shown(told)


def test_stories_of_several_languages_are_not_mixed_up() -> None:
    text = summarise(a_day(EVERY))

    assert "report 11 stories" in shown(EVERY)
    assert text.count("Also in") == 5


def test_stories_that_do_not_fit_are_listed_by_title() -> None:
    text = shown(EVERY)

    assert len(stories(EVERY)) == STORIES
    assert "Also: " in text
    assert "Cup final goes to penalties" in text


def test_a_footer_that_a_feed_repeats_is_ignored() -> None:
    assert FOOTER not in shown(ENGLISH)


def test_of_many_feeds_with_one_story_some_are_named() -> None:
    told = [(f"Feed {number}", ENGLISH[0][1], ENGLISH[0][2]) for number in range(24)]

    (only,) = stories(told)

    assert only.count('href="/articles/') == 21
    assert "and 3 others." in only


def test_every_link_leads_to_an_article_it_was_given() -> None:
    day = a_day(EVERY)

    linked = set(re.findall(r'href="([^"]*)"', to_html(summarise(day))))

    assert linked
    assert linked <= {f"/articles/{article.id}" for article in day}


def test_a_summary_of_the_same_articles_is_the_same() -> None:
    assert summarise(a_day(EVERY)) == summarise(a_day(EVERY))


def test_markup_in_titles_and_texts_is_shown_and_does_nothing() -> None:
    title = "**Bold** <script>alert(1)</script> [x](javascript:alert(1)) `code`"
    text = "A sentence with <img src=x onerror=alert(1)> and [a link](https://evil.example/) in it. " * 2
    html = to_html(summarise(a_day([("<b>Feed</b>", title, text)])))

    assert "<script" not in html
    assert "<img" not in html
    assert "evil.example/" not in "".join(re.findall(r'href="([^"]*)"', html))
    assert "**Bold** &lt;script&gt;" in html
    assert "· &lt;b&gt;Feed&lt;/b&gt;<br>" in html


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Dr. Ada Holm spoke to the council on Monday. Nobody answered her at all, sources say.", 2),
        ("The U.S. economy grew by 2.5 percent in the quarter, the office said on Friday.", 1),
        ("Die Partei fordert z. B. kürzere Schichten für alle. Die Bahn lehnt das weiterhin ab.", 2),
        ("これは最初の文であり、十分に長い。次の文も同じように十分に長い文である！", 2),
        ("هل ستنخفض أسعار الفائدة في البلاد هذا العام؟ يقول البنك إن ذلك ممكن في الصيف.", 2),
        ("A heading without a stop\nThe first real sentence follows after the line break here.", 1),
        ("Too short. Also.", 0),
        ("", 0),
    ],
    ids=["title", "initials", "german", "japanese", "arabic", "heading", "fragments", "empty"],
)
def test_sentences_end_where_they_end(text: str, sentences: int) -> None:
    assert len(sentences_in(text)) == sentences


def test_words_are_compared_without_case_and_common_ones() -> None:
    assert list(words_in("The Bank’s RATE is ２ percent and the bank's")) == ["bank", "rate", "percent", "bank"]
    assert list(words_in("新幹線")) == ["新幹", "幹線"]


texts = st.text(max_size=300) | st.lists(st.sampled_from("ab. \n!。「[]()<>*_`\\#&;新😀"), max_size=200).map("".join)


@settings(max_examples=150)
@given(st.lists(st.tuples(st.sampled_from(["A", "B"]), texts, texts), min_size=1, max_size=8))
def test_any_text_is_summarised_with_links_to_articles_only(told: list[tuple[str, str, str]]) -> None:
    html = to_html(summarise(a_day(told)))

    assert "in the last 24 hours" in html
    assert all(link.startswith("/articles/") for link in re.findall(r'href="([^"]*)"', html))

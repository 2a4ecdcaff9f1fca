"""A later, poorer extraction never overwrites a richer one."""

from dataclasses import replace

import pytest

from headwater.articles.decide import STILL_AS_RICH, is_of_site, plan_content, richness
from headwater.articles.types import ContentChange, Extracted, Finder, Stored
from headwater.urls import url_key
from tests.articles.builders import a_record
from tests.clock import START


def stored(record: Extracted) -> Stored:
    return Stored(record, None, None, 3)


LONG = a_record("one two three four five six seven eight nine ten " * 10, authors=("Ann",), published_at=START)


def test_the_first_record_is_taken_as_it_is() -> None:
    plan = plan_content(None, LONG)

    assert (plan.change, plan.takes_text, plan.merged) == (ContentChange.NEW, True, LONG)


def test_the_same_again_changes_nothing() -> None:
    assert plan_content(stored(LONG), LONG).change is ContentChange.UNCHANGED


@pytest.mark.parametrize(
    ("words", "takes"),
    [(100, True), (200, True), (int(100 * STILL_AS_RICH), True), (int(100 * STILL_AS_RICH) - 1, False), (5, False)],
)
def test_a_text_gives_way_only_to_one_that_is_not_much_shorter(words: int, takes: bool) -> None:
    new = a_record(" ".join(f"other{number}" for number in range(words)))

    plan = plan_content(stored(LONG), replace(new, title="Another"))

    assert plan.takes_text is takes
    assert plan.change is (ContentChange.RENEWED if takes else ContentChange.UNCHANGED)
    assert plan.merged.title == ("Another" if takes else LONG.title)
    assert plan.merged.content_hash == (new if takes else LONG).content_hash
    assert plan.merged.word_count == (words if takes else LONG.word_count)


@pytest.mark.parametrize("words", [0, 500])
def test_a_page_without_text_takes_no_text_away(words: int) -> None:
    empty = Extracted(title="Just a moment…", word_count=words)

    plan = plan_content(stored(LONG), empty)

    assert plan.change is ContentChange.UNCHANGED
    assert (plan.merged.title, plan.merged.word_count) == (LONG.title, LONG.word_count)


def test_a_field_that_was_found_once_is_not_lost() -> None:
    new = a_record("other words " * 60, title=None, language=None)

    merged = plan_content(stored(LONG), new).merged

    assert (merged.title, merged.authors, merged.published_at) == (LONG.title, ("Ann",), START)
    assert merged.text == new.text


def test_a_poorer_reading_adds_what_was_missing_and_changes_nothing_else() -> None:
    poorer = a_record("a stub", title="Another", description="In short", origins={"description": Finder.META})

    plan = plan_content(stored(LONG), poorer)

    assert (plan.change, plan.merged.title, plan.merged.description) == (ContentChange.ENRICHED, LONG.title, "In short")
    assert plan.merged.origins["description"] is Finder.META


def test_the_same_text_with_a_better_title_is_renewed_in_its_fields() -> None:
    plan = plan_content(stored(LONG), replace(LONG, title="A better title"))

    assert (plan.change, plan.takes_text, plan.merged.title) == (ContentChange.ENRICHED, False, "A better title")


def test_richness_counts_words_and_fields() -> None:
    assert richness(Extracted()) == 0
    assert richness(Extracted(word_count=7, title="T", authors=("Ann",))) == 7 + 20 + 20
    assert richness(LONG) > richness(replace(LONG, authors=())) > richness(replace(LONG, authors=(), word_count=5))


PAGE = "https://paper.example/story"


@pytest.mark.parametrize(
    ("url", "key", "site", "expected"),
    [
        (PAGE, url_key(PAGE), "paper.example", True),
        ("https://www.paper.example/story", url_key("https://www.paper.example/story"), "paper.example", True),
        (PAGE, url_key(PAGE), "other.example", False),
        (PAGE, b"of the feed and the entry", "other.example", True),  # an entry without a page of its own
        ("not a url", b"x", "paper.example", False),
    ],
)
def test_which_feeds_may_write_an_article(url: str, key: bytes, site: str, expected: bool) -> None:
    assert is_of_site(url, key, site) is expected


def test_a_stored_url_that_is_too_long_is_judged_by_its_site() -> None:
    long = PAGE + "?" + "x" * 3000

    assert not is_of_site(long, b"x", "other.example")


def test_the_origin_of_the_text_goes_with_the_text() -> None:
    old = replace(LONG, origins={"text": Finder.JSON_LD})
    richer = replace(a_record("other words " * 80), origins={"text": Finder.SELECTOR})
    poorer = replace(a_record("few words"), origins={"text": Finder.SELECTOR})

    assert plan_content(stored(old), richer).merged.origins["text"] is Finder.SELECTOR
    assert plan_content(stored(old), poorer).merged.origins["text"] is Finder.JSON_LD

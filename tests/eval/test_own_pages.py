"""The floor of extraction in every clone: text and fields of the project's own pages.

The floors are what was reached when they were set, less a little for other versions of the libraries.
"""

from datetime import UTC, datetime
from functools import cache

import pytest
from trafilatura import extract as extract_theirs

from headwater.articles.types import Extracted
from headwater.extraction.extract import extract
from tests.eval.articles import Score, score_of
from tests.eval.own_pages import OwnPage, own_pages

F1_FLOOR = 0.99
WORST_PAGE_FLOOR = 0.9
PAGES = {each.page.name: each for each in own_pages()}


@cache
def records() -> dict[str, Extracted]:
    return {name: extract(each.page.html, url=each.page.url) for name, each in PAGES.items()}


@cache
def ours() -> Score:
    return score_of(lambda page: records()[page.name].text, [each.page for each in own_pages()])


def test_f1_stays_above_its_floor_and_above_trafilaturas_own() -> None:
    theirs = score_of(lambda page: extract_theirs(page.html) or "", [each.page for each in own_pages()])

    print(f"F1 {ours().f1:.4f} (P {ours().precision:.4f} R {ours().recall:.4f}), trafilatura {theirs.f1:.4f}")  # noqa: T201

    assert ours().f1 >= F1_FLOOR
    assert ours().f1 >= theirs.f1


@pytest.mark.parametrize("name", PAGES)
def test_no_page_falls_below_its_floor(name: str) -> None:
    precision, recall = ours().pages[name]

    assert min(precision, recall) >= WORST_PAGE_FLOOR, records()[name].text


@pytest.mark.parametrize("each", PAGES.values(), ids=list(PAGES))
def test_the_fields_that_a_page_states_are_found(each: OwnPage) -> None:
    record, story = records()[each.page.name], each.story.fields

    assert record.title == story["title"]
    if "author" in each.states:
        assert record.authors == (story["author"],)
    if "date" in each.states:
        assert record.published_at is not None
        assert record.published_at.date() == datetime.fromisoformat(story["date"]).replace(tzinfo=UTC).date()
    if "language" in each.states:
        assert record.language == story["language"]
    if "canonical" in each.states:
        assert record.canonical_url not in {None, each.page.url}


def test_nothing_of_the_markup_runs() -> None:
    for record in records().values():
        assert "<script" not in record.html
        assert "<style" not in record.html


def test_there_are_enough_pages_and_stories() -> None:
    assert len(PAGES) >= 40
    assert len({each.story.fields["title"] for each in PAGES.values()}) == 8

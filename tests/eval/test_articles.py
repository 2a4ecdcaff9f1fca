"""How well articles are extracted from pages that people marked by hand, beside trafilatura's own result.

The floors are what was reached when they were set, less a little for other versions of the libraries below: a change
may raise them, and none may fall under them.
"""

from collections import Counter
from functools import cache

import pytest
from trafilatura import extract as extract_theirs

from headwater.articles.types import Extracted
from headwater.extraction.extract import extract
from tests.eval.articles import ARTICLES, Score, marked_pages, score_of

pytestmark = pytest.mark.skipif(not ARTICLES.is_dir(), reason="the corpora do not lie beside the project")

F1_FLOOR = 0.98
WORST_PAGE_FLOOR = 0.6
# Of 91 pages; as many as say it somewhere.
FIELD_FLOORS = {"title": 91, "text": 91, "authors": 80, "published_at": 88, "canonical_url": 88, "image_url": 87}


@cache
def records() -> dict[str, Extracted]:
    return {page.name: extract(page.html, url=page.url, content_type="text/html") for page in marked_pages()}


@cache
def ours() -> Score:
    return score_of(lambda page: records()[page.name].text, marked_pages())


def test_f1_stays_above_its_floor_and_above_trafilaturas_own() -> None:
    theirs = score_of(lambda page: extract_theirs(page.html) or "", marked_pages())
    most_precise = score_of(
        lambda page: extract_theirs(page.html, favor_precision=True, include_comments=False) or "", marked_pages()
    )

    print(f"F1 {ours().f1:.4f} (P {ours().precision:.4f} R {ours().recall:.4f})")  # noqa: T201
    print(f"trafilatura {theirs.f1:.4f}, favouring precision {most_precise.f1:.4f}")  # noqa: T201

    assert ours().f1 >= F1_FLOOR
    assert ours().f1 >= theirs.f1
    assert ours().f1 >= most_precise.f1


def test_no_page_is_lost() -> None:
    found = {name: min(both) for name, both in ours().pages.items() if min(both) < WORST_PAGE_FLOOR}

    assert found == {}


@pytest.mark.parametrize("field", FIELD_FLOORS)
def test_fields_are_found_on_most_pages(field: str) -> None:
    found = Counter(str(record.origins[field]) for record in records().values() if field in record.origins)

    print(field, dict(found))  # noqa: T201

    assert found.total() >= FIELD_FLOORS[field]


def test_every_record_is_whole() -> None:
    for record in records().values():
        assert record.content_hash is not None
        assert "<script" not in record.html
        assert record.published_at is None or record.published_at.tzinfo is not None
        assert not record.text.startswith(record.title or "?") or record.title == record.text

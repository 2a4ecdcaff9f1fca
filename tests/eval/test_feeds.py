"""How well the parser reads feeds it has never been shown: feedparser's own files, and feeds as they were served.

The floors are what was reached when they were set: a change may raise them, and none may fall under them.
"""

import io
import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, cast

import feedparser
import pytest

from headwater.feeds import Entry, ParsedFeed, parse_feed
from headwater.reading.text import without_markup
from tests.eval.adapter import Line, Url, fold
from tests.eval.corpus import FEEDS, real_feeds
from tests.eval.rejects import REJECTED
from tests.eval.verdicts import Judged, Verdict, judged

pytestmark = pytest.mark.skipif(not FEEDS.is_dir(), reason="the corpora do not lie beside the project")

URL = "https://example.com/feed.xml"
AGREEMENT_FLOOR = 0.99
KEPT_FLOOR = 1450
RUNS = re.compile(r"""<(?:script|iframe|object|embed|style)\b|<[^>]*(?:\son\w+=|="javascript:)""", re.IGNORECASE)


def _moment(moment: Any) -> Any:
    return moment.utctimetuple() if moment else None


def _same_update(ours: Entry, theirs: dict[str, Any]) -> bool:
    return "updated_parsed" not in theirs.keys() or _moment(ours.updated_at) == theirs["updated_parsed"]  # noqa: SIM118


def _same_text(ours: Entry, theirs: dict[str, Any]) -> bool:
    contents = theirs.get("content")
    yours = contents[0]["value"] if contents else theirs.get("summary", "")
    return _letters(ours.content or ours.summary or "") == _letters(yours)


def _letters(html: str) -> str:
    return "".join(character for character in fold(without_markup(html)) if character.isalnum())


def test_agreement_with_feedparsers_files_stays_above_its_floor():
    counts = Counter(each.verdict for each in judged())
    kept = counts.total() - counts[Verdict.NOT_KEPT]
    agree = counts[Verdict.AGREE] + counts[Verdict.STRICTER]

    print({verdict.value: counts[verdict] for verdict in Verdict}, f"{agree / kept:.4f}")  # noqa: T201

    assert kept >= KEPT_FLOOR
    assert agree / kept >= AGREEMENT_FLOOR


def test_no_file_that_feedparser_gets_right_do_we_get_wrong_unless_on_purpose():
    wrong = {each.case.name: each.case.expect for each in _disagreements() if each.feedparser_agrees}

    assert {name: expect for name, expect in wrong.items() if name not in REJECTED} == {}


def test_every_reject_is_still_one():
    disagreed = {each.case.name for each in _disagreements()}

    assert sorted(REJECTED.keys() - disagreed) == []


def test_a_real_feed_gives_at_least_the_entries_that_feedparser_finds():
    fewer = {
        name: (len(ours.entries), len(theirs["entries"]))
        for name, ours, theirs in _both()
        if len(ours.entries) < len(theirs["entries"])
    }

    assert fewer == {}


@pytest.mark.parametrize(
    ("field", "floor", "same"),
    [
        ("title", 1.0, lambda ours, theirs: Line(ours.title) == theirs.get("title", "")),
        ("link", 1.0, lambda ours, theirs: Url(ours.url or "") == theirs.get("link", "")),
        ("id", 1.0, lambda ours, theirs: Url(ours.id) == theirs.get("id", ours.id)),
        ("published", 1.0, lambda ours, theirs: theirs.get("published_parsed") in {None, _moment(ours.published_at)}),
        ("updated", 1.0, _same_update),
        ("author", 0.98, lambda ours, theirs: not theirs.get("author") or ours.authors[0] in theirs["author"]),
        (
            "categories",
            1.0,
            lambda ours, theirs: list(ours.categories) == [tag["term"] for tag in theirs.get("tags", [])],
        ),
        ("enclosures", 1.0, lambda ours, theirs: len(ours.enclosures) >= len(theirs.get("enclosures", []))),
        ("text", 0.95, _same_text),
    ],
)
def test_entries_of_real_feeds_agree_with_feedparser(
    field: str, floor: float, same: Callable[[Entry, dict[str, Any]], bool]
):
    answers = [
        same(mine, yours)
        for _, ours, theirs in _both()
        for mine, yours in zip(ours.entries, theirs["entries"], strict=False)
    ]
    share = sum(answers) / len(answers)

    print(f"{field}: {share:.4f} of {len(answers)}")  # noqa: T201

    assert share >= floor


@pytest.mark.parametrize(
    ("field", "same"),
    [
        ("title", lambda ours, theirs: Line(ours.title) == theirs.get("title", "")),
        ("link", lambda ours, theirs: Url(ours.site_url or "") == theirs.get("link", "")),
        ("language", lambda ours, theirs: (ours.language or "").lower() == theirs.get("language", "").lower()),
    ],
)
def test_real_feeds_describe_themselves_as_feedparser_says(
    field: str, same: Callable[[ParsedFeed, dict[str, Any]], bool]
):
    different = [name for name, ours, theirs in _both() if not same(ours, theirs["feed"])]

    assert different == []


def test_no_real_feed_keeps_anything_that_runs():
    for name, ours, _ in _both():
        for entry in ours.entries:
            for html in (entry.summary or "", entry.content or ""):
                assert not RUNS.search(html), name


def _disagreements() -> Iterator[Judged]:
    return (each for each in judged() if each.verdict is Verdict.DISAGREE)


@cache
def _both() -> tuple[tuple[str, ParsedFeed, dict[str, Any]], ...]:
    headers = {"content-type": "application/xml", "content-location": URL}
    return tuple(
        (
            name,
            parse_feed(body, url=URL, content_type="application/xml"),
            # Text is compared, not markup: without these two, feedparser takes a second instead of four.
            cast("dict[str, Any]", feedparser.parse(io.BytesIO(body), response_headers=headers, sanitize_html=False)),
        )
        for name, body in real_feeds().items()
    )

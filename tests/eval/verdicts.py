"""Puts feedparser's expectations to our parser, and to feedparser itself."""

import io
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import Any, cast
from urllib.parse import urljoin

import feedparser

from headwater.feeds import ParsedFeed, UnreadableBody, parse_feed
from tests.eval.adapter import Html, NotKept, Version, adapt_entry, adapt_feed
from tests.eval.corpus import DOCUMENT_URL, Case, cases


class Verdict(Enum):
    """How our answer stands to an expectation."""

    AGREE = "agree"
    STRICTER = "agree, with markup gone that our sanitiser does not keep"
    DISAGREE = "disagree"
    NOT_KEPT = "not about a field we keep"


@dataclass(frozen=True, slots=True)
class Judged:
    """A case, our verdict on it, and whether feedparser meets its own expectation."""

    case: Case
    verdict: Verdict
    feedparser_agrees: bool


@cache
def judged() -> tuple[Judged, ...]:
    """Every case. feedparser is only asked where we disagree: that is what the answer is for."""
    verdicts = ((case, judge(case)) for case in cases())
    return tuple(
        Judged(case, verdict, feedparser_agrees=verdict is not Verdict.DISAGREE or agrees(case))
        for case, verdict in verdicts
    )


def judge(case: Case) -> Verdict:
    """Our answer to one expectation."""
    Html.stricter.clear()
    try:
        met = _evaluate(case.expect, _names(_parsed(case)))
    except (NotKept, NameError):
        return Verdict.NOT_KEPT
    except (KeyError, IndexError, TypeError):
        return Verdict.DISAGREE
    if not met:
        return Verdict.DISAGREE
    return Verdict.STRICTER if Html.stricter else Verdict.AGREE


def _parsed(case: Case) -> ParsedFeed:
    """What we read; an empty feed where we refuse, as some of these files hold nothing but an encoding."""
    try:
        return parse_feed(case.body, url=_url(case), content_type=case.headers.get("content-type"))
    except UnreadableBody:
        return ParsedFeed(format="")


def agrees(case: Case) -> bool:
    """Whether feedparser, given the same, meets the expectation."""
    headers = {**case.headers, "content-location": _url(case)}
    result = cast("dict[str, Any]", feedparser.parse(io.BytesIO(case.body), response_headers=headers))
    try:
        return _evaluate(case.expect, result)
    except (NameError, KeyError, IndexError, TypeError, AttributeError):
        return False


def _names(parsed: ParsedFeed) -> dict[str, Any]:
    entries = [adapt_entry(entry) for entry in parsed.entries]
    return {"feed": adapt_feed(parsed), "entries": entries, "version": Version(parsed.format)}


def _evaluate(expression: str, names: dict[str, Any]) -> bool:
    # The corpus is test data that we chose; its expectations are Python.
    return bool(eval(expression, {}, names))  # noqa: S307


def _url(case: Case) -> str:
    """Where the body was served from: in these files Content-Location says so, unless no client would follow it."""
    document = DOCUMENT_URL + case.name
    joined = urljoin(document, case.headers.get("content-location", ""))
    return joined if joined.startswith("http") else document

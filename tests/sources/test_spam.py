"""The spam score: what each rule adds, and that it stays between 0 and 100."""

from dataclasses import replace
from datetime import timedelta

import pytest

from headwater.sources.custom.spam import spam_score
from headwater.sources.custom.types import DomainRecord, Sample, SubmitterRecord
from tests.clock import START

FINE = Sample("Harbour News", "rss20", "https://harbour.example/", 20, START, ("The harbour opens", "A ship came in"))
NEW, NOBODY = DomainRecord("harbour.example"), SubmitterRecord()


def test_an_ordinary_feed_of_an_unknown_domain_scores_nothing() -> None:
    assert spam_score("harbour.example", FINE, NEW, NOBODY, START).points == 0


@pytest.mark.parametrize(
    ("host", "sample", "domain", "submitter", "reason", "points"),
    [
        ("harbour.example", FINE, replace(NEW, is_blocked=True), NOBODY, "is blocked", 60),
        ("harbour.example", FINE, replace(NEW, rejected=1), NOBODY, "1 of its domain's suggestions rejected", 30),
        ("harbour.example", FINE, replace(NEW, rejected=9), NOBODY, "9 of its domain's suggestions rejected", 50),
        ("harbour.example", FINE, replace(NEW, rejected=1, approved=2), NOBODY, "rejected, 2 approved", 10),
        ("harbour.example", FINE, NEW, SubmitterRecord(0, 1), "its submitter had 1 rejected", 15),
        ("a-b-c-d.harbour.example", FINE, NEW, NOBODY, "many hyphens", 10),
        ("harbour.example", replace(FINE, titles=("Casino", "News")), NEW, NOBODY, "words of spam", 40),
        ("harbour.example", replace(FINE, titles=("Same", "Same")), NEW, NOBODY, "repeat", 15),
        ("harbour.example", replace(FINE, titles=("BUY NOW TODAY",)), NEW, NOBODY, "capitals", 10),
        ("harbour.example", replace(FINE, titles=("港口今天重新開放了嗎",)), NEW, NOBODY, None, 0),
        ("harbour.example", replace(FINE, entry_count=0), NEW, NOBODY, "no entries", 15),
        ("harbour.example", replace(FINE, latest_at=START - timedelta(days=400)), NEW, NOBODY, "older than a year", 10),
        ("harbour.example", replace(FINE, site_url="https://x.example/"), NEW, NOBODY, "another domain", 10),
        ("127.0.0.1", replace(FINE, site_url=None), NEW, NOBODY, "IP address", 20),
    ],
)
def test_each_rule_adds_its_points_and_says_why(
    host: str, sample: Sample, domain: DomainRecord, submitter: SubmitterRecord, reason: str | None, points: int
) -> None:
    score = spam_score(host, sample, domain, submitter, START)

    assert score.points == points
    assert any(reason in signal.reason for signal in score.signals) if reason else score.signals == ()


def test_approved_suggestions_lower_the_spam_score_of_a_domain() -> None:
    known = spam_score("harbour.example", replace(FINE, titles=("Casino",)), replace(NEW, approved=3), NOBODY, START)

    assert known.points == 10


def test_the_score_has_bounds() -> None:
    worst = replace(FINE, titles=("CASINO LOANS", "CASINO LOANS"), entry_count=0, site_url="https://x.example/")
    awful = spam_score(
        "harbour.example", worst, replace(NEW, rejected=9, is_blocked=True), SubmitterRecord(0, 3), START
    )
    best = spam_score("harbour.example", FINE, replace(NEW, approved=99), NOBODY, START)

    assert (awful.points, best.points) == (100, 0)

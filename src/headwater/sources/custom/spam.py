"""Spam score of a suggestion, 0 to 100, from the records of domain and submitter, the host and the sample. Pure."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from headwater.sources.custom.types import DomainRecord, FeedSubmission, ModerationStatus, Sample, SubmitterRecord
from headwater.urls import domain_of

HELD_FROM = 50  # points from which also a trusted user's suggestion needs a moderator
MOST = 100
STALE_AFTER = timedelta(days=365)
SHOUTING = 0.7  # share of capitals
WORDS = frozenset({
    "casino", "casinos", "slots", "betting", "jackpot", "gambling", "poker", "togel", "sbobet", "viagra", "cialis",
    "porn", "xxx", "escort", "escorts", "weightloss", "payday", "loan", "loans", "forex", "airdrop", "giveaway",
    "replica", "coupon", "coupons", "backlink", "backlinks", "seo",
})  # fmt: skip
_WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class SpamSignal:
    points: int
    reason: str


@dataclass(frozen=True, slots=True)
class SpamScore:
    """0 (no sign of spam) to 100, and why."""

    points: int
    signals: tuple[SpamSignal, ...] = ()


def spam_score(host: str, sample: Sample, domain: DomainRecord, submitter: SubmitterRecord, now: datetime) -> SpamScore:
    signals = (*_of_origin(host, domain, submitter), *_of_titles(sample.titles), *_of_feed(host, sample, now))
    return SpamScore(min(max(sum(one.points for one in signals), 0), MOST), signals)


def without_itself(one: FeedSubmission, domain: DomainRecord) -> tuple[DomainRecord, SubmitterRecord]:
    """The records of a suggestion's domain and submitter, without the decision on the suggestion itself."""
    is_approved, is_rejected = one.status is ModerationStatus.APPROVED, one.status is ModerationStatus.REJECTED
    submitter = SubmitterRecord(one.approved_count - is_approved, one.rejected_count - is_rejected)
    if one.decided_at is not None:  # the record of a domain counts no approval by karma
        domain = replace(domain, approved=domain.approved - is_approved, rejected=domain.rejected - is_rejected)
    return domain, submitter


def _of_origin(host: str, domain: DomainRecord, submitter: SubmitterRecord) -> Iterator[SpamSignal]:
    if domain.is_blocked:
        yield SpamSignal(60, f"{domain.domain} is blocked")
    if domain.rejected:
        share = domain.rejected / (domain.rejected + domain.approved)
        points = round(share * min(20 + 10 * domain.rejected, 50))
        yield SpamSignal(points, f"{domain.rejected} of its domain's suggestions rejected, {domain.approved} approved")
    elif domain.approved:
        yield SpamSignal(-min(10 * domain.approved, 30), f"{domain.approved} of its domain's suggestions approved")
    if submitter.rejected > submitter.approved:
        yield SpamSignal(15, f"its submitter had {submitter.rejected} rejected, {submitter.approved} approved")
    if ":" in host or host.rpartition(".")[2].isdigit():
        yield SpamSignal(20, "its host is an IP address")
    elif host.count("-") >= 3 or sum(char.isdigit() for char in host) >= 5:
        yield SpamSignal(10, "its host name has many hyphens or digits")


def _of_titles(titles: Sequence[str]) -> Iterator[SpamSignal]:
    matches = [words for title in titles if (words := {word.lower() for word in _WORD.findall(title)} & WORDS)]
    if matches:
        found = ", ".join(sorted({word for words in matches for word in words})[:3])
        yield SpamSignal(40 if len(matches) * 2 >= len(titles) else 20, f"words of spam in its titles: {found}")
    if len(titles) > 1 and len(set(titles)) * 2 <= len(titles):
        yield SpamSignal(15, "its titles repeat")
    cased = [[char for char in title if char.isalpha() and char.lower() != char.upper()] for title in titles]
    if cased and all(len(one) >= 8 and sum(map(str.isupper, one)) >= SHOUTING * len(one) for one in cased):
        yield SpamSignal(10, "its titles are in capitals")


def _of_feed(host: str, sample: Sample, now: datetime) -> Iterator[SpamSignal]:
    if sample.entry_count == 0:
        yield SpamSignal(15, "it has no entries")
    if sample.latest_at is not None and now - sample.latest_at > STALE_AFTER:
        yield SpamSignal(10, "its newest entry is older than a year")
    if sample.site_host and domain_of(sample.site_host) != domain_of(host):
        yield SpamSignal(10, f"its site is on another domain, {sample.site_host}")

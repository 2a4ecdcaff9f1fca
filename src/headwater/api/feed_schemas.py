"""Custom feeds and their moderation, as they go over the wire."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import BeforeValidator, Field

from headwater.api.schemas import EXAMPLE_SOURCE, PLAIN, Given, NextCursor, Told
from headwater.sources.custom import types
from headwater.sources.custom.decide import (
    CATEGORY_MOST,
    INTERVAL_LEAST,
    INTERVAL_MOST,
    NAME_MOST,
    REASON_MOST,
)
from headwater.sources.custom.queue import Hints
from headwater.sources.custom.types import BlockedDomain, CustomFeed, Likeness, ModerationStatus, Submission
from headwater.urls import MAX_LENGTH, masked

EXAMPLE_FEED = "https://news.example/feed.xml"


# The framework reads models leniently, whatever they say themselves: "60" would pass as a number.
def _number(value: object) -> object:
    if isinstance(value, str | bool):
        raise ValueError("a number is needed")  # noqa: TRY004  what pydantic takes for a refusal
    return value


def _flag(value: object) -> object:
    if not isinstance(value, bool):
        raise ValueError("true or false is needed")  # noqa: TRY004  what pydantic takes for a refusal
    return value


Category = Annotated[str | None, Field(description="What it is about.", examples=["Technology"])]
Interval = Annotated[int | None, Field(description="How often it is polled; null: as the settings say.", examples=[60])]
Reason = Annotated[
    str,
    Field(
        min_length=1,
        max_length=REASON_MOST,
        pattern=PLAIN,
        description="Why, for whoever suggested it.",
        examples=["It only repeats what other sites write."],
    ),
]


class ProposedFeed(Given):
    """A feed that is suggested for everybody."""

    name: Annotated[str, Field(min_length=1, max_length=NAME_MOST, pattern=PLAIN, examples=["Harbour News"])]
    url: Annotated[
        str,
        Field(
            min_length=1,
            max_length=MAX_LENGTH,
            pattern=r"^[Hh][Tt][Tt][Pp][Ss]?://",
            description="Where the feed itself is.",
            examples=[EXAMPLE_FEED],
        ),
    ]
    category: Annotated[
        Annotated[str, Field(max_length=CATEGORY_MOST, pattern=PLAIN)] | None,
        Field(description="What it is about.", examples=["Technology"]),
    ] = None
    refresh_interval_minutes: Annotated[
        Annotated[int, BeforeValidator(_number), Field(ge=INTERVAL_LEAST, le=INTERVAL_MOST)] | None,
        Field(description="How often it is to be polled; without one, as the settings say.", examples=[60]),
    ] = None


class FeedSample(Told):
    """What a feed held when it was suggested."""

    title: Annotated[str, Field(description="Its own name for itself.", examples=["Harbour News"])]
    format: Annotated[str, Field(examples=["rss20"])]
    site_url: Annotated[str | None, Field(examples=["https://news.example/"])]
    entry_count: Annotated[int, Field(examples=[20])]
    latest_at: Annotated[datetime | None, Field(description="When its newest entry is from.")]
    titles: Annotated[Sequence[str], Field(description="Its first entries.", examples=[["The harbour opens"]])]


class CustomFeedTold(Told):
    """A feed that one has suggested, and what came of it."""

    id: Annotated[UUID, Field(description="The source's id.", examples=[EXAMPLE_SOURCE])]
    name: Annotated[str, Field(examples=["Harbour News"])]
    url: Annotated[str, Field(description="Where it lives: past permanent redirects.", examples=[EXAMPLE_FEED])]
    category: Category
    refresh_interval_minutes: Interval
    is_system: Annotated[bool, Field(description="Never: a reader brought it.", examples=[False])] = False
    is_active: Annotated[bool, Field(description="Whether it is polled.", examples=[False])]
    moderation_status: ModerationStatus
    reason: Annotated[str | None, Field(description="Why it was rejected.", examples=[None])]
    sample: FeedSample
    created_at: datetime
    decided_at: Annotated[datetime | None, Field(description="When a person decided; null: none has, or not yet.")]


class CustomFeeds(Told):
    """What one has suggested, the newest first."""

    feeds: list[CustomFeedTold]
    next_cursor: NextCursor


class Submitter(Told):
    """Who suggested a feed, and what came of what they suggested before."""

    id: UUID
    email: Annotated[str, Field(examples=["ada@example.com"])]
    karma: Annotated[int, Field(description="10 or more: what they suggest goes live at once.", examples=[3])]
    approved: Annotated[int, Field(examples=[3])]
    rejected: Annotated[int, Field(examples=[0])]


class SimilarSource(Told):
    """A source that a suggestion may be a duplicate of."""

    id: Annotated[UUID, Field(examples=[EXAMPLE_SOURCE])]
    name: Annotated[str, Field(examples=["Harbour News"])]
    url: Annotated[str, Field(examples=[EXAMPLE_FEED], description="What may be a secret in it is masked.")]
    is_system: bool
    moderation_status: ModerationStatus | None
    is_same_host: bool
    is_same_name: bool


class DomainReputation(Told):
    """What was decided about suggestions of a domain and of what is below it."""

    domain: Annotated[str, Field(examples=["news.example"])]
    reputation: Annotated[str, Field(description="good, bad, mixed, unknown or blocked.", examples=["good"])]
    approved: Annotated[int, Field(examples=[2])]
    rejected: Annotated[int, Field(examples=[0])]


class Signal(Told):
    """A rule that applied, and what it adds to the spam score."""

    points: Annotated[int, Field(examples=[10])]
    reason: Annotated[str, Field(examples=["its newest entry is older than a year"])]


class ModeratedFeed(Told):
    """A suggestion with what a moderator needs to judge it."""

    id: Annotated[UUID, Field(description="The source's id.", examples=[EXAMPLE_SOURCE])]
    name: Annotated[str, Field(examples=["Harbour News"])]
    url: Annotated[str, Field(examples=[EXAMPLE_FEED])]
    host: Annotated[str, Field(examples=["news.example"])]
    category: Category
    refresh_interval_minutes: Interval
    is_active: bool
    moderation_status: ModerationStatus
    submitted_at: datetime
    submitter: Submitter
    sample: FeedSample
    subscriber_count: Annotated[int, Field(description="How many follow it, each for themselves.", examples=[0])]
    similar: Annotated[list[SimilarSource], Field(description="What it may be a duplicate of.")]
    blocked_domain: Annotated[str | None, Field(description="Its domain is on the blocklist.", examples=[None])]
    domain: Annotated[DomainReputation, Field(description="What was decided about its domain before.")]
    spam_score: Annotated[int, Field(description="0 to 100; from 50 on a trusted reader's waits too.", examples=[20])]
    spam_signals: Annotated[list[Signal], Field(description="What the score is made of.")]
    decided_at: Annotated[datetime | None, Field(description="Null while no person has decided.")]
    decided_by: Annotated[str | None, Field(examples=[None])]
    reason: Annotated[str | None, Field(description="Why it was rejected.", examples=[None])]


class ModerationPage(Told):
    """Some suggestions. What waits: the oldest first. What was decided on: the latest decision first."""

    feeds: list[ModeratedFeed]
    next_cursor: NextCursor


class Rejection(Given):
    """Why a suggestion is not taken."""

    reason: Reason


class DomainToBlock(Given):
    """A domain that nothing is to be taken from, nor from what is below it."""

    domain: Annotated[str, Field(min_length=1, max_length=253, pattern=PLAIN, examples=["spam.example"])]
    reason: Reason
    reject_waiting: Annotated[
        bool,
        BeforeValidator(_flag),
        Field(description="Reject what waits of this domain, for the same reason.", examples=[True]),
    ] = False


class BlockedDomainTold(Told):
    """A domain that nothing is taken from."""

    domain: Annotated[str, Field(examples=["spam.example"])]
    reason: Annotated[str, Field(examples=["A farm of links."])]
    blocked_by: Annotated[str, Field(examples=["mo@example.com"])]
    blocked_at: datetime


class NewlyBlocked(BlockedDomainTold):
    """The same, and how many suggestions were rejected with it."""

    rejected: Annotated[int, Field(examples=[2])]


class BlockedDomains(Told):
    """Domains that nothing is taken from, in order of the alphabet."""

    domains: list[BlockedDomainTold]
    next_cursor: NextCursor


def proposal_of(given: ProposedFeed) -> types.Proposal:
    """What is suggested."""
    return types.Proposal(given.name, given.url, given.category, given.refresh_interval_minutes)


def feed_of(feed: CustomFeed) -> CustomFeedTold:
    """One's own suggestion."""
    return CustomFeedTold(
        id=feed.id,
        name=feed.name,
        url=feed.url,
        category=feed.category,
        refresh_interval_minutes=feed.interval_minutes,
        is_active=feed.is_active,
        moderation_status=feed.status,
        reason=feed.reason,
        sample=FeedSample.model_validate(feed.sample),
        created_at=feed.created_at,
        decided_at=feed.decided_at,
    )


def moderated_of(one: Submission, hints: Hints) -> ModeratedFeed:
    """A suggestion as a moderator sees it."""
    blocked = hints.blocked.get(one.id)
    return ModeratedFeed(
        id=one.id,
        name=one.name,
        url=one.url,
        host=one.host,
        category=one.category,
        refresh_interval_minutes=one.interval_minutes,
        is_active=one.is_active,
        moderation_status=one.status,
        submitted_at=one.submitted_at,
        submitter=Submitter(
            id=one.submitter_id,
            email=one.submitter,
            karma=one.karma,
            approved=one.approved_count,
            rejected=one.rejected_count,
        ),
        sample=FeedSample.model_validate(one.sample),
        subscriber_count=one.subscriber_count,
        similar=[_similar(alike) for alike in hints.likenesses.get(one.id, ())],
        blocked_domain=blocked.domain if blocked else None,
        domain=DomainReputation.model_validate(hints.domains[one.id]),
        spam_score=hints.scores[one.id].points,
        spam_signals=[Signal.model_validate(signal) for signal in hints.scores[one.id].signals],
        decided_at=one.decided_at,
        decided_by=one.decided_by_name,
        reason=one.reason,
    )


def _similar(one: Likeness) -> SimilarSource:
    return SimilarSource(
        id=one.id,
        name=one.name,
        url=masked(one.url),  # others follow it, and moderators do not change it
        is_system=one.is_system,
        moderation_status=one.status,
        is_same_host=one.is_same_host,
        is_same_name=one.is_same_name,
    )


def blocked_of(one: BlockedDomain) -> BlockedDomainTold:
    """A blocked domain."""
    return BlockedDomainTold(
        domain=one.domain, reason=one.reason, blocked_by=one.blocked_by_name, blocked_at=one.blocked_at
    )


GIVEN = (ProposedFeed, Rejection, DomainToBlock)
TOLD = (CustomFeedTold, CustomFeeds, ModerationPage, ModeratedFeed, BlockedDomains, BlockedDomainTold, NewlyBlocked)

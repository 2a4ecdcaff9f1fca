"""Request and response models of suggested feeds and their moderation."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import BeforeValidator, Field

from headwater.api.schemas import (
    EXAMPLE_FEED,
    EXAMPLE_SOURCE,
    PLAIN,
    Flag,
    NextCursor,
    RequestModel,
    ResponseModel,
    WholeNumber,
)
from headwater.sources.custom.decide import CATEGORY_MOST, INTERVAL_LEAST, INTERVAL_MOST, NAME_MOST, REASON_MOST
from headwater.sources.custom.queue import Hints
from headwater.sources.custom.types import ModerationStatus, Proposal, Submission
from headwater.urls import MAX_LENGTH, masked

Id = Annotated[UUID, Field(description="The source's id.", examples=[EXAMPLE_SOURCE])]
Name = Annotated[str, Field(examples=["Harbour News"])]
FeedUrl = Annotated[str, Field(examples=[EXAMPLE_FEED])]
Category = Annotated[str | None, Field(description="Its category.", examples=["Technology"])]
# Dataclasses of the sources package have `interval_minutes`, `status` and `decided_by_name`.
Interval = Annotated[
    int | None,
    Field(
        validation_alias="interval_minutes",
        description="Minutes between polls; null: the default of the settings.",
        examples=[60],
    ),
]
Decision = Annotated[ModerationStatus, Field(validation_alias="status")]
Count = Annotated[int, Field(examples=[2])]
RejectedFor = Annotated[str | None, Field(description="Why it was rejected.", examples=[None])]
Reason = Annotated[
    str,
    Field(
        min_length=1,
        max_length=REASON_MOST,
        pattern=PLAIN,
        description="The reason, shown to the submitter.",
        examples=["It only repeats what other sites write."],
    ),
]


class ProposedFeed(RequestModel):
    """A feed to suggest for all users."""

    name: Annotated[str, Field(min_length=1, max_length=NAME_MOST, pattern=PLAIN, examples=["Harbour News"])]
    url: Annotated[
        str,
        Field(
            min_length=1,
            max_length=MAX_LENGTH,
            pattern=r"^[Hh][Tt][Tt][Pp][Ss]?://",
            description="The URL of the feed.",
            examples=[EXAMPLE_FEED],
        ),
    ]
    category: Annotated[
        Annotated[str, Field(max_length=CATEGORY_MOST, pattern=PLAIN)] | None,
        Field(description="Its category.", examples=["Technology"]),
    ] = None
    refresh_interval_minutes: Annotated[
        Annotated[WholeNumber, Field(ge=INTERVAL_LEAST, le=INTERVAL_MOST)] | None,
        Field(description="Minutes between polls; default: that of the settings.", examples=[60]),
    ] = None

    @property
    def proposal(self) -> Proposal:
        """The suggestion."""
        return Proposal(self.name, self.url, self.category, self.refresh_interval_minutes)


class FeedSample(ResponseModel):
    """What a feed contained when it was suggested."""

    title: Annotated[str, Field(description="The title of the feed.", examples=["Harbour News"])]
    format: Annotated[str, Field(examples=["rss20"])]
    site_url: Annotated[str | None, Field(examples=["https://news.example/"])]
    entry_count: Annotated[int, Field(examples=[20])]
    latest_at: Annotated[datetime | None, Field(description="Date of the newest entry.")]
    titles: Annotated[
        Sequence[str], Field(description="Titles of the first entries.", examples=[["The harbour opens"]])
    ]


class SuggestedFeed(ResponseModel):
    """A suggestion, as its submitter sees it."""

    id: Id
    name: Name
    url: Annotated[str, Field(description="The URL after permanent redirects.", examples=[EXAMPLE_FEED])]
    category: Category
    refresh_interval_minutes: Interval
    is_system: Annotated[bool, Field(description="Always false.", examples=[False])] = False
    is_active: Annotated[bool, Field(description="Whether it is polled.", examples=[False])]
    moderation_status: Decision
    reason: RejectedFor
    sample: FeedSample
    created_at: datetime
    decided_at: Annotated[datetime | None, Field(description="When a moderator decided; null before that.")]


class SuggestedFeeds(ResponseModel):
    """The caller's suggestions, newest first."""

    feeds: list[SuggestedFeed]
    next_cursor: NextCursor


class Submitter(ResponseModel):
    """The user who suggested a feed."""

    id: UUID
    email: Annotated[str, Field(examples=["ada@example.com"])]
    karma: Annotated[int, Field(description="From 10 on, suggestions are approved automatically.", examples=[3])]
    approved: Count
    rejected: Count


class SimilarSource(ResponseModel):
    """A possible duplicate of a suggestion."""

    id: Id
    name: Name
    url: Annotated[
        str,
        BeforeValidator(masked),  # other users follow it, and moderators cannot change it
        Field(description="Possible secrets are masked.", examples=[EXAMPLE_FEED]),
    ]
    is_system: bool
    moderation_status: Annotated[ModerationStatus | None, Field(validation_alias="status")]
    is_same_host: bool
    is_same_name: bool


class DomainReputation(ResponseModel):
    """Earlier decisions about suggestions from a domain and its subdomains."""

    domain: Annotated[str, Field(examples=["news.example"])]
    reputation: Annotated[str, Field(description="good, bad, mixed, unknown or blocked.", examples=["good"])]
    approved: Count
    rejected: Count


class Signal(ResponseModel):
    """A rule that applied, and its points in the spam score."""

    points: Annotated[int, Field(examples=[10])]
    reason: Annotated[str, Field(examples=["its newest entry is older than a year"])]


class ModeratedFeed(ResponseModel):
    """A suggestion, as a moderator sees it."""

    id: Id
    name: Name
    url: FeedUrl
    host: Annotated[str, Field(examples=["news.example"])]
    category: Category
    refresh_interval_minutes: Interval
    is_active: bool
    moderation_status: Decision
    submitted_at: datetime
    submitter: Submitter
    sample: FeedSample
    subscriber_count: Annotated[int, Field(description="Number of private subscribers.", examples=[0])]
    similar: Annotated[list[SimilarSource], Field(description="Possible duplicates.")]
    blocked_domain: Annotated[str | None, Field(description="The blocked domain it belongs to.", examples=[None])]
    domain: Annotated[DomainReputation, Field(description="Earlier decisions about its domain.")]
    spam_score: Annotated[int, Field(description="0 to 100; from 50 on it is never auto-approved.", examples=[20])]
    spam_signals: Annotated[list[Signal], Field(description="The rules that make up the score.")]
    decided_at: Annotated[datetime | None, Field(description="Null before a moderator has decided.")]
    decided_by: Annotated[str | None, Field(validation_alias="decided_by_name", examples=[None])]
    reason: RejectedFor


class ModerationPage(ResponseModel):
    """A page of suggestions. Pending ones: oldest first. Decided ones: latest decision first."""

    feeds: list[ModeratedFeed]
    next_cursor: NextCursor


class Rejection(RequestModel):
    """Why a suggestion is rejected."""

    reason: Reason


class DomainToBlock(RequestModel):
    """A domain to block, with its subdomains."""

    domain: Annotated[str, Field(min_length=1, max_length=253, pattern=PLAIN, examples=["spam.example"])]
    reason: Reason
    reject_waiting: Annotated[
        Flag, Field(description="Also reject its pending suggestions for the same reason.", examples=[True])
    ] = False


class BlockedDomainResponse(ResponseModel):
    """A blocked domain."""

    domain: Annotated[str, Field(examples=["spam.example"])]
    reason: Annotated[str, Field(examples=["A farm of links."])]
    blocked_by: Annotated[str, Field(validation_alias="blocked_by_name", examples=["mo@example.com"])]
    blocked_at: datetime


class NewlyBlocked(BlockedDomainResponse):
    """A blocked domain, and how many suggestions were rejected with it."""

    rejected: Count


class BlockedDomains(ResponseModel):
    """A page of blocked domains, in alphabetical order."""

    domains: list[BlockedDomainResponse]
    next_cursor: NextCursor


def moderated_feed(one: Submission, hints: Hints) -> ModeratedFeed:
    """A suggestion with its submitter, duplicates and scores."""
    blocked, score = hints.blocked.get(one.id), hints.scores[one.id]
    fields = {name: getattr(one, name) for name in one.__slots__}
    return ModeratedFeed.model_validate(
        fields
        | {
            "submitter": {
                "id": one.submitter_id,
                "email": one.submitter,
                "karma": one.karma,
                "approved": one.approved_count,
                "rejected": one.rejected_count,
            },
            "similar": hints.likenesses.get(one.id, ()),
            "blocked_domain": blocked.domain if blocked else None,
            "domain": hints.domains[one.id],
            "spam_score": score.points,
            "spam_signals": score.signals,
        }
    )


REQUESTS = (ProposedFeed, Rejection, DomainToBlock)
RESPONSES = (
    SuggestedFeed, SuggestedFeeds, ModerationPage, ModeratedFeed, BlockedDomains, BlockedDomainResponse, NewlyBlocked,
)  # fmt: skip

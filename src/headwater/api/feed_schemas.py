"""Request and response models of suggested feeds and their moderation."""

from dataclasses import fields
from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import BeforeValidator, Field

from headwater.api.schemas import PLAIN, Flag, Host, NextCursor, RequestModel, ResponseModel, Text, WholeNumber
from headwater.sources.custom.decide import INTERVAL_LEAST, INTERVAL_MOST, REASON_MOST
from headwater.sources.custom.moderate import Hints
from headwater.sources.custom.spam import SpamSignal
from headwater.sources.custom.types import FeedSubmission, ModerationStatus, Proposal, Sample
from headwater.sources.types import CATEGORY_MAX, NAME_MAX
from headwater.urls import MAX_LENGTH, masked

HTTP = r"^[Hh][Tt][Tt][Pp][Ss]?://"
Id = Annotated[UUID, Field(description="The source's id.")]
Category = Annotated[str | None, Field(description="Its category.")]
# Dataclasses of the sources package have `interval_minutes`, `status` and `decided_by_name`.
_INTERVAL = "Minutes between polls; null: the default of the settings."
Interval = Annotated[int | None, Field(validation_alias="interval_minutes", description=_INTERVAL)]
Decision = Annotated[ModerationStatus, Field(validation_alias="status")]
RejectedFor = Annotated[str | None, Field(description="Why it was rejected.")]
Reason = Annotated[Text, Field(max_length=REASON_MOST, description="The reason, shown to the submitter.")]


class ProposedFeed(RequestModel):
    """A feed to suggest for all users."""

    name: Annotated[Text, Field(max_length=NAME_MAX)]
    url: Annotated[str, Field(min_length=1, max_length=MAX_LENGTH, pattern=HTTP, description="The URL of the feed.")]
    category: Annotated[str, Field(max_length=CATEGORY_MAX, pattern=PLAIN)] | None = Field(
        None, description="Its category."
    )
    refresh_interval_minutes: Annotated[WholeNumber, Field(ge=INTERVAL_LEAST, le=INTERVAL_MOST)] | None = Field(
        None, description="Minutes between polls; default: that of the settings."
    )

    @property
    def proposal(self) -> Proposal:
        return Proposal(self.name, self.url, self.category, self.refresh_interval_minutes)


class SuggestedFeed(ResponseModel):
    """A suggestion, as its submitter sees it."""

    id: Id
    name: str
    url: Annotated[str, Field(description="The URL after permanent redirects.")]
    category: Category
    refresh_interval_minutes: Interval
    is_system: Annotated[bool, Field(description="Always false.")] = False
    is_active: Annotated[bool, Field(description="Whether it is polled.")]
    moderation_status: Decision
    reason: RejectedFor
    sample: Sample
    created_at: datetime
    decided_at: Annotated[datetime | None, Field(description="When a moderator decided; null before that.")]


class SuggestedFeeds(ResponseModel):
    """The caller's suggestions, newest first."""

    feeds: list[SuggestedFeed]
    next_cursor: NextCursor


class Submitter(ResponseModel):
    """The user who suggested a feed."""

    id: Annotated[UUID, Field(validation_alias="submitter_id")]
    email: Annotated[str, Field(validation_alias="submitter")]
    karma: Annotated[int, Field(description="From 10 on, suggestions are approved automatically.")]
    approved: Annotated[int, Field(validation_alias="approved_count")]
    rejected: Annotated[int, Field(validation_alias="rejected_count")]


class SimilarSource(ResponseModel):
    """A possible duplicate of a suggestion."""

    id: Id
    name: str
    # Other users follow it, and moderators cannot change it.
    url: Annotated[str, BeforeValidator(masked), Field(description="Possible secrets are masked.")]
    is_system: bool
    moderation_status: Annotated[ModerationStatus | None, Field(validation_alias="status")]
    is_same_host: bool
    is_same_name: bool


class DomainReputation(ResponseModel):
    """Earlier decisions about suggestions from a domain and its subdomains."""

    domain: str
    reputation: Annotated[str, Field(description="good, bad, mixed, unknown or blocked.")]
    approved: int
    rejected: int


class ModeratedFeed(ResponseModel):
    """A suggestion, as a moderator sees it."""

    id: Id
    name: str
    url: str
    host: str
    category: Category
    refresh_interval_minutes: Interval
    is_active: bool
    moderation_status: Decision
    submitted_at: datetime
    submitter: Submitter
    sample: Sample
    subscriber_count: Annotated[int, Field(description="Number of private subscribers.")]
    similar: Annotated[list[SimilarSource], Field(description="Possible duplicates.")]
    blocked_domain: Annotated[str | None, Field(description="The blocked domain it belongs to.")]
    domain: Annotated[DomainReputation, Field(description="Earlier decisions about its domain.")]
    spam_score: Annotated[int, Field(description="0 to 100; from 50 on it is never auto-approved.")]
    spam_signals: Annotated[list[SpamSignal], Field(description="The rules that make up the score.")]
    decided_at: Annotated[datetime | None, Field(description="Null before a moderator has decided.")]
    decided_by: Annotated[str | None, Field(validation_alias="decided_by_name")]
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

    domain: Host
    reason: Reason
    reject_waiting: Flag = Field(default=False, description="Also reject its pending suggestions for the same reason.")


class BlockedDomainResponse(ResponseModel):
    """A blocked domain."""

    domain: str
    reason: str
    blocked_by: Annotated[str, Field(validation_alias="blocked_by_name")]
    blocked_at: datetime


class NewlyBlocked(BlockedDomainResponse):
    """A blocked domain, and how many suggestions were rejected with it."""

    rejected: int


class BlockedDomains(ResponseModel):
    """A page of blocked domains, in alphabetical order."""

    domains: list[BlockedDomainResponse]
    next_cursor: NextCursor


def moderated_feed(one: FeedSubmission, hints: Hints) -> ModeratedFeed:
    """A suggestion with its submitter, duplicates and scores."""
    blocked, score = hints.blocked.get(one.id), hints.scores[one.id]
    values = {field.name: getattr(one, field.name) for field in fields(one)} | {
        "submitted_at": one.created_at, "submitter": one, "similar": hints.similar.get(one.id, ()),
        "blocked_domain": blocked.domain if blocked else None, "domain": hints.domains[one.id],
        "spam_score": score.points, "spam_signals": score.signals,
    }  # fmt: skip
    return ModeratedFeed.model_validate(values)


REQUESTS = (ProposedFeed, Rejection, DomainToBlock)
RESPONSES = (SuggestedFeeds, ModerationPage, BlockedDomains, NewlyBlocked)

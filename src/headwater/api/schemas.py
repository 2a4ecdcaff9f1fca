"""Request and response models of the API; here those of the frontier and what all share.

The OpenAPI document adds examples by the names of fields (`api/openapi.py`).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Literal, Self, cast
from uuid import UUID

from litestar.exceptions import ValidationException
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, WithJsonSchema, model_validator
from pydantic.config import JsonDict

from headwater.frontier.types import FrontierStats, Origin, Status, SubmitOutcome
from headwater.types import PageKind
from headwater.urls import MAX_LENGTH

LIST_MOST = 500
BULK_MOST = 10_000
BULK_BYTES = 10_000_000
RETRY_IDS_MOST = 1_000
EXAMPLE_URL = "https://news.example/2026/11/harbour-opens"
EXAMPLE_FEED = "https://news.example/feed.xml"

PLAIN = r"^[^\x00-\x1f\x7f]*$"  # text without control characters


def _require_int(value: object) -> object:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError("Input should be a whole number")  # noqa: TRY004  pydantic expects ValueError
    return value


def _require_bool(value: object) -> object:
    if not isinstance(value, bool):
        raise ValueError("Input should be true or false")  # noqa: TRY004  pydantic expects ValueError
    return value


def _hex(value: object) -> object:
    return value.hex() if isinstance(value, bytes) else value


def with_example(example: JsonDict) -> ConfigDict:
    return ConfigDict(json_schema_extra={"examples": [example]})


# Not pydantic's Strict: the framework validates in lax mode.
WholeNumber = Annotated[int, BeforeValidator(_require_int)]
Flag = Annotated[bool, BeforeValidator(_require_bool)]
Url = Annotated[str, Field(min_length=1, max_length=MAX_LENGTH, description="An absolute http or https URL.")]
OwnerId = Annotated[UUID | None, Field(description="The source that the URL belongs to.")]
FetchedAs = Annotated[PageKind, Field(description="What the URL is fetched as.")]
OneToTen = Annotated[WholeNumber, Field(ge=1, le=10)]
Priority = Annotated[OneToTen | None, Field(description="1 to 10, 10 is the most urgent; default 5.")]
Text = Annotated[str, Field(min_length=1, pattern=PLAIN)]
Host = Annotated[Text, Field(max_length=253)]
NextCursor = Annotated[str | None, Field(description="Send it as `cursor` for the next page; null on the last page.")]


class RequestModel(BaseModel):
    """A request body. Unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ResponseModel(BaseModel):
    """A response body."""

    model_config = ConfigDict(frozen=True, from_attributes=True)


class SubmittedUrl(RequestModel):
    """A URL to fetch."""

    model_config = with_example({"url": EXAMPLE_URL, "priority": 8})

    url: Url
    source_id: OwnerId = None
    kind: FetchedAs = PageKind.ARTICLE
    priority: Priority = None


_ANY_ITEM = {
    "description": "A URL, or an object as in `submit`. Anything else gets the result `invalid`.",
    "examples": [EXAMPLE_URL, {"url": EXAMPLE_URL, "priority": 8}],
}
AnyItem = Annotated[Any, WithJsonSchema(_ANY_ITEM)]


class SubmittedUrls(RequestModel):
    """Several URLs to fetch. The other fields apply to each URL that does not set them itself."""

    model_config = with_example({"urls": [EXAMPLE_URL, {"url": f"{EXAMPLE_URL}-2", "priority": 8}], "priority": 3})

    urls: Annotated[list[AnyItem], Field(min_length=1, max_length=BULK_MOST)]
    source_id: OwnerId = None
    kind: FetchedAs = PageKind.ARTICLE
    priority: Priority = None

    def read(self) -> "list[SubmittedUrl | SubmitResult]":
        """The valid URLs; a result for each invalid one."""
        shared = {"source_id": self.source_id, "kind": self.kind, "priority": self.priority}
        return [_read(item, shared) for item in self.urls]


class RetriedUrls(RequestModel):
    """URLs to retry: by id with any status, or all failed and dead ones that match a filter."""

    model_config = with_example({"status": "dead", "host": "news.example"})

    ids: list[UUID] | None = Field(None, min_length=1, max_length=RETRY_IDS_MOST, description="These URLs.")
    status: Literal[Status.FAILED, Status.DEAD] | None = Field(None, description="Only those with this status.")
    host: Host | None = Field(None, description="Only those on this host.")
    source_id: UUID | None = Field(None, description="Only those of this source.")
    cursor: str | None = Field(
        None, description="`next_cursor` of the previous response, with the same filter.", max_length=100
    )

    @model_validator(mode="after")
    def _either_ids_or_filter(self) -> Self:
        by_filter = any(value is not None for value in (self.status, self.host, self.source_id))
        if (self.ids is not None) == by_filter:
            raise ValueError("either ids or a filter (status, host, source_id) is required")
        return self


class UrlResponse(ResponseModel):
    """A URL of the frontier."""

    id: UUID
    url: str
    host: Annotated[str, Field(description="Its host, which has one queue.")]
    status: Status = Field(
        description="pending: queued. fetching: in progress. fetched: done. failed: will be retried. "
        "dead: gave up; `last_error` has the reason."
    )
    origin: Annotated[Origin, Field(description="How it was found.")]
    kind: FetchedAs
    source_id: OwnerId
    parent_url: Annotated[str | None, Field(description="The page that links to it.")]
    depth: Annotated[int, Field(description="Number of links from the start page of its source.")]
    priority: Annotated[int, Field(description="1 to 10, 10 is the most urgent.")]
    next_fetch_at: Annotated[datetime | None, Field(description="Earliest next fetch; null if there is none.")]
    last_fetched_at: datetime | None
    discovered_at: datetime
    fetch_count: int
    retry_count: Annotated[int, Field(description="Failures since the last success.")]
    content_hash: Annotated[str | None, BeforeValidator(_hex), Field(description="SHA-256 of its text, in hex.")]
    etag: str | None
    last_modified: str | None
    last_error: str | None
    article_id: Annotated[UUID | None, Field(description="The article of this URL; null: there is none yet.")] = None
    extracted: Annotated[bool, Field(description="Whether the text of its page was read: the article has it.")] = False
    extracted_at: Annotated[datetime | None, Field(description="When its page was read last.")] = None


class FrontierPage(ResponseModel):
    """A page of URLs, newest first. A page before the last may have fewer than `limit`, or none."""

    urls: list[UrlResponse]
    total: Annotated[int, Field(description="Number of matching URLs; a lower bound if `total_is_exact` is false.")]
    total_is_exact: bool = Field(description="False if a filter by host, origin or text stopped after 10,000 URLs.")
    next_cursor: NextCursor


class StatusCounts(ResponseModel):
    """Number of URLs by status."""

    pending: int
    fetching: int
    fetched: int
    failed: int
    dead: int


class SourceCounts(StatusCounts):
    """The same for one source; `source_id` is null for URLs without a source."""

    source_id: OwnerId


class FrontierStatsResponse(ResponseModel):
    """Number of URLs by status, total and by source."""

    total: int
    by_status: StatusCounts
    by_source: list[SourceCounts]

    @classmethod
    def of(cls, counted: FrontierStats) -> Self:
        by_status = {status.value: counted.by_status.get(status, 0) for status in Status}
        total = sum(by_status.values())
        return cls.model_validate({"total": total, "by_status": by_status, "by_source": counted.by_source})


class SubmitResult(ResponseModel):
    """The result for one URL."""

    url: Annotated[str | None, Field(description="The URL as sent.")]
    canonical_url: Annotated[
        str | None, Field(description="The form under which equal URLs are compared, without tracking parameters.")
    ] = None
    result: SubmitOutcome = Field(
        description="queued: new. known: already here; its priority may have been raised. revived: was dead, "
        "queued again. invalid: cannot be fetched; see `reason`."
    )
    id: UUID | None = None
    reason: Annotated[str | None, Field(description="Why the URL is invalid.")] = None
    code: Annotated[
        str | None, Field(description="invalid_url, blocked_address, source_not_found or invalid_value.")
    ] = None


class SubmitResults(ResponseModel):
    """The result for each URL, in order, and their counts."""

    queued: int
    known: int
    revived: int
    invalid: int
    results: list[SubmitResult]

    @classmethod
    def of(cls, results: Sequence[SubmitResult]) -> Self:
        counts = Counter(one.result for one in results)
        return cls.model_validate({result.value: counts[result] for result in SubmitOutcome} | {"results": results})


class WantedUrls(RequestModel):
    """URLs of the frontier, by id or as they are."""

    model_config = with_example({"urls": [EXAMPLE_URL, f"{EXAMPLE_URL}-2"]})

    ids: Annotated[list[UUID], Field(max_length=RETRY_IDS_MOST)] = Field(default_factory=list[UUID])
    urls: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=MAX_LENGTH)]],
        Field(max_length=RETRY_IDS_MOST, description="Compared by their canonical form."),
    ] = Field(default_factory=list[str])

    @model_validator(mode="after")
    def _some_and_not_too_many(self) -> Self:
        if not 1 <= len(self.ids) + len(self.urls) <= RETRY_IDS_MOST:
            raise ValueError(f"1 to {RETRY_IDS_MOST:,} ids and urls are required")
        return self


class DeletedUrls(WantedUrls):
    """URLs to delete, by id or as they are."""


class WantedUrl(ResponseModel):
    """The answer for one id or URL: the URL of the frontier, or the code of why it is missing."""

    id: Annotated[UUID | None, Field(description="The id as sent.")] = None
    url: Annotated[str | None, Field(description="The URL as sent.")] = None
    found: UrlResponse | None = None
    code: Annotated[str | None, Field(description="url_not_found, or invalid_url.")] = None


class WantedUrlsResponse(ResponseModel):
    """URLs of the frontier, in the order of the request, ids first; and their number by status."""

    results: list[WantedUrl]
    by_status: StatusCounts
    extracted: Annotated[int, Field(description="How many of them have an article with a text.")]


class DeletedUrlsResponse(ResponseModel):
    """Number of URLs that were deleted; and the ids and URLs, as sent, that are not in the frontier."""

    deleted: int
    missing: list[str]


class RetryResponse(ResponseModel):
    """Number of URLs queued for retry. Repeat with `next_cursor` until it is null."""

    retried: int
    next_cursor: NextCursor


def _read(item: object, shared: Mapping[str, object]) -> SubmittedUrl | SubmitResult:
    """One URL of several, or why it is invalid."""
    given = cast("dict[str, object]", item) if isinstance(item, dict) else {"url": item}
    try:
        return SubmittedUrl.model_validate({**shared, **given})
    except ValidationError as error:
        url = given.get("url")
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place, message = ".".join(str(part) for part in first["loc"]), first["msg"].removeprefix("Value error, ")
        return SubmitResult(
            url=url[:MAX_LENGTH] if isinstance(url, str) else None,
            result=SubmitOutcome.INVALID,
            reason=f"{place}: {message}" if place else message,
            code="invalid_value",
        )


REQUESTS = (SubmittedUrl, SubmittedUrls, RetriedUrls, WantedUrls, DeletedUrls)
RESPONSES = (
    FrontierPage, FrontierStatsResponse, SubmitResults, RetryResponse, WantedUrlsResponse, DeletedUrlsResponse,
)  # fmt: skip


def field_error(source: str, name: str, message: str, code: str = "invalid_value") -> ValidationException:
    """An error in one field of the query or the body."""
    return ValidationException(extra=[{"source": source, "key": name, "message": message, "code": code}])

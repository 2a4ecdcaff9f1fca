"""What goes over the wire: outside data is checked here, and nothing but this is answered."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Literal, Self, cast
from uuid import UUID

from litestar.exceptions import ValidationException
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from pydantic.config import JsonDict

from headwater.frontier import types
from headwater.frontier.types import Fate, Origin, Status, UrlPage, UrlTotal
from headwater.types import PageKind
from headwater.urls import MAX_LENGTH

LIST_MOST = 500
BULK_MOST = 10_000
BULK_BYTES = 10_000_000
RETRY_IDS_MOST = 1_000
EXAMPLE_URL = "https://news.example/2026/11/harbour-opens"
EXAMPLE_ID = "01935c8e-7a3b-7cc0-98d4-5b6f6e6b2f10"
EXAMPLE_SOURCE = "01935c8e-0d52-7a61-b5f0-2f3c1f0f9a77"

# Text that PostgreSQL can hold and people can read: no control characters.
PLAIN = r"^[^\x00-\x1f\x7f]*$"


def _is_number(value: object) -> object:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError("Input should be a whole number")  # noqa: TRY004  what pydantic makes a fault of
    return value


def _is_flag(value: object) -> object:
    if not isinstance(value, bool):
        raise ValueError("Input should be true or false")  # noqa: TRY004  what pydantic makes a fault of
    return value


# Not pydantic's Strict: the framework tells it to be lenient.
WholeNumber = Annotated[int, BeforeValidator(_is_number)]
Flag = Annotated[bool, BeforeValidator(_is_flag)]

Url = Annotated[
    str,
    Field(
        min_length=1,
        max_length=MAX_LENGTH,
        description="An absolute http or https URL.",
        examples=[EXAMPLE_URL],
    ),
]
Source = Annotated[UUID | None, Field(description="The source that the URL belongs to.", examples=[EXAMPLE_SOURCE])]
Kind = Annotated[PageKind, Field(description="What the URL is fetched for.")]
Priority = Annotated[
    Annotated[WholeNumber, Field(ge=1, le=10)] | None,
    Field(description="1 to 10, 10 the most urgent; without one it is 5.", examples=[5]),
]
Host = Annotated[
    str, Field(min_length=1, max_length=253, pattern=PLAIN, description="A host name.", examples=["news.example"])
]


def _hex(value: object) -> object:
    return value.hex() if isinstance(value, bytes) else value


def _shown(example: JsonDict) -> ConfigDict:
    return ConfigDict(json_schema_extra={"examples": [example]})


NextCursor = Annotated[
    str | None, Field(description="Give it back as `cursor` for what follows; null at the end.", examples=[None])
]


class Given(BaseModel):
    """What a program sends: nothing that is not asked for."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Told(BaseModel):
    """What a program is answered."""

    model_config = ConfigDict(frozen=True, from_attributes=True)


class SubmittedUrl(Given):
    """A URL to fetch."""

    model_config = _shown({"url": EXAMPLE_URL, "priority": 8})

    url: Url
    source_id: Source = None
    kind: Kind = PageKind.ARTICLE
    priority: Priority = None


Garbage = Annotated[
    Any,
    WithJsonSchema(
        {
            "description": "A URL, or an object as `submit` takes it. Anything else gets the result `invalid`.",
            "examples": [EXAMPLE_URL, {"url": EXAMPLE_URL, "priority": 8}],
        }
    ),
]


class SubmittedUrls(Given):
    """Many URLs to fetch. What is given for all of them holds where one does not say otherwise."""

    model_config = _shown({"urls": [EXAMPLE_URL, {"url": f"{EXAMPLE_URL}-2", "priority": 8}], "priority": 3})

    urls: Annotated[list[Garbage], Field(min_length=1, max_length=BULK_MOST)]
    source_id: Source = None
    kind: Kind = PageKind.ARTICLE
    priority: Priority = None

    def read(self) -> "list[SubmittedUrl | SubmitResult]":
        """The URLs; for what is none, what came of it."""
        shared = {"source_id": self.source_id, "kind": self.kind, "priority": self.priority}
        return [_read(item, shared) for item in self.urls]


class RetriedUrls(Given):
    """What to try again: by ids, whatever came of them; or all that are failed or dead and fit a filter."""

    model_config = _shown({"status": "dead", "host": "news.example"})

    ids: Annotated[
        list[UUID] | None,
        Field(min_length=1, max_length=RETRY_IDS_MOST, description="These URLs.", examples=[[EXAMPLE_ID]]),
    ] = None
    status: Annotated[Literal[Status.FAILED, Status.DEAD] | None, Field(description="Only those with this status.")] = (
        None
    )
    host: Annotated[Host | None, Field(description="Only those on this host.")] = None
    source_id: Annotated[UUID | None, Field(description="Only those of this source.")] = None

    cursor: Annotated[
        str | None, Field(description="`next_cursor` of the answer before, with the same filter.", max_length=100)
    ] = None

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        by_filter = any(value is not None for value in (self.status, self.host, self.source_id))
        if (self.ids is not None) == by_filter:
            raise ValueError("either ids are needed, or a filter: status, host, source_id")
        return self


class FrontierUrl(Told):
    """A URL of the frontier."""

    id: Annotated[UUID, Field(examples=[EXAMPLE_ID])]
    url: Annotated[str, Field(examples=[EXAMPLE_URL])]
    host: Annotated[str, Field(description="The queue it waits in.", examples=["news.example"])]
    status: Annotated[
        Status,
        Field(
            description="pending: it waits. fetching: its host is in a fetcher's hands. fetched: its page is kept. "
            "failed: it waits for another try. dead: it is not tried again; `last_error` says why.",
            examples=["fetched"],
        ),
    ]
    origin: Annotated[Origin, Field(description="Who found it.")]
    kind: Kind
    source_id: Source
    parent_url: Annotated[str | None, Field(description="The page that links to it.", examples=[None])]
    depth: Annotated[int, Field(description="Links between it and where its source begins.", examples=[0])]
    priority: Annotated[int, Field(description="1 to 10, 10 the most urgent.", examples=[7])]
    next_fetch_at: Annotated[datetime | None, Field(description="At the earliest; null: never again.")]
    last_fetched_at: datetime | None
    discovered_at: datetime
    fetch_count: Annotated[int, Field(examples=[1])]
    retry_count: Annotated[int, Field(description="Failures since the last success.", examples=[0])]
    content_hash: Annotated[
        str | None, BeforeValidator(_hex), Field(description="SHA-256 of its text, in hex.", examples=["9f86d081" * 8])
    ]
    etag: Annotated[str | None, Field(examples=['"5e1f"'])]
    last_modified: Annotated[str | None, Field(examples=["Sun, 15 Nov 2026 09:00:00 GMT"])]
    last_error: Annotated[str | None, Field(examples=[None])]


class FrontierPage(Told):
    """Some URLs, the newest first. There may be fewer than asked for, even none, before the end."""

    urls: list[FrontierUrl]
    total: Annotated[
        int,
        Field(description="How many pass the filter; at least so many where `total_is_exact` is false."),
    ]
    total_is_exact: Annotated[
        bool,
        Field(description="False where a filter by host, origin or text looked through 10,000 URLs."),
    ]
    next_cursor: NextCursor


class StatusCounts(Told):
    """How many URLs have each status."""

    pending: Annotated[int, Field(examples=[1200])]
    fetching: Annotated[int, Field(examples=[8])]
    fetched: Annotated[int, Field(examples=[51034])]
    failed: Annotated[int, Field(examples=[17])]
    dead: Annotated[int, Field(examples=[431])]


class SourceCounts(Told):
    """The same for one source. Null: URLs that belong to none."""

    source_id: Source
    pending: Annotated[int, Field(examples=[1200])]
    fetching: Annotated[int, Field(examples=[8])]
    fetched: Annotated[int, Field(examples=[51034])]
    failed: Annotated[int, Field(examples=[17])]
    dead: Annotated[int, Field(examples=[431])]


class FrontierStats(Told):
    """How many URLs have each status, in all and by source."""

    total: Annotated[int, Field(examples=[52690])]
    by_status: StatusCounts
    by_source: list[SourceCounts]


class SubmitResult(Told):
    """What came of a URL."""

    url: Annotated[str | None, Field(description="The URL as it was given.", examples=[EXAMPLE_URL])]
    result: Annotated[
        Fate,
        Field(
            description="queued: it is new. known: it was here, and was raised or brought forward if it still waits. "
            "revived: it was dead, and waits again. invalid: it cannot be fetched; `reason` says why."
        ),
    ]
    id: Annotated[UUID | None, Field(examples=[EXAMPLE_ID])] = None
    reason: Annotated[str | None, Field(description="Why it is invalid.", examples=[None])] = None


class SubmitResults(Told):
    """What came of each URL, in the order given, and how many there were of each."""

    queued: int
    known: int
    revived: int
    invalid: int
    results: list[SubmitResult]


class Retried(Told):
    """How many URLs wait again. So many are looked through at once: go on while there is a cursor."""

    retried: Annotated[int, Field(examples=[42])]
    next_cursor: NextCursor


def page_of(page: UrlPage, total: UrlTotal, next_cursor: str | None) -> FrontierPage:
    """Some of the frontier."""
    return FrontierPage(
        urls=[FrontierUrl.model_validate(url) for url in page.urls],
        total=total.urls,
        total_is_exact=total.is_exact,
        next_cursor=next_cursor,
    )


def stats_of(counted: types.FrontierStats) -> FrontierStats:
    """The frontier in numbers."""
    return FrontierStats(
        total=sum(counted.by_status.values()),
        by_status=StatusCounts.model_validate({status: counted.by_status.get(status, 0) for status in Status}),
        by_source=[SourceCounts.model_validate(tally) for tally in counted.by_source],
    )


def results_of(results: Sequence[SubmitResult]) -> SubmitResults:
    """What came of many URLs."""
    counts = Counter(one.result for one in results)
    return SubmitResults(
        queued=counts[Fate.QUEUED],
        known=counts[Fate.KNOWN],
        revived=counts[Fate.REVIVED],
        invalid=counts[Fate.INVALID],
        results=list(results),
    )


def _read(item: object, shared: Mapping[str, object]) -> SubmittedUrl | SubmitResult:
    """One URL of many, or why it is none."""
    given = cast("dict[str, object]", item) if isinstance(item, dict) else {"url": item}
    try:
        return SubmittedUrl.model_validate({**shared, **given})
    except ValidationError as error:
        url = given.get("url")
        told = url[:MAX_LENGTH] if isinstance(url, str) else None
        return SubmitResult(url=told, result=Fate.INVALID, reason=explain(error))


GIVEN = (SubmittedUrl, SubmittedUrls, RetriedUrls)
TOLD = (FrontierPage, FrontierUrl, FrontierStats, SubmitResult, SubmitResults, Retried)
REFUSAL_EXAMPLES = {
    400: "The query contains the character U+0000, which is not allowed.",
    401: "The request came without a token.",
    403: "The token may not write.",
    404: "There is nothing with this id.",
    408: "The rest of the request did not arrive in time.",
    409: "https://news.example/feed.xml is followed already.",
    413: "The body has more than 10,000,000 bytes.",
    414: "The address is too long.",
    415: "The body is 'text/plain'.",
    422: "Something that was sent cannot be used.",
    429: "More than 600 requests came within a minute.",
    500: "Headwater made a mistake. The log tells what happened.",
    503: "Headwater cannot reach its database just now. It tries again by itself.",
}


def explain(error: ValidationError) -> str:
    """The first thing that is wrong, in a sentence."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    message = first["msg"].removeprefix("Value error, ")
    return f"{place}: {message}" if place else message


def fault(place: str, name: str, problem: str) -> ValidationException:
    """What is wrong with something that was sent, and where."""
    return ValidationException(extra=[{"source": place, "key": name, "message": problem}])

"""Request and response models of articles."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Self
from uuid import UUID

from pydantic import Field, model_validator

from headwater.api.schemas import EXAMPLE_URL, RequestModel, ResponseModel, with_example
from headwater.downstream.types import ArticleField
from headwater.urls import MAX_LENGTH

PAGE_MOST = 1_000
BATCH_MOST = 1_000
EXAMPLE_ID = "01935c8e-7a3b-7cc0-98d4-5b6f6e6b2f10"


class ArticleOrder(StrEnum):
    OLDEST = "oldest"
    NEWEST = "newest"


class LabelOfArticle(ResponseModel):
    """A label that is shown."""

    label: str
    score: Annotated[float, Field(description="How sure it is, 0 to 1; of a quality, the quality.")]
    method: str


class StoryOfArticle(ResponseModel):
    """The story that an article is in."""

    id: UUID
    title: str
    article_count: int
    source_count: int


class SourceOfArticle(ResponseModel):
    """A public source that lists an article."""

    id: UUID
    name: str


class EnclosureResponse(ResponseModel):
    """A file that a feed lists with an article."""

    url: str
    type: Annotated[str | None, Field(description="Its media type.")] = None
    length: Annotated[int | None, Field(description="In bytes.")] = None
    duration: Annotated[float | None, Field(description="In seconds.")] = None
    title: str | None = None


def _field(text: str) -> Any:  # noqa: ANN401  as pydantic's own Field
    return Field(None, description=text)


class ArticleResponse(ResponseModel):
    """An article. `id` and `revision` are always there, the other fields as `fields` asks for them."""

    id: UUID
    revision: Annotated[int | None, Field(description="Number of its last change; null until it is classified.")]
    revised_at: datetime | None = _field("When it changed last.")
    url: str | None = None
    canonical_url: str | None = _field("As its page names it.")
    title: str | None = None
    author: str | None = None
    summary: str | None = _field("Of its feed, safe HTML.")
    description: str | None = _field("Of its page.")
    published_at: datetime | None = None
    listed_at: datetime | None = _field("When it was published, or seen if that was earlier.")
    seen_at: datetime | None = _field("When a feed or page first named it.")
    extracted_at: datetime | None = _field("When its page was read; null: not yet, or it cannot be.")
    classified_at: datetime | None = None
    language: str | None = None
    word_count: int | None = None
    image_url: str | None = None
    section: str | None = None
    keywords: list[str] | None = _field("Of its page.")
    content_hash: str | None = _field("SHA-256 of its text, in hex: equal texts have equal hashes.")
    duplicate_of: UUID | None = _field("The article with the same text.")
    near_duplicate_of: UUID | None = None
    labels: dict[str, list[LabelOfArticle]] | None = _field("The labels that are shown, by scheme, surest first.")
    story: StoryOfArticle | None = None
    sources: list[SourceOfArticle] | None = _field("The public sources that list it.")
    enclosures: list[EnclosureResponse] | None = None
    text: str | None = _field("Of its page, plain.")
    html: str | None = _field("Of its page, else of its feed; safe.")
    open_graph: dict[str, Any] | None = None
    linked_data: list[Any] | None = _field("JSON-LD of its page.")


class ArticlesResponse(ResponseModel):
    """A page of articles in the order of their revisions. A page may be short without being the last."""

    articles: list[ArticleResponse]
    next_cursor: Annotated[
        str | None,
        Field(
            description="Send it as `after` for the next page. Oldest first it is never null: send it later for what "
            "is new. Newest first it is null on the last page."
        ),
    ]
    has_more: Annotated[bool, Field(description="Whether there is a next page now.")]
    latest_cursor: Annotated[
        str, Field(description="The cursor after everything that there was: a stream from here has what is new.")
    ]


class WantedArticles(RequestModel):
    """Articles by id or URL."""

    model_config = with_example({"ids": [EXAMPLE_ID], "urls": [EXAMPLE_URL], "fields": ["title", "text"]})

    ids: Annotated[list[UUID], Field(max_length=BATCH_MOST)] = Field(default_factory=list[UUID])
    urls: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=MAX_LENGTH)]],
        Field(max_length=BATCH_MOST, description="Compared by their canonical form."),
    ] = Field(default_factory=list[str])
    fields: Annotated[
        list[ArticleField] | None, Field(description="These fields only; default: all but the long ones.")
    ] = None

    @model_validator(mode="after")
    def _some_and_not_too_many(self) -> Self:
        if not 1 <= len(self.ids) + len(self.urls) <= BATCH_MOST:
            raise ValueError(f"1 to {BATCH_MOST:,} ids and urls are required")
        return self


class WantedArticle(ResponseModel):
    """The answer for one id or URL: the article, or the code of why it is missing."""

    id: Annotated[UUID | None, Field(description="The id as sent.")] = None
    url: Annotated[str | None, Field(description="The URL as sent.")] = None
    article: ArticleResponse | None = None
    code: Annotated[
        str | None,
        Field(description="article_not_found, or response_too_large: ask for it again, in a smaller batch."),
    ] = None


class WantedArticlesResponse(ResponseModel):
    """Articles by id or URL, in the order of the request: ids first."""

    results: list[WantedArticle]


REQUESTS = (WantedArticles,)
RESPONSES = (ArticleResponse, ArticlesResponse, WantedArticlesResponse)

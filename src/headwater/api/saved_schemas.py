"""Request and response models of Read later."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Self
from uuid import UUID

from pydantic import Field

from headwater.api.schemas import NextCursor, RequestModel, ResponseModel, Url, with_example
from headwater.library.types import ArticleLine


class PageToSave(RequestModel):
    """A page to save for later."""

    model_config = with_example({"url": "https://example.com/an-essay"})

    url: Url


class SavedArticle(ResponseModel):
    """An article or page in Read later of the token's user."""

    id: UUID
    url: Annotated[str, Field(description="Where it redirects to, once that is known.")]
    title: Annotated[str, Field(description="Its URL, until it is fetched.")]
    author: str | None
    saved_at: datetime
    read: bool
    word_count: Annotated[int | None, Field(description="Null until its text is extracted.")]

    @classmethod
    def of(cls, line: ArticleLine) -> Self:
        return cls(
            id=line.id, url=line.url, title=line.title, author=line.author, saved_at=line.listed_at, read=line.is_read,
            word_count=line.word_count,
        )  # fmt: skip


class SavedArticles(ResponseModel):
    """A page of Read later, the latest first."""

    articles: Sequence[SavedArticle]
    next_cursor: NextCursor


REQUESTS = (PageToSave,)
RESPONSES = (SavedArticle, SavedArticles)

"""Icons and lead images. Pure data."""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from uuid import UUID

from headwater.types import ArticleId, SourceId

URL_MAX = 2000
ICON_SIDE = 64
LEAD_WIDTH, LEAD_HEIGHT = 640, 360
"""Pixels of what is stored. Pages show an icon in a quarter of that, a lead image in at most its width."""


class ImageKind(StrEnum):
    ICON = "icon"  # of a source
    LEAD = "lead"  # of an article


@dataclass(frozen=True, slots=True)
class ImageOptions:
    icons: bool = True
    lead_images: bool = True
    max_bytes: int = 5_000_000  # of an image as its site sends it
    budget_bytes: int = 2_000_000_000  # of all stored lead images
    timeout: timedelta = timedelta(seconds=30)
    concurrency: int = 4


@dataclass(frozen=True, slots=True)
class WantedIcon:
    """What a feed says: its site, and its own icon."""

    source_id: SourceId
    page_url: str | None
    url: str | None


@dataclass(frozen=True, slots=True)
class SourceAddress:
    """A source whose icon was never looked for."""

    id: SourceId
    url: str


@dataclass(frozen=True, slots=True)
class WantedLead:
    article_id: ArticleId
    url: str


@dataclass(frozen=True, slots=True)
class ClaimedImage:
    owner_id: UUID  # the source or the article
    kind: ImageKind
    url: str | None  # None: an icon that the feed does not name
    page_url: str | None  # of an icon: the front page of the site
    host: str
    tries: int
    lease: UUID


@dataclass(frozen=True, slots=True)
class ResizedImage:
    """What the sandbox made of an image."""

    data: bytes


@dataclass(frozen=True, slots=True)
class StoredImage:
    """A WebP image as it is served. The digest is its fingerprint, in its URL and its ETag."""

    data: bytes
    digest: str


@dataclass(frozen=True, slots=True)
class ImageDigest:
    """The fingerprint of the image of a feed or an article."""

    owner_id: UUID
    digest: str


class Refusal(StrEnum):
    """Why there is no image."""

    NOT_FOUND = "not_found"
    NOT_AN_IMAGE = "not_an_image"
    WRONG_SIZE = "wrong_size"
    TOO_LARGE = "too_large"
    UNREADABLE = "unreadable"
    DISALLOWED = "disallowed"
    UNREACHABLE = "unreachable"  # the only one that is tried again

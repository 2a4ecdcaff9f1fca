"""What follows from an attempt to fetch an image, and what its bytes are. Pure."""

import hashlib
from datetime import datetime, timedelta

from headwater.images.types import ClaimedImage, ImageKind, Refusal, StoredImage

RETRY_AFTER = (timedelta(hours=1), timedelta(days=1))
"""After the first and the second failure; there is no fourth attempt."""
STORED_MAX = 200_000  # bytes; a lead image has 20,000 to 60,000
ICON_RENEWED = timedelta(days=60)
_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "PNG"), (b"\xff\xd8\xff", "JPEG"), (b"GIF87a", "GIF"), (b"GIF89a", "GIF"),
    (b"\x00\x00\x01\x00", "ICO"),
)  # fmt: skip


def format_of(body: bytes) -> str | None:
    """The format by its first bytes, whatever the server says; None for all others, SVG among them."""
    if body[:4] == b"RIFF" and body[8:12] == b"WEBP":
        return "WEBP"
    if body[4:8] == b"ftyp" and body[8:12] in {b"avif", b"avis"}:
        return "AVIF"
    return next((name for signature, name in _SIGNATURES if body.startswith(signature)), None)


def refusal_of_status(status: int) -> Refusal | None:
    """None: there is an image."""
    if status == 200:
        return None
    return Refusal.UNREACHABLE if status in {408, 425, 429} or status >= 500 else Refusal.NOT_FOUND


def next_try_at(image: ClaimedImage, reason: Refusal, now: datetime) -> datetime | None:
    """When a failed image is tried again. None: never, or not before its URL changes."""
    if reason is not Refusal.UNREACHABLE or image.tries >= len(RETRY_AFTER):
        return None
    return now + RETRY_AFTER[image.tries]


def renewed_at(kind: ImageKind, now: datetime) -> datetime | None:
    """When a stored image is fetched again: sites change their icon, articles seldom their image."""
    return now + ICON_RENEWED if kind is ImageKind.ICON else None


def stored_of(data: bytes) -> StoredImage | Refusal:
    """What the sandbox made. It has read hostile bytes: anything but a small WebP is refused."""
    if format_of(data) != "WEBP" or len(data) > STORED_MAX:
        return Refusal.UNREADABLE
    return StoredImage(data, hashlib.sha256(data).hexdigest()[:32])

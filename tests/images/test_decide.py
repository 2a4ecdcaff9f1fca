from datetime import timedelta

import pytest

from headwater.ids import new_id
from headwater.images.decide import STORED_MAX, next_try_at, refusal_of_status, renewed_at, stored_of
from headwater.images.types import ClaimedImage, ImageKind, Refusal, StoredImage
from tests.clock import START


def claimed(tries: int) -> ClaimedImage:
    return ClaimedImage(new_id(), ImageKind.LEAD, "https://a.example/a.png", None, "a.example", tries, new_id())


@pytest.mark.parametrize(
    ("tries", "reason", "after"),
    [
        (0, Refusal.UNREACHABLE, timedelta(hours=1)),
        (1, Refusal.UNREACHABLE, timedelta(days=1)),
        (2, Refusal.UNREACHABLE, None),
        (3, Refusal.UNREACHABLE, None),
        *((0, reason, None) for reason in Refusal if reason is not Refusal.UNREACHABLE),
    ],
)
def test_an_image_that_fails_is_tried_again_twice_if_that_may_help(
    tries: int, reason: Refusal, after: timedelta | None
) -> None:
    assert next_try_at(claimed(tries), reason, START) == (START + after if after else None)


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (200, None), (204, Refusal.NOT_FOUND), (301, Refusal.NOT_FOUND), (401, Refusal.NOT_FOUND),
        (404, Refusal.NOT_FOUND), (408, Refusal.UNREACHABLE), (410, Refusal.NOT_FOUND), (425, Refusal.UNREACHABLE),
        (429, Refusal.UNREACHABLE), (499, Refusal.NOT_FOUND), (500, Refusal.UNREACHABLE), (503, Refusal.UNREACHABLE),
    ],
)  # fmt: skip
def test_a_status_means(status: int, reason: Refusal | None) -> None:
    assert refusal_of_status(status) is reason


def test_icons_are_renewed_after_two_months_and_lead_images_never() -> None:
    assert renewed_at(ImageKind.ICON, START) == START + timedelta(days=60)
    assert renewed_at(ImageKind.LEAD, START) is None


def test_an_answer_of_the_sandbox_that_is_not_a_small_webp_is_refused() -> None:
    webp = b"RIFF\0\0\0\0WEBP"
    assert stored_of(b"<svg/>") is Refusal.UNREADABLE
    assert stored_of(webp + bytes(STORED_MAX)) is Refusal.UNREADABLE
    found = stored_of(webp)
    assert isinstance(found, StoredImage)
    assert (found.data, len(found.digest)) == (webp, 32)
    assert stored_of(webp + bytes(STORED_MAX - len(webp))) is not Refusal.UNREADABLE

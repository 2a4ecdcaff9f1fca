"""Which address is saved, and what is said of a page without text."""

from dataclasses import replace
from datetime import timedelta

import pytest

from headwater.errors import Invalid
from headwater.frontier.types import FrontierUrl, Origin, Status
from headwater.ids import new_id
from headwater.library.saved.decide import READ_WITHIN, address_of, check_page, missing_text, needs_fetch
from headwater.library.saved.types import MissingText, TextState
from headwater.types import PageKind
from tests.clock import START

KNOWN = FrontierUrl(
    id=new_id(), url="https://essay.example/a", kind=PageKind.ARTICLE, origin=Origin.SAVED, source_id=None, depth=0,
    priority=9, etag=None, last_modified=None, fetch_count=1, retry_count=0, parent_url=None, next_fetch_at=None,
    last_fetched_at=START, content_hash=None, last_error=None, discovered_at=START, host="essay.example",
    status=Status.PENDING,
)  # fmt: skip


@pytest.mark.parametrize(
    ("url", "texts", "found"),
    [
        (" https://a.example/ ", ("https://b.example/",), "https://a.example/"),
        ("", ("Read https://b.example/x!", ""), "https://b.example/x"),
        ("", ("nothing", "(HTTP://c.example/)"), "HTTP://c.example/"),
        ("", ("nothing", ""), ""),
    ],
)
def test_the_shared_address_is_found(url: str, texts: tuple[str, ...], found: str) -> None:
    assert address_of(url, *texts) == found


def test_an_address_without_a_scheme_is_completed() -> None:
    assert check_page("essay.example/a") == "https://essay.example/a"


@pytest.mark.parametrize("address", ["", " ", "ftp://essay.example/", "javascript:alert(1)", "/etc/passwd"])
def test_other_addresses_are_invalid(address: str) -> None:
    with pytest.raises(Invalid):
        check_page(address)


LATE = START + READ_WITHIN
SOON = LATE - timedelta(seconds=1)


@pytest.mark.parametrize(
    ("status", "error", "now", "missing", "needed"),
    [
        (Status.PENDING, None, LATE, MissingText(TextState.WAITING), False),
        (Status.FETCHING, None, LATE, MissingText(TextState.WAITING), False),
        (Status.FETCHED, None, SOON, MissingText(TextState.WAITING), False),
        (Status.FETCHED, None, LATE, MissingText(TextState.EMPTY), True),
        (
            Status.FAILED,
            "timeout: slow",
            LATE,
            MissingText(TextState.FAILED, "The site did not respond as expected."),
            True,
        ),
        (
            Status.DEAD,
            "not_found: 404",
            LATE,
            MissingText(TextState.REFUSED, "The site says that it does not exist."),
            True,
        ),
        (
            Status.DEAD,
            "poison",
            LATE,
            MissingText(TextState.REFUSED, "The site did not respond as expected."),
            False,
        ),
    ],
)
def test_the_state_of_a_url_says_why_there_is_no_text_and_whether_it_is_fetched_again(
    status: Status, error: str | None, now: object, missing: MissingText, needed: bool
) -> None:
    url = replace(KNOWN, status=status, last_error=error)

    assert missing_text(url, now) == missing  # pyright: ignore[reportArgumentType]
    assert needs_fetch(url, now) is needed  # pyright: ignore[reportArgumentType]


def test_a_url_that_is_not_queued_has_no_text() -> None:
    assert missing_text(None, START) == MissingText(TextState.EMPTY)

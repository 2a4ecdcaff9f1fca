"""Who waits, for how long, and who may be asked about."""

from datetime import timedelta

import pytest

from headwater.ai.types import BudgetLevel
from headwater.articles.decide import is_private
from headwater.articles.types import ListingFeed
from headwater.understanding.tagging.decide import how_many, labels_of, retry_at, share_of_waiting
from headwater.understanding.tagging.types import TaggingPause, Tags
from tests.clock import START


def test_every_fourth_article_is_the_one_that_has_waited_longest() -> None:
    assert [share_of_waiting(claimed, 1, BudgetLevel.NORMAL) for claimed in range(9)] == [0, 0, 0, 1, 0, 0, 0, 1, 0]
    assert share_of_waiting(0, 10, BudgetLevel.NORMAL) == 2
    assert share_of_waiting(2, 10, BudgetLevel.NORMAL) == 3


def test_while_the_budget_is_limited_waiting_counts_for_nothing() -> None:
    assert share_of_waiting(3, 100, BudgetLevel.SAVING) == 0


@pytest.mark.parametrize(
    ("pause", "in_progress", "claimed"),
    [
        (TaggingPause(), 0, 4),
        (TaggingPause(), 3, 4),
        (TaggingPause(1, START + timedelta(seconds=1)), 0, 0),
        (TaggingPause(1, START), 0, 1),
        (TaggingPause(1, START), 1, 0),
        (TaggingPause(0, START + timedelta(seconds=1)), 0, 0),
        (TaggingPause(0, START), 2, 4),
        (TaggingPause(1, START + timedelta(days=30)), 0, 1),
    ],
    ids=["no pause", "busy", "pause", "after it", "one is tried", "for the budget", "after that", "by a wrong clock"],
)
def test_a_pause_ends_with_one_article(pause: TaggingPause, in_progress: int, claimed: int) -> None:
    assert how_many(4, pause, in_progress, START) == claimed


def test_the_third_attempt_is_the_last() -> None:
    waits = [retry_at(attempts, START) for attempts in (1, 2, 3, 4)]

    assert waits == [START + timedelta(minutes=15), START + timedelta(hours=2), None, None]


SYSTEM = ListingFeed(is_public=True, feed_url="https://example.com/feed.xml?key=8c1f")
PUBLIC = ListingFeed(is_public=False, feed_url="https://example.com/feed.xml")
SITE = ListingFeed(is_public=False, feed_url=None)
KEYED = ListingFeed(is_public=False, feed_url="https://example.com/feed.xml?key=8c1f")


@pytest.mark.parametrize(
    ("feeds", "expected"),
    [([], False), ([SYSTEM], False), ([PUBLIC], False), ([SITE], False), ([KEYED], True), ([KEYED, PUBLIC], False)],
    ids=["page", "system", "public", "site", "key", "both"],
)
def test_an_article_is_private_if_only_users_feeds_with_a_key_list_it(feeds: list[ListingFeed], expected: bool) -> None:
    assert is_private(feeds) is expected


def test_the_version_of_a_label_fits_its_column() -> None:
    tags = Tags(("a", "b", "c"), "neutral", ("Sports",), 0.5)

    versions = {one.version for one in labels_of(tags, model="m" * 200, prompt_version="12345678")}

    assert versions == {"m" * 84 + " prompt 12345678"}

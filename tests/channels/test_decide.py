"""Which channels are valid, and which queries match everything."""

from datetime import date, timedelta
from typing import Any

import pytest

from headwater.channels.decide import check_channel, check_not_everything, check_options, is_allowed_host
from headwater.channels.types import ChannelFields, DestinationKind, DestinationLimits
from headwater.errors import Invalid, MatchesEverything
from headwater.query.types import (
    And,
    Before,
    Comparator,
    Everything,
    Node,
    Not,
    OfHost,
    OfQuality,
    Or,
    Within,
    Words,
)

A, B, C = Words("a"), Words("b"), Words("c")
NEW = Within(timedelta(days=2))
PAST = Before(date(2020, 1, 1))
LIMITS = DestinationLimits(hosts=frozenset({"redis.internal", "10.0.0.7", "fd00::7"}), has_directory=True)


def quality(comparator: Comparator, value: int) -> OfQuality:
    return OfQuality(comparator, value)


@pytest.mark.parametrize(
    "tree",
    [
        Or((A, Not(A))),
        Not(And((A, Not(A)))),
        NEW,
        Not(PAST),
        And((NEW, Not(PAST))),
        Or((A, NEW)),
        Or((A, Everything())),
        Not(Not(Everything())),
        And((Or((A, Not(A))), Or((B, C, Not(B))))),
        quality(Comparator.AT_LEAST, 0),
        Or((quality(Comparator.LESS, 50), quality(Comparator.AT_LEAST, 50))),
        Or((And((A, B)), And((A, Not(B))), Not(A))),
    ],
    ids=str,
)
def test_a_query_that_matches_everything_is_refused_unless_it_says_so(tree: Node) -> None:
    with pytest.raises(MatchesEverything):
        check_not_everything(tree)


@pytest.mark.parametrize(
    "tree",
    [
        Everything(),
        A,
        Not(A),
        And((A, NEW)),
        Or((A, Not(B))),
        And((A, Not(A))),
        And((Everything(), A)),
        Or((quality(Comparator.LESS, 50), quality(Comparator.MORE, 50))),
        Or((And((A, B)), And((A, Not(B))), C)),
        Or(tuple(Words(str(number)) for number in range(64))),
        And(tuple(Or((Words(str(number)), Not(Words(str(number + 1))))) for number in range(60))),
    ],
    ids=lambda tree: str(tree)[:60],
)
def test_a_query_that_limits_is_accepted(tree: Node) -> None:
    check_not_everything(tree)


class CountedWords(Words):
    """Words that count how often they are looked at, and end the test when that is too often."""

    looked_at = 0

    def __hash__(self) -> int:
        CountedWords.looked_at += 1
        assert CountedWords.looked_at < 200_000
        return super().__hash__()


@pytest.mark.parametrize(
    "others",
    [
        [Within(timedelta(days=number)) for number in range(1, 9)],
        [quality(Comparator.EQUAL, number) for number in range(0, 100, 3)],
    ],
    ids=["times", "qualities"],
)
def test_a_query_that_would_take_minutes_to_examine_is_accepted(others: list[Node]) -> None:
    """Of 200 characters: it froze the process for 294 s."""
    CountedWords.looked_at = 0
    words = [CountedWords(str(number)) for number in range(12)]
    check_not_everything(And((*(Or((word, Not(word))) for word in words), Or(tuple(others)))))
    assert CountedWords.looked_at > 0


def test_without_words_that_are_found_nowhere_a_query_matches_everything() -> None:
    check_not_everything(Not(Words("...")))
    with pytest.raises(MatchesEverything):
        check_not_everything(Not(Words("...")), blank=frozenset({"..."}))


@pytest.mark.parametrize("name", ["", "Crime", "-crime", "a b", "articles/crime", "a" * 101, "cri\nme", "naïve"])
def test_a_name_is_fit_for_addresses_and_streams(name: str) -> None:
    with pytest.raises(Invalid, match="A name has"):
        check_channel(ChannelFields(name, "crime"), LIMITS)


def test_a_channel_keeps_what_is_valid_and_omits_what_is_empty() -> None:
    options = {"url": " https://Hooks.example.com/in ", "batch": 20, "html": None}
    checked = check_channel(ChannelFields(" articles:crime ", " crime ", DestinationKind.WEBHOOK, options), LIMITS)
    assert checked == ChannelFields(
        "articles:crime", "crime", DestinationKind.WEBHOOK, {"url": "https://hooks.example.com/in", "batch": 20}
    )


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (DestinationKind.REDIS, {"url": "redis://redis.internal:6379", "stream": "articles:crime", "most": 1000}),
        (DestinationKind.REDIS, {"url": "rediss://[fd00::7]:6380", "stream": "s", "username": "u", "database": 2}),
        (DestinationKind.NATS, {"url": "nats://10.0.0.7", "subject": "articles.crime"}),
        (DestinationKind.FILE, {"name": "crime.jsonl", "html": True}),
        (DestinationKind.NONE, {}),
    ],
)
def test_options_of_each_destination_are_kept(kind: DestinationKind, options: dict[str, Any]) -> None:
    assert check_options(kind, options, LIMITS) == options


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (DestinationKind.WEBHOOK, {}, "url is missing"),
        (DestinationKind.WEBHOOK, {"url": 7}, "url is a text"),
        (DestinationKind.WEBHOOK, {"url": "ftp://example.com/"}, "only http and https"),
        (DestinationKind.WEBHOOK, {"url": "https://me:secret@example.com/"}, "name or password"),
        (DestinationKind.WEBHOOK, {"url": "https://example.com/", "batch": 0}, "batch is a number from 1"),
        (DestinationKind.WEBHOOK, {"url": "https://example.com/", "batch": True}, "batch is a number"),
        (DestinationKind.WEBHOOK, {"url": "https://example.com/", "html": 1}, "html is true or false"),
        (DestinationKind.WEBHOOK, {"url": "https://example.com/", "stream": "x"}, "no option 'stream'"),
        (DestinationKind.REDIS, {"url": "redis://other:6379", "stream": "s"}, "HEADWATER_CHANNEL_HOSTS"),
        (DestinationKind.REDIS, {"url": "redis://:pw@redis.internal", "stream": "s"}, "redis://host:port"),
        (DestinationKind.REDIS, {"url": "redis://redis.internal/0?x=1", "stream": "s"}, "redis://host:port"),
        (DestinationKind.REDIS, {"url": "http://redis.internal", "stream": "s"}, "redis://host:port"),
        (DestinationKind.REDIS, {"url": "redis://redis.internal:99999", "stream": "s"}, "redis://host:port"),
        (DestinationKind.REDIS, {"url": "redis://redis.internal", "stream": "a b"}, "stream has 1 to"),
        (DestinationKind.NATS, {"url": "nats://10.0.0.7", "subject": "articles.*"}, "A subject has"),
        (DestinationKind.NATS, {"url": "nats://10.0.0.7", "subject": "a\r\nPUB b"}, "A subject has"),
        (DestinationKind.FILE, {"name": "../crime"}, "A file name has"),
        (DestinationKind.FILE, {"name": "/etc/cron.d/x"}, "A file name has"),
        (DestinationKind.FILE, {"name": ".bashrc"}, "A file name has"),
        (DestinationKind.SEARCH_INDEX, {}, "no search index"),
        (DestinationKind.NONE, {"url": "https://example.com/"}, "no option 'url'"),
    ],
)
def test_other_options_are_refused(kind: DestinationKind, options: dict[str, Any], message: str) -> None:
    with pytest.raises(Invalid, match=message):
        check_options(kind, options, LIMITS)


def test_files_need_a_directory() -> None:
    with pytest.raises(Invalid, match="HEADWATER_CHANNEL_DIRECTORY"):
        check_options(DestinationKind.FILE, {"name": "a"}, DestinationLimits())


def test_a_host_and_its_negation_match_everything() -> None:
    host = OfHost("example.org")
    with pytest.raises(MatchesEverything):
        check_not_everything(Or((host, Not(host))))


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://10.0.0.7:8080/in", True),
        ("http://[fd00::7]/in", True),
        ("https://REDIS.internal./", True),
        ("http://10.0.0.8/", False),
        ("http://evil.redis.internal/", False),
        ("http://redis.internal.evil.example/", False),
    ],
)
def test_a_webhook_may_be_private_only_if_the_settings_name_its_host(url: str, expected: bool) -> None:
    assert is_allowed_host(url, LIMITS) is expected

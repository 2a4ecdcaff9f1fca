"""What may be suggested, who is trusted, and what a decision is worth: tables, nothing else."""

from datetime import timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.accounts.decide import Limit
from headwater.accounts.types import Role, User
from headwater.errors import Invalid, InvalidProposal
from headwater.sources.custom.decide import (
    SUBMISSIONS,
    check_domain,
    check_proposal,
    check_reason,
    domains_of,
    is_trusted,
    may_approve,
    why_taken,
    worth,
)
from headwater.sources.custom.types import ExistingSource, ModerationStatus, Proposal
from headwater.types import SourceId, UserId
from tests.clock import START

URL = "https://good.example/feed"
PENDING, APPROVED, REJECTED = ModerationStatus


@pytest.mark.parametrize(
    ("given", "fields"),
    [
        (Proposal("", URL), {"name"}),
        (Proposal(" \n ", URL), {"name"}),
        (Proposal("\u200b", URL), {"name"}),
        (Proposal("x" * 256, URL), {"name"}),
        (Proposal("x", ""), {"url"}),
        (Proposal("x", "ftp://good.example/feed"), {"url"}),
        (Proposal("x", "file:///etc/passwd"), {"url"}),
        (Proposal("x", "good.example/feed"), {"url"}),
        (Proposal("x", "javascript:alert(1)"), {"url"}),
        (Proposal("x", "https://user:secret@good.example/"), {"url"}),
        (Proposal("x", "http://"), {"url"}),
        (Proposal("x", "https://good.example/" + "x" * 3000), {"url"}),
        (Proposal("x", URL, interval_minutes=14), {"refresh_interval_minutes"}),
        (Proposal("x", URL, interval_minutes=1441), {"refresh_interval_minutes"}),
        (Proposal("x", URL, category="x" * 101), {"category"}),
        (Proposal("", "", "x" * 101, 0), {"name", "url", "category", "refresh_interval_minutes"}),
    ],
    ids=range(16),
)
def test_every_invalid_field_is_reported(given: Proposal, fields: set[str]) -> None:
    with pytest.raises(InvalidProposal) as refused:
        check_proposal(given)

    assert set(refused.value.problems) == fields
    assert all(sentence.endswith(".") for sentence in refused.value.problems.values())


@pytest.mark.parametrize("minutes", [None, 15, 60, 1440])
def test_what_is_right_is_tidied_up(minutes: int | None) -> None:
    given = Proposal(" Good\x00 \n News ", f" {URL.upper()} ", "  ", minutes)

    assert check_proposal(given) == Proposal("Good News", "https://good.example/FEED", None, minutes)


def test_a_name_has_1_to_255_characters() -> None:
    assert [len(check_proposal(Proposal("x" * size, URL)).name) for size in (1, 255)] == [1, 255]


@pytest.mark.parametrize(
    ("given", "domain"),
    [
        ("spam.example", "spam.example"),
        (" Spam.EXAMPLE. ", "spam.example"),
        ("*.spam.example", "spam.example"),
        ("www.spam.example", "spam.example"),
        ("https://spam.example:8080/feed?x=1", "spam.example"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("203.0.113.7", "203.0.113.7"),
        ("a_b.spam.example", "a_b.spam.example"),
    ],
)
def test_a_domain_is_taken_from_whatever_names_it(given: str, domain: str) -> None:
    assert check_domain(given) == domain


@pytest.mark.parametrize(
    "given", ["", " ", ".", "com", "localhost", "*", "%", "a..b", "javascript:alert(1)", "x" * 300]
)
def test_what_is_no_domain_is_refused(given: str) -> None:
    with pytest.raises(Invalid, match="not a valid domain"):
        check_domain(given)


def test_a_host_is_below_every_domain_it_ends_in() -> None:
    assert domains_of("a.b.example") == ["a.b.example", "b.example", "example"]


def test_a_category_is_nested_as_that_of_a_subscription() -> None:
    assert check_proposal(Proposal("x", URL, " World /  Local news/")).category == "World/Local news"


@pytest.mark.parametrize("size", [1, 100])
def test_a_category_has_at_most_100_characters(size: int) -> None:
    assert check_proposal(Proposal("x", URL, "x" * size)).category == "x" * size


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_suggestion_is_of_a_page_of_the_web(scheme: str) -> None:
    assert check_proposal(Proposal("x", f"{scheme}://good.example/feed")).url == f"{scheme}://good.example/feed"


def test_a_long_text_that_is_not_a_domain_is_quoted_in_short() -> None:
    with pytest.raises(Invalid, match=f"^'{'x' * 100}' is not a valid domain"):
        check_domain(" " + "x" * 101)


def test_a_user_may_suggest_20_feeds_an_hour() -> None:
    assert Limit(20, timedelta(hours=1)) == SUBMISSIONS


@pytest.mark.parametrize(
    ("given", "reason"), [("x", "x"), (" Not \n a feed. ", "Not a feed."), ("x" * 500, "x" * 500)], ids=range(3)
)
def test_a_reason_is_one_line_of_1_to_500_characters(given: str, reason: str) -> None:
    assert check_reason(given) == reason


@pytest.mark.parametrize("reason", ["", "  ", "\n", "x" * 501])
def test_a_refusal_has_a_reason(reason: str) -> None:
    with pytest.raises(Invalid, match="A reason of 1 to"):
        check_reason(reason)


@pytest.mark.parametrize(("karma", "trusted"), [(0, False), (9, False), (10, True), (11, True)])
def test_ten_karma_are_trust(karma: int, trusted: bool) -> None:
    assert is_trusted(karma) is trusted


@pytest.mark.parametrize(
    ("before", "after", "karma"),
    [(PENDING, APPROVED, 1), (PENDING, REJECTED, 0), (APPROVED, APPROVED, 1), (APPROVED, REJECTED, -1)],
)
def test_karma_grows_by_what_a_person_approved_and_trust_can_be_lost(
    before: ModerationStatus, after: ModerationStatus, karma: int
) -> None:
    assert worth(before, after) == karma


def test_moderators_approve_what_others_suggest() -> None:
    ada, bob = UserId(UUID(int=1)), UserId(UUID(int=2))
    judges = {role: User(ada, "ada@example.com", role, None, START) for role in Role}

    assert may_approve(judges[Role.MODERATOR], bob)
    assert not may_approve(judges[Role.MODERATOR], ada)
    assert may_approve(judges[Role.SUPER_ADMIN], ada)
    assert may_approve(None, ada)


@pytest.mark.parametrize(
    ("is_system", "status", "said"),
    [
        (True, None, "Subscribe"),
        (False, APPROVED, "Subscribe"),
        (False, PENDING, "pending"),
        (False, REJECTED, "rejected"),
        (False, None, None),
    ],
    ids=str,
)
def test_the_error_for_an_existing_feed_says_what_to_do(
    is_system: bool, status: ModerationStatus | None, said: str | None
) -> None:
    reason = why_taken(ExistingSource(SourceId(UUID(int=1)), "Good News", is_system, status))

    assert (reason is None) if said is None else said in (reason or "")


@given(name=st.text(), url=st.text() | st.text().map("https://{}".format), category=st.text(), minutes=st.integers())
def test_whatever_is_suggested_is_tidy_or_refused(name: str, url: str, category: str, minutes: int) -> None:
    try:
        checked = check_proposal(Proposal(name, url, category, minutes))
    except InvalidProposal:
        return

    assert checked.name.isprintable()
    assert 1 <= len(checked.name) <= 255
    assert checked.url.startswith(("http://", "https://"))
    assert checked.category is None or checked.category.isprintable()
    assert check_proposal(checked) == checked


@given(st.text() | st.text().map("{}.example".format))
def test_whatever_is_called_a_domain_is_one_or_refused(given_: str) -> None:
    try:
        domain = check_domain(given_)
    except Invalid:
        return

    assert domain == domain.lower()
    assert domain.isascii()
    assert "." in domain or ":" in domain

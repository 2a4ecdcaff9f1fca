"""Names, queries and the order of views."""

from uuid import UUID

import pytest

from headwater.errors import Invalid, InvalidView, TooManyTags
from headwater.library.decide import check_tag, check_tags
from headwater.library.views.decide import ICONS, check_view, moved

A, B, C, D = (UUID(int=n) for n in range(1, 5))


def test_a_view_has_a_name_an_icon_and_a_query() -> None:
    name, icon, query = check_view("  Rust \n news ", "bolt", " rust -game ")

    assert (name, icon, query.text) == ("Rust news", "bolt", "rust -game")


def test_an_unknown_icon_becomes_the_plain_one() -> None:
    assert check_view("Rust", '"><script>', "rust")[1] == ICONS[0]


@pytest.mark.parametrize(
    ("name", "query", "problem", "position"),
    [
        ("", "rust", "A view needs a name.", None),
        ("\u200b", "rust", "A view needs a name.", None),
        ("x" * 101, "rust", "A name has at most 100 characters.", None),
        ("Rust", "rust topik:sport", "", 5),
        ("Rust", "", "", 0),
        ("", "rust or", "A view needs a name.", 5),
    ],
)
def test_what_is_wrong_is_said_for_each_field(name: str, query: str, problem: str, position: int | None) -> None:
    with pytest.raises(InvalidView) as refused:
        check_view(name, "star", query)

    assert refused.value.name == problem
    assert (refused.value.query.position if refused.value.query else None) == position


@pytest.mark.parametrize(
    ("moving", "by", "order"),
    [
        (B, 1, [A, C, B, D]),
        (B, -1, [B, A, C, D]),
        (A, -1, [A, B, C, D]),
        (D, 1, [A, B, C, D]),
        (A, 10, [B, C, D, A]),
        (UUID(int=9), 1, [A, B, C, D]),
    ],
)
def test_a_view_moves_as_far_as_there_are_places(moving: UUID, by: int, order: list[UUID]) -> None:
    assert moved([A, B, C, D], moving, by=by) == order


@pytest.mark.parametrize(
    ("written", "stored"),
    [("Rust", "rust"), (" #To  Read ", "to read"), ('a"b', "a b"), ("Ünï", "ünï"), ("C#", "c#"), ("x" * 50, "x" * 50)],
)
def test_a_tag_is_stored_in_lower_case(written: str, stored: str) -> None:
    assert check_tag(written) == stored


@pytest.mark.parametrize("written", ["", " ", "#", '"', "\u200b", "x" * 51])
def test_a_tag_without_letters_or_a_long_one_is_refused(written: str) -> None:
    with pytest.raises(Invalid):
        check_tag(written)


def test_tags_are_separated_by_commas_and_limited() -> None:
    assert check_tags(" Rust, to read,,rust ,", most=2) == ["rust", "to read"]
    with pytest.raises(TooManyTags, match="at most 2 tags"):
        check_tags("a, b, c", most=2)

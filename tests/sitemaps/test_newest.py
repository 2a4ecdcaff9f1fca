from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from headwater.sitemaps.read import Newest
from headwater.sitemaps.types import ListedUrl
from tests.clock import START


def dated(number: int) -> ListedUrl:
    return ListedUrl(f"/{number}", START + timedelta(hours=number))


def best(most: int, *lines: ListedUrl) -> list[str]:
    newest = Newest(most)
    for line in lines:
        if newest.accepts(line.lastmod):
            newest.take(line)
    return [line.url for line in newest.best()]


def test_the_newest_come_first_and_then_what_has_no_date() -> None:
    assert best(10, ListedUrl("/a", None), dated(1), dated(3), ListedUrl("/b", None), dated(2)) == [
        "/3",
        "/2",
        "/1",
        "/a",
        "/b",
    ]


def test_of_what_has_no_date_both_ends_are_kept() -> None:
    assert best(4, *(ListedUrl(f"/{number}", None) for number in range(10))) == ["/0", "/1", "/8", "/9"]


def test_equals_stay_in_the_order_of_the_file() -> None:
    assert best(2, *(ListedUrl(f"/{number}", START) for number in range(5))) == ["/0", "/1"]


@given(st.lists(st.integers(0, 50)), st.integers(1, 20))
def test_it_keeps_what_sorting_all_would_keep(hours: list[int], most: int) -> None:
    lines = [ListedUrl(f"/{number}-{hour}", START + timedelta(hours=hour)) for number, hour in enumerate(hours)]

    expected = [line.url for line in sorted(lines, key=lambda line: line.lastmod or START, reverse=True)[:most]]
    assert best(most, *lines) == expected

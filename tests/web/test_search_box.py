"""The search box: the parts of a query as filters that can be removed one by one."""

import sys

from headwater.web.search_box import read_box


def calls_for(count: int) -> int:
    """How many functions are called to list so many filters."""
    box, calls = read_box({"q": " ".join(f'-"near w{n}"' for n in range(count))}), 0

    def note(_frame: object, event: str, _value: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(note)
    try:
        found = box.filters
    finally:
        sys.setprofile(None)
    assert len(found) == count
    return calls


def test_the_work_for_filters_grows_as_their_number() -> None:
    """It was quadratic: the longest query kept the server from everything else for 300 ms."""
    assert calls_for(60) < 2.5 * calls_for(30)


def test_removing_a_filter_leaves_the_others_as_they_were() -> None:
    found = read_box({"q": "otter (a or b) topic:sport -zoo"}).filters

    assert [(one.text, one.rest) for one in found] == [
        ("a or b", "otter topic:sport -zoo"),
        ("Topic: Sport", "otter (a or b) -zoo"),
        ("-zoo", "otter (a or b) topic:sport"),
    ]

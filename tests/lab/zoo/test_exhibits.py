from typing import get_args

from headwater_lab.zoo import EXHIBITS, SIGHTS, Expectation
from headwater_lab.zoo.faults import ANY_PATH, FAULTS
from headwater_lab.zoo.sites import SITES


def test_every_exhibit_has_a_name_and_a_url_of_its_own():
    assert len({exhibit.name for exhibit in EXHIBITS}) == len(EXHIBITS)
    assert len({(exhibit.host, exhibit.path) for exhibit in EXHIBITS}) == len(EXHIBITS)


def test_every_host_has_one_exhibit_so_that_a_paused_host_pauses_one():
    assert len({exhibit.host for exhibit in EXHIBITS}) == len(EXHIBITS)


def test_there_is_an_exhibit_for_every_way_a_poll_can_end():
    assert {exhibit.expects for exhibit in EXHIBITS} == set(get_args(Expectation))


def test_every_caption_is_one_sentence():
    for one in (*EXHIBITS, *SIGHTS):
        assert one.caption.endswith("."), one.name


def test_nothing_is_kept_in_the_zoo_that_is_not_on_the_map():
    on_the_map = {one.host for one in (*EXHIBITS, *SIGHTS)}

    assert set(SITES) | set(FAULTS) <= on_the_map


def test_every_feed_of_a_site_is_an_exhibit_or_has_a_fault():
    exhibited = {(exhibit.host, exhibit.path) for exhibit in EXHIBITS}

    for site in SITES.values():
        for feed in site.feeds:
            assert (site.host, feed.path) in exhibited or site.host in FAULTS


def test_what_cannot_be_reached_is_only_the_host_that_does_not_exist():
    for one in (*EXHIBITS, *SIGHTS):
        paths = FAULTS.get(one.host, {})
        is_kept = one.host in SITES or one.path in paths or ANY_PATH in paths

        assert is_kept or one.name in {"nowhere", "plaintext"}, one.name

from datetime import timedelta

import pytest

from headwater.feeds import Enclosure
from headwater.feeds.entry_fields import duration, whole_number
from tests.feeds.feeds import atom_entry, rss_item


def test_a_podcast_episode_has_its_file_with_type_length_and_duration():
    entry = rss_item(
        '<enclosure url="/e.mp3" type="audio/mpeg" length="123"/><itunes:duration>1:02:03</itunes:duration>'
        '<itunes:image href="/cover.jpg"/>'
    )

    assert entry.enclosures == (
        Enclosure("https://example.com/e.mp3", "audio/mpeg", 123, timedelta(hours=1, minutes=2, seconds=3)),
    )
    assert entry.image_url == "https://example.com/cover.jpg"


def test_media_content_is_a_file_or_the_picture():
    entry = rss_item(
        '<media:group><media:content url="/v.mp4" type="video/mp4" fileSize="9" duration="60"/>'
        '<media:content url="/p.jpg" medium="image"/><media:thumbnail url="/t.jpg"/></media:group>'
        '<media:content url="/player.swf" type="application/x-shockwave-flash"/>'
    )

    assert [file.url for file in entry.enclosures] == ["https://example.com/v.mp4"]
    assert entry.enclosures[0].duration == timedelta(minutes=1)
    assert entry.image_url == "https://example.com/t.jpg"


def test_each_file_is_listed_once():
    entry = rss_item(
        '<enclosure url="/e.mp3"/><media:content url="/e.mp3" type="audio/mpeg"/><enclosure url="javascript:x"/>'
    )

    assert len(entry.enclosures) == 1


def test_a_file_named_twice_is_what_the_first_says_and_the_second_adds():
    entry = rss_item(
        '<media:content url="/e.mp3" duration="60" medium="audio" type="audio/x-mp3"/>'
        '<enclosure url="/e.mp3" type="audio/mpeg" length="123"/>'
    )

    assert entry.enclosures == (Enclosure("https://example.com/e.mp3", "audio/mpeg", 123, timedelta(minutes=1)),)


def test_a_podcasts_other_forms_of_an_episode_are_files_too():
    entry = rss_item(
        '<enclosure url="/e.mp3" type="audio/mpeg"/>'
        '<podcast:alternateEnclosure type="audio/mpeg" length="9" title="Standard"><podcast:source uri="/e.mp3"/>'
        "</podcast:alternateEnclosure>"
        '<podcast:alternateEnclosure type="audio/opus" length="5"><podcast:source uri="ipfs://x"/>'
        '<podcast:source uri="/e.torrent" contentType="application/x-bittorrent"/>'
        '<podcast:source uri="/e.opus"/><podcast:source uri="/mirror.opus"/></podcast:alternateEnclosure>'
        '<podcast:alternateEnclosure type="audio/flac"/>'
    )

    assert entry.enclosures == (
        Enclosure("https://example.com/e.mp3", "audio/mpeg", 9, None, "Standard"),
        Enclosure("https://example.com/e.opus", "audio/opus", 5),
    )


@pytest.mark.parametrize(
    ("item", "image"),
    [
        ('<enclosure url="/p.jpg" type="image/jpeg"/>', "https://example.com/p.jpg"),
        ('<media:content url="/p.webp?w=9"/>', "https://example.com/p.webp?w=9"),
        ("<image><url>/p.jpg</url></image>", "https://example.com/p.jpg"),
        ("<image>/p.jpg</image>", "https://example.com/p.jpg"),
        ('<enclosure url="/e.mp3" type="audio/mpeg"/>', None),
    ],
)
def test_the_picture_of_an_entry(item: str, image: str | None):
    assert rss_item(item).image_url == image


def test_an_atom_enclosure_is_one():
    entry = atom_entry('<link rel="enclosure" type="audio/mpeg" length="5" href="/e.mp3" title="Part 1"/>')

    assert entry.enclosures == (Enclosure("https://example.com/e.mp3", "audio/mpeg", 5, None, "Part 1"),)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("3723", 3723), ("62:03", 3723), ("1:02:03", 3723), ("5.7", 5), ("x", None), ("", None), ("0", None)],
)
def test_a_duration_is_written_in_three_ways(text: str, seconds: int | None):
    assert duration(text) == (timedelta(seconds=seconds) if seconds else None)


@pytest.mark.parametrize(
    ("text", "number"), [("7", 7), (" 7 ", 7), ("-7", None), ("x", None), ("9" * 40, None), ("٧", None)]
)
def test_a_number_is_whole_and_sensible_or_none(text: str, number: int | None):
    assert whole_number(text) == number

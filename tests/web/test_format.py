import re
from datetime import timedelta

import pytest

from headwater.feeds.types import Enclosure
from headwater.web.format import (
    count,
    file_details,
    file_name,
    host,
    hue,
    initial,
    lazy_images,
    media_kind,
    moment,
    since,
    until,
    youtube_video,
)
from tests.clock import START


@pytest.mark.parametrize(
    ("ago", "text"),
    [
        (timedelta(0), "just now"),
        (timedelta(seconds=-5), "just now"),
        (timedelta(seconds=1), "1 second ago"),
        (timedelta(minutes=59, seconds=59), "59 minutes ago"),
        (timedelta(hours=25), "1 day ago"),
        (timedelta(days=800), "2 years ago"),
    ],
)
def test_past_times_use_the_largest_unit(ago: timedelta, text: str) -> None:
    assert since(START - ago, START) == text


@pytest.mark.parametrize(("ahead", "text"), [(timedelta(minutes=-1), "any moment"), (timedelta(hours=3), "in 3 hours")])
def test_future_times_use_the_largest_unit(ahead: timedelta, text: str) -> None:
    assert until(START + ahead, START) == text


def test_numbers_and_nouns_agree() -> None:
    assert [count(number, "article") for number in (0, 1, 2000)] == ["0 articles", "1 article", "2,000 articles"]


def test_an_exact_time_and_a_host() -> None:
    assert moment(START) == "2026-03-01 12:00:00 UTC"
    assert host("https://www.example.com/a?b") == "example.com"


def test_a_file_has_a_name_type_size_and_duration() -> None:
    file = Enclosure("https://a.example/talk/1%20a.mp3?x=1", "audio/mpeg", 12_345_678, timedelta(minutes=62, seconds=3))

    assert (file_name(file.url), file_details(file)) == ("1 a.mp3", "audio/mpeg · 12.3 MB · 1:02:03")
    assert file_details(Enclosure(file.url, length=812, duration=timedelta(seconds=65))) == "812 bytes · 1:05"
    assert (file_name("https://www.a.example/"), file_details(Enclosure(file.url))) == ("a.example", "")


@pytest.mark.parametrize(
    ("url", "type_", "kind"),
    [
        ("https://cdn.example/1.mp3?token=1", None, "audio"),
        ("https://cdn.example/1", "audio/mpeg", "audio"),
        ("https://cdn.example/1.MP4", None, "video"),
        ("https://cdn.example/1", "video/webm", "video"),
        ("https://cdn.example/1.mp3", "image/jpeg", ""),
        ("https://cdn.example/1.pdf", None, ""),
    ],
)
def test_files_that_a_browser_plays_are_recognised(url: str, type_: str | None, kind: str) -> None:
    assert media_kind(Enclosure(url, type_)) == kind


@pytest.mark.parametrize(
    ("url", "video"),
    [
        ("https://www.youtube.com/watch?v=dQw4w9WgXcQ", "dQw4w9WgXcQ"),
        ("https://youtube.com/watch?list=1&v=dQw4w9WgXcQ&t=3", "dQw4w9WgXcQ"),
        ("https://youtu.be/dQw4w9WgXcQ?t=3", "dQw4w9WgXcQ"),
        ("https://m.youtube.com/shorts/dQw4w9WgXcQ", "dQw4w9WgXcQ"),
        ("https://www.youtube.com/@channel", ""),
        ("https://www.youtube.com/watch?v=dQw4w9WgXcQ0", ""),
        ("https://youtube.com.evil.example/watch?v=dQw4w9WgXcQ", ""),
        ("https://example.com/watch?v=dQw4w9WgXcQ", ""),
    ],
)
def test_videos_of_youtube_are_recognised(url: str, video: str) -> None:
    assert youtube_video(url) == video


@pytest.mark.parametrize(
    ("html", "hidden"),
    [
        (
            '<p><img src="https://a.example/1" alt="A &gt; b" srcset="https://a.example/2 2x"></p>',
            '<img alt="A &gt; b">',
        ),
        (
            '<picture><source srcset="https://a.example/1 1x"><img alt="" src="https://a.example/2"></picture>',
            '<source><img alt="">',
        ),
        ('<video poster="https://a.example/1" src="https://a.example/2">', '<video src="https://a.example/2">'),
        ('<audio><source src="https://a.example/1"></audio>', '<source src="https://a.example/1">'),
        ('<a title="&lt;img src=x&gt;" href="https://a.example/">A</a>', 'title="&lt;img src=x&gt;"'),
    ],
)
def test_hidden_images_keep_their_descriptions_and_are_not_loaded(html: str, hidden: str) -> None:
    lazy = ' loading="lazy" decoding="async" referrerpolicy="no-referrer"'
    assert hidden in lazy_images(html, are_hidden=True).replace(lazy, "")
    assert lazy_images(html).replace(lazy, "") == html


@pytest.mark.parametrize(
    ("name", "letter"),
    [("Zoo Daily", "Z"), ("The Lindow Gazette", "L"), ("The", "T"), ("« Le Monde »", "M"), ("éclair", "É"),
     ("1843", "1"), ("!!", "?"), ("", "?"), ("ßtraße", "S"), ("Ακτή", "Α")],
)  # fmt: skip
def test_the_letter_of_a_feed(name: str, letter: str) -> None:
    assert initial(name) == letter
    assert 0 <= hue(name) < 8


def test_an_image_without_a_description_is_decoration() -> None:
    shown = lazy_images('<img src="/a?b> alt=c"><img src="/d" alt="A duck"><img alt="">')

    assert re.findall(r' alt="[^"]*"', shown) == [' alt=""', ' alt="A duck"', ' alt=""']

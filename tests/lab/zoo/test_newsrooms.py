"""Newsrooms report the same events in different words."""

from headwater_lab.zoo.newsrooms import EVENTS, report


def test_reports_of_one_event_agree_on_its_names_and_differ_in_their_words():
    for number in range(len(EVENTS) * 2):
        reports = [report(number, newsroom) for newsroom in range(5)]

        assert len({title for title, *_ in reports}) == 5
        assert len({paragraphs for _, paragraphs, *_ in reports}) == 5
        assert {section for *_, section in reports} == {EVENTS[number % len(EVENTS)].topic}
        assert len({paragraphs[0].split(". ")[0] for _, paragraphs, *_ in reports}) == 1  # the event itself


def test_an_event_is_reported_in_the_same_words_in_any_process():
    assert report(7, 2) == report(7, 2)
    assert report(7, 2) != report(7 + len(EVENTS), 2)


def test_every_name_in_braces_is_known():
    for number in range(200):
        for newsroom in range(5):
            title, paragraphs, author, _ = report(number, newsroom)
            assert "{" not in title + "".join(paragraphs) + author

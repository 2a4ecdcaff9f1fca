"""The shape of the project's own story material: a score measured on it means little if these do not hold."""

import re
from collections import Counter
from datetime import UTC, timedelta
from itertools import combinations

from tests.eval.own_stories import OwnArticle, own_articles

LEAST_ARTICLES = 320
LEAST_STORIES = 60
LEAST_SINGLES = 40
LEAST_OUTLETS = 25
UPDATES = 5
STORY_SIZES = range(3, 9)
TEXT_WORDS = range(60, 131)
WINDOW = timedelta(hours=72)
SHORTEST_SENTENCE = 5
SIMILAR_TITLES = 0.6

_SENTENCE_END = re.compile(r'(?<=[.!?"])\s+')


def sizes() -> Counter[str]:
    return Counter(article.story for article in own_articles())


def sentences(article: OwnArticle) -> list[str]:
    """The sentences of a text, without those too short to be copied ("she said")."""
    parts = _SENTENCE_END.split(article.text.lower())
    return [part for part in parts if len(part.split()) >= SHORTEST_SENTENCE]


def title_overlap(one: OwnArticle, other: OwnArticle) -> float:
    """Shared words of two titles over all their words."""
    words, others = set(one.title.lower().split()), set(other.title.lower().split())
    return len(words & others) / len(words | others)


def test_there_are_enough_articles_stories_singles_and_outlets() -> None:
    singles = [story for story, size in sizes().items() if size == 1]

    assert len(own_articles()) >= LEAST_ARTICLES
    assert len(sizes()) - len(singles) >= LEAST_STORIES
    assert len(singles) >= LEAST_SINGLES
    assert len({article.source for article in own_articles()}) >= LEAST_OUTLETS


def test_a_story_has_one_article_or_three_to_eight() -> None:
    assert {story: size for story, size in sizes().items() if size != 1 and size not in STORY_SIZES} == {}


def test_ids_are_unique_and_begin_with_their_story() -> None:
    ids = [article.id for article in own_articles()]

    assert len(set(ids)) == len(ids)
    assert [article.id for article in own_articles() if article.id.rpartition("-")[0] != article.story] == []


def test_articles_are_in_order_of_time_within_72_hours_of_utc() -> None:
    times = [article.at for article in own_articles()]

    assert times == sorted(times)
    assert {at.tzinfo for at in times} == {UTC}
    assert times[-1] - times[0] <= WINDOW


def test_texts_have_60_to_130_words() -> None:
    lengths = {article.id: len(article.text.split()) for article in own_articles()}

    assert {key: length for key, length in lengths.items() if length not in TEXT_WORDS} == {}


def test_an_outlet_has_one_article_in_a_story_except_for_the_updates() -> None:
    pairs = Counter((article.story, article.source) for article in own_articles())

    assert len([pair for pair, count in pairs.items() if count > 1]) == UPDATES
    assert max(pairs.values()) <= 2


def test_no_title_occurs_twice() -> None:
    titles = Counter(article.title for article in own_articles())

    assert [title for title, count in titles.items() if count > 1] == []


def test_an_outlet_has_similar_titles_on_two_different_stories() -> None:
    pairs = combinations(own_articles(), 2)
    similar = [pair for pair in pairs if pair[0].source == pair[1].source and title_overlap(*pair) >= SIMILAR_TITLES]

    assert [(one.id, other.id) for one, other in similar if one.story != other.story] != []


def test_no_sentence_occurs_in_two_stories() -> None:
    stories: dict[str, set[str]] = {}
    for article in own_articles():
        for sentence in sentences(article):
            stories.setdefault(sentence, set()).add(article.story)

    assert {sentence: found for sentence, found in stories.items() if len(found) > 1} == {}
